import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claim, startDeliveryRoom, type DeliveryRoom } from '../../test/delivery-room.ts'
import { eventually } from '../../test/faults/eventually.ts'
import { heldLock } from '../../test/held-lock.ts'
import { startReceiver } from '../../test/receiver.ts'
import type { ClaimedRow } from './store-claim.ts'
import { dispatchStore } from './store-dispatch.ts'
import { settleStore, type AttemptRow, type SettledDelivery } from './store-settle.ts'

const leaseMs = 15_000

/** Dispatches what there is, without a worker. */
async function dispatched(room: DeliveryRoom, count: number): Promise<void> {
  await room.happen(count)
  await dispatchStore.dispatchDue(room.workDb, count)
}

const attempt = (room: DeliveryRoom, fields: Partial<AttemptRow> = {}): AttemptRow => ({
  startedAt: room.clock.now(),
  durationMs: 3,
  status: 200,
  errorClass: null,
  errorMessage: null,
  owner: null,
  requestHeaders: { 'webhook-id': 'x' },
  answer: 'ok',
  ...fields,
})
const delivered = (room: DeliveryRoom, held: ClaimedRow): SettledDelivery => ({
  held,
  end: 'DELIVERED',
  runAt: null,
  attempt: attempt(room),
})

const statusesOf = async (room: DeliveryRoom) => (await room.events()).map(({ status }) => status)

// In this database alone: others stand in the same server.
const heldUp = `select from pg_locks l join pg_database d on d.oid = l.database where not l.granted and d.datname = current_database()`

test('a delivery whose worker died is repeated by another when its lease has run out, with no attempt spent', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  await dispatched(room, 3)
  const dead = await claim(room, { leaseMs: 1 })
  assert.deepEqual(
    dead.map(({ attempt_no, expired }) => [attempt_no, expired]),
    [
      [0, false],
      [0, false],
      [0, false],
    ],
  )

  room.work()
  await room.sandboxClock.idle()
  assert.equal(receiver.received.length, 3)
  assert.deepEqual(
    (await room.events()).map(({ status, attempt_count }) => [status, attempt_count]),
    [
      ['DELIVERED', 1],
      ['DELIVERED', 1],
      ['DELIVERED', 1],
    ],
  )
  assert.match(await room.metrics.registry.metrics(), /kaha_delivery_lease_expiries_total 3/)
})

test('whoever comes after its lease can no longer settle; the owner of the next claim can', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint('http://127.0.0.1:9/hook')
  await dispatched(room, 1)
  const [late] = await claim(room, { leaseMs: 0 })
  const [owner] = await claim(room)
  assert.ok(late && owner)
  assert.equal(owner.expired, true)
  assert.equal(owner.fence, late.fence + 1)

  assert.equal((await settleStore.settle(room.workDb, [delivered(room, late)], [])).lost.length, 1)
  assert.deepEqual(await statusesOf(room), ['SUBMITTED'])
  assert.deepEqual(await room.query('select * from delivery.attempts'), [])
  assert.deepEqual(await settleStore.renew(room.workDb, [late], leaseMs), [])

  // The control: nothing but the fence refused it.
  const renamed = { ...late, fence: owner.fence }
  assert.deepEqual((await settleStore.settle(room.workDb, [delivered(room, renamed)], [])).lost, [])
  assert.deepEqual(await statusesOf(room), ['DELIVERED'])
  assert.deepEqual((await settleStore.settle(room.workDb, [delivered(room, owner)], [])).lost, [
    { id: owner.id, fence: owner.fence },
  ])
  assert.equal((await room.query('select * from delivery.attempts')).length, 1)
})

