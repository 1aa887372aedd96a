import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import {
  claim,
  handedBy,
  openOf,
  settled,
  slowDown,
  slowed,
  startDeliveryRoom,
  type DeliveryRoom,
} from '../../test/delivery-room.ts'
import { eventually } from '../../test/faults/eventually.ts'
import { startPostgresProxy } from '../../test/postgres-proxy.ts'
import { startReceiver } from '../../test/receiver.ts'
import { claimStore, type ClaimedRow } from './store-claim.ts'
import { createLeaveHands } from './held.ts'
import { dispatchStore, type HandRequest } from './store-dispatch.ts'
import { handStore } from './store-hands.ts'
import { settleStore, type SettledDelivery } from './store-settle.ts'

const leaseMs = 15_000
const roomFor = (rowsMax: number): HandRequest => ({ rowsMax, full: [], busy: [], quickRoom: 10, leaseMs })

const nobody = 'http://127.0.0.1:9/hook'

const leaveHands = createLeaveHands()
const settle = (room: DeliveryRoom, results: readonly SettledDelivery[]) =>
  leaveHands(
    results.map(({ held }) => held),
    (over) => settleStore.settleHanded(room.workDb, results, [], over),
  )
const giveBack = (room: DeliveryRoom, rows: readonly ClaimedRow[]) =>
  leaveHands(rows, (over) => handStore.giveBack(room.workDb, rows, over))

const handsLeft = async (room: DeliveryRoom) => (await room.query('select from delivery.hands')).length
const nextDue = async (room: DeliveryRoom) =>
  (await room.query<{ next: Date | null }>('select delivery.next_due() as next'))[0]?.next ?? null
const expire = (room: DeliveryRoom) => room.query('update delivery.hands set lease_until = clock_timestamp()')
const eventIdsOf = (rows: readonly { readonly event_id: string }[]) => rows.map(({ event_id }) => event_id).toSorted()

test('a dispatch hands over as many deliveries as there is room for, each under a lease; the others are for anybody', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint(nobody)
  const events = await room.happen(3)
  const done = await dispatchStore.dispatchDue(room.workDb, 10, roomFor(2))
  assert.deepEqual([done.handed.count, done.queued], [2, 1])
  const [queued, ...inHand] = (await openOf(room)).toSorted((a, b) => Number(a.handed) - Number(b.handed))
  assert.deepEqual([queued?.handed, queued?.leased], [false, false])
  assert.deepEqual(
    inHand.map(({ handed, leased }) => [handed, leased]),
    [
      [true, true],
      [true, true],
    ],
  )
  const { deliveries, lanes } = await handStore.read(room.workDb, done.handed)
  assert.equal(deliveries.length, 2)
  const bodies = new Map(events.map(({ id, body }) => [id, body]))
  for (const row of deliveries) assert.equal(row.body, bodies.get(row.event_id))
  assert.equal(lanes.get(deliveries[0]?.destination_id ?? '')?.url, nobody)
  assert.equal((await claim(room)).length, 1)
})

test('nothing is handed over past deliveries that are due, nor for a slow destination, nor for one that is full', async () => {
  await using room = await startDeliveryRoom()
  const { id } = await room.endpoint(nobody)
  const dispatch = async (request: HandRequest) => {
    await room.happen()
    const { handed, queued: others } = await dispatchStore.dispatchDue(room.workDb, 10, request)
    return [handed.count, others]
  }
  assert.deepEqual(await dispatch({ ...roomFor(9), full: [id] }), [0, 1])
  assert.deepEqual(await dispatch(roomFor(9)), [0, 1])
  assert.equal((await claim(room)).length, 2)
  assert.deepEqual(await claim(room), [])
  assert.deepEqual(await dispatch({ ...roomFor(9), busy: [{ destinationId: id, room: 1 }] }), [1, 0])
  await room.query('update delivery.lanes set slow = true')
  assert.deepEqual(await dispatch(roomFor(9)), [0, 1])
})

test('what a destination may not have is room for those behind it', async () => {
  await using room = await startDeliveryRoom()
  const places = []
  for (const path of ['slow', 'full', 'free', 'last']) places.push((await room.endpoint(`${nobody}/${path}`)).id)
  const [slow, full, free, last] = places.toSorted()
  assert.ok(slow && full && free && last)
  await room.query('update delivery.lanes set slow = true where destination_id = $1', [slow])
  await room.happen(5)
  const request: HandRequest = { ...roomFor(8), busy: [{ destinationId: full, room: 2 }] }
  const { handed, queued: others } = await dispatchStore.dispatchDue(room.workDb, 10, request)
  assert.deepEqual([handed.count, others], [8, 12])
  const { deliveries } = await handStore.read(room.workDb, handed)
  const shares = [slow, full, free, last].map((id) => deliveries.filter((row) => row.destination_id === id).length)
  assert.deepEqual(shares, [0, 2, 5, 1])
})

