import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heldLock } from '../held-lock.ts'
import { cards, platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { until } from '../until.ts'
import { assertRefused, call } from './call.ts'
import { everybody, type Tenant } from './people.ts'

// Area A: what an endpoint missed, sent after all.

const long = '2020-01-01T00:00:00Z'
const endpointTypes = ['payment.succeeded', 'payment.declined'] as const

async function eventful(t: Parameters<typeof platform>[0]) {
  const p = await platform(t, { choices: { delivery: { random: () => 0 } } })
  return {
    ...p,
    endpoint: (path = '', owner = p.sdk) =>
      owner.webhooks.createEndpoint({ url: `${p.receiver.url}${path}`, enabled_events: [...endpointTypes] }),
    /** Pays as often as cards are given, and finds the events, oldest first. */
    async events(...numbers: string[]) {
      for (const card of numbers) await p.pay({ card })
      const { data } = await p.as(p.branch.secret_key).webhooks.listEvents()
      return data.slice(0, numbers.length).toReversed()
    },
    recover: (id: string, body: object = { date_from: long }, key = p.merchant.secret_key) =>
      call(p.url, { method: 'POST', path: `/v1/webhook_endpoints/${id}/recover`, key, body }),
    status: async (id: string) => (await p.sdk.webhooks.retrieveEvent(id)).status,
    received: () => p.receiver.received.map(({ headers }) => String(headers['webhook-id'])),
    pause: (id: string, paused: boolean) => p.sdk.webhooks.updateEndpoint(id, { disabled: paused }),
  }
}

test('[A2.recover.accepted, A2.recover.missed, A2.pause.recover, A2.recover.until-now] events that happened while an endpoint was paused are recovered, once, and each as it was', async (t) => {
  const p = await eventful(t)
  const { id } = await p.endpoint()
  const [before] = await p.events(cards.approved)
  await p.pause(id, true)
  const missed = await p.events(cards.approved, cards.declined, cards.approved)
  // Of a type that it does not subscribe to.
  await p.events(cards.error)
  assert.deepEqual(
    missed.map(({ status }) => status),
    ['NOT_SUBSCRIBED', 'NOT_SUBSCRIBED', 'NOT_SUBSCRIBED'],
  )
  assertRefused('/v1/', await p.recover(id), 409, 'CONFLICT')
  await p.pause(id, false)
  await p.idle()
  assert.deepEqual(p.received(), [before?.id])

  const answer = await p.recover(id)
  assert.deepEqual([answer.status, answer.json], [202, { events: 3 }])
  await p.idle()
  assert.deepEqual(p.received().slice(1).toSorted(), missed.map((event) => event.id).toSorted())
  for (const event of missed) {
    const { status, payload, attempt_count: attempts } = await p.sdk.webhooks.retrieveEvent(event.id)
    assert.deepEqual([status, attempts], ['DELIVERED', 1])
    assert.equal(p.receiver.received.find(({ headers }) => headers['webhook-id'] === event.id)?.body, payload)
  }
  assert.deepEqual((await p.recover(id)).json, { events: 0 })
})

test('an endpoint that came late, or subscribes to more than before, is sent what happened before', async (t) => {
  const p = await eventful(t)
  const [first, second, third] = await p.events(cards.approved, cards.declined, cards.error)
  const { id } = await p.endpoint()
  assert.deepEqual((await p.recover(id)).json, { events: 2 })
  await p.idle()
  assert.deepEqual(p.received().toSorted(), [first, second].map((event) => String(event?.id)).toSorted())
  await p.sdk.webhooks.updateEndpoint(id, { enabled_events: ['payment.failed'] })
  assert.deepEqual((await p.recover(id)).json, { events: 1 })
  await p.idle()
  assert.deepEqual(p.received().slice(2), [third?.id])
})

test('what an endpoint used up all its attempts on is recovered, and what waits for a retry is left to it', async (t) => {
  const p = await eventful(t)
  const { id } = await p.endpoint('?bad')
  await p.endpoint('?good')
  p.receiver.answer = ({ path }, response) => void response.writeHead(path.endsWith('bad') ? 500 : 200).end()
  const [event] = await p.events(cards.approved)
  assert.deepEqual((await p.recover(id)).json, { events: 0 })
  await p.advance(95 * 3_600)
  assert.equal(await p.status(event?.id ?? ''), 'EXHAUSTED')
  p.receiver.answer = (_request, response) => void response.writeHead(200).end()
  assert.deepEqual((await p.recover(id)).json, { events: 1 })
  await p.idle()
  const after = await p.sdk.webhooks.retrieveEvent(event?.id ?? '')
  assert.deepEqual([after.status, after.attempt_count], ['DELIVERED', 12])
  assert.equal(p.receiver.received.filter(({ path }) => path.endsWith('good')).length, 1)
  assert.deepEqual((await p.recover(id)).json, { events: 0 })
})

const shifted = (time: string | undefined, ms: number) => new Date(Date.parse(time ?? '') + ms).toISOString()

test('A2.recover.missed: date_from and date_to are inclusive, to the millisecond', async (t) => {
  const p = await eventful(t)
  const [first, second, third] = await p.events(cards.approved, cards.approved, cards.approved)
  const { id } = await p.endpoint()
  const ranges = [
    [shifted(third?.created_at, 1), undefined, 0],
    [long, shifted(first?.created_at, -1), 0],
    [second?.created_at, second?.created_at, 1],
    [shifted(second?.created_at, -1), shifted(second?.created_at, 1), 0],
    [long, first?.created_at, 1],
    [third?.created_at, undefined, 1],
  ] as const
  for (const [date_from, date_to, events] of ranges) {
    const range = date_to === undefined ? { date_from } : { date_from, date_to }
    assert.deepEqual((await p.recover(id, range)).json, { events }, JSON.stringify(range))
  }
  await p.idle()
  assert.equal(new Set(p.received()).size, 3)
})

test('a range that ends before it begins, or has no beginning, is refused', async (t) => {
  const p = await eventful(t)
  const { id } = await p.endpoint()
  for (const range of [{}, { date_to: long }]) assertRefused('/v1/', await p.recover(id, range), 400, 'BAD_REQUEST')
  const ranges = [
    { date_from: '2026-01-01' },
    { date_from: null },
    { date_from: long, date_to: '' },
    { date_from: '2026-01-01T00:00:00.001Z', date_to: '2026-01-01T00:00:00Z' },
  ]
  for (const range of ranges) assertRefused('/v1/', await p.recover(id, range), 400, 'INVALID_DATE_RANGE')
  assertRefused('/v1/', await p.recover(id, { date_from: long, limit: 5 }), 400, 'BAD_REQUEST')
})

test('an endpoint recovers the events of its entity and of everything under it, and of nobody else', async (t) => {
  const p = await eventful(t)
  const people = await everybody(p)
  const branches = [people.branch, people.otherBranch, people.otherMerchantsBranch, people.otherPartnersBranch]
  const eventOf = new Map<unknown, string>()
  for (const branch of branches) {
    const intent = await p.as(branch.key).paymentIntents.create({ amount: 100, currency: 'PHP' })
    const card = { number: cards.approved, exp_month: 12, exp_year: 2060, cvc: '123' }
    await p.as(branch.key).paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card } })
    await p.idle()
    eventOf.set(branch, (await p.as(branch.key).webhooks.listEvents()).data[0]?.id ?? '')
  }
  const expected = [
    [people.branch, [people.branch]],
    [people.merchant, [people.branch, people.otherBranch]],
    [people.partner, [people.branch, people.otherBranch, people.otherMerchantsBranch]],
    [people.otherPartnersMerchant, [people.otherPartnersBranch]],
    [people.otherMerchant, [people.otherMerchantsBranch]],
  ] as const
  for (const [owner, seen] of expected) {
    const { id } = await p.endpoint(`?${owner.id}`, p.as(owner.key))
    assert.deepEqual((await p.recover(id, { date_from: long }, owner.key)).json, { events: seen.length })
    await p.idle()
    const got = p.receiver.received
      .filter(({ path }) => path.endsWith(owner.id))
      .map(({ headers }) => String(headers['webhook-id']))
    assert.deepEqual(got.toSorted(), seen.map((branch) => String(eventOf.get(branch))).toSorted())
  }
  // Of the endpoint's entity, also where somebody above it asks.
  const { id } = await p.endpoint('?asked-from-above', p.as(people.branch.key))
  for (const events of [1, 0])
    assert.deepEqual((await p.recover(id, { date_from: long }, people.partner.key)).json, { events })
  await p.idle()
  assert.deepEqual(
    p.receiver.received
      .filter(({ path }) => path.endsWith('asked-from-above'))
      .map(({ headers }) => headers['webhook-id']),
    [eventOf.get(people.branch)],
  )
})