test('of results that are stored together, only those of deliveries that somebody else has taken are left out', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint('http://127.0.0.1:9/hook')
  await dispatched(room, 6)
  const rows = await claim(room)
  const taken = [rows[1], rows[4]].filter((row) => row !== undefined)
  for (const { id } of taken) await room.query('update delivery.queue set fence = fence + 1 where id = $1', [id])
  const names = taken.map(({ id, fence }) => ({ id, fence }))

  const ended = rows.slice(0, 3).map((row) => delivered(room, row))
  assert.deepEqual((await settleStore.settle(room.workDb, ended.toReversed(), [])).lost, names.slice(0, 1))
  const failed = attempt(room, { status: 500, owner: 'destination' })
  const runAt = new Date(room.clock.now().getTime() + 60_000)
  const waiting = rows.slice(3).map((held) => ({ held, end: null, runAt, attempt: failed }))
  assert.deepEqual((await settleStore.settle(room.workDb, waiting.toReversed(), [])).lost, names.slice(1))

  const attempts = await room.query<{ event_id: string }>('select event_id from delivery.attempts')
  const stored = [rows[0], rows[2], rows[3], rows[5]].map((row) => row?.event_id)
  assert.deepEqual(new Set(attempts.map(({ event_id }) => event_id)), new Set(stored))
  assert.equal(attempts.length, stored.length)
  const left = await room.query<{ id: bigint; attempt_no: number; lease_until: Date | null }>(
    'select id, attempt_no, lease_until from delivery.queue order by id',
  )
  assert.deepEqual(
    left.map(({ id, attempt_no, lease_until }) => [id, attempt_no, lease_until === null]),
    [
      [rows[1]?.id, 0, false],
      [rows[3]?.id, 1, true],
      [rows[4]?.id, 0, false],
      [rows[5]?.id, 1, true],
    ],
  )
})

test('a destination that one of the results stored together arrived at is not disabled by the others', async () => {
  await using room = await startDeliveryRoom()
  const { id: destinationId, url } = await room.endpoint('http://127.0.0.1:9/hook')
  await dispatched(room, 5)
  const [first, second, third, fourth, last] = await claim(room)
  assert.ok(first && second && third && fourth && last)
  const failed = attempt(room, { status: 500, owner: 'destination' })
  const given = (held: ClaimedRow): SettledDelivery => ({ held, end: 'EXHAUSTED', runAt: null, attempt: failed })
  const failing = { destinationId, url, slow: null, failingSince: room.clock.now(), disable: null }
  const disabling = { ...failing, disable: { reason: 'dead', failingBefore: room.clock.now() } }
  const state = async () =>
    (
      await room.query<{ state: string; failing: boolean }>(
        `select d.state, l.failing_since is not null as failing
         from delivery.destinations d join delivery.lanes l on l.destination_id = d.id`,
      )
    )[0]

  await settleStore.settle(room.workDb, [given(first)], [failing])
  assert.deepEqual(await state(), { state: 'ENABLED', failing: true })
  await settleStore.settle(room.workDb, [delivered(room, second), given(third)], [disabling])
  assert.deepEqual(await state(), { state: 'ENABLED', failing: false })

  // The control: nothing but what arrived kept it.
  await settleStore.settle(room.workDb, [given(fourth)], [failing])
  await settleStore.settle(room.workDb, [given(last)], [disabling])
  assert.deepEqual(await state(), { state: 'DISABLED', failing: true })
})

test('a claim is respected for 15 seconds at most, whatever becomes of business time', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint('http://127.0.0.1:9/hook')
  await dispatched(room, 1)
  const [held] = await claim(room)
  assert.ok(held)
  const left = async () => {
    const [row] = await room.query<{ left: number }>(
      'select extract(epoch from lease_until - clock_timestamp())::float8 as left from delivery.queue',
    )
    return row?.left ?? NaN
  }
  assert.ok((await left()) > 0 && (await left()) <= 15)
  await room.query(`select kernel.raise_clock_offset(86400000)`)
  assert.deepEqual(await claim(room), [])
  assert.equal((await settleStore.renew(room.workDb, [held], leaseMs)).length, 1)
  assert.ok((await left()) <= 15)
})

test('a lease that runs out while a worker looks is found by that look or by the next one, and no lease later', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint('http://127.0.0.1:9/hook')
  await dispatched(room, 1)
  await claim(room)
  for (let looks = 0; looks < 600; looks += 1) {
    await room.query(
      `with lane as (update delivery.lanes set look_at = '-infinity')
       update delivery.queue set lease_until = clock_timestamp() + $1 * interval '1 microsecond'`,
      [looks * 5],
    )
    if ((await claim(room)).length > 0) continue
    const [late] = await room.query<{ ms: number }>(
      `select extract(epoch from (l.look_at - kernel.now()) - (q.lease_until - clock_timestamp()))::float8 * 1000 as ms
         from delivery.lanes l cross join delivery.queue q`,
    )
    assert.ok(late !== undefined && late.ms < 1_000, `the next look is ${late?.ms} ms after the end of the lease`)
  }
})