test('what was handed to a worker that died is repeated by another when its lease has run out', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  await room.happen()
  assert.equal((await dispatchStore.dispatchDue(room.workDb, 10, { ...roomFor(9), leaseMs: 300 })).handed.count, 1)
  room.work()
  await room.sandboxClock.idle()
  assert.equal(receiver.received.length, 1)
  assert.match(await room.metrics.registry.metrics(), /kaha_delivery_lease_expiries_total 1/)
})

test('a worker that has room gets deliveries with their dispatch', async () => {
  const ran: string[] = []
  await using room = await startDeliveryRoom({ ran: (name) => void ran.push(name) })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  room.work()
  await room.sandboxClock.idle()
  await room.happen(50)
  await room.sandboxClock.idle()
  assert.equal(receiver.received.length, 50)
  assert.ok(ran.includes('delivery.readHanded'))
})

test('what is in hand is told like what is queued: SUBMITTED, pending, due', async () => {
  await using room = await startDeliveryRoom()
  const one = await room.endpoint(`${nobody}/one`)
  const other = await room.endpoint(`${nobody}/other`)
  // The other is in the same hands.
  const [event] = await room.happen(2)
  const all = await handedBy(room)
  const rows = all.filter((row) => row.event_id === event?.id)
  assert.equal(rows.length, 2)
  const told = async () => {
    const detail = await room.delivery.events.detail(room.branch, event?.id ?? '')
    const deliveryTo = ({ id }: { readonly id: string }) =>
      detail?.deliveries
        .filter((delivery) => delivery.destination_id === id)
        .map(({ status, attempt_count }) => [status, attempt_count])
    return [detail?.event.status, detail?.event.attempt_count, deliveryTo(one), deliveryTo(other)]
  }
  assert.deepEqual(await told(), ['SUBMITTED', 0, [['PENDING', 0]], [['PENDING', 0]]])
  const listed = (await room.events()).find(({ id }) => id === event?.id)
  assert.deepEqual(listed?.next_attempt_at, await nextDue(room))
  assert.ok(listed?.next_attempt_at)

  const first = rows.find((row) => row.destination_id === one.id)
  assert.ok(first)
  assert.deepEqual((await settle(room, [settled(room, first)])).lost, [])
  assert.deepEqual(await told(), ['SUBMITTED', 1, [['DELIVERED', 1]], [['PENDING', 0]]])
  const second = rows.filter((row) => row !== first).map((row) => settled(room, row))
  assert.deepEqual((await settle(room, second)).lost, [])
  assert.deepEqual(await told(), ['DELIVERED', 2, [['DELIVERED', 1]], [['DELIVERED', 1]]])
  assert.ok(await nextDue(room))

  const others = all.filter((row) => row.event_id !== event?.id).map((row) => settled(room, row))
  assert.deepEqual((await settle(room, others)).lost, [])
  assert.equal(await nextDue(room), null)
  assert.equal(await handsLeft(room), 0)
})

test('deliveries of one hand end, wait for a retry or go back, each by itself; the hand goes with the last', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint(nobody)
  await room.happen(5)
  const [ends, retried, exhausted, setBack, back] = await handedBy(room)
  assert.ok(ends && retried && exhausted && setBack && back)
  const setback: SettledDelivery = { ...settled(room, setBack, null), attempt: null }
  const results = [settled(room, ends), settled(room, retried, null), settled(room, exhausted, 'EXHAUSTED'), setback]
  assert.deepEqual((await settle(room, results)).lost, [])
  assert.equal(await handsLeft(room), 1)
  assert.deepEqual(await claim(room), [])
  await giveBack(room, [back])
  assert.equal(await handsLeft(room), 0)
  assert.deepEqual(eventIdsOf(await claim(room)), [back.event_id])
  const queued = await room.query<{ event_id: string; attempt_no: number; setback_count: number }>(
    'select event_id, attempt_no, setback_count from delivery.queue order by attempt_no desc, setback_count desc',
  )
  assert.deepEqual(
    queued.map((row) => [row.event_id, row.attempt_no, row.setback_count]),
    [
      [retried.event_id, 1, 0],
      [setBack.event_id, 0, 1],
      [back.event_id, 0, 0],
    ],
  )
  const attempts = await room.query<{ event_id: string }>('select event_id from delivery.attempts')
  assert.deepEqual(eventIdsOf(attempts), eventIdsOf([ends, retried, exhausted]))
})

