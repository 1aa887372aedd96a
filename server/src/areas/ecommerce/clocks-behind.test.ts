import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bodyOf, hourMs, rowsOf } from '../../../test/conformance/shop.ts'
import { paymentsRoom, processorThat, runDue } from '../../../test/payments-room.ts'

// A process whose clock is behind that of the database, or of another process, sets nothing back in time.
const room = await paymentsRoom({ after })

test('a change by a process whose clock is behind does not set back what a link says of its last change', async () => {
  const { id } = bodyOf(await room.shop.createLink({ type: 'multi_use' }), 201)
  const [ahead] = await rowsOf<{ updated_at: Date }>(
    room,
    `update ecommerce.links set updated_at = kernel.now() + interval '1 hour' where id = $1 returning updated_at`,
    [id],
  )
  const at = ahead?.updated_at.toISOString()
  assert.equal(bodyOf(await room.shop.updateLink(id, { description: 'Other' }), 200).updated_at, at)
  assert.equal(bodyOf(await room.shop.cancelLink(id), 200).updated_at, at)
})

test('an expiry that a process with a clock behind notices is told as of its time at the earliest', async () => {
  const expires_at = new Date(room.kaha.clock.now().getTime() + hourMs).toISOString()
  const { id } = await room.intent({ expires_at })
  await room.kaha.delivery.ensurePartitions(new Date(Date.parse(expires_at) + hourMs))
  await rowsOf(room, 'update kernel.clock set offset_ms = offset_ms + $1', [2 * hourMs])
  const { now } = room.kaha.clock
  assert.ok(now() < new Date(expires_at), 'this process has not heard of it')
  await runDue(room.payments(processorThat()))
  const told = await rowsOf<{ at: Date; type: string }>(
    room,
    'select type, created_at as at from delivery.events where payment_intent_id = $1',
    [id],
  )
  assert.deepEqual(
    told.map(({ type, at }) => [type, at.toISOString()]),
    [['payment.expired', expires_at]],
  )
})
