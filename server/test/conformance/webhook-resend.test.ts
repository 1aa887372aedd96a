import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { cards, platform, type PlatformOptions } from '../platform.ts'
import type { Received } from '../receiver.ts'
import { sql } from '../sql.ts'
import { until } from '../until.ts'
import { assertRefused, call } from './call.ts'
import { everybody } from './people.ts'
import { basic } from './qr-account.ts'

// Area A: sending an event again.

async function eventful(t: Parameters<typeof platform>[0], options: PlatformOptions = {}) {
  const p = await platform(t, { choices: { delivery: { random: () => 0 } }, ...options })
  const branch = p.as(p.branch.secret_key)
  return {
    ...p,
    endpoint: (path = '', owner = p.sdk) =>
      owner.webhooks.createEndpoint({ url: `${p.receiver.url}${path}`, enabled_events: ['payment.succeeded'] }),
    /** Pays, and finds the event of it. */
    async event(card: string = cards.approved) {
      const paid = await p.pay({ card })
      const found = (await branch.webhooks.listEvents()).data.find((one) => one.payment_intent_id === paid.id)
      assert.ok(found !== undefined)
      return found
    },
    resend: (id: string, body: object = {}, key = p.merchant.secret_key) =>
      call(p.url, { method: 'POST', path: `/v1/webhook_events/${id}/resend`, key, body }),
    status: async (id: string) => (await p.sdk.webhooks.retrieveEvent(id)).status,
    sql: (text: string) => sql(p.kaha.db, text),
  }
}

const headersOf = ({ headers }: Received | undefined = { path: '', headers: {}, body: '' }) => ({
  'webhook-id': String(headers['webhook-id']),
  'webhook-timestamp': String(headers['webhook-timestamp']),
  'webhook-signature': String(headers['webhook-signature']),
})

test('[A2.resend.accepted, A2.resend.same-id, A2.events.state.delivered-resent] a resend is 202 with the event, SUBMITTED again, and carries the id and the bytes of the first under a new timestamp and signature', async (t) => {
  let aheadMs = 0
  const p = await eventful(t, { choices: { wall: () => Date.now() + aheadMs } })
  const endpoint = await p.endpoint()
  const event = await p.event()
  assert.equal(event.status, 'DELIVERED')
  aheadMs = 3_000
  const answer = await p.resend(event.id)
  assert.equal(answer.status, 202)
  const { updated_at: updatedAt, next_attempt_at: nextAttemptAt, ...rest } = answer.json
  const { updated_at: _, next_attempt_at: __, ...before } = event
  assert.deepEqual(rest, { ...before, status: 'SUBMITTED', delivered_at: null })
  assert.ok(updatedAt > event.updated_at && nextAttemptAt > event.created_at)
  await p.idle()

  const [first, second, ...more] = p.receiver.received
  assert.equal(more.length, 0)
  assert.deepEqual([second?.body, headersOf(second)['webhook-id']], [first?.body, event.id])
  assert.ok(Number(headersOf(second)['webhook-timestamp']) >= Number(headersOf(first)['webhook-timestamp']) + 3)
  assert.notEqual(headersOf(second)['webhook-signature'], headersOf(first)['webhook-signature'])
  const { signing_secret: secret } = await p.sdk.webhooks.retrieveSigningSecret(endpoint.id)
  for (const one of [first, second]) new Webhook(secret).verify(one?.body ?? '', headersOf(one))

  const after = await p.sdk.webhooks.retrieveEvent(event.id)
  assert.deepEqual([after.status, after.attempt_count], ['DELIVERED', 2])
  assert.deepEqual(
    after.deliveries.map(({ attempts }) => attempts.map(({ number, status }) => [number, status])),
    [
      [
        [2, 204],
        [1, 204],
      ],
    ],
  )
})

