import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDeliveryRoom, type DeliveryRoom } from '../../test/delivery-room.ts'
import { startReceiver } from '../../test/receiver.ts'
import type { Db } from '../kernel/db.ts'
import { largestId, newId, smallestId } from '../kernel/ids.ts'
import { createEvents } from './events.ts'
import { claimStore } from './store-claim.ts'
import type { EventRecord } from './store-event-detail.ts'
import { settleStore } from './store-settle.ts'

const ever = { from: smallestId, before: largestId }
const one = { rowsMax: 10, full: [], busy: [], quickRoom: 10, slowRoom: 10, slowLanesMax: 10 }
const nobody = 'http://127.0.0.1:9/hook'

const eventOf = async (room: DeliveryRoom, id: string | undefined): Promise<EventRecord> => {
  const event = await room.delivery.events.find(room.branch, id ?? '')
  assert.ok(event !== undefined)
  return event
}

/** Has an event dispatched, and nothing of it sent. */
async function dispatched(room: DeliveryRoom): Promise<EventRecord> {
  const worker = room.work()
  const [event] = await room.happen()
  await room.sandboxClock.idle()
  await worker[Symbol.asyncDispose]()
  return eventOf(room, event?.id)
}

interface QueueRow {
  readonly fence: number
  readonly attempt_no: number
  readonly attempts_before: number
  readonly leased: boolean
}

const queueOf = (room: DeliveryRoom) =>
  room.query<QueueRow>(
    'select fence, attempt_no, attempts_before, lease_until is not null as leased from delivery.queue',
  )

/** Branches in pages of one. */
const branchesAfter =
  (...branchIds: string[]) =>
  async (after: string) =>
    branchIds
      .toSorted()
      .filter((id) => id > after)
      .slice(0, 1)

test('of more destinations and attempts than an answer holds, the newest are told', async () => {
  await using room = await startDeliveryRoom()
  const [event] = await room.happen()
  await room.query('delete from delivery.outbox')
  for (let made = 0; made < 51; made += 1) await room.endpoint(`${nobody}/${made}`)
  await room.query(
    `insert into delivery.deliveries (event_id, destination_id, state, attempt_count, dispatched_at, ended_at)
     select $1, d.id, 'EXHAUSTED', 21, d.created_at, d.created_at from delivery.destinations d`,
    [event?.id],
  )
  await room.query(
    `insert into delivery.attempts (event_id, destination_id, number, started_at, duration_ms, status, owner, request_headers)
     select $1, d.id, n, d.created_at + n * interval '1 minute', 1, 500, 'destination', '{}'
       from delivery.destinations d cross join generate_series(1, 21) n`,
    [event?.id],
  )
  const [oldest] = await room.query<{ id: string }>(
    'select id from delivery.destinations order by created_at, id limit 1',
  )
  const detail = await room.delivery.events.detail(room.branch, event?.id ?? '')
  assert.equal(detail?.deliveries.length, 50)
  assert.ok(!detail.deliveries.some(({ destination_id }) => destination_id === oldest?.id))
  for (const { attempts } of detail.deliveries) {
    assert.deepEqual(
      attempts.map(({ number }) => number),
      Array.from({ length: 20 }, (_, index) => 21 - index),
    )
  }
})

test('a resend leaves a delivery that somebody holds as it is, and takes it from a worker whose lease ran out', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  await room.endpoint(nobody)
  const event = await dispatched(room)
  // Its first attempt failed: a retry waits.
  assert.deepEqual(await queueOf(room), [{ fence: 0, attempt_no: 1, attempts_before: 0, leased: false }])
  await room.query('update delivery.destinations set url = $1', [receiver.url])
  await room.query('update delivery.queue set run_at = kernel.now()')
  await room.query('update delivery.lanes set look_at = kernel.now()')

  const held = await claimStore.claimDue(room.workDb, { ...one, leaseMs: 15_000 })
  assert.equal(held.deliveries.length, 1)
  const inForce = [{ fence: 1, attempt_no: 1, attempts_before: 0, leased: true }]
  assert.deepEqual(await queueOf(room), inForce)
  const answer = await room.delivery.events.resend(room.branch, event)
  assert.ok('status' in answer && answer.status === 'SUBMITTED')
  assert.deepEqual(await queueOf(room), inForce)

  await room.query('update delivery.queue set lease_until = clock_timestamp()')
  await room.delivery.events.resend(room.branch, event)
  assert.deepEqual(await queueOf(room), [{ fence: 1, attempt_no: 0, attempts_before: 1, leased: false }])
  const [late] = held.deliveries
  assert.ok(late !== undefined)
  const end = { held: late, end: 'DELIVERED', runAt: null, attempt: null } as const
  assert.equal((await settleStore.settle(room.workDb, [end], [])).lost.length, 1)

  room.work()
  await room.sandboxClock.idle()
  assert.equal(receiver.received.length, 1)
  const detail = await room.delivery.events.detail(room.branch, event.id)
  assert.deepEqual([detail?.event.status, detail?.event.attempt_count], ['DELIVERED', 2])
  assert.deepEqual(
    detail?.deliveries[0]?.attempts.map(({ number }) => number),
    [2, 1],
  )
})