test('of a hand whose lease has run out, what is open is queued; its worker can store nothing more of it', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint(nobody)
  await room.happen(4)
  const [ends, retried, late, lost] = await handedBy(room)
  assert.ok(ends && retried && late && lost)
  await settle(room, [settled(room, ends), settled(room, retried, null)])
  const untilItEnds = await handStore.takeOver(room.workDb)
  assert.ok(untilItEnds > leaseMs - 5_000 && untilItEnds <= leaseMs, `${untilItEnds} ms`)
  await expire(room)
  assert.equal(await handStore.takeOver(room.workDb), 0)
  const taken = await claim(room)
  assert.deepEqual(eventIdsOf(taken), eventIdsOf([late, lost]))
  assert.ok(taken.every(({ expired, attempt_no }) => expired && attempt_no === 0))
  assert.equal(await handsLeft(room), 0)

  assert.deepEqual(await handStore.renew(room.workDb, [late], leaseMs), [])
  assert.deepEqual((await settle(room, [settled(room, late)])).lost, [{ id: late.id, fence: 0 }])
  assert.equal((await room.query('select from delivery.attempts')).length, 2)
  assert.equal((await openOf(room)).length, 3)
})

test('a lease is renewed for a whole hand', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint(nobody)
  await room.happen(2)
  const [one] = await handedBy(room)
  assert.ok(one)
  await expire(room)
  assert.deepEqual(await handStore.renew(room.workDb, [one], leaseMs), [{ id: one.id, fence: 0 }])
  assert.ok((await handStore.takeOver(room.workDb)) > 0)
})

test('a result whose storing was not answered is stored once, and the attempt is not repeated', async () => {
  await using database = await freshDatabase()
  await using line = await startPostgresProxy(database.target)
  await using beside = await startDeliveryRoom({ target: database.target })
  const { branch, merchant, partner, masterKey } = beside
  await using room = await startDeliveryRoom({ target: line.target, masterKey, people: { branch, merchant, partner } })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  const waiting: (() => void)[] = []
  receiver.answer = (_request, response) => void waiting.push(() => response.writeHead(200).end())
  room.work()
  await room.happen(3)
  await eventually(() => waiting.length === 3)
  await slowDown(room, 'after insert on delivery.attempts')
  for (const answer of waiting.splice(0, 2)) answer()
  await eventually(async () => (await beside.query(slowed)).length > 0)
  line.becomes('silent')
  await eventually(async () => (await beside.query('select from delivery.attempts')).length > 0)
  line.becomes('closed')
  line.becomes('passes')
  for (const answer of waiting) answer()
  await beside.sandboxClock.idle()
  assert.deepEqual(await beside.statuses(), { DELIVERED: 3 })
  assert.equal(receiver.received.length, 3)
  assert.equal((await beside.query('select from delivery.attempts')).length, 3)
  assert.deepEqual(await openOf(beside), [])
})

test('a destination that is deleted is closed when what is in hand for it is over, and not before', async () => {
  await using room = await startDeliveryRoom()
  const { id } = await room.endpoint(nobody)
  await room.happen(2)
  const [ends, fails] = await handedBy(room)
  assert.ok(ends && fails)
  await room.delivery.destinations.delete(room.branch, id)
  const close = async () => {
    await room.query('update delivery.lanes set look_at = kernel.now()')
    await settleStore.closeLanes(room.workDb)
    return (await room.query<{ state: string }>('select state from delivery.lanes'))[0]?.state
  }
  assert.equal(await close(), 'CLOSING')
  await settle(room, [settled(room, ends), settled(room, fails, null)])
  assert.equal(await close(), 'CLOSING')
  assert.equal(await close(), 'CLOSED')
  const ended = await room.query<{ event_id: string; state: string }>('select event_id, state from delivery.deliveries')
  assert.deepEqual(
    new Map(ended.map((row) => [row.event_id, row.state])),
    new Map([
      [ends.event_id, 'DELIVERED'],
      [fails.event_id, 'CLOSED'],
    ]),
  )
})

