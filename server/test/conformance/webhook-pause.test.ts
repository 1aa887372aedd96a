import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, test, type TestContext } from 'node:test'
import { cards, platform } from '../platform.ts'
import { startReceiver, type Received } from '../receiver.ts'
import { sql } from '../sql.ts'
import { until } from '../until.ts'

// Area A: what a pause, a resume and a deletion mean for deliveries.

const failing = (_request: Received, response: ServerResponse) => void response.writeHead(500).end()
const willing = (_request: Received, response: ServerResponse) => void response.writeHead(204).end()
const types = ['payment.succeeded', 'payment.declined'] as const
const hour = 3_600

const whole = await platform({ after }, { choices: { delivery: { random: () => 0 } } })
const branch = whole.as(whole.branch.secret_key)

/** The platform with no endpoint but those that the test makes, and nothing received. */
function eventful(t: TestContext) {
  const p = whole
  p.receiver.received.length = 0
  p.receiver.answer = willing
  t.after(async () => {
    for await (const { id } of p.sdk.webhooks.listAllEndpoints()) await p.sdk.webhooks.deleteEndpoint(id)
  })
  return {
    ...p,
    ...p.sdk.webhooks,
    endpoint: (url = p.receiver.url) => p.sdk.webhooks.createEndpoint({ url, enabled_events: [...types] }),
    /** A payment whose event waits for a retry, at the endpoints that fail. */
    async event(card: string = cards.approved) {
      await p.pay({ card })
      const { data } = await branch.webhooks.listEvents()
      assert.ok(data[0] !== undefined)
      return data[0]
    },
    pause: (id: string) => p.sdk.webhooks.updateEndpoint(id, { disabled: true }),
    resume: (id: string) => p.sdk.webhooks.updateEndpoint(id, { disabled: false }),
    /** Pays and does not wait for what is held in flight. */
    async happen() {
      const intent = await branch.paymentIntents.create({ amount: 100, currency: 'PHP' })
      const card = { number: cards.approved, exp_month: 12, exp_year: 2060, cvc: '123' }
      await branch.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card } })
    },
    newest: async () => (await branch.webhooks.listEvents()).data[0],
  }
}

const idsOf = (received: readonly Received[]): string[] => received.map(({ headers }) => String(headers['webhook-id']))

test('[A2.pause.waits, A2.pause.resume, A2.update.disabled-true, A2.update.disabled-false] what was queued before a pause waits however long it lasts, and goes out on the resume', async (t) => {
  const p = eventful(t)
  const { id } = await p.endpoint()
  p.receiver.answer = failing
  const events = [await p.event(), await p.event(cards.declined)]
  await p.pause(id)
  p.receiver.answer = willing
  await p.advance(24 * hour)
  assert.equal(p.receiver.received.length, 2)
  for (const event of events) assert.equal((await p.retrieveEvent(event.id)).status, 'SUBMITTED')

  await p.resume(id)
  await p.idle()
  assert.deepEqual(idsOf(p.receiver.received.slice(2)).toSorted(), events.map((event) => event.id).toSorted())
  for (const event of events) {
    const { status, attempt_count: attempts } = await p.retrieveEvent(event.id)
    assert.deepEqual([status, attempts], ['DELIVERED', 2])
  }
})

test('[A2.pause.not-subscribed, A2.sent.enabled] events that happen during a pause are NOT_SUBSCRIBED for the endpoint, listed, and sent to the others', async (t) => {
  const p = eventful(t)
  const { id } = await p.endpoint()
  await p.pause(id)
  const missed = await p.event()
  assert.equal(missed.status, 'NOT_SUBSCRIBED')
  const other = await p.endpoint(`${p.receiver.url}?other`)
  const shared = await p.event()
  assert.deepEqual(
    (await p.retrieveEvent(shared.id)).deliveries.map((one) => one.endpoint_id),
    [other.id],
  )
  await p.resume(id)
  await p.advance(24 * hour)
  assert.deepEqual(
    p.receiver.received.map(({ path, headers }) => [path, headers['webhook-id']]),
    [['/hook?other', shared.id]],
  )
  assert.equal((await p.event()).status, 'DELIVERED')
  assert.equal(p.receiver.received.length, 3)
})

