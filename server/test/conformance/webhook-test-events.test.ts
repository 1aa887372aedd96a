import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebhookPayload, eventTypes } from '@kaha/contract'
import { verifyWebhook } from '@kaha/sdk'
import { Webhook } from 'standardwebhooks'
import { Value } from 'typebox/value'
import { createMerchant } from '../../src/identity/issue.ts'
import { platform } from '../platform.ts'
import type { Received } from '../receiver.ts'
import { sql } from '../sql.ts'
import { assertRefused, call } from './call.ts'
import { everybody, keyFor } from './people.ts'

// Area A: events that are made up to try an endpoint.

async function testing(t: Parameters<typeof platform>[0]) {
  const p = await platform(t, { choices: { delivery: { random: () => 0 } } })
  return {
    ...p,
    endpoint: (path = '', owner = p.sdk) =>
      owner.webhooks.createEndpoint({ url: `${p.receiver.url}${path}`, enabled_events: ['payment.failed'] }),
    tryOut: (id: string, type: unknown = 'payment.succeeded', key = p.merchant.secret_key) =>
      call(p.url, { method: 'POST', path: `/v1/webhook_endpoints/${id}/test`, key, body: { type } }),
  }
}

const headersOf = ({ headers }: Received) => ({
  'webhook-id': String(headers['webhook-id']),
  'webhook-timestamp': String(headers['webhook-timestamp']),
  'webhook-signature': String(headers['webhook-signature']),
})

test('[A2.test.accepted, A2.test.marked] a test of each type is 202, arrives signed at this endpoint alone whatever it subscribes to, and says that it is one', async (t) => {
  const p = await testing(t)
  const endpoint = await p.endpoint()
  await p.endpoint('?another')
  const { signing_secret: secret } = await p.sdk.webhooks.retrieveSigningSecret(endpoint.id)
  const { merchant } = p
  const [branch] = merchant.branches.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  for (const [index, type] of eventTypes.entries()) {
    const answer = await p.tryOut(endpoint.id, type)
    assert.equal(answer.status, 202)
    const { id, created_at: createdAt, updated_at: _, next_attempt_at: __, ...rest } = answer.json
    assert.deepEqual(rest, {
      type,
      status: 'SUBMITTED',
      merchant_id: merchant.id,
      branch_id: branch?.id,
      delivered_at: null,
      attempt_count: 0,
    })
    await p.idle()
    assert.equal(p.receiver.received.length, index + 1)
    const received = p.receiver.received[index]
    assert.ok(received !== undefined && received.path === '/hook')
    new Webhook(secret).verify(received.body, headersOf(received))
    const payload = verifyWebhook({ secret, payload: received.body, headers: received.headers })
    assert.deepEqual([...Value.Errors(WebhookPayload, payload)], [])
    assert.deepEqual([payload.id, payload.type, payload.created_at, payload.data.test], [id, type, createdAt, true])
    assert.equal(payload.data.status, type.slice('payment.'.length).toUpperCase())
    assert.deepEqual([payload.data.merchant_id, payload.data.branch_id], [merchant.id, branch?.id])
    assert.equal('payment_intent_id' in payload.data, type !== 'payment.expired')
    assert.equal('failure_category' in payload.data, type === 'payment.declined' || type === 'payment.failed')

    const found = await p.sdk.webhooks.retrieveEvent(id)
    assert.deepEqual([found.test, found.status, found.payload], [true, 'DELIVERED', received.body])
    assert.deepEqual(
      found.deliveries.map(({ endpoint_id, status }) => [endpoint_id, status]),
      [[endpoint.id, 'DELIVERED']],
    )
  }
})

test('A2.test.not-reported: a test event is in no list, is no payment, and reaches no other endpoint when it is resent', async (t) => {
  const p = await testing(t)
  const endpoint = await p.endpoint()
  await p.endpoint('?another')
  const { id, branch_id } = (await p.tryOut(endpoint.id, 'payment.failed')).json
  await p.idle()
  for (const key of [p.merchant.secret_key, p.seed.partner.secret_key]) {
    assert.deepEqual((await p.as(key).webhooks.listEvents({ branch_id })).data, [])
    assert.deepEqual((await p.as(key).webhooks.listEvents({ branch_id, type: 'payment.failed' })).data, [])
  }
  for (const table of ['payments.intents', 'payments.attempts', 'ecommerce.links']) {
    assert.deepEqual(await sql(p.kaha.db, `select * from ${table}`), [], table)
  }
  assert.equal((await p.sdk.webhooks.resendEvent(id)).status, 'SUBMITTED')
  await p.idle()
  assert.deepEqual(
    p.receiver.received.map(({ path, headers }) => [path, headers['webhook-id']]),
    [
      ['/hook', id],
      ['/hook', id],
    ],
  )
})

