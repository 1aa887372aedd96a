import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startPayer } from '../../test/conformance/code-payer.ts'
import { bodyOf, hourMs, jump, refusal, rowsOf, whileHeld } from '../../test/conformance/shop.ts'
import { aChallenge, card, paymentsRoom, processorThat, runDue } from '../../test/payments-room.ts'

// Links that end with more open intents than are ended while a payer waits. No worker runs.
const room = await paymentsRoom({ after })
const payments = room.payments(processorThat())

/** As many payers have opened the link, beside this one. */
async function crowd(linkId: string, count: number) {
  const one = await room.intent({ payment_link_id: linkId })
  await rowsOf(
    room,
    `insert into payments.intents (id, partner_id, merchant_id, branch_id, branch_name, link_id, amount, currency, metadata,
       checkout_token_hash, expires_at, created_at, state_at)
     select gen_random_uuid(), partner_id, merchant_id, branch_id, branch_name, link_id, amount, currency, metadata,
            uuid_send(gen_random_uuid()), expires_at, created_at, state_at from payments.intents, generate_series(1, $2) where id = $1`,
    [one.id, count],
  )
  return one
}
const statesOf = async (linkId: string) => {
  const rows = await rowsOf<{ state: string; count: number; ends: number }>(
    room,
    `select state, count(*)::int as count, count(distinct state_at)::int as ends from payments.intents
      where link_id = $1 and succeeded_at is null group by state order by state`,
    [linkId],
  )
  return rows.map(({ state, count, ends }) => [state, count, state === 'ACTIVE' ? 0 : ends])
}
/** Ends the link while these are out of its reach: they are among those that do not end with it. */
async function endWithout<T>(
  intents: readonly { id: string; linkId: string | null }[],
  end: () => Promise<T>,
): Promise<T> {
  const move = (to: string | null | undefined) =>
    rowsOf(room, 'update payments.intents set link_id = $2 where id = any ($1)', [intents.map(({ id }) => id), to])
  await move(null)
  const ended = await end()
  await move(intents[0]?.linkId)
  return ended
}
const usesOf = (linkId: string) =>
  rowsOf(room, 'select reserved_count, success_count from ecommerce.links where id = $1', [linkId])

test('an intent whose own end is stored while the end of its link waits for it keeps that', async () => {
  const link = await room.shop.newLink({ type: 'one_time' })
  const [paying, other] = [
    await room.intent({ payment_link_id: link.id }),
    await room.intent({ payment_link_id: link.id }),
  ]
  // As whoever finds it due does, in a transaction that is not over yet.
  const expiry = `update payments.intents set state = 'EXPIRED', state_at = expires_at where id = '${other.id}'`
  const [paid] = await whileHeld(room, expiry, [() => payments.confirm(paying, card, null)], async () => {})
  assert.equal(paid?.shown.status, 'SUCCEEDED')
  assert.deepEqual(await statesOf(link.id), [['EXPIRED', 1, 1]])
})

test('a challenge that began while the end of its link was under way ended no sooner than that', async () => {
  const link = await room.shop.newLink({ type: 'multi_use' })
  const [held, other] = [
    await room.intent({ payment_link_id: link.id }),
    await room.intent({ payment_link_id: link.id }),
  ]
  const hold = `select from payments.intents where id = '${held.id}' for update`
  const challenging = room.payments(processorThat({ verify: async () => aChallenge }))
  const cancel = () => room.shop.cancelLink(link.id)
  let begun = ''
  await whileHeld<unknown>(room, hold, [cancel], async () => {
    await challenging.confirm(other, card, null)
    begun = (await room.shop.readIntent(other.id)).updated_at
  })
  const { status, updated_at } = await room.shop.readIntent(other.id)
  assert.equal(status, 'CANCELLED')
  assert.ok(updated_at >= begun, `${updated_at}, though it began at ${begun}`)
})

test('a payment that uses up a link is stored however many intents are open, and these end with it, some later, and can be paid no more', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'one_time' }), 201)
  const { id } = await crowd(link.id, 2_500)
  const other = await room.intent({ payment_link_id: link.id })
  const paid = await payments.confirm(await room.read(id), card, null)
  assert.equal(paid.shown.status, 'SUCCEEDED')
  assert.deepEqual(await usesOf(link.id), [{ reserved_count: 0, success_count: 1 }])
  assert.deepEqual(await statesOf(link.id), [
    ['ACTIVE', 1_501, 0],
    ['CONSUMED', 1_000, 1],
  ])

  await rowsOf(room, `update payments.intents set state = 'ACTIVE' where id = $1`, [other.id])
  const processor = processorThat()
  const late = room.payments(processor)
  for (const confirm of [() => late.confirm(other, card, null), () => late.codes.make(other, null)])
    await assert.rejects(confirm, { code: 'INTENT_INVALID_STATE' })
  assert.ok(!processor.asked.includes('authorize'))

  assert.equal(await payments.sweep(), 0)
  await runDue(payments)
  // In one moment, that of the link.
  assert.deepEqual(await statesOf(link.id), [['CONSUMED', 2_501, 1]])
  assert.ok((await payments.sweep()) > 0)
})

test('a link that is cancelled gives back the uses of codes that end with it later', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use', max_uses: 5 }), 201)
  await crowd(link.id, 1_500)
  const shown = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const { id } = await room.intent({ payment_link_id: link.id })
      return payments.codes.make(await room.read(id), null)
    }),
  )
  assert.deepEqual(await usesOf(link.id), [{ reserved_count: 3, success_count: 0 }])
  bodyOf(await room.shop.cancelLink(link.id), 200)
  await runDue(payments)
  assert.deepEqual(await statesOf(link.id), [['CANCELLED', 1_504, 1]])
  assert.deepEqual(await usesOf(link.id), [{ reserved_count: 0, success_count: 0 }])
  for (const { id } of shown) assert.equal((await room.read(id)).shown.status, 'CANCELLED')
})