test('however many resend an event at once, it is sent once for them all', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  await room.endpoint(`${receiver.url}/above`, room.merchant)
  const event = await dispatched(room)
  receiver.received.length = 0
  await Promise.all(Array.from({ length: 40 }, () => room.delivery.events.resend(room.merchant, event)))
  assert.equal((await queueOf(room)).length, 2)
  room.work()
  await room.sandboxClock.idle()
  assert.equal(receiver.received.length, 2)
})

test('resends in the midst of deliveries lose nothing, and every attempt has a number of its own', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  for (const path of ['a', 'b', 'c']) await room.endpoint(new URL(path, receiver.url).href)
  // Every third answer is a failure.
  receiver.answer = (_request, response) =>
    void response.writeHead(receiver.received.length % 3 === 0 ? 500 : 200).end()
  room.work()
  const events = await room.happen(30)
  await room.sandboxClock.idle()
  for (let round = 0; round < 5; round += 1) {
    const records = await Promise.all(events.map(({ id }) => eventOf(room, id)))
    const resent = await Promise.all(records.map((event) => room.delivery.events.resend(room.branch, event)))
    for (const answer of resent) assert.ok('status' in answer)
  }
  await room.sandboxClock.idle()
  receiver.answer = (_request, response) => void response.writeHead(200).end()
  await room.sandboxClock.advanceBy(3_600_000)

  assert.deepEqual(await queueOf(room), [])
  assert.deepEqual(new Set((await room.events()).map(({ status }) => status)), new Set(['DELIVERED']))
  const [told] = await room.query<{ attempts: number; pairs: number; numbers: number; counted: number }>(
    `select count(*)::integer as attempts, count(distinct (event_id, destination_id))::integer as pairs,
            count(distinct (event_id, destination_id, number))::integer as numbers,
            (select sum(attempt_count)::integer from delivery.deliveries) as counted
       from delivery.attempts`,
  )
  const attempts = receiver.received.length
  assert.deepEqual(told, { attempts, pairs: 90, numbers: attempts, counted: attempts })
  const [last] = await room.query<{ most: boolean }>(
    `select bool_and(most = attempts) as most
       from (select max(number) as most, count(*) as attempts from delivery.attempts group by event_id, destination_id) a`,
  )
  assert.equal(last?.most, true)
})

test('a destination that is closed in the very moment takes no resend, no recovery and no test', async () => {
  await using room = await startDeliveryRoom()
  const endpoint = await room.endpoint(nobody)
  await room.happen(1, { type: 'payment.declined' })
  const worker = room.work()
  await room.sandboxClock.idle()
  await worker[Symbol.asyncDispose]()
  const [{ id } = { id: '' }] = await room.events()
  const event = await eventOf(room, id)
  for (const state of ['PAUSED', 'CLOSING', 'CLOSED']) {
    await room.query('update delivery.lanes set state = $1', [state])
    const { events } = room.delivery
    assert.deepEqual(await events.resend(room.branch, event, endpoint.id), { refusal: 'disabled' })
    assert.deepEqual(await events.resend(room.branch, event), { refusal: 'nowhere' })
    const all = { ...endpoint, types: ['payment.declined'] }
    assert.equal(await events.recover(all, ever, branchesAfter(room.branch.entityId)), 0)
    const { partnerId, merchantId, branchId } = room.branch
    const made = { type: 'x', partnerId, merchantId: merchantId ?? '', branchId: branchId ?? '', write: () => '{}' }
    assert.deepEqual(await events.sendTest(room.branch, endpoint, made), { refusal: 'disabled' })
  }
  assert.deepEqual(await queueOf(room), [])
  assert.equal((await room.events()).length, 1)
})