test('what is given back is due at once, and its next claim has a new fence', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint('http://127.0.0.1:9/hook')
  await dispatched(room, 2)
  const [one, other] = await claim(room)
  assert.ok(one && other)
  assert.deepEqual(await claim(room), [])
  await settleStore.giveBack(room.workDb, [one])
  const [again, ...none] = await claim(room)
  assert.deepEqual(none, [])
  assert.deepEqual([again?.id, again?.fence, again?.attempt_no, again?.expired], [one.id, one.fence + 1, 0, false])
})

test('a claim takes no more of a destination than it may hold, and leaves out those that are full', async () => {
  await using room = await startDeliveryRoom()
  const one = await room.endpoint('http://127.0.0.1:9/one')
  const other = await room.endpoint('http://127.0.0.1:9/other')
  await dispatched(room, 30)
  const of = (rows: readonly ClaimedRow[], id: string) => rows.filter((row) => row.destination_id === id).length
  const first = await claim(room, { quickRoom: 5 })
  assert.deepEqual([of(first, one.id), of(first, other.id)], [5, 5])
  const second = await claim(room, { quickRoom: 5, full: [one.id], busy: [{ destinationId: other.id, room: 7 }] })
  assert.deepEqual([of(second, one.id), of(second, other.id)], [0, 7])
  const third = await claim(room, { rowsMax: 20 })
  assert.equal(third.length, 20)
  const rest = await claim(room)
  assert.equal(rest.length, 60 - 10 - 7 - 20)
  assert.deepEqual(await claim(room), [])
})

test('a claim waits for nobody: what another takes in the same moment is left to that one', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint('http://127.0.0.1:9/hook')
  await dispatched(room, 4)
  const ids = (await room.query<{ id: bigint }>('select id from delivery.queue order by id')).map(({ id }) => id)
  const release = await heldLock(room.db, `select from delivery.queue where id <= ${ids[1]} for update`)
  let over = false
  const claiming = claim(room).finally(() => (over = true))
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await eventually(async () => over || (await room.query(waiting)).length > 0)
  await release()
  assert.deepEqual(
    (await claiming).map(({ id }) => id),
    ids.slice(2),
  )
})

test('slow destinations are claimed only as far as they are let, and quick ones are not held up by them', async () => {
  await using room = await startDeliveryRoom()
  const slow = await room.endpoint('http://127.0.0.1:9/slow')
  const quick = await room.endpoint('http://127.0.0.1:9/quick')
  await room.query('update delivery.lanes set slow = true where destination_id = $1', [slow.id])
  await dispatched(room, 10)
  const rows = await claim(room, { slowLanesMax: 0 })
  assert.deepEqual([...new Set(rows.map((row) => row.destination_id))], [quick.id])
  assert.equal((await claim(room, { slowLanesMax: 1, slowRoom: 4 })).length, 4)
})

test('work that is added while a worker looks is not overlooked', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint('http://127.0.0.1:9/hook')
  await dispatched(room, 2)
  const [added] = await room.query<{ event_id: string; destination_id: string }>(
    'delete from delivery.queue where id = (select max(id) from delivery.queue) returning event_id, destination_id',
  )
  // A claim asks for the time when it has begun and has seen nothing yet: there it is held up.
  await room.query(`
    create or replace function kernel.now() returns timestamptz language plpgsql stable as $$
    begin
      perform pg_advisory_xact_lock_shared(1);
      return clock_timestamp();
    end $$`)
  const { looking } = await room.db.tx(async (tx) => {
    await tx.run({ name: '', text: 'select pg_advisory_xact_lock(1)' }, [])
    const claimed = claim(room)
    await eventually(async () => (await room.query(heldUp)).length > 0)
    await room.query(
      `with lane as (update delivery.lanes set version = version + 1, look_at = least(look_at, now()))
       insert into delivery.queue (event_id, destination_id, run_at, dispatched_at) values ($1, $2, now(), now())`,
      [added?.event_id, added?.destination_id],
    )
    return { looking: claimed }
  })
  const first = await looking
  const second = await claim(room)
  assert.deepEqual(
    [...first, ...second].map((row) => row.event_id === added?.event_id),
    [false, true],
  )
})

