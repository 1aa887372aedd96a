import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slowDown, startDeliveryRoom } from '../../test/delivery-room.ts'
import { eventually } from '../../test/faults/eventually.ts'
import { heldLock } from '../../test/held-lock.ts'
import { startReceiver } from '../../test/receiver.ts'
import { createDb } from '../kernel/db.ts'
import { dispatchStore } from './store-dispatch.ts'

// What takes long: to be handed over, or to be stored.

test('a retry is not early where its first attempt began long after its dispatch', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  let arrivedMs = Infinity
  receiver.answer = (_request, response) => {
    arrivedMs = Date.now()
    response.writeHead(500).end()
  }
  await slowDown(room, 'after insert on delivery.hands')
  room.work()
  await room.happen()
  const [retry] = await eventually(async () => {
    const rows = await room.query<{ run_at: Date }>('select run_at from delivery.queue where attempt_no = 1')
    return rows.length > 0 ? rows : undefined
  })
  // Counted from the start of the attempt, a moment before it arrived and half a second after the dispatch began.
  const waitMs = (retry?.run_at.getTime() ?? 0) - arrivedMs
  assert.ok(waitMs > 4_750 && waitMs < 6_000, `${waitMs} ms`)
})

test('what came so late that its lease has run out is not begun: whoever takes it over does', async () => {
  await using room = await startDeliveryRoom({ leaseMs: 400 })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  await slowDown(room, 'after insert on delivery.hands')
  room.work()
  await room.happen()
  await eventually(async () => (await room.statuses())['DELIVERED'] === 1)
  assert.equal(receiver.received.length, 1)
  assert.match(await room.metrics.registry.metrics(), /kaha_delivery_lease_expiries_total 1/)
})

test('a worker that waits until its results are stored goes on as soon as they are', async () => {
  const events = 4_000
  const ran: string[] = []
  await using room = await startDeliveryRoom({ ran: (name) => void ran.push(name) })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  for (let made = 0; made < events; made += 500) {
    await room.happen(500)
    await dispatchStore.dispatchDue(room.workDb, 500)
  }
  await using beside = createDb({ target: room.target, onError: () => {} })
  const release = await heldLock(beside, 'lock table delivery.attempts in exclusive mode')
  room.work()
  // It has stopped: whatever was in flight has ended.
  let before = 0
  await eventually(
    async () => {
      const isStill = before === receiver.received.length && before >= 2_000
      before = receiver.received.length
      return isStill
    },
    { pollMs: 300 },
  )
  const claims = () => ran.filter((name) => name === 'delivery.claimDue').length
  const claimed = claims()
  assert.ok(receiver.received.length < events)
  await release()
  await eventually(() => claims() > claimed, { waitMsMax: 3_000 })
  await eventually(() => receiver.received.length === events)
})
