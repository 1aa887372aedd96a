import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/faults/eventually.ts'
import { heldLock } from '../../test/held-lock.ts'
import { claim, handedBy, openOf, settled, startDeliveryRoom } from '../../test/delivery-room.ts'
import { handStore } from './store-hands.ts'
import { settleStore } from './store-settle.ts'

const nobody = 'http://127.0.0.1:9/hook'

test('what comes after the lease and after a resend is no second delivery under the same attempt number', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint(nobody)
  const [event] = await room.happen()
  const [late] = await handedBy(room)
  assert.ok(event && late)
  await room.query('update delivery.hands set lease_until = clock_timestamp()')
  const found = await room.delivery.events.find(room.branch, event.id)
  assert.ok(found)
  await room.delivery.events.resend(room.branch, found)
  await settleStore.settleHanded(room.workDb, [settled(room, late)], [], [late.id])
  await handStore.takeOver(room.workDb)
  const again = await claim(room)
  await settleStore.settle(
    room.workDb,
    again.map((held) => settled(room, held)),
    [],
  )
  const numbers = await room.query<{ number: number }>('select number from delivery.attempts order by started_at')
  assert.deepEqual(
    numbers.map(({ number }) => number),
    [1],
  )
})

test('of the hands of two workers, those of the one that died are taken over, and the other keeps its own', async () => {
  await using room = await startDeliveryRoom()
  const { id: dead } = await room.endpoint(nobody)
  const { id: alive } = await room.endpoint(`${nobody}/2`)
  await room.happen()
  assert.equal((await handedBy(room)).length, 2)
  await room.query('update delivery.hands set lease_until = clock_timestamp() where destination_id = $1', [dead])
  await handStore.takeOver(room.workDb)
  const handed = new Map((await openOf(room)).map((one) => [one.destination_id, one.handed]))
  assert.deepEqual([handed.get(dead), handed.get(alive)], [false, true])
})

test('who takes hands over waits for nobody: those that another is taking over are left to that one', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint(nobody)
  await room.happen()
  await handedBy(room)
  await room.query('update delivery.hands set lease_until = clock_timestamp()')
  const release = await heldLock(room.db, 'select from delivery.hands for update')
  let over = false
  const taking = handStore.takeOver(room.workDb).finally(() => (over = true))
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await eventually(async () => over || (await room.query(waiting)).length > 0)
  await release()
  await taking
  assert.deepEqual(
    (await openOf(room)).map(({ handed }) => handed),
    [true],
  )
})

test('a failure that is stored again, since its answer was lost, queues no retry that is over meanwhile', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint(nobody)
  await room.happen(2)
  const [fails, other] = await handedBy(room)
  assert.ok(fails && other)
  const failure = settled(room, fails, null)
  await settleStore.settleHanded(room.workDb, [failure], [], [])
  await room.query('update delivery.queue set run_at = kernel.now()')
  await room.query('update delivery.lanes set look_at = kernel.now()')
  const retry = await claim(room)
  assert.deepEqual(
    retry.map(({ event_id }) => event_id),
    [fails.event_id],
  )
  const delivered = retry.map((held) => settled(room, held))
  assert.deepEqual((await settleStore.settle(room.workDb, delivered, [])).lost, [])
  const [again, rest] = [failure, settled(room, other)]
  await room.workDb.tx(async (tx) => {
    const left = await handStore.left(tx, [fails, other])
    assert.deepEqual([...left], [fails])
    await settleStore.settleHanded(
      tx,
      [again, rest].filter(({ held }) => !left.has(held)),
      [],
      [fails.id],
    )
  })
  assert.deepEqual(await openOf(room), [])
  assert.deepEqual(await room.query('select from delivery.hands'), [])
})

test('a hand goes also where all that is stored again was stored before', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint(nobody)
  await room.happen()
  const [delivered] = await handedBy(room)
  assert.ok(delivered)
  await settleStore.settleHanded(room.workDb, [settled(room, delivered)], [], [])
  await room.workDb.tx(async (tx) => {
    assert.deepEqual([...(await handStore.left(tx, [delivered]))], [delivered])
    assert.deepEqual((await settleStore.settleHanded(tx, [], [], [delivered.id])).lost, [])
  })
  assert.deepEqual(await room.query('select from delivery.hands'), [])
  assert.deepEqual(await room.statuses(), { DELIVERED: 1 })
})