test('[A2.events.state.not-subscribed-resent, A2.events.state.exhausted-resent] an event that is recovered is SUBMITTED until it has arrived', async (t) => {
  const p = await eventful(t)
  const [event] = await p.events(cards.approved)
  const { id } = await p.endpoint()
  p.receiver.answer = (_request, response) => void response.writeHead(500).end()
  await p.recover(id)
  await p.idle()
  assert.equal(await p.status(event?.id ?? ''), 'SUBMITTED')
  await p.advance(95 * 3_600)
  assert.equal(await p.status(event?.id ?? ''), 'EXHAUSTED')
  await p.recover(id)
  await p.idle()
  assert.equal(await p.status(event?.id ?? ''), 'SUBMITTED')
})

test('[I1.foreign.webhooks] an endpoint of another entity is 403, one that is deleted or never was is 404', async (t) => {
  const p = await eventful(t)
  const people = await everybody(p)
  const { id } = await p.endpoint()
  for (const caller of [people.branch, people.otherMerchant, people.otherPartner]) {
    assertRefused('/v1/', await p.recover(id, { date_from: long }, caller.key), 403, 'FORBIDDEN')
  }
  await p.sdk.webhooks.deleteEndpoint(id)
  for (const gone of [id, people.branch.id]) assertRefused('/v1/', await p.recover(gone), 404, 'NOT_FOUND')
})