test('an attempt that was in flight at the pause counts, and its retry waits', async (t) => {
  const p = eventful(t)
  const { id } = await p.endpoint()
  const held: ServerResponse[] = []
  p.receiver.answer = (_request, response) => void held.push(response)
  await p.happen()
  await until('the attempt', () => held.length === 1)
  await p.pause(id)
  held[0]?.writeHead(500).end()
  await until('its result', async () => (await p.newest())?.attempt_count === 1)
  p.receiver.answer = willing
  await p.advance(hour)
  assert.equal(p.receiver.received.length, 1)
  assert.equal((await p.newest())?.status, 'SUBMITTED')
  await p.resume(id)
  await p.idle()
  assert.deepEqual([p.receiver.received.length, (await p.newest())?.status], [2, 'DELIVERED'])
})

test('a pause that comes and goes leaves the retries of an endpoint at their times', async (t) => {
  const p = eventful(t)
  const { id } = await p.endpoint()
  p.receiver.answer = failing
  const event = await p.event()
  await p.pause(id)
  await p.resume(id)
  await p.idle()
  assert.equal(p.receiver.received.length, 1)
  const { next_attempt_at: next } = await p.retrieveEvent(event.id)
  assert.equal(next, event.next_attempt_at)
  await p.kaha.sandboxClock.advance(new Date(next ?? ''))
  assert.equal(p.receiver.received.length, 2)
})

test('A2.update.url: a new url counts for what is queued already, paused or not', async (t) => {
  const p = eventful(t)
  await using moved = await startReceiver()
  const { id } = await p.endpoint()
  p.receiver.answer = failing
  const first = await p.event()
  await p.updateEndpoint(id, { url: moved.url })
  await p.advance(6)
  assert.deepEqual(idsOf(moved.received), [first.id])

  moved.answer = failing
  const second = await p.event()
  await p.updateEndpoint(id, { url: p.receiver.url, disabled: true })
  p.receiver.answer = willing
  await p.advance(6)
  await p.resume(id)
  await p.idle()
  assert.deepEqual(idsOf(p.receiver.received), [first.id, second.id])
  assert.equal((await p.retrieveEvent(second.id)).status, 'DELIVERED')
})

test('A2.update.events: a new set of types counts for events from then on, and not for what is queued', async (t) => {
  const p = eventful(t)
  const { id } = await p.endpoint()
  p.receiver.answer = failing
  const queued = await p.event(cards.declined)
  await p.updateEndpoint(id, { enabled_events: ['payment.succeeded'] })
  p.receiver.answer = willing
  const later = await p.event(cards.declined)
  const wanted = await p.event()
  assert.equal(later.status, 'NOT_SUBSCRIBED')
  await p.advance(6)
  assert.deepEqual(idsOf(p.receiver.received), [queued.id, wanted.id, queued.id])
})

test('[A2.delete.deliveries, A2.events.state.submitted-deleted] a deletion closes what is queued: nothing is sent any more, and the event is EXHAUSTED whatever the others acknowledged', async (t) => {
  const p = eventful(t)
  await using good = await startReceiver()
  const other = await p.endpoint(good.url)
  const { id } = await p.endpoint()
  p.receiver.answer = failing
  const event = await p.event()
  assert.equal((await p.retrieveEvent(event.id)).status, 'SUBMITTED')
  assert.deepEqual(await p.deleteEndpoint(id), { id, deleted: true })
  await p.idle()

  const { status, deliveries, next_attempt_at: next } = await p.retrieveEvent(event.id)
  assert.deepEqual([status, next], ['EXHAUSTED', null])
  const states = new Map(deliveries.map((one) => [one.endpoint_id, `${one.status} after ${one.attempt_count}`]))
  assert.equal(states.size, 2)
  assert.deepEqual([states.get(id), states.get(other.id)], ['CLOSED after 1', 'DELIVERED after 1'])
  assert.equal((await p.event()).status, 'DELIVERED')
  await p.advance(24 * hour)
  assert.equal(p.receiver.received.length, 1)
  assert.equal(good.received.length, 2)
})