test('A2.events.state.exhausted-resent: an EXHAUSTED event that is resent is SUBMITTED, with the whole schedule before it', async (t) => {
  const p = await eventful(t)
  await p.endpoint()
  p.receiver.answer = (_request, response) => response.writeHead(500).end()
  const event = await p.event()
  await p.advance(95 * 3_600)
  assert.equal(await p.status(event.id), 'EXHAUSTED')
  assert.equal((await p.resend(event.id)).json.status, 'SUBMITTED')
  await p.idle()
  const again = await p.sdk.webhooks.retrieveEvent(event.id)
  const [delivery] = again.deliveries
  assert.deepEqual([again.status, delivery?.attempt_count, delivery?.attempts[0]?.number], ['SUBMITTED', 11, 11])
  const startedAt = Date.parse(delivery?.attempts[0]?.started_at ?? '')
  assert.equal(delivery?.next_attempt_at, new Date(startedAt + 5_000).toISOString())
  p.receiver.answer = (_request, response) => response.writeHead(200).end()
  await p.advance(5)
  assert.equal(await p.status(event.id), 'DELIVERED')
})

test('[A2.events.state.not-subscribed-resent, A2.resend.one-endpoint] a NOT_SUBSCRIBED event goes to the endpoint that is named, whatever that subscribes to, and to no other', async (t) => {
  const p = await eventful(t)
  const named = await p.endpoint('?named')
  await p.sdk.webhooks.createEndpoint({ url: `${p.receiver.url}?failures`, enabled_events: ['payment.failed'] })
  const event = await p.event(cards.declined)
  assert.equal(event.status, 'NOT_SUBSCRIBED')
  assertRefused('/v1/webhook_events', await p.resend(event.id), 409, 'CONFLICT')
  assert.equal((await p.resend(event.id, { endpoint_id: named.id.toUpperCase() })).json.status, 'SUBMITTED')
  await p.idle()
  assert.deepEqual(
    p.receiver.received.map(({ path, headers }) => [path, headers['webhook-id']]),
    [['/hook?named', event.id]],
  )
  assert.equal(await p.status(event.id), 'DELIVERED')
})

test('a resend that names nobody goes to whoever subscribes now', async (t) => {
  const p = await eventful(t)
  const event = await p.event()
  await p.endpoint('?late')
  await p.sdk.webhooks.createEndpoint({ url: `${p.receiver.url}?other`, enabled_events: ['payment.expired'] })
  await p.endpoint('?above', p.as(p.seed.partner.secret_key))
  assert.equal((await p.resend(event.id, {}, p.seed.partner.secret_key)).status, 202)
  await p.idle()
  assert.deepEqual(p.receiver.received.map(({ path }) => path).toSorted(), ['/hook?above', '/hook?late'])
})

test('a resend may come without a body', async (t) => {
  const p = await eventful(t)
  await p.endpoint()
  const event = await p.event()
  const path = `/v1/webhook_events/${event.id}/resend`
  const answer = await call(p.url, { method: 'POST', path, key: p.merchant.secret_key })
  assert.deepEqual([answer.status, answer.json.status], [202, 'SUBMITTED'])
})

test('a key resends to the endpoints that it sees, and to none above it', async (t) => {
  const p = await eventful(t)
  const people = await everybody(p)
  const above = await p.endpoint('?above')
  const event = await p.event()
  assert.equal(p.receiver.received.length, 1)
  assertRefused('/v1/', await p.resend(event.id, {}, people.branch.key), 409, 'CONFLICT')
  const named = await p.resend(event.id, { endpoint_id: above.id }, people.branch.key)
  assertRefused('/v1/', named, 404, 'NOT_FOUND')
  await p.endpoint('?own', p.as(people.branch.key))
  assert.equal((await p.resend(event.id, {}, people.branch.key)).status, 202)
  await p.idle()
  assert.deepEqual(
    p.receiver.received.map(({ path }) => path),
    ['/hook?above', '/hook?own'],
  )
})