test('A2.recover.missed: 2,500 events of several branches that an endpoint missed reach it once each, two recoveries at once or not', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  const branches = [room.branch.entityId, newId(room.clock.now()), newId(room.clock.now())]
  const worker = room.work()
  const happened: string[] = []
  for (const [index, count] of [1_700, 5, 795].entries()) {
    const events = await room.happen(count, { branchId: branches[index] ?? '' })
    happened.push(...events.map(({ id }) => id))
  }
  await room.sandboxClock.idle()
  await worker[Symbol.asyncDispose]()
  const endpoint = await room.endpoint(receiver.url, room.merchant)
  const recover = () => room.delivery.events.recover(endpoint, ever, branchesAfter(...branches))
  const [first, second] = await Promise.all([recover(), recover()])
  assert.equal(first + second, 2_500)
  assert.equal(await recover(), 0)
  room.work()
  await room.sandboxClock.idle()
  assert.equal(await recover(), 0)
  const received = receiver.received.map(({ headers }) => String(headers['webhook-id']))
  assert.deepEqual(received.toSorted(), happened.toSorted())
})

test('a recovery stops at its limits, and the next call goes on', async () => {
  await using room = await startDeliveryRoom()
  const branches = Array.from({ length: 4 }, () => newId(room.clock.now())).toSorted()
  for (const [index, count] of [9, 0, 7, 12].entries()) {
    if (count > 0) await room.happen(count, { branchId: branches[index] ?? '' })
  }
  await room.query('delete from delivery.outbox')
  const endpoint = await room.endpoint(nobody, room.merchant)
  const limited = (limits: { lookedAtOnceMax: number; lookedMax: number; queuedMax: number }) =>
    createEvents({ work: room.workDb, bus: room.bus, clock: room.clock, limits }).recover(
      endpoint,
      ever,
      async (after) => branches.filter((id) => id > after).slice(0, 3),
    )
  assert.equal(await limited({ lookedAtOnceMax: 3, lookedMax: 1_000, queuedMax: 10 }), 10)
  assert.equal(await limited({ lookedAtOnceMax: 7, lookedMax: 1_000, queuedMax: 5 }), 5)
  assert.equal(await limited({ lookedAtOnceMax: 4, lookedMax: 12, queuedMax: 100 }), 0)
  assert.equal(await limited({ lookedAtOnceMax: 1, lookedMax: 20, queuedMax: 100 }), 5)
  assert.equal(await limited({ lookedAtOnceMax: 28, lookedMax: 1_000, queuedMax: 100 }), 8)
  assert.equal((await queueOf(room)).length, 28)
})

test('a recovery that is cut off says so, though another has queued meanwhile what it had found', async () => {
  await using room = await startDeliveryRoom()
  const branch = newId(room.clock.now())
  await room.happen(9, { branchId: branch })
  await room.query('delete from delivery.outbox')
  const endpoint = await room.endpoint(nobody, room.merchant)
  const limits = { lookedAtOnceMax: 9, lookedMax: 1_000, queuedMax: 5 }
  const recover = (work: Db) =>
    createEvents({ work, bus: room.bus, clock: room.clock, limits }).recover(endpoint, ever, branchesAfter(branch))
  let others: number | undefined
  const run: Db['run'] = async (statement, values) => {
    if (statement.name === 'delivery.queueMissed' && others === undefined) others = await recover(room.workDb)
    return room.workDb.run(statement, values)
  }
  assert.deepEqual([await recover({ ...room.workDb, run }), others], [5, 5])
  assert.equal(await recover(room.workDb), 4)
  assert.equal((await queueOf(room)).length, 9)
})

test('a recovery finds its events by index, whatever a lane has in front of it', async () => {
  await using room = await startDeliveryRoom()
  const endpoint = await room.endpoint(nobody)
  // The plan is made while nothing is there, and kept.
  await room.query('analyze')
  await room.happen(2_000)
  await room.query('delete from delivery.outbox')
  const recover = () => room.delivery.events.recover(endpoint, ever, branchesAfter(room.branch.entityId))
  assert.equal(await recover(), 2_000)
  await room.query('select pg_stat_reset()')
  assert.equal(await recover(), 0)
  await room.query('select pg_stat_force_next_flush()')
  const read = await room.query<{ rows: number }>(
    `select coalesce(sum(idx_tup_read), 0)::integer as rows from pg_stat_user_indexes
      where schemaname = 'delivery' and relname = 'queue'`,
  )
  assert.ok((read[0]?.rows ?? Infinity) <= 4_000, `${read[0]?.rows} rows of the queue were read for 2,000 events`)
})
