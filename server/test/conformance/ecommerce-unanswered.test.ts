import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import vectors from '../vectors/test-cards.json' with { type: 'json' }
import { bodyOf, hourMs, jump, refusal, rowsOf, shop, withoutWorker } from './shop.ts'

// Calls that the processor answers late or never, with the worker that asks about them. A confirm waits 50 ms here, not 10 s.
const p = await platform({ after }, { choices: { confirmWaitMsMax: 50 } })
const merchant = shop(p)
const silentThenFailed = '4000000000006728'

const newIntent = async (fields: object = {}) => bodyOf(await merchant.createIntent(fields), 201)
const read = async (id: string) => bodyOf(await merchant.retrieveIntent(id), 200)
const eventsOf = (one: Pick<typeof p, 'kaha'>, id: string): Promise<string[]> =>
  rowsOf<{ type: string }>(
    one,
    'select type from delivery.events where payment_intent_id = $1 or payment_link_id = $1 order by id',
    [id],
  ).then((rows) => rows.map(({ type }) => type))
const inquiriesOf = async (id: string): Promise<number> => {
  const [row] = await rowsOf<{ inquiry_count: number }>(
    p,
    'select inquiry_count from payments.attempts where intent_id = $1',
    [id],
  )
  return row?.inquiry_count ?? 0
}

test('C4.confirm.settles-at-once: every test card but the slow one and those without an answer, and those that need the payer, is settled by its confirm', async () => {
  for (const { number, outcome, status } of vectors.cards) {
    const { id } = await newIntent()
    const answered = await merchant.confirm(id, number)
    const waits = outcome.startsWith('no answer') || outcome === 'slow'
    const confirmed = bodyOf(answered, waits ? 202 : 200)
    assert.equal(confirmed.status, status, number)
    assert.equal(confirmed.status === 'PROCESSING', waits)
  }
})

test('[S7.cards.slow, C4.confirm.wait] a slow card is 202 and PROCESSING once the confirm has waited, takes no other card meanwhile, and has SUCCEEDED after 20 s of the clock', async () => {
  const { id } = await newIntent()
  const from = p.kaha.clock.now().getTime()
  const processing = bodyOf(await merchant.confirm(id, cards.slow), 202)
  const confirmedBy = p.kaha.clock.now().getTime()
  await p.advance(8)
  assert.deepEqual(await read(id), processing)
  assert.equal(refusal(await merchant.confirm(id)), '409 INTENT_PROCESSING')
  await p.advance(15)
  const paid = await read(id)
  assert.equal(paid.status, 'SUCCEEDED')
  const completedAt = Date.parse(paid.receipt.completed_at)
  assert.ok(completedAt >= from + 20_000 && completedAt <= confirmedBy + 20_000)
  assert.deepEqual(await eventsOf(p, id), ['payment.succeeded'])
})

for (const [rule, card, status, category] of [
  ['S7.cards.no-answer', cards.noAnswer, 'SUCCEEDED', undefined],
  ['S7.cards.no-answer-no-authorization', silentThenFailed, 'FAILED', 'PAYMENT_PROCESSING_ERROR'],
] as const) {
  test(`[${rule}, C4.reconcile.asks, C4.confirm.wait] a call that is never answered is 202 once the confirm has waited, and ${status} once the processor was asked`, async () => {
    const { id } = await newIntent()
    const processing = bodyOf(await merchant.confirm(id, card), 202)
    assert.equal(processing.status, 'PROCESSING')
    await p.advance(2)
    const settled = await read(id)
    assert.deepEqual([settled.status, settled.failure_category], [status, category])
    assert.equal('receipt' in settled, status === 'SUCCEEDED')
    assert.equal(settled.payment_attempt_id, processing.payment_attempt_id)
    const asked = await inquiriesOf(id)
    assert.ok(asked >= 1)
    await p.advance(3_600)
    assert.deepEqual(await read(id), settled)
    assert.equal(await inquiriesOf(id), asked)
    assert.deepEqual(await eventsOf(p, id), [`payment.${status.toLowerCase()}`])
    const again = await merchant.confirm(id)
    assert.equal(refusal(again), status === 'SUCCEEDED' ? '409 INVALID_STATE' : '200 ')
  })
}

test('C4.reconcile.asks: a payment that the processor does not know the end of yet is asked about again and again, and settled once', async () => {
  const { id } = await newIntent()
  bodyOf(await merchant.confirm(id, cards.slow), 202)
  await p.advance(10)
  const asked = await inquiriesOf(id)
  assert.ok(asked >= 2)
  await p.advance(60)
  assert.ok((await inquiriesOf(id)) > asked)
  assert.deepEqual(await eventsOf(p, id), ['payment.succeeded'])
})

for (const [card, status, events] of [
  [cards.noAnswer, 'SUCCEEDED', ['payment.succeeded']],
  [silentThenFailed, 'EXPIRED', ['payment.failed', 'payment.expired']],
] as const) {
  test(`[A2.sent.expired-processing, C4.uses.late-success, C4.uses.late-success-link] a payment that is being processed when intent and link expire becomes ${status}, and ${events.join(', ')} is all that is told`, async (t) => {
    const one = await platform(t, withoutWorker)
    const own = shop(one)
    const expires_at = new Date(one.kaha.clock.now().getTime() + hourMs).toISOString()
    const alone = bodyOf(await own.createIntent({ expires_at }), 201)
    const link = bodyOf(await own.createLink({ expires_at }), 201)
    const ofLink = bodyOf(await own.createIntent({ payment_link_id: link.id }), 201)
    for (const { id } of [alone, ofLink]) bodyOf(await own.confirm(id, card), 202)
    await jump(one, 2 * hourMs)
    for (const { id } of [alone, ofLink]) assert.equal(bodyOf(await own.retrieveIntent(id), 200).status, 'PROCESSING')
    assert.deepEqual(await eventsOf(one, alone.id), [])

    await one.another({ KAHA_ROLES: 'worker' })
    await one.idle()

    for (const { id } of [alone, ofLink]) {
      const settled = bodyOf(await own.retrieveIntent(id), 200)
      assert.equal(settled.status, status)
      assert.equal('receipt' in settled, status === 'SUCCEEDED')
    }
    assert.deepEqual((await eventsOf(one, alone.id)).toSorted(), events.toSorted())
    // The link tells of its own end, and of its payment.
    assert.deepEqual((await eventsOf(one, link.id)).toSorted(), events.toSorted())
    const told = bodyOf(await own.retrieveLink(link.id), 200)
    assert.deepEqual([told.status, told.successful_payment_count], ['EXPIRED', status === 'SUCCEEDED' ? 1 : 0])
  })
}