test('A2.events.state.submitted-resent: a waiting retry is replaced by an attempt now, and does not come at its own time', async (t) => {
  const p = await eventful(t)
  await p.endpoint()
  p.receiver.answer = (_request, response) => response.writeHead(500).end()
  const event = await p.event()
  await p.advance(5)
  await p.advance(300)
  assert.equal(p.receiver.received.length, 3)
  const before = await p.sdk.webhooks.retrieveEvent(event.id)
  assert.equal((await p.resend(event.id)).json.status, 'SUBMITTED')
  await p.idle()
  assert.equal(p.receiver.received.length, 4)
  const [delivery] = (await p.sdk.webhooks.retrieveEvent(event.id)).deliveries
  assert.deepEqual([delivery?.status, delivery?.attempt_count, delivery?.attempts[0]?.number], ['PENDING', 4, 4])
  // The schedule begins anew, in the dispatch that goes on.
  const startedAt = Date.parse(delivery?.attempts[0]?.started_at ?? '')
  assert.equal(delivery?.next_attempt_at, new Date(startedAt + 5_000).toISOString())
  assert.equal(delivery?.dispatched_at, before.deliveries[0]?.dispatched_at)

  p.receiver.answer = (_request, response) => response.writeHead(200).end()
  await p.advance(5)
  assert.equal(p.receiver.received.length, 5)
  // The retry that was replaced was due half an hour after the third attempt.
  await p.advance(2 * 3_600)
  assert.equal(p.receiver.received.length, 5)
  assert.equal(await p.status(event.id), 'DELIVERED')
})

test('an attempt in flight counts as the resend: nothing is sent twice, and its answer is what counts', async (t) => {
  const p = await eventful(t)
  const { id: endpoint_id } = await p.endpoint()
  const held: ServerResponse[] = []
  p.receiver.answer = (_request, response) => void held.push(response)
  const branch = p.as(p.branch.secret_key)
  const intent = await branch.paymentIntents.create({ amount: 100, currency: 'PHP' })
  const card = { number: cards.approved, exp_month: 12, exp_year: 2060, cvc: '123' }
  await branch.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card } })
  await until('an attempt in flight', () => held.length === 1)
  const [event] = (await branch.webhooks.listEvents()).data
  assert.ok(event !== undefined)
  for (const body of [{}, { endpoint_id }, {}]) {
    const answer = await p.resend(event.id, body)
    assert.deepEqual([answer.status, answer.json.status, answer.json.attempt_count], [202, 'SUBMITTED', 0])
  }
  held[0]?.writeHead(200).end()
  await p.idle()
  await p.advance(60)
  assert.equal(p.receiver.received.length, 1)
  const after = await p.sdk.webhooks.retrieveEvent(event.id)
  assert.deepEqual([after.status, after.attempt_count], ['DELIVERED', 1])
})

test('A2.events.state.latest: the status tells of the latest dispatch, and a resend joins one that goes on', async (t) => {
  const p = await eventful(t)
  const good = await p.endpoint('?good')
  const bad = await p.endpoint('?bad')
  let badStatus = 500
  p.receiver.answer = ({ path }, response) => void response.writeHead(path.endsWith('bad') ? badStatus : 200).end()
  const event = await p.event()
  await p.advance(95 * 3_600)
  assert.equal(await p.status(event.id), 'EXHAUSTED')

  await p.resend(event.id, { endpoint_id: good.id })
  await p.idle()
  assert.equal(await p.status(event.id), 'DELIVERED')

  // To one that fails, and while that goes on to one that does not: one dispatch, which fails in part.
  await p.resend(event.id, { endpoint_id: bad.id })
  await p.idle()
  await p.resend(event.id, { endpoint_id: good.id })
  await p.idle()
  assert.equal(await p.status(event.id), 'SUBMITTED')
  await p.advance(20 * 3_600)
  assert.equal(await p.status(event.id), 'SUBMITTED')
  const { deliveries } = await p.sdk.webhooks.retrieveEvent(event.id)
  assert.equal(new Set(deliveries.map(({ dispatched_at }) => dispatched_at)).size, 1)
  badStatus = 200
  await p.advance(20 * 3_600)
  assert.equal(await p.status(event.id), 'DELIVERED')
})