test('events that are not dispatched yet, and tests, are left out', async (t) => {
  const p = await eventful(t)
  await p.endpoint()
  p.receiver.answer = (_request, response) => void response.writeHead(410).end()
  const [event] = await p.events(cards.approved)
  await p.idle()
  assert.equal(await p.status(event?.id ?? ''), 'EXHAUSTED')
  const other = await p.endpoint('?other')
  p.receiver.answer = (_request, response) => void response.writeHead(200).end()
  const tested = await p.sdk.webhooks.testEndpoint(other.id, { type: 'payment.succeeded' })
  await p.idle()
  await sql(
    p.kaha.db,
    `insert into delivery.outbox (event_id, dialect, type, partner_id, merchant_id, branch_id, run_at, created_at, updated_at)
     select id, dialect, type, partner_id, merchant_id, branch_id, 'infinity', created_at, created_at from delivery.events where not test`,
  )
  assert.deepEqual((await p.recover(other.id)).json, { events: 0 })
  await sql(p.kaha.db, 'delete from delivery.outbox')
  const third = await p.endpoint('?third')
  assert.deepEqual((await p.recover(third.id)).json, { events: 1 })
  await p.idle()
  assert.equal(p.received().filter((one) => one === tested.id).length, 1)
})

test('[A2.recover.at-once] a second recovery of an endpoint, a third of a merchant and its branches and a fifth in all are 429 with Retry-After', async (t) => {
  const p = await eventful(t)
  const { merchant, branch, otherMerchant, otherPartner } = await everybody(p)
  const endpoint = async ({ key }: Tenant, path: string) => ({ key, id: (await p.endpoint(path, p.as(key))).id })
  const recover = ({ key, id }: { key: string; id: string }) => p.recover(id, { date_from: long }, key)
  const [ofBranch, first, second] = [
    await endpoint(branch, '/branch'),
    await endpoint(merchant, '/1'),
    await endpoint(merchant, '/2'),
  ]
  const [third, fourth] = [await endpoint(otherMerchant, '/3'), await endpoint(otherMerchant, '/4')]
  const fifth = await endpoint(otherPartner, '/5')
  const release = await heldLock(p.kaha.db, 'lock table delivery.events')
  const waiting = (count: number) =>
    until(`${count} to wait`, async () => {
      const found = await sql<{ pid: number }>(
        p.kaha.db,
        "select pid from pg_locks where not granted and relation = 'delivery.events'::regclass",
      )
      return found.length >= count
    })
  const refuses = async (one: typeof first, message: RegExp) => {
    const refused = await recover(one)
    assertRefused('/v1/', refused, 429, 'RATE_LIMITED')
    assert.equal(refused.headers['retry-after'], '1')
    assert.match(refused.json.error.message, message)
  }
  const underWay: ReturnType<typeof recover>[] = []
  try {
    underWay.push(recover(ofBranch), recover(first))
    await waiting(2)
    await refuses(first, /^This endpoint/)
    await refuses(second, /of yours/)
    underWay.push(recover(third), recover(fourth))
    await waiting(4)
    await refuses(fifth, /at once/)
  } finally {
    await release()
  }
  for (const answer of await Promise.all(underWay)) assert.equal(answer.status, 202)
  for (const one of [ofBranch, first, second, third, fourth, fifth]) assert.equal((await recover(one)).status, 202)
})
