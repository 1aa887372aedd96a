import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { eventually } from '../../test/faults/eventually.ts'
import { startDeliveryRoom, type DeliveryRoom } from '../../test/delivery-room.ts'
import { heldLock } from '../../test/held-lock.ts'
import { startReceiver, type Receiver } from '../../test/receiver.ts'
import { signed } from './dialects.ts'
import { tenAttempts } from './schedule.ts'

const seconds = (count: number) => count * 1_000
const hours = (count: number) => seconds(count * 3_600)
const days = (count: number) => hours(count * 24)
const answering =
  (status: number, headers: Record<string, string> = {}) =>
  (_request: unknown, response: ServerResponse) =>
    void response.writeHead(status, headers).end('told')

const queue = (room: DeliveryRoom) =>
  room.query<{ attempt_no: number; setback_count: number; leased: boolean; waits: number }>(
    `select attempt_no, setback_count, lease_until is not null as leased,
            round(extract(epoch from run_at - kernel.now()))::integer as waits from delivery.queue order by id`,
  )

const destination = async (room: DeliveryRoom, id: string) =>
  (
    await room.query<{ state: string; disabled_reason: string | null; lane: string; slow: boolean; failing: boolean }>(
      `select d.state, d.disabled_reason, l.state as lane, l.slow, l.failing_since is not null as failing
         from delivery.destinations d join delivery.lanes l on l.destination_id = d.id where d.id = $1`,
      [id],
    )
  )[0]

const disabledIn = async (room: DeliveryRoom): Promise<string[]> =>
  [...(await room.metrics.registry.metrics()).matchAll(/^kaha_delivery_endpoints_disabled_total\{(.*)$/gm)].map(
    ([, series = '']) => series,
  )

test('A2.attempts.schedule, A2.events.state.submitted-exhausted: a receiver that always fails gets ten attempts on schedule, and then the event is EXHAUSTED', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  receiver.answer = answering(500)
  room.work()
  await room.happen()
  await room.sandboxClock.idle()
  assert.deepEqual(await room.statuses(), { SUBMITTED: 1 })

  await room.sandboxClock.advanceBy(days(5))
  assert.equal(receiver.received.length, 10)
  assert.deepEqual(await room.statuses(), { EXHAUSTED: 1 })
  assert.equal((await room.events())[0]?.attempt_count, 10)
  assert.equal((await room.events())[0]?.next_attempt_at, null)

  const made = await room.query<{ number: number; started_at: Date; status: number; owner: string; answer: string }>(
    'select * from delivery.attempts order by started_at',
  )
  assert.deepEqual(
    made.map(({ number }) => number),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  )
  assert.ok(made.every(({ status, owner, answer }) => status === 500 && owner === 'destination' && answer === 'told'))
  for (const [index, waitMs] of tenAttempts.waitsMs.entries()) {
    const waitedMs = (made[index + 1]?.started_at.getTime() ?? 0) - (made[index]?.started_at.getTime() ?? 0)
    assert.ok(waitedMs >= waitMs && waitedMs < waitMs * 1.2, `attempt ${index + 2} came after ${waitedMs} ms`)
  }
})

test('A2.events.state.submitted-delivered: an event is DELIVERED when each of its endpoints has acknowledged it, and none gets it twice', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  for (const path of ['/a', '/b', '/c']) await room.endpoint(new URL(path, receiver.url).href)
  let failures = 1
  receiver.answer = (request, response) => response.writeHead(request.path === '/b' && failures-- > 0 ? 503 : 200).end()
  room.work()
  await room.happen()
  await room.sandboxClock.idle()
  assert.deepEqual(await room.statuses(), { SUBMITTED: 1 })
  await room.sandboxClock.advanceBy(seconds(6))
  assert.deepEqual(await room.statuses(), { DELIVERED: 1 })
  assert.equal((await room.events())[0]?.attempt_count, 4)
  assert.deepEqual(receiver.received.map(({ path }) => path).toSorted(), ['/a', '/b', '/b', '/c'])
  assert.deepEqual(await queue(room), [])
})