test('a paused lane holds what is queued, and is worked on again when it is open', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint('http://127.0.0.1:9/hook')
  await dispatched(room, 2)
  await room.query(`update delivery.lanes set state = 'PAUSED', version = version + 1`)
  assert.deepEqual(await claim(room), [])
  const [row] = await room.query<{ next: Date | null }>('select delivery.next_due() as next')
  assert.equal(row?.next, null)
  await room.query(`update delivery.lanes set state = 'OPEN', look_at = kernel.now(), version = version + 1`)
  assert.equal((await claim(room)).length, 2)
})

test('an event is over when its last delivery is, and tells of all of them', async () => {
  await using room = await startDeliveryRoom()
  for (const path of ['a', 'b', 'c']) await room.endpoint(`http://127.0.0.1:9/${path}`)
  await dispatched(room, 1)
  const [first, second, third] = await claim(room)
  assert.ok(first && second && third)
  const failed = attempt(room, { status: 500, owner: 'destination' })
  await settleStore.settle(
    room.workDb,
    [{ held: first, end: null, runAt: new Date(Date.now() + 60_000), attempt: failed }],
    [],
  )
  assert.deepEqual(await statusesOf(room), ['SUBMITTED'])
  await settleStore.settle(
    room.workDb,
    [delivered(room, second), { held: third, end: 'EXHAUSTED', runAt: null, attempt: failed }],
    [],
  )
  const [open] = await room.events()
  assert.deepEqual([open?.status, open?.attempt_count], ['SUBMITTED', 3])
  await room.query(`select kernel.raise_clock_offset(120000)`)
  await room.query('update delivery.lanes set look_at = kernel.now()')
  const [again] = await claim(room)
  assert.ok(again)
  await settleStore.settle(room.workDb, [delivered(room, again)], [])
  const [event] = await room.events()
  assert.deepEqual([event?.status, event?.attempt_count, event?.delivered_at], ['EXHAUSTED', 4, null])
  const states = await room.query<{ state: string }>('select state from delivery.deliveries order by state')
  assert.deepEqual(
    states.map(({ state }) => state),
    ['DELIVERED', 'DELIVERED', 'EXHAUSTED'],
  )
})

test('workers that settle deliveries of the same events at once lose nothing', async () => {
  await using room = await startDeliveryRoom()
  const endpoints = 8
  const events = 60
  for (let path = 0; path < endpoints; path += 1) await room.endpoint(`http://127.0.0.1:9/${path}`)
  await dispatched(room, events)
  const rows: ClaimedRow[] = []
  for (let more = await claim(room); more.length > 0; more = await claim(room)) rows.push(...more)
  assert.equal(rows.length, endpoints * events)

  // Each worker has some of each event, in an order of its own, and renews the leases of others meanwhile.
  const workers = Array.from({ length: 4 }, (_, worker) => rows.filter((_row, index) => index % 4 === worker))
  await Promise.all(
    workers.map(async (mine, worker) => {
      const shuffled = mine.toSorted(
        (a, b) => ((Number(a.id) * 7919 + worker) % 101) - ((Number(b.id) * 7919 + worker) % 101),
      )
      for (let from = 0; from < shuffled.length; from += 30) {
        const [{ lost }] = await Promise.all([
          settleStore.settle(
            room.workDb,
            shuffled.slice(from, from + 30).map((row) => delivered(room, row)),
            [],
          ),
          settleStore.renew(room.workDb, shuffled.slice(from + 30), leaseMs),
        ])
        assert.deepEqual(lost, [])
      }
    }),
  )
  const all = await room.events()
  assert.ok(all.every(({ status, attempt_count }) => status === 'DELIVERED' && attempt_count === endpoints))
  assert.deepEqual(await room.query('select * from delivery.queue'), [])
  assert.deepEqual(await room.query('select * from delivery.outbox'), [])
})