test('A2.resend.too-early: a resend of an event that is PENDING, SUBMITTING or SUBMIT_FAILED is 409', async (t) => {
  const p = await eventful(t, { settings: { KAHA_ROLES: 'api' } })
  await p.endpoint()
  const branch = p.as(p.branch.secret_key)
  const intent = await branch.paymentIntents.create({ amount: 100, currency: 'PHP' })
  const card = { number: cards.approved, exp_month: 12, exp_year: 2060, cvc: '123' }
  await branch.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card } })
  const [event] = (await branch.webhooks.listEvents()).data
  for (const status of ['PENDING', 'SUBMITTING', 'SUBMIT_FAILED']) {
    await p.sql(`update delivery.outbox set status = '${status}'`)
    assertRefused('/v1/', await p.resend(event?.id ?? ''), 409, 'CONFLICT')
    assert.equal(await p.status(event?.id ?? ''), status)
  }
  assert.deepEqual(await p.sql('select * from delivery.queue'), [])
})

test('[A2.resend.endpoint-deleted, A2.resend.endpoint-disabled, A2.resend.endpoint-foreign] a resend to a deleted or a DISABLED endpoint is 409, to one of another entity 404, and none of them is sent anything', async (t) => {
  const p = await eventful(t)
  const people = await everybody(p)
  const endpoint = await p.endpoint()
  const event = await p.event()
  p.receiver.received.length = 0
  const refused = async (endpoint_id: string | undefined, status: number, code: string, key?: string) =>
    assertRefused('/v1/', await p.resend(event.id, endpoint_id === undefined ? {} : { endpoint_id }, key), status, code)

  const { id: beside } = await p.endpoint('?beside', p.as(people.otherBranch.key))
  const { id: foreign } = await p.endpoint('?foreign', p.as(people.otherPartner.key))
  for (const id of [beside, foreign, event.id, '0198f5a2-7c1e-7d3a-9b1f-2a6f0c9d4e11']) {
    await refused(id, 404, 'NOT_FOUND')
    await refused(id, 404, 'NOT_FOUND', people.partner.key)
  }
  for (const malformed of ['x', '', 5, null, [endpoint.id]]) {
    assertRefused('/v1/', await p.resend(event.id, { endpoint_id: malformed }), 400, 'BAD_REQUEST')
  }
  await p.sdk.webhooks.updateEndpoint(endpoint.id, { disabled: true })
  await refused(endpoint.id, 409, 'CONFLICT')
  await refused(undefined, 409, 'CONFLICT')
  await p.sdk.webhooks.deleteEndpoint(endpoint.id)
  await refused(endpoint.id, 409, 'CONFLICT')
  await refused(undefined, 409, 'CONFLICT')
  await refused(endpoint.id, 404, 'NOT_FOUND', people.branch.key)
  await p.idle()
  assert.equal(p.receiver.received.length, 0)
  assert.equal(await p.status(event.id), 'DELIVERED')
})

test('a resend to a webhook of the QR service is 404, and it is sent nothing', async (t) => {
  const p = await eventful(t)
  const event = await p.event()
  const headers = { authorization: basic(p.merchant.secret_key) }
  const body = { webhookUrl: p.receiver.url, actions: ['QRPH_SUCCESS'], status: 'ENABLED' }
  assert.equal((await call(p.url, { method: 'POST', path: '/webhooks/v1/webhooks', headers, body })).status, 201)
  const [webhook] = await sql<{ id: string }>(p.kaha.db, 'select id from delivery.destinations')
  assert.ok(webhook)
  assertRefused('/v1/', await p.resend(event.id, { endpoint_id: webhook.id }), 404, 'NOT_FOUND')
  await p.idle()
  assert.equal(p.receiver.received.length, 0)
  assert.equal(await p.status(event.id), event.status)
})