test('one endpoint that used up its attempts makes the event EXHAUSTED, though another has acknowledged it', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  await room.endpoint(new URL('/dead', receiver.url).href)
  receiver.answer = (request, response) => response.writeHead(request.path === '/dead' ? 500 : 200).end()
  room.work()
  await room.happen()
  await room.sandboxClock.advanceBy(days(4))
  assert.deepEqual(await room.statuses(), { EXHAUSTED: 1 })
  const ended = await room.query('select state, attempt_count from delivery.deliveries order by attempt_count')
  assert.deepEqual(ended, [
    { state: 'DELIVERED', attempt_count: 1 },
    { state: 'EXHAUSTED', attempt_count: 10 },
  ])
})

test('A2.attempts.gone, A2.attempts.disabled-closes, A2.events.state.submitted-disabled: an endpoint that answers 410 is disabled at once with the reason, and what else was queued for it is closed', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  const { id } = await room.endpoint(receiver.url)
  room.work()
  receiver.answer = answering(500)
  await room.happen(5)
  await room.sandboxClock.idle()
  assert.deepEqual(await room.statuses(), { SUBMITTED: 5 })

  receiver.answer = answering(410)
  await room.happen(1)
  await room.sandboxClock.idle()
  const found = await destination(room, id)
  assert.deepEqual([found?.state, found?.lane], ['DISABLED', 'CLOSED'])
  assert.match(found?.disabled_reason ?? '', /410/)
  assert.deepEqual(await disabledIn(room), ['cause="gone"} 1', 'cause="failing"} 0'])
  assert.deepEqual(await room.statuses(), { EXHAUSTED: 6 })
  assert.deepEqual(await queue(room), [])

  await room.happen(1)
  await room.sandboxClock.idle()
  assert.equal(receiver.received.length, 6)
  assert.deepEqual(await room.statuses(), { EXHAUSTED: 6, NOT_SUBSCRIBED: 1 })
})

test('A2.attempts.gone: a 410 disables its endpoint also where another failure of it is stored in the same moment', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  const other = await room.endpoint(new URL('/other', receiver.url).href)
  const { id } = await room.endpoint(new URL('/gone', receiver.url).href)
  const [others, gone]: [ServerResponse[], ServerResponse[]] = [[], []]
  receiver.answer = (request, response) => void (request.path === '/other' ? others : gone).push(response)
  room.work()
  await room.happen(2)
  await eventually(() => others.length === 2 && gone.length === 2)
  const ended = (outcome: string, count: number) =>
    eventually(async () =>
      (await room.metrics.registry.metrics()).includes(
        `kaha_delivery_attempts_total{outcome="${outcome}",owner="destination"} ${count}\n`,
      ),
    )
  // While one result waits for its lane, those that come are one batch.
  const lane = `select from delivery.lanes where destination_id = '${other.id}' for update`
  const release = await heldLock(room.db, lane)
  others[0]?.writeHead(500).end()
  await ended('failed', 1)
  gone[0]?.writeHead(410).end()
  await ended('gone', 1)
  gone[1]?.writeHead(500).end()
  await ended('failed', 2)
  receiver.answer = answering(200)
  await release()
  others[1]?.writeHead(200).end()
  await room.sandboxClock.idle()
  const found = await destination(room, id)
  assert.deepEqual([found?.state, found?.lane], ['DISABLED', 'CLOSED'])
  assert.match(found?.disabled_reason ?? '', /410/)
})

test('a 410 of an address that was changed meanwhile disables nothing, and its event goes to the new one', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  const { id } = await room.endpoint(new URL('/old', receiver.url).href)
  const url = new URL('/new', receiver.url).href
  const answers: (() => void)[] = []
  receiver.answer = (_request, response) => void answers.push(() => response.writeHead(410).end())
  room.work()
  await room.happen(3)
  await eventually(() => answers.length === 3)
  const change = { url, types: null, description: null, metadata: null, disabled: null }
  await room.delivery.destinations.change(room.branch, id, change)

  receiver.answer = answering(200)
  for (const answer of answers) answer()
  await room.sandboxClock.advanceBy(seconds(6))
  assert.deepEqual(await room.statuses(), { DELIVERED: 3 })
  assert.equal(countOf(receiver, '/new'), 3)
  const found = await destination(room, id)
  assert.deepEqual([found?.state, found?.disabled_reason, found?.lane], ['ENABLED', null, 'OPEN'])
})