test('time that is advanced waits for what is left of a link that has ended', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'one_time' }), 201)
  const { id } = await crowd(link.id, 1_500)
  const isDue = async () => (await rowsOf(room, 'select where payments.next_due() <= kernel.now()')).length === 1
  await runDue(payments)
  assert.equal(await isDue(), false)
  await payments.confirm(await room.read(id), card, null)
  assert.equal(await isDue(), true)
  await runDue(payments)
  assert.equal(await isDue(), false)
})

test('what is left of a link that was cancelled is over for everybody before anybody has stored that: nothing of it can be paid', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use', max_uses: 5 }), 201)
  await crowd(link.id, 1_500)
  const processor = processorThat({
    verify: async () => aChallenge,
    challenge: async () => ({ kind: 'passed' }),
    eligibility: () => 'ineligible',
  })
  const asking = room.payments(processor)
  const intentOf = async () => room.read((await room.intent({ payment_link_id: link.id })).id)
  const [coded, challenged, fresh, soon] = [
    await payments.codes.make(await intentOf(), null),
    await room.payments(processorThat({ verify: async () => aChallenge })).confirm(await intentOf(), card, null),
    await intentOf(),
    await room.intent({ payment_link_id: link.id, expires_at: new Date(Date.now() + 60 * 60_000).toISOString() }),
  ]
  const left = [coded, challenged, fresh, soon]
  const { cancelled_at: at } = bodyOf(await endWithout(left, () => room.shop.cancelLink(link.id)), 200)
  const stored = () =>
    rowsOf(room, 'select distinct state from payments.intents where id = any ($1)', [left.map(({ id }) => id)])
  assert.deepEqual(await stored(), [{ state: 'ACTIVE' }])

  assert.equal(
    refusal(await startPayer(room).pay(coded.latestAttempt?.code?.text ?? '')),
    '422 CODE_FINAL qr_text expired',
  )
  // Past the ends that these would have had of their own.
  await jump(room, 2 * 60 * 60_000)
  assert.equal(
    (await asking.takeChallenge(challenged, challenged.latestAttempt?.id ?? '')).intent.shown.status,
    'CANCELLED',
  )
  await assert.rejects(asking.confirm(fresh, card, null), { code: 'INTENT_INVALID_STATE' })
  assert.ok(!processor.asked.includes('authorizeVerified'))
  const seen = async () => {
    const intents = await Promise.all(left.map(({ id }) => room.shop.readIntent(id)))
    const ids = intents.flatMap(({ payment_attempt_id: attempt }) => attempt ?? [])
    assert.equal(ids.length, 2)
    const reports = await Promise.all(ids.map((one) => room.sdk.reports.retrieveTransaction(one)))
    const { data: listed } = await room.sdk.reports.listTransactions({ status: ['CANCELLED'] })
    const shown = listed.filter((one) => ids.includes(one.id))
    assert.equal(shown.length, 2)
    const told = reports.map(({ data }) => data.events.at(-1))
    return [
      ...[...intents, ...reports.map(({ data }) => data), ...shown].map(({ status, updated_at: since }) => [
        status,
        since,
      ]),
      ...told.map((event) => [event?.event_type, event?.created_at]),
    ]
  }
  const over = await seen()
  for (const one of over) assert.deepEqual(one, ['CANCELLED', at])
  assert.equal(bodyOf(await room.shop.cancelIntent(fresh.id), 200).status, 'CANCELLED')
  assert.deepEqual(await room.attempts(fresh.id), [])

  assert.deepEqual(await stored(), [{ state: 'ACTIVE' }])
  await runDue(payments)
  assert.deepEqual(await stored(), [{ state: 'CANCELLED' }])
  assert.deepEqual(await seen(), over)
  for (const { id } of left) assert.deepEqual(await room.events(id), [])
})

test('what is left of a link that was used up is CONSUMED: it takes no challenge or refusal either, and no cancel', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'one_time' }), 201)
  const { id } = await crowd(link.id, 1_500)
  const open = await room.intent({ payment_link_id: link.id })
  await endWithout([open], async () => payments.confirm(await room.read(id), card, null))
  const others = [processorThat({ verify: async () => aChallenge }), processorThat({ eligibility: () => 'ineligible' })]
  // As it was read before the link was used up.
  for (const other of others)
    await assert.rejects(room.payments(other).confirm(open, card, null), { code: 'INTENT_INVALID_STATE' })
  assert.deepEqual(await room.attempts(open.id), [])
  assert.equal((await room.read(open.id)).shown.status, 'CONSUMED')
  assert.equal(refusal(await room.shop.cancelIntent(open.id)), '409 INVALID_STATE')
})

test('what is left of a link that was cancelled ends with it, also where its own time is over before that is stored', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use' }), 201)
  await crowd(link.id, 2_500)
  bodyOf(await room.shop.cancelLink(link.id), 200)
  assert.deepEqual(await statesOf(link.id), [
    ['ACTIVE', 1_501, 0],
    ['CANCELLED', 1_000, 1],
  ])
  await jump(room, 48 * hourMs)
  while ((await payments.sweep()) === 0);
  assert.deepEqual(await statesOf(link.id), [['CANCELLED', 2_501, 1]])
})
