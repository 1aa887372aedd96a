import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bodyOf, hourMs, jump, rowsOf } from '../../../test/conformance/shop.ts'
import { aChallenge, approval, card, paymentsRoom, processorThat, runDue } from '../../../test/payments-room.ts'
import { createClock } from '../../kernel/clock.ts'
import type { Connector } from '../../payments/connectors/connector.ts'
import type { Intent } from '../../payments/intent.ts'
import type { Payments } from '../../payments/service.ts'

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
const clockAhead = createClock(() => room.kaha.clock.now().getTime() + 1_500)
const declined = { kind: 'declined', reason: 'generic' } as const
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

test('what a process begins whose clock is behind, begins no sooner than what went before: an attempt, another, and a refund', async () => {
  const timesOf = async (id: string) => {
    const intent = await room.shop.readIntent(id)
    const [at] = await rowsOf<{ attempt: Date; transaction: Date }>(
      room,
      `select a.created_at as attempt, t.created_at as transaction
         from payments.intents i join payments.attempts a on a.id = i.latest_attempt_id join payments.transactions t on t.id = a.id where i.id = $1`,
      [id],
    )
    return { ...intent, ...at }
  }
  const here = room.payments(processorThat({ authorize: async () => approval() }))
  // Made by a process that is ahead, and tried here.
  const { id } = await room.intent()
  await rowsOf(
    room,
    `update payments.intents set created_at = created_at + interval '1.5 s', state_at = state_at + interval '1.5 s' where id = $1`,
    [id],
  )
  const made = await room.shop.readIntent(id)
  await room.payments(processorThat({ authorize: async () => declined })).confirm(await room.read(id), card, null)
  const first = await timesOf(id)
  assert.equal(first.status, 'DECLINED')
  assert.ok(first.updated_at >= made.updated_at, `${first.updated_at}, after ${made.updated_at}`)
  assert.ok(first.attempt >= new Date(made.updated_at) && first.transaction >= first.attempt)
  // Declined by a process that is ahead, and paid here.
  await ahead({ authorize: async () => declined }).confirm(await room.read(id), card, null)
  const second = await timesOf(id)
  await here.confirm(await room.read(id), card, null)
  const third = await timesOf(id)
  assert.equal(third.status, 'SUCCEEDED')
  assert.ok(third.updated_at >= second.updated_at, `${third.updated_at}, after ${second.updated_at}`)
  assert.ok(third.attempt >= new Date(second.updated_at) && third.transaction >= third.attempt)
  // Paid by a process that is ahead, and given back here.
  const paid = await room.intent()
  await ahead({ authorize: async () => approval() }).confirm(paid, card, null)
  const { updated_at } = await room.shop.readIntent(paid.id)
  const refund = await room.sdk.refunds.create({ payment_intent_id: paid.id })
  assert.ok(refund.created_at >= updated_at, `${refund.created_at}, after ${updated_at}`)
})

for (const [what, begin] of [
  ['a challenge', (payments, intent) => payments.confirm(intent, card, null)],
  ['a code', (payments, intent) => payments.codes.make(intent, null)],
] as readonly [what: string, begin: (payments: Payments, intent: Intent) => Promise<Intent>][])
  test(`${what} that began by a clock that was ahead, after the end of its link, reads the same before and after that is stored`, async () => {
    const { clock, db } = room.kaha
    const expires_at = new Date(clock.now().getTime() + hourMs).toISOString()
    const link = bodyOf(await room.shop.createLink({ type: 'multi_use', expires_at }), 201)
    const { id } = await room.intent({ payment_link_id: link.id })
    const past = createClock(() => Date.parse(expires_at) + 1_500)
    const payments = room.payments(processorThat({ verify: async () => aChallenge }), db, past)
    const attempt = (await begin(payments, await room.read(id))).latestAttempt?.id ?? ''
    const read = async () => {
      const { status, updated_at } = await room.shop.readIntent(id)
      return { status, updated_at, transaction: await room.sdk.reports.retrieveTransaction(attempt) }
    }
    await jump(room, hourMs)
    const before = await read()
    assert.equal(before.status, 'EXPIRED')
    await runDue(room.payments(processorThat()))
    assert.deepEqual(await read(), before)
  })

test('a challenge that began by a clock that was ahead ends with its link no sooner than it began, while that is not stored', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use' }), 201)
  const { id } = await room.intent({ payment_link_id: link.id })
  const confirmed = await ahead({ verify: async () => aChallenge }).confirm(await room.read(id), card, null)
  // What whoever cancels a link leaves of which there are very many intents.
  await rowsOf(
    room,
    `insert into payments.ending_links (link_id, state, at) values ($1, 'CANCELLED', kernel.now() - interval '1 s')`,
    [link.id],
  )
  const { data: told } = await room.sdk.reports.retrieveTransaction(confirmed.latestAttempt?.id ?? '')
  assert.deepEqual([told.status, told.updated_at], ['CANCELLED', told.created_at])
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