test('a failure of an address that was changed meanwhile does not begin the five days of the new one', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  const { id } = await room.endpoint(new URL('/old', receiver.url).href)
  const answers: (() => void)[] = []
  receiver.answer = (_request, response) => void answers.push(() => response.writeHead(500).end())
  room.work()
  await room.happen()
  await eventually(() => answers.length === 1)
  const change = {
    url: new URL('/new', receiver.url).href,
    types: null,
    description: null,
    metadata: null,
    disabled: null,
  }
  await room.delivery.destinations.change(room.branch, id, change)
  const failing = async () => {
    const rows = await room.query<{ attempts: number; failing: boolean }>(
      `select (select count(*)::integer from delivery.attempts) as attempts, l.failing_since is not null as failing from delivery.lanes l`,
    )
    return rows[0]
  }
  answers.shift()?.()
  await eventually(async () => (await failing())?.attempts === 1)
  assert.deepEqual(await failing(), { attempts: 1, failing: false })

  receiver.answer = answering(500)
  await room.sandboxClock.advanceBy(seconds(6))
  assert.equal(countOf(receiver, '/new'), 1)
  assert.deepEqual(await failing(), { attempts: 2, failing: true })
})

test('A2.attempts.five-days: an endpoint that has only failed for 5 days is disabled with the reason, and one that answered once in between is not', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  const dead = await room.endpoint(new URL('/dead', receiver.url).href)
  const shaky = await room.endpoint(new URL('/shaky', receiver.url).href)
  let shakyFails = true
  receiver.answer = (request, response) => response.writeHead(request.path === '/dead' || shakyFails ? 500 : 200).end()
  room.work()
  await room.happen()
  await room.sandboxClock.advanceBy(days(3))
  shakyFails = false
  await room.happen()
  await room.sandboxClock.idle()
  shakyFails = true
  await room.sandboxClock.advanceBy(days(2) + hours(1))
  await room.happen()
  await room.sandboxClock.idle()
  const [one, other] = [await destination(room, dead.id), await destination(room, shaky.id)]
  assert.deepEqual([one?.state, one?.lane], ['DISABLED', 'CLOSED'])
  assert.match(one?.disabled_reason ?? '', /Every attempt since \d{4}-/)
  assert.deepEqual(await disabledIn(room), ['cause="gone"} 0', 'cause="failing"} 1'])
  assert.deepEqual([other?.state, other?.lane, other?.failing], ['ENABLED', 'OPEN', true])
})

test('A2.attempts.retry-after: a Retry-After is waited for, up to twice the scheduled wait', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  room.work()
  for (const [asked, waits] of [
    ['8', 8],
    ['3600', 10],
    ['1', 5],
  ] as const) {
    receiver.answer = answering(429, { 'retry-after': asked })
    await room.happen()
    await room.sandboxClock.idle()
    assert.ok(Math.abs(((await queue(room)).at(-1)?.waits ?? 0) - waits) <= 1)
    receiver.answer = answering(200)
    await room.sandboxClock.advanceBy(seconds(11))
  }
})

test('A2.attempts.ours: a failure of ours spends no attempt, is repeated with back-off, and the event is delivered when it is over', async () => {
  let broken = true
  const prepare: typeof signed.prepare = (outgoing) => {
    if (broken) throw new Error('the sealed secret cannot be opened')
    return signed.prepare(outgoing)
  }
  await using room = await startDeliveryRoom({ random: () => 0, dialects: { signed: { ...signed, prepare } } })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  room.work()
  await room.happen()
  await room.sandboxClock.idle()
  assert.deepEqual(await queue(room), [{ attempt_no: 0, setback_count: 1, leased: false, waits: 1 }])
  await room.sandboxClock.advanceBy(seconds(4))
  assert.equal((await queue(room))[0]?.attempt_no, 0)
  assert.equal((await queue(room))[0]?.setback_count, 3)
  assert.deepEqual(await room.query('select * from delivery.attempts'), [])
  assert.match(
    await room.metrics.registry.metrics(),
    /kaha_delivery_attempts_total\{outcome="setback",owner="ours"\} 3/,
  )

  broken = false
  await room.sandboxClock.advanceBy(seconds(60))
  assert.deepEqual(await room.statuses(), { DELIVERED: 1 })
  assert.equal((await room.events())[0]?.attempt_count, 1)
})