test('a resend leaves what is in hand as it is, to its worker or to whoever takes it over', async () => {
  await using room = await startDeliveryRoom()
  const early = await room.endpoint(nobody)
  const late = await room.endpoint(`${nobody}/late`)
  const [event] = await room.happen()
  const rows = await handedBy(room)
  const record = async () => (await room.delivery.events.detail(room.branch, event?.id ?? ''))?.event
  const resend = async () => {
    const found = await record()
    assert.ok(found)
    return room.delivery.events.resend(room.branch, found)
  }
  const dispatches = () =>
    room.query(`
      select distinct dispatched_at from (
        select dispatched_at from delivery.queue union all select dispatched_at from delivery.hands
        union all select dispatched_at from delivery.deliveries) d`)
  const ended = rows.find((row) => row.destination_id === late.id)
  assert.ok(ended)
  await settle(room, [settled(room, ended, 'EXHAUSTED')])
  await resend()
  // What had ended is sent again, as part of the dispatch that goes on.
  const handedFor = async (id: string) =>
    (await openOf(room)).filter((row) => row.destination_id === id).map(({ handed }) => handed)
  assert.deepEqual([await handedFor(early.id), await handedFor(late.id)], [[true], [false]])
  assert.equal((await dispatches()).length, 1)

  await expire(room)
  await resend()
  assert.deepEqual([await handedFor(early.id), await handedFor(late.id)], [[true], [false]])
  await handStore.takeOver(room.workDb)
  assert.equal((await claim(room)).length, 2)
})

test('a recovery leaves out what is in hand, and takes what was given up beside it', async () => {
  await using room = await startDeliveryRoom()
  const endpoint = await room.endpoint(nobody)
  await room.happen(3)
  const [ends, gaveUp] = await handedBy(room)
  assert.ok(ends && gaveUp)
  await settle(room, [settled(room, ends), settled(room, gaveUp, 'EXHAUSTED')])
  const ever = { from: '00000000-0000-0000-0000-000000000000', before: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }
  const branches = async (after: string) => [room.branch.entityId].filter((id) => id > after)
  assert.equal(await room.delivery.events.recover(endpoint, ever, branches), 1)
  assert.deepEqual(eventIdsOf(await claim(room)), [gaveUp.event_id])
})

test('a recovery beside a delivery in hand belongs to its dispatch: the event is EXHAUSTED where either is', async () => {
  await using room = await startDeliveryRoom()
  const first = await room.endpoint(nobody)
  await room.happen()
  const [inHand] = await handedBy(room)
  assert.ok(inHand)
  const missed = await room.endpoint(`${nobody}/missed`)
  const branches = async (after: string) => [room.branch.entityId].filter((id) => id > after)
  const ever = { from: '00000000-0000-0000-0000-000000000000', before: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }
  assert.equal(await room.delivery.events.recover(missed, ever, branches), 1)
  const [recovered] = await claim(room)
  assert.equal(recovered?.destination_id, missed.id)
  assert.equal(inHand.destination_id, first.id)
  await settle(room, [settled(room, inHand, 'EXHAUSTED')])
  await settleStore.settle(room.workDb, [settled(room, recovered)], [])
  assert.deepEqual(await room.statuses(), { EXHAUSTED: 1 })
})

test('what is in the hands of a dead worker counts as due, and nothing else that is in hand does', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint(nobody)
  await room.happen()
  await handedBy(room)
  assert.equal((await claimStore.oldestDue(room.workDb)).due, 0)
  await room.query(`update delivery.hands set dispatched_at = dispatched_at - interval '1 minute'`)
  assert.equal((await claimStore.oldestDue(room.workDb)).due, 0)
  await expire(room)
  assert.ok((await claimStore.oldestDue(room.workDb)).due >= 60)
})

test('whatever happens to hands at once, nothing waits for ever, is lost or is told twice', async () => {
  await using room = await startDeliveryRoom()
  const endpoints = 6
  for (let path = 0; path < endpoints; path += 1) await room.endpoint(`${nobody}/${path}`)
  await room.happen(60)
  const rows = await handedBy(room)
  assert.equal(rows.length, endpoints * 60)
  const events = await room.events()
  let at = 0
  const some = (count: number) => rows.slice(at, (at += count))
  const settling = async () => {
    for (let mine = some(20); mine.length > 0; mine = some(20)) {
      const results = mine.toReversed().map((row, index) => settled(room, row, index % 5 === 0 ? null : 'DELIVERED'))
      await settle(room, results)
      await giveBack(room, some(3))
    }
  }
  const beside = async () => {
    for (const [turn, event] of events.entries()) {
      const detail = await room.delivery.events.detail(room.branch, event.id)
      assert.ok(detail)
      assert.equal(detail.deliveries.length, endpoints)
      await room.delivery.events.resend(room.branch, detail.event)
      await handStore.renew(room.workDb, rows.slice(turn, turn + 5).toReversed(), leaseMs)
    }
  }
  await Promise.all([settling(), settling(), settling(), beside(), beside()])
  assert.equal(await handsLeft(room), 0)
  const open = new Set((await openOf(room)).map((row) => `${row.event_id} ${row.destination_id}`))
  const over = await room.query<{ event_id: string; destination_id: string }>('select * from delivery.deliveries')
  for (const row of over) open.add(`${row.event_id} ${row.destination_id}`)
  assert.equal(open.size, rows.length)
})
