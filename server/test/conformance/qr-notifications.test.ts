import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { openToken, tokenKey } from '@kaha/qrph/token'
import { encryptedDialect } from '../../src/areas/qr/notifications.ts'
import { sql } from '../sql.ts'
import { platform } from '../platform.ts'
import type { Received } from '../receiver.ts'
import { call } from './call.ts'
import { keyFor } from './people.ts'
import { bankOf, basic, newReference, qrAccount } from './qr-account.ts'

// Area E: encrypted notifications of codes that were paid or declined.

const path = '/webhooks/v1/webhooks'
const both = ['QRPH_SUCCESS', 'QRPH_DECLINED']

async function notified(t: TestContext) {
  const p = await platform(t)
  const account = qrAccount(p)
  const bank = bankOf(p)
  p.receiver.answer = (_request, response) => void response.writeHead(200).end()
  const ask = (
    method: string,
    at: string,
    body?: unknown,
    key = p.merchant.secret_key,
    headers: Record<string, string> = {},
  ) =>
    call(p.url, {
      method,
      path: at,
      headers: { authorization: basic(key), ...headers },
      ...(body === undefined ? {} : { body }),
    })
  const register = async (
    fields: Record<string, unknown> = {},
    key?: string,
    headers?: Record<string, string>,
  ): Promise<number> => {
    const body = { webhookUrl: p.receiver.url, actions: both, status: 'ENABLED', ...fields }
    const answer = await ask('POST', path, body, key, headers)
    assert.equal(answer.status, 201, answer.text)
    return answer.json.id
  }
  /** A code that the bank settles at once. */
  const settle = async (outcome: string, fields: Record<string, unknown> = {}) => {
    const code = await account.made(fields)
    await bank({ qr_text: code.qrText, outcome })
    await p.idle()
    return code
  }
  const opened = async ({ body }: Received, key: string = p.merchant.secret_key): Promise<any> =>
    openToken(await tokenKey(key), JSON.parse(body).data)
  const update = (id: number, body: unknown) => ask('PUT', `${path}/${id}`, body)
  return { ...p, account, ask, register, settle, opened, update }
}

const only = (received: readonly Received[]): Received => {
  assert.equal(received.length, 1)
  return received[0] as Received
}

test('[E6.notification.form, E6.notification.fields, E6.notification.reference] a code that is paid is told as an encrypted body with all that it was', async (t) => {
  const p = await notified(t)
  await p.register()
  const reference = newReference()
  const { id } = await p.settle('SUCCESS', { amount: '1458.31', merchantReferenceNumber: reference })
  const one = only(p.receiver.received)
  assert.equal(one.headers['content-type'], 'application/json')
  assert.deepEqual(Object.keys(JSON.parse(one.body)), ['data'])
  const { timestamp, ...rest } = await p.opened(one)
  assert.deepEqual(rest, {
    action: 'QRPH_SUCCESS',
    referenceNumber: reference,
    amount: 145_831,
    currency: 'PHP',
    transactionId: id,
    status: 'PAID',
  })
  assert.equal(timestamp, (await p.account.get(id)).plain.paidAt)
  const [head = ''] = (JSON.parse(one.body).data as string).split('.')
  assert.equal(Buffer.from(head, 'base64url').toString(), '{"alg":"A256KW","enc":"A256CBC-HS512"}')
})

test('[E6.notification.fields, E6.webhook.actions] a code that is declined is told with the reason, to whoever takes that action', async (t) => {
  const p = await notified(t)
  await p.register({ actions: ['QRPH_DECLINED'] })
  await p.settle('SUCCESS')
  await p.settle('EXPIRED')
  assert.equal(p.receiver.received.length, 0)
  await p.settle('DECLINED')
  const { action, status, declineReason } = await p.opened(only(p.receiver.received))
  assert.deepEqual([action, status, declineReason], ['QRPH_DECLINED', 'DECLINED', 'DECLINED_BY_BANK'])
})