test('an endpoint that hangs holds its own slots and no more: another gets its events meanwhile', async () => {
  await using room = await startDeliveryRoom({ perDestinationMax: 8, inHandMax: 32, drainMsMax: 20 })
  await using receiver = await startReceiver()
  await room.endpoint(new URL('/hangs', receiver.url).href)
  await room.endpoint(new URL('/answers', receiver.url).href, room.merchant)
  receiver.answer = (request, response) => void (request.path === '/hangs' || response.writeHead(200).end())
  const worker = room.work()
  const events = await room.happen(100)
  await eventually(() => countOf(receiver, '/answers') === events.length)
  // Nothing has timed out: the deadline is 15 s, and the slots of the one were never the other's.
  const hanging = countOf(receiver, '/hangs')
  assert.ok(hanging > 0 && hanging <= 8, `${hanging} attempts hang`)

  // What is cut off by a stop is given back: due at once, for any worker, and nothing spent.
  await worker[Symbol.asyncDispose]()
  const left = await queue(room)
  assert.equal(left.length, events.length)
  assert.ok(left.every(({ leased, attempt_no }) => !leased && attempt_no === 0))
  receiver.answer = answering(200)
  room.work()
  await room.sandboxClock.idle()
  assert.deepEqual(await room.statuses(), { DELIVERED: events.length })
})

test('a stop waits for attempts in flight and stores their results', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  let answer: (() => void) | undefined
  receiver.answer = (_request, response) => (answer = () => response.writeHead(200).end())
  const worker = room.work()
  await room.happen()
  await eventually(() => answer !== undefined)
  const stopped = worker[Symbol.asyncDispose]()
  answer?.()
  await stopped
  assert.deepEqual(await room.statuses(), { DELIVERED: 1 })
})

test('a destination that fails is slow until it answers, so that it shares its slots with others like it', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  const { id } = await room.endpoint(receiver.url)
  room.work()
  const mood = async () => {
    const found = await destination(room, id)
    return [found?.slow, found?.failing]
  }
  assert.deepEqual(await mood(), [false, false])
  receiver.answer = answering(500)
  await room.happen()
  await room.sandboxClock.idle()
  assert.deepEqual(await mood(), [true, true])
  receiver.answer = answering(200)
  await room.sandboxClock.advanceBy(seconds(6))
  assert.deepEqual(await mood(), [false, false])
})

test('an attempt that takes longer than a lease keeps it, and is not repeated by another worker', async () => {
  await using room = await startDeliveryRoom({ leaseMs: 300 })
  await using second = await room.another()
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  let answer: (() => void) | undefined
  receiver.answer = (_request, response) => (answer = () => response.writeHead(200).end())
  room.work()
  second.work()
  await room.happen()
  await eventually(() => answer !== undefined)
  const leases = new Set<string>()
  await eventually(async () => {
    const [hand, ...none] = await room.query<{ until: string }>('select lease_until::text as until from delivery.hands')
    assert.ok(hand !== undefined && none.length === 0)
    return leases.add(hand.until).size === 5
  })
  answer?.()
  await room.sandboxClock.idle()
  assert.equal(receiver.received.length, 1)
  assert.deepEqual(await room.statuses(), { DELIVERED: 1 })
})

test('two workers on one database deliver each event once', async () => {
  await using room = await startDeliveryRoom()
  await using second = await room.another()
  await using receiver = await startReceiver()
  for (const path of ['/a', '/b', '/c', '/d']) await room.endpoint(new URL(path, receiver.url).href)
  room.work()
  second.work()
  for (let batch = 0; batch < 5; batch += 1) await room.happen(50)
  await room.sandboxClock.idle()
  assert.deepEqual(await room.statuses(), { DELIVERED: 250 })
  const seen = receiver.received.map(({ path, headers }) => `${path} ${String(headers['webhook-id'])}`)
  assert.equal(seen.length, 1_000)
  assert.equal(new Set(seen).size, 1_000)
})

const countOf = (receiver: Receiver, path: string) => receiver.received.filter((one) => one.path === path).length
