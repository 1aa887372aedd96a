import assert from 'node:assert/strict'
import { test } from 'node:test'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { result, shopOf } from '../till.ts'
import { assertRefused, call } from './call.ts'
import { everybody, keyFor, sees } from './people.ts'
import { bankOf, qrAccount } from './qr-account.ts'

// Area A: one event with its deliveries and their attempts.

const enabled_events = ['payment.succeeded'] as const

async function eventful(t: Parameters<typeof platform>[0]) {
  const p = await platform(t, { choices: { delivery: { random: () => 0 } } })
  const branch = p.as(p.branch.secret_key)
  return {
    ...p,
    endpoint: (path = '', owner = p.sdk) =>
      owner.webhooks.createEndpoint({ url: `${p.receiver.url}${path}`, enabled_events: [...enabled_events] }),
    /** Pays, and finds the event of it. */
    async event() {
      await p.pay()
      const [event] = (await branch.webhooks.listEvents()).data
      assert.ok(event !== undefined)
      return event
    },
  }
}

test('A2.event.retrieve: an event that failed twice and then arrived tells what was sent and what came back, each time', async (t) => {
  const p = await eventful(t)
  const endpoint = await p.endpoint('?shop')
  const html = '<!doctype html><script>alert("ñ ☕")</script>\u0000\u001b[31m'
  const answers = [
    [500, { 'content-type': 'text/html' }, html],
    [503, {}, 'x'.repeat(20_000)],
    [200, {}, ''],
  ] as const
  p.receiver.answer = (_request, response) => {
    const [status, headers, body] = answers[p.receiver.received.length - 1] ?? answers[2]
    response.writeHead(status, headers).end(body)
  }
  const listed = await p.event()
  const path = `/v1/webhook_events/${listed.id}`
  const waiting = (await call(p.url, { path, key: p.branch.secret_key })).json
  assert.deepEqual([waiting.status, waiting.deliveries.length], ['SUBMITTED', 0])

  const between = await p.sdk.webhooks.retrieveEvent(listed.id)
  const [open] = between.deliveries
  assert.deepEqual(
    [open?.status, open?.attempt_count, open?.ended_at, open?.attempts.map(({ number }) => number)],
    ['PENDING', 1, null, [1]],
  )
  assert.equal(open?.next_attempt_at, between.next_attempt_at)
  assert.ok((open?.next_attempt_at ?? '') > (open?.dispatched_at ?? '~'))

  await p.advance(5)
  await p.advance(300)
  const answer = await call(p.url, { path, key: p.merchant.secret_key })
  assert.equal(answer.status, 200)
  assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
  const { test: isTest, payload, deliveries, ...event } = answer.json
  assert.deepEqual({ ...event }, (await p.sdk.webhooks.listEvents({ branch_id: p.branch.id })).data[0])
  assert.deepEqual(
    [isTest, payload, event.status, event.attempt_count],
    [false, p.receiver.received[0]?.body, 'DELIVERED', 3],
  )
  assert.equal(JSON.parse(payload).id, listed.id)

  assert.equal(deliveries.length, 1)
  const { attempts, dispatched_at: dispatchedAt, ended_at: endedAt, ...delivery } = deliveries[0]
  assert.deepEqual(delivery, {
    endpoint_id: endpoint.id,
    url: endpoint.url,
    status: 'DELIVERED',
    attempt_count: 3,
    next_attempt_at: null,
  })
  assert.ok(event.created_at <= dispatchedAt && dispatchedAt < endedAt && endedAt === event.delivered_at)
  const shown = attempts.map(({ started_at, duration_ms, request_headers, ...rest }: Record<string, unknown>) => {
    assert.ok(String(started_at) > event.created_at && Number(duration_ms) >= 0)
    return [request_headers, rest]
  })
  const failed = { error_class: null, error_message: null, owner: 'destination' }
  const expected = [
    { number: 3, status: 200, error_class: null, error_message: null, owner: null, response_body: '' },
    { number: 2, status: 503, ...failed, response_body: 'x'.repeat(16_384) },
    { number: 1, status: 500, ...failed, response_body: html.replace('\u0000', '\ufffd').replace('\u001b', '\ufffd') },
  ]
  const sent = p.receiver.received.toReversed().map(({ headers }) => ({
    'content-type': 'application/json',
    'webhook-id': listed.id,
    'webhook-timestamp': headers['webhook-timestamp'],
    'webhook-signature': headers['webhook-signature'],
  }))
  assert.deepEqual(
    shown,
    expected.map((one, index) => [sent[index], one]),
  )
  const { signing_secret: secret } = await p.sdk.webhooks.retrieveSigningSecret(endpoint.id)
  assert.ok(!answer.text.includes(secret) && !answer.text.includes(secret.slice('whsec_'.length)))
})