test('[E6.notification.success, E6.notification.retries] a receiver has 10 s for each of five attempts, and whatever it answers ends no webhook', () => {
  const { deadlineMs, schedule, autoDisable } = encryptedDialect({
    db: undefined as never,
    accounts: undefined as never,
  })
  const quarter = 900_000
  assert.deepEqual([deadlineMs, schedule.waitsMs], [10_000, [quarter, quarter, quarter, quarter]])
  assert.deepEqual(autoDisable, { statuses: [], failingMsMax: null })
})

test('[E6.notification.success, E6.notification.retries, E6.notification.anew, E6.notification.reference] only 200 acknowledges; four more attempts follow 15 minutes apart, each encrypted anew with the same reference', async (t) => {
  const p = await notified(t)
  await p.register()
  const statuses = [201, 204, 301, 410]
  p.receiver.answer = (_request, response) =>
    void response.writeHead(statuses[p.receiver.received.length - 1] ?? 500, { 'retry-after': '86400' }).end()
  const { id } = await p.settle('SUCCESS')
  const reference = (await p.account.get(id)).plain.merchantReferenceNumber
  const queued = () => sql<{ run_at: Date }>(p.kaha.db, 'select run_at from delivery.queue')
  for (let made = 1; made <= 4; made += 1) {
    assert.equal(p.receiver.received.length, made)
    const [next] = await queued()
    const [last] = await sql<{ started_at: Date }>(
      p.kaha.db,
      'select started_at from delivery.attempts order by started_at desc limit 1',
    )
    assert.ok(next && last)
    assert.equal(next.run_at.getTime() - last.started_at.getTime(), 900_000)
    await p.kaha.sandboxClock.advance(next.run_at)
  }
  assert.deepEqual(await queued(), [])
  await p.advance(7_200)
  assert.equal(p.receiver.received.length, 5)
  const tokens = new Set(p.receiver.received.map(({ body }) => body))
  assert.equal(tokens.size, 5)
  for (const one of p.receiver.received) assert.equal((await p.opened(one)).referenceNumber, reference)
  // Nobody else tells of it.
  const given = p.logged.filter((line) => line.includes('the last attempt at a webhook failed'))
  assert.deepEqual(
    given.map((line) => JSON.parse(line) as object).map(({ host, status }: any) => [host, status]),
    [[new URL(p.receiver.url).host, 500]],
  )
})

test('[E6.webhook.activation-code, E6.webhook.activation-code-sent] a webhook with an activation code hears of that branch alone, and the code comes with each notification', async (t) => {
  const p = await notified(t)
  const [first, second] = p.merchant.branches
  assert.ok(first && second)
  await p.register({}, undefined, { 'activation-code': second.activation_code })
  await p.settle('SUCCESS')
  assert.equal(p.receiver.received.length, 0)
  await p.settle('SUCCESS', { activationCode: second.activation_code })
  assert.equal(only(p.receiver.received).headers['activation-code'], second.activation_code)
})

test('E6.webhook.activation-code-sent: a webhook that the key of a branch registers is of that branch, and its code comes along though no header named it', async (t) => {
  const p = await notified(t)
  const [first, second] = p.merchant.branches
  assert.ok(first && second)
  await p.register({}, second.secret_key)
  await p.settle('SUCCESS')
  assert.equal(p.receiver.received.length, 0)
  await p.settle('SUCCESS', { activationCode: second.activation_code })
  assert.equal(only(p.receiver.received).headers['activation-code'], second.activation_code)
})

test('[E6.webhook.activation-code-sent] a webhook of the whole account hears of every branch, and no activation code comes with it', async (t) => {
  const p = await notified(t)
  await p.register()
  for (const { activation_code: activationCode } of p.merchant.branches) await p.settle('SUCCESS', { activationCode })
  assert.equal(p.receiver.received.length, 2)
  for (const { headers } of p.receiver.received) assert.equal(headers['activation-code'], undefined)
})

