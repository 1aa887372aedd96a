import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bodyOf, hourMs, rowsOf } from '../../../test/conformance/shop.ts'
import { aChallenge, card, paymentsRoom, processorThat, runDue } from '../../../test/payments-room.ts'
import { createClock } from '../../kernel/clock.ts'
import type { Connector } from '../../payments/connectors/connector.ts'
import type { Intent } from '../../payments/intent.ts'

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

/** What a host does whose clock is ahead of this one's, by less than is warned of. */
const clockAhead = createClock(() => Date.now() + 1_500)
const ahead = (does: Partial<Connector> = {}) => room.payments(processorThat(does), room.kaha.db, clockAhead)

for (const [way, begin, end] of [
  [
    'a challenge that is passed',
    (intent) => ahead({ verify: async () => aChallenge }).confirm(intent, card, null),
    (intent, attemptId) =>
      room.payments(processorThat({ challenge: async () => ({ kind: 'passed' }) })).takeChallenge(intent, attemptId),
  ],
  [
    'a challenge whose intent is cancelled',
    (intent) => ahead({ verify: async () => aChallenge }).confirm(intent, card, null),
    (intent) => room.shop.cancelIntent(intent.id),
  ],
  [
    'a code that is paid',
    (intent) => ahead().codes.make(intent, null),
    ({ partnerId, merchantId, amount }, id) =>
      room
        .payments(processorThat())
        .codes.answer(partnerId, { id, merchantId, event: 'paid', amount, bankReference: '123456789012' }),
  ],
] as readonly [
  way: string,
  begin: (intent: Intent) => Promise<Intent>,
  end: (intent: Intent, attemptId: string) => Promise<unknown>,
][])
  test(`${way} is not set back by a process whose clock is behind that of the one where it began`, async () => {
    const made = await room.intent()
    const attemptId = (await begin(made)).latestAttempt?.id ?? ''
    const before = await room.shop.readIntent(made.id)
    assert.equal(before.status, 'REQUIRES_ACTION')
    await end(await room.read(made.id), attemptId)
    const since = await room.shop.readIntent(made.id)
    assert.match(since.status, /^(SUCCEEDED|CANCELLED)$/)
    assert.ok(since.updated_at >= before.updated_at, `${since.updated_at}, after ${before.updated_at}`)
    const kept = `select t.captured_at >= t.created_at as captured, t.updated_at >= t.created_at as updated,
              a.code_text is null or a.completed_at >= a.created_at as completed
         from payments.transactions t join payments.attempts a using (id) where t.id = $1`
    const [row] = await rowsOf<{ captured: boolean | null; updated: boolean; completed: boolean }>(room, kept, [
      attemptId,
    ])
    assert.deepEqual(row, { captured: since.status === 'SUCCEEDED' ? true : null, updated: true, completed: true })
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