test('an attempt that nobody answered says why in a word and in a sentence', async (t) => {
  const p = await eventful(t)
  await p.sdk.webhooks.createEndpoint({ url: 'http://127.0.0.1:9/nobody', enabled_events: [...enabled_events] })
  const [delivery] = (await p.sdk.webhooks.retrieveEvent((await p.event()).id)).deliveries
  const { status, error_class, error_message, owner, response_body } = delivery?.attempts[0] ?? {}
  assert.deepEqual([status, error_class, owner, response_body], [null, 'connect', 'destination', null])
  assert.match(error_message ?? '', /could not be reached/)
})

test('a key sees the deliveries to endpoints of its own entity and below, and of those above nothing but the count of attempts', async (t) => {
  const p = await eventful(t)
  const people = await everybody(p)
  const owners = [people.partner, people.merchant, people.branch]
  const endpoints: string[] = []
  for (const [index, owner] of owners.entries()) {
    endpoints.push((await p.endpoint(`?private-${index}`, p.as(owner.key))).id)
  }
  const event = await p.event()
  for (const [index, owner] of owners.entries()) {
    const answer = await call(p.url, { path: `/v1/webhook_events/${event.id}`, key: owner.key })
    const ids = answer.json.deliveries.map((one: { endpoint_id: string }) => one.endpoint_id)
    assert.deepEqual(ids.toSorted(), endpoints.slice(index).toSorted())
    for (const above of endpoints.slice(0, index).keys()) assert.ok(!answer.text.includes(`private-${above}`))
    assert.equal(answer.json.attempt_count, 3)
  }
})

test('[A2.event.retrieve-unknown, I1.foreign.webhooks] an event is 200 for its entity and those above, 403 for everybody else, and 404 where there is none', async (t) => {
  const p = await eventful(t)
  const people = await everybody(p)
  const { id } = await p.event()
  for (const caller of Object.values(people)) {
    for (const [method, path, body] of [
      ['GET', `/v1/webhook_events/${id}`, undefined],
      ['POST', `/v1/webhook_events/${id}/resend`, {}],
    ] as const) {
      const answer = await call(p.url, { method, path, key: caller.key, body })
      if (!sees(caller, people.branch)) {
        assertRefused(path, answer, 403, 'FORBIDDEN')
        assert.ok(!answer.text.includes(people.branch.id))
      } else if (method === 'GET') assert.equal(answer.status, 200)
      else assertRefused(path, answer, 409, 'CONFLICT')
    }
  }
  for (const nobodys of [
    '0198f5a2-7c1e-7d3a-9b1f-2a6f0c9d4e11',
    people.branch.id,
    '00000000-0000-0000-0000-000000000000',
  ]) {
    const path = `/v1/webhook_events/${nobodys}`
    assertRefused(path, await call(p.url, { path, key: p.branch.secret_key }), 404, 'NOT_FOUND')
  }
})

test('A2.event.retrieve-unknown: an event of a terminal or of a QR code is none of area A, neither to read nor to send again', async (t) => {
  const p = await platform(t)
  const shop = shopOf(p)
  t.after(() => shop[Symbol.asyncDispose]())
  const terminal = await shop.connect()
  const paying = shop.pay()
  terminal.send(result((await terminal.next('payment')).transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  const { qrText } = await qrAccount(p).made()
  assert.equal((await bankOf(p)({ qr_text: qrText, outcome: 'SUCCESS' })).status, 200)
  await p.idle()
  const events = await sql<{ id: string; dialect: string }>(
    p.kaha.db,
    'select id, dialect from delivery.events order by dialect',
  )
  assert.deepEqual(
    events.map(({ dialect }) => dialect),
    ['encrypted', 'terminal'],
  )
  const key = p.merchant.secret_key
  for (const { id } of events) {
    const path = `/v1/webhook_events/${id}`
    assertRefused(path, await call(p.url, { path, key }), 404, 'NOT_FOUND')
    const resending = { method: 'POST', path: `${path}/resend`, key, body: {} }
    assertRefused(path, await call(p.url, resending), 404, 'NOT_FOUND')
  }
})

test('an event outlives the endpoint that it was sent to, and still says where it went', async (t) => {
  const p = await eventful(t)
  const { id } = await p.endpoint('?gone')
  const event = await p.event()
  await p.sdk.webhooks.deleteEndpoint(id)
  const { deliveries } = await p.sdk.webhooks.retrieveEvent(event.id)
  assert.deepEqual(
    deliveries.map(({ endpoint_id, status }) => [endpoint_id, status]),
    [[id, 'DELIVERED']],
  )
})

test('reading an event takes the scope webhooks.read and no other', async (t) => {
  const p = await eventful(t)
  const { id } = await p.event()
  const merchant = { id: p.merchant.id, level: 'merchant' } as const
  const { secretKey: key } = await keyFor(p, merchant, { scopes: ['webhooks.write', 'webhooks.secret'] })
  const path = `/v1/webhook_events/${id}`
  assertRefused(path, await call(p.url, { path, key }), 403, 'FORBIDDEN')
})
