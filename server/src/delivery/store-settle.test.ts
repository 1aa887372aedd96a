import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claim, settled, startDeliveryRoom, type DeliveryRoom } from '../../test/delivery-room.ts'
import { dispatchStore } from './store-dispatch.ts'
import { settleStore } from './store-settle.ts'

const url = 'http://127.0.0.1:9/hook'
const dayMs = 86_400_000

/** A destination with a delivery in the hands of a worker, or with several. */
async function claimed(room: DeliveryRoom, count = 1) {
  const { id } = await room.endpoint(url)
  for (let made = 0; made < count; made += 1) await room.happen()
  await dispatchStore.dispatchDue(room.workDb, count)
  const [held, ...others] = await claim(room)
  assert.ok(held)
  /** Stores that the attempt failed, and that the destination is to be disabled for it. */
  const fails = (failingBefore: Date | null, of = held) => {
    const disable = { reason: 'It has had its time.', failingBefore }
    const change = { destinationId: id, url, slow: null, failingSince: null, disable }
    return settleStore.settle(room.workDb, [settled(room, of, null)], [change])
  }
  return { id, held, others, fails }
}

const paused = { url: null, types: null, description: null, metadata: null, disabled: true }

const standing = async (room: DeliveryRoom) => {
  const [row] = await room.query<{ state: string; lane: string }>(
    'select d.state, l.state as lane from delivery.destinations d join delivery.lanes l on l.destination_id = d.id',
  )
  return row
}

test('a destination is disabled, and that is told, only where it has known nothing but failures for as long as that takes, whatever the worker thought', async () => {
  for (const [failingDays, expected, told] of [
    [null, { state: 'ENABLED', lane: 'OPEN' }, 0],
    [4, { state: 'ENABLED', lane: 'OPEN' }, 0],
    [6, { state: 'DISABLED', lane: 'CLOSING' }, 1],
  ] as const) {
    await using room = await startDeliveryRoom()
    const { id, fails } = await claimed(room)
    const now = room.clock.now().getTime()
    const since = failingDays === null ? null : new Date(now - failingDays * dayMs)
    await room.query('update delivery.lanes set failing_since = $1', [since])
    const disabled = { destination_id: id, owner_id: room.branch.entityId, cause: 'failing' }
    const stored = { lost: [], disabled: [disabled].slice(0, told) }
    assert.deepEqual(await fails(new Date(now - 5 * dayMs)), stored, `${failingDays} days`)
    assert.deepEqual(await standing(room), expected, `${failingDays} days`)
  }
})

test('a destination that was paused in the meantime closes, too, once it says that it is gone, which is told once however often it says so', async () => {
  await using room = await startDeliveryRoom()
  const { id, others, fails } = await claimed(room, 2)
  assert.ok(await room.delivery.destinations.change(room.branch, id, paused))
  assert.deepEqual(await standing(room), { state: 'DISABLED', lane: 'PAUSED' })
  const disabled = [{ destination_id: id, owner_id: room.branch.entityId, cause: 'gone' }]
  assert.deepEqual(await fails(null), { lost: [], disabled })
  assert.deepEqual(await standing(room), { state: 'DISABLED', lane: 'CLOSING' })
  assert.deepEqual(await fails(null, others[0]), { lost: [], disabled: [] })
})

test('a pause does not keep a destination that closes from closing', async () => {
  await using room = await startDeliveryRoom()
  const { id, fails } = await claimed(room)
  await fails(null)
  assert.deepEqual(await standing(room), { state: 'DISABLED', lane: 'CLOSING' })
  assert.ok(await room.delivery.destinations.change(room.branch, id, paused))
  assert.deepEqual(await standing(room), { state: 'DISABLED', lane: 'CLOSING' })
})

test('setbacks are counted from the last attempt on', async () => {
  await using room = await startDeliveryRoom()
  const { held } = await claimed(room)
  const counts = () => room.query('select attempt_no, setback_count from delivery.queue')
  const setback = { held, end: null, runAt: room.clock.now(), attempt: null }
  await settleStore.settle(room.workDb, [setback], [])
  assert.deepEqual(await counts(), [{ attempt_no: 0, setback_count: 1 }])
  const [again] = await claim(room)
  assert.ok(again)
  await settleStore.settle(room.workDb, [settled(room, again, null)], [])
  assert.deepEqual(await counts(), [{ attempt_no: 1, setback_count: 0 }])
})

test('what is queued for a destination that is gone is closed with all of its attempts; one in flight is left to its worker', async () => {
  await using room = await startDeliveryRoom()
  const { id, held } = await claimed(room)
  const [waiting] = await room.happen()
  await dispatchStore.dispatchDue(room.workDb, 1)
  await room.query('update delivery.queue set attempts_before = 10, attempt_no = 3 where event_id = $1', [waiting?.id])
  assert.ok(await room.delivery.destinations.delete(room.branch, id))
  const ends = () => room.query('select event_id, state, attempt_count from delivery.deliveries order by state')
  const closed = { event_id: waiting?.id, state: 'CLOSED', attempt_count: 13 }
  await settleStore.closeLanes(room.workDb)
  assert.deepEqual(await ends(), [closed])
  assert.deepEqual((await settleStore.settle(room.workDb, [settled(room, held)], [])).lost, [])
  assert.deepEqual(await ends(), [closed, { event_id: held.event_id, state: 'DELIVERED', attempt_count: 1 }])
})
