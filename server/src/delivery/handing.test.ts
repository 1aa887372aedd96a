import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDeliveryRoom, type DeliveryRoom } from '../../test/delivery-room.ts'
import { startReceiver } from '../../test/receiver.ts'
import { claimStore } from './store-claim.ts'
import { dispatchStore, type HandRequest } from './store-dispatch.ts'

const leaseMs = 15_000
const roomFor = (rowsMax: number): HandRequest => ({ rowsMax, full: [], busy: [], quickRoom: 10, leaseMs })
const one = { rowsMax: 10, full: [], busy: [], quickRoom: 10, slowRoom: 10, slowLanesMax: 10, leaseMs }

const queued = (room: DeliveryRoom) =>
  room.query<{ fence: number; leased: boolean }>(
    'select fence, lease_until is not null as leased from delivery.queue order by id',
  )

test('a dispatch hands over as many deliveries as there is room for, each under a lease; the others are for anybody', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint('http://127.0.0.1:9/hook')
  const events = await room.happen(3)
  const done = await dispatchStore.dispatchDue(room.workDb, 10, roomFor(2))
  assert.deepEqual([done.handed.count, done.queued], [2, 1])
  assert.deepEqual(await queued(room), [
    { fence: 1, leased: true },
    { fence: 1, leased: true },
    { fence: 0, leased: false },
  ])
  const { deliveries, lanes } = await claimStore.handed(room.workDb, done.handed)
  const bodies = new Map(events.map(({ id, body }) => [id, body]))
  for (const row of deliveries) assert.equal(row.body, bodies.get(row.event_id))
  assert.equal(lanes.get(deliveries[0]?.destination_id ?? '')?.url, 'http://127.0.0.1:9/hook')
  const claim = await claimStore.claimDue(room.workDb, one)
  assert.equal(claim.deliveries.length, 1)
})

test('nothing is handed over past deliveries that are due, nor for a slow destination, nor for one that is full', async () => {
  await using room = await startDeliveryRoom()
  const { id } = await room.endpoint('http://127.0.0.1:9/hook')
  const dispatch = async (request: HandRequest) => {
    await room.happen()
    const { handed, queued: others } = await dispatchStore.dispatchDue(room.workDb, 10, request)
    return [handed.count, others]
  }
  assert.deepEqual(await dispatch({ ...roomFor(9), full: [id] }), [0, 1])
  assert.deepEqual(await dispatch(roomFor(9)), [0, 1])
  const { deliveries } = await claimStore.claimDue(room.workDb, one)
  assert.equal(deliveries.length, 2)
  await claimStore.claimDue(room.workDb, one)
  assert.deepEqual(await dispatch({ ...roomFor(9), busy: [{ destinationId: id, room: 1 }] }), [1, 0])
  await room.query('update delivery.lanes set slow = true')
  assert.deepEqual(await dispatch(roomFor(9)), [0, 1])
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