test('[E6.webhook.disabled-queues-nothing, E6.webhook.disabled-waits] a DISABLED webhook is queued nothing, and what was queued before waits until it is ENABLED', async (t) => {
  const p = await notified(t)
  const id = await p.register()
  p.receiver.answer = (_request, response) => void response.writeHead(500).end()
  const before = await p.settle('SUCCESS')
  assert.equal((await p.update(id, { status: 'DISABLED' })).json.status, 'DISABLED')
  await p.settle('SUCCESS')
  await p.advance(3_600)
  assert.equal(p.receiver.received.length, 1)
  p.receiver.answer = (_request, response) => void response.writeHead(200).end()
  await p.update(id, { status: 'ENABLED' })
  await p.idle()
  assert.equal(p.receiver.received.length, 2)
  for (const one of p.receiver.received) assert.equal((await p.opened(one)).transactionId, before.id)
  await p.settle('SUCCESS')
  assert.equal(p.receiver.received.length, 3)
})

test('E6.webhook.disabled-queues-nothing: one that is registered DISABLED is sent nothing until it is ENABLED', async (t) => {
  const p = await notified(t)
  const id = await p.register({ status: 'DISABLED' })
  await p.settle('SUCCESS')
  await p.update(id, { status: 'ENABLED' })
  await p.idle()
  assert.equal(p.receiver.received.length, 0)
  await p.settle('SUCCESS')
  assert.equal(p.receiver.received.length, 1)
})

test('E6.webhook.delete-drops: what was queued for a webhook that is deleted is never sent', async (t) => {
  const p = await notified(t)
  const id = await p.register()
  p.receiver.answer = (_request, response) => void response.writeHead(500).end()
  await p.settle('SUCCESS')
  assert.equal((await p.ask('DELETE', `${path}/${id}`)).status, 204)
  await p.advance(7_200)
  assert.equal(p.receiver.received.length, 1)
})

test('[E6.notification.key, E6.notification.key-retired, E6.notification.key-none, I1.key.sealed] a notification is under the key that registered, then under the newest ACTIVE one that may stand in, and waits while there is none', async (t) => {
  const p = await notified(t)
  const merchant = { id: p.merchant.id, level: 'merchant' } as const
  const registering = await keyFor(p, merchant)
  await p.register({}, registering.secretKey)
  await p.settle('SUCCESS')
  await p.opened(only(p.receiver.received.splice(0)), registering.secretKey)

  const set = async (state: string, where: string, values: unknown[] = []) => {
    await sql(p.kaha.db, `update identity.keys set state = '${state}' where ${where}`, values)
    p.kaha.bus.hint('keys')
  }
  await keyFor(p, merchant, { scopes: ['qr.create'] })
  await set('REVOKED', 'id = $1', [registering.id])
  const newest = await keyFor(p, merchant, { scopes: ['qr_webhooks.write'] })
  await p.settle('SUCCESS')
  await p.opened(only(p.receiver.received.splice(0)), newest.secretKey)

  const code = await p.account.made()
  await set('SUSPENDED', "'qr_webhooks.write' = any (scopes) and entity_id <> $1", [p.seed.partner.id])
  await bankOf(p)({ qr_text: code.qrText, outcome: 'SUCCESS' })
  assert.equal(p.receiver.received.length, 0)
  await set('ACTIVE', 'id = $1', [newest.id])
  await p.advance(600)
  assert.equal((await p.opened(only(p.receiver.received), newest.secretKey)).transactionId, code.id)
  for (const { sealed } of await sql<{ sealed: Buffer | null }>(p.kaha.db, 'select sealed from identity.keys'))
    assert.ok(sealed === null || !sealed.includes('sk_test_'))
})

test('what one account is told another never hears, and area A neither lists nor delivers it', async (t) => {
  const p = await notified(t)
  const [, neighbour] = p.seed.merchants
  await p.register({}, neighbour?.secret_key)
  await p.sdk.webhooks.createEndpoint({
    url: p.receiver.url,
    enabled_events: ['payment.succeeded', 'payment.declined'],
  })
  await p.settle('SUCCESS')
  assert.equal(p.receiver.received.length, 0)
  assert.deepEqual((await p.as(p.branch.secret_key).webhooks.listEvents()).data, [])
})