test('a test event is not sent again by a key that does not see the endpoint that it was made for', async (t) => {
  const p = await testing(t)
  const { id: above } = await p.endpoint()
  const { id, branch_id } = (await p.tryOut(above, 'payment.failed')).json
  await p.idle()
  const key = p.merchant.branches.find((branch) => branch.id === branch_id)?.secret_key ?? ''
  const resend = () => call(p.url, { method: 'POST', path: `/v1/webhook_events/${id}/resend`, key, body: {} })
  assertRefused('/v1/', await resend(), 409, 'CONFLICT')
  await p.idle()
  assert.equal(p.receiver.received.length, 1)
})

test('a test event is retried like any other', async (t) => {
  const p = await testing(t)
  const endpoint = await p.endpoint()
  p.receiver.answer = (_request, response) => response.writeHead(p.receiver.received.length < 2 ? 500 : 200).end()
  const { id } = (await p.tryOut(endpoint.id)).json
  await p.idle()
  assert.equal((await p.sdk.webhooks.retrieveEvent(id)).status, 'SUBMITTED')
  await p.advance(5)
  const { status, attempt_count: attempts } = await p.sdk.webhooks.retrieveEvent(id)
  assert.deepEqual([status, attempts], ['DELIVERED', 2])
})

test('a test of an endpoint of a merchant or a partner is of its first branch, and one of a branch of that branch', async (t) => {
  const p = await testing(t)
  const people = await everybody(p)
  const branches = await sql<{ id: string; merchant_id: string; path: string[] }>(
    p.kaha.db,
    `select id, merchant_id, array[partner_id, merchant_id, id] as path from identity.entities where level = 'branch' order by id`,
  )
  for (const owner of Object.values(people)) {
    const first = branches.find(({ path }) => path.includes(owner.id))
    const { id } = await p.endpoint(`?${owner.id}`, p.as(owner.key))
    const { json } = await p.tryOut(id, 'payment.expired', owner.key)
    assert.deepEqual([json.branch_id, json.merchant_id], [first?.id, first?.merchant_id])
  }
})

test('a test of an endpoint whose entity has no branch, or that is DISABLED, is 409', async (t) => {
  const p = await testing(t)
  const merchant = await createMerchant(p.kaha.db, p.seed.partner.id, 'Nobody yet', p.kaha.clock.now())
  const { secretKey } = await keyFor(p, merchant)
  const empty = await p.endpoint('?empty', p.as(secretKey))
  assertRefused('/v1/', await p.tryOut(empty.id, 'payment.succeeded', secretKey), 409, 'CONFLICT')

  const { id } = await p.endpoint()
  await sql(p.kaha.db, `update delivery.lanes set state = 'PAUSED'`)
  // It was paused in the very moment: nothing of the test is left.
  assertRefused('/v1/', await p.tryOut(id), 409, 'CONFLICT')
  assert.deepEqual(await sql(p.kaha.db, 'select * from delivery.events'), [])
  await sql(p.kaha.db, `update delivery.destinations set state = 'DISABLED'`)
  assertRefused('/v1/', await p.tryOut(id), 409, 'CONFLICT')
  await p.idle()
  assert.equal(p.receiver.received.length, 0)
})

test('a test needs a type that exists and an endpoint that is the caller’s', async (t) => {
  const p = await testing(t)
  const people = await everybody(p)
  const { id } = await p.endpoint()
  for (const type of ['', 'payment', 'PAYMENT.FAILED', 5, null, ['payment.failed']]) {
    assertRefused('/v1/', await p.tryOut(id, type), 400, 'INVALID_TYPE')
  }
  assertRefused('/v1/', await p.tryOut(id, 'payment.failed', people.branch.key), 403, 'FORBIDDEN')
  assertRefused('/v1/', await p.tryOut(people.branch.id), 404, 'NOT_FOUND')
})