test('[A2.delete.deliveries] a deletion closes what waits behind a pause as well', async (t) => {
  const p = eventful(t)
  const { id } = await p.endpoint()
  p.receiver.answer = failing
  const event = await p.event()
  await p.pause(id)
  await p.deleteEndpoint(id)
  await p.idle()
  assert.equal((await p.retrieveEvent(event.id)).status, 'EXHAUSTED')
  await p.advance(24 * hour)
  assert.equal(p.receiver.received.length, 1)
})

for (const [answer, status] of [
  [204, 'DELIVERED'],
  [500, 'EXHAUSTED'],
] as const) {
  test(`an attempt that was in flight at the deletion and ends with ${answer} leaves its event ${status}, and is the last`, async (t) => {
    const p = eventful(t)
    const { id } = await p.endpoint()
    const held: ServerResponse[] = []
    p.receiver.answer = (_request, response) => void held.push(response)
    await p.happen()
    await until('the attempt', () => held.length === 1)
    await p.deleteEndpoint(id)
    held[0]?.writeHead(answer).end()
    await until('its result', async () => (await p.newest())?.attempt_count === 1)
    await p.advance(24 * hour)
    assert.deepEqual([(await p.newest())?.status, p.receiver.received.length], [status, 1])
  })
}

test('A2.endpoint.disabled: an endpoint that we disabled tells why and when until it is resumed, and then gets events again', async (t) => {
  const p = eventful(t)
  const { id } = await p.endpoint()
  p.receiver.answer = failing
  const queued = await p.event()
  p.receiver.answer = (_request, response) => void response.writeHead(410).end()
  await p.event()
  const gone = await p.retrieveEndpoint(id)
  assert.deepEqual([gone.status, gone.disabled_reason], ['DISABLED', 'The endpoint answered 410: it is gone.'])
  assert.equal(gone.disabled_at, gone.updated_at)
  assert.equal((await p.retrieveEvent(queued.id)).status, 'EXHAUSTED')
  // A pause says nothing new.
  const { updated_at: _when, ...paused } = await p.pause(id)
  const { updated_at: _before, ...before } = gone
  assert.deepEqual(paused, before)
  const told = p.logged.filter((line) => line.includes('an endpoint is disabled') && line.includes(id))
  assert.deepEqual(
    told.map((line) => JSON.parse(line)).map(({ level, cause, owner_id: owner }) => [level, cause, owner]),
    [[40, 'gone', p.merchant.id]],
  )

  p.receiver.answer = willing
  const resumed = await p.resume(id)
  assert.deepEqual([resumed.status, resumed.disabled_reason, resumed.disabled_at], ['ENABLED', null, null])
  await p.advance(24 * hour)
  assert.equal(p.receiver.received.length, 2)
  assert.equal((await p.event()).status, 'DELIVERED')
  assert.equal(p.receiver.received.length, 3)
})

test('a resume, and a new url, begin anew to count how long an endpoint has only failed', async (t) => {
  const p = eventful(t)
  const { id } = await p.endpoint()
  const failingSince = async () => {
    const [lane] = await sql<{ failing_since: Date | null }>(
      p.kaha.db,
      'select failing_since from delivery.lanes where destination_id = $1',
      [id],
    )
    return lane?.failing_since ?? null
  }
  p.receiver.answer = failing
  const changes = [
    () => p.updateEndpoint(id, { url: `${p.receiver.url}?new` }),
    async () => {
      await p.pause(id)
      assert.notEqual(await failingSince(), null)
      await p.resume(id)
    },
  ]
  for (const change of changes) {
    await p.event()
    assert.notEqual(await failingSince(), null)
    await change()
    assert.equal(await failingSince(), null)
  }
  // To say of an ENABLED endpoint that it is not disabled is no resume, and to name the url that it has is no new one.
  await p.event()
  await p.resume(id)
  assert.notEqual(await failingSince(), null)
  await p.updateEndpoint(id, { url: `${p.receiver.url}?new` })
  assert.notEqual(await failingSince(), null)
})
