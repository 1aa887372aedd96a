import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { createKaha, KahaError, verifyWebhook } from '@kaha/sdk'
import { freshDatabase } from '../cluster.ts'
import type { Between } from '../nats.ts'
import { startReceiver } from '../receiver.ts'
import { urlOf } from './database-of.ts'
import { eventually } from './eventually.ts'
import { environmentWith, serverMain, startKahaProcess } from './kaha-process.ts'

const run = promisify(execFile)
const approved = { number: '4242424242424242', exp_month: 12, exp_year: 2060, cvc: '123' }

/** An API process and a worker process on one database, and the command line beside them. */
async function installation(t: TestContext, between: Between) {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const database = held.use(await freshDatabase())
  const folder = await mkdtemp(join(tmpdir(), 'kaha-two-'))
  held.defer(() => rm(folder, { recursive: true, force: true }))
  const settings = {
    ...(await between.settings({ after: (close) => held.defer(close) })),
    KAHA_DATABASE_URL: urlOf(database.target),
    KAHA_MASTER_KEY: randomBytes(32).toString('base64'),
  }
  const start = async (name: string, roles: string) =>
    held.use(await startKahaProcess({ dataDir: join(folder, name), settings: { ...settings, KAHA_ROLES: roles } }))
  const api = await start('api', 'api,gateway')
  const worker = await start('worker', 'worker')

  const { sandbox } = api
  const [merchant] = sandbox.merchants
  const [branch] = merchant?.branches ?? []
  assert.ok(merchant !== undefined && branch !== undefined)
  const as = (apiKey: string) => createKaha({ baseUrl: sandbox.base_url, apiKey })
  return {
    worker,
    branch,
    as,
    sdk: as(merchant.secret_key),
    partner: as(sandbox.partner.secret_key),
    receiver: async () => held.use(await startReceiver()),
    /** `kaha …` in a process of its own. */
    kaha: async (...args: string[]) => {
      const env = environmentWith({ ...settings, KAHA_DATA_DIR: join(folder, 'command') })
      return (await run(process.execPath, [serverMain, ...args], { env })).stdout
    },
  }
}

/** What people may rely on when one process takes their requests and another one does the work. */
export const onePlatform = (between: Between) =>
  void test('an API process and a worker process on one database are one platform', async (t) => {
    if (between.missing !== undefined) return t.skip(between.missing)
    const { sdk, partner, as, branch, worker, kaha, ...people } = await installation(t, between)

    await t.test('A2.sent.succeeded: a payment at the one is delivered by the other', async () => {
      const receiver = await people.receiver()
      const endpoint = await sdk.webhooks.createEndpoint({ url: receiver.url, enabled_events: ['payment.succeeded'] })
      const intent = await sdk.paymentIntents.create({
        amount: 9_800,
        currency: 'PHP',
        merchant_branch_reference_number: branch.reference_number,
      })
      const paid = await sdk.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card: approved } })
      assert.equal(paid.status, 'SUCCEEDED')
      await partner.sandbox.advanceClock({ seconds: 0 })

      const { signing_secret: secret } = await sdk.webhooks.retrieveSigningSecret(endpoint.id)
      const [delivery] = receiver.received
      assert.equal(receiver.received.length, 1)
      assert.ok(delivery !== undefined)
      const event = verifyWebhook({ payload: delivery.body, headers: delivery.headers, secret })
      assert.equal(event.data.payment_intent_id, intent.id)

      // The worker has no API: nobody but the other process could have taken the payment.
      const atWorker = await fetch(`${worker.origin}/ecom/v1/payment-links`)
      assert.equal(atWorker.status, 404)
    })

    await t.test(
      'I1.state.at-once, I1.key-state.revoked: a key that is revoked beside a running server is refused by it from then on',
      async () => {
        const issued = JSON.parse(await kaha('keys', 'issue', '--entity', branch.id, '--json')) as {
          id: string
          secret_key: string
        }
        const holder = as(issued.secret_key)
        assert.equal((await holder.paymentLinks.list()).pagination.has_more, false)

        await kaha('keys', 'revoke', issued.id)
        const answer = () =>
          holder.paymentLinks.list().then(
            () => undefined,
            (error: unknown) => error,
          )
        const refusal = await eventually(answer, { what: 'the refusal of the key' })
        assert.ok(refusal instanceof KahaError)
        assert.equal(refusal.code, 'UNAUTHORIZED')
        await assert.rejects(holder.paymentLinks.list(), { code: 'UNAUTHORIZED' })
      },
    )

    await t.test(
      'S7.clock.advance-seconds, X0.clocks.business.links, A2.sent.expired-link: the clock advanced at the one moves the other',
      async () => {
        const receiver = await people.receiver()
        await sdk.webhooks.createEndpoint({ url: receiver.url, enabled_events: ['payment.expired'] })
        const link = await sdk.paymentLinks.create({
          type: 'one_time',
          currency: 'PHP',
          amount: 9_800,
          line_items: [{ sku: 'MUG', name: 'Mug', unit_price: 9_800, quantity: 1 }],
          merchant_branch_reference_number: branch.reference_number,
        })
        const { now } = await partner.sandbox.advanceClock({ seconds: 86_400 })

        // Only the worker tells of expiries, and it writes the time that its own clock shows.
        const [delivery] = receiver.received
        assert.equal(receiver.received.length, 1)
        const event = JSON.parse(delivery?.body ?? '{}') as { created_at: string; data: { payment_link_id: string } }
        assert.equal(event.data.payment_link_id, link.id)
        assert.ok(event.created_at >= link.expires_at, event.created_at)
        assert.ok(event.created_at <= now, now)
      },
    )
  })
