import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, newKey, platform } from '../platform.ts'
import {
  attemptOf,
  bodyOf,
  eventTypesOf,
  fromNow,
  hourMs,
  jump,
  refusal,
  rowsOf,
  shop,
  whileHeld,
  withoutWorker,
} from './shop.ts'

// What a merchant ends: links, with what is open of them, and intents. No worker runs unless a test starts one.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)

const silentThenFailed = '4000000000006728'

const { newLink, readLink, newIntent, readIntent: read } = merchant

test('[C4.link-cancel.ok, C4.link-state.cancelled, C4.link.cancelled-at, C4.link.cancellation-reason] a cancelled link says that it is, when, and why where a reason was given', async () => {
  for (const [body, reason] of [
    [undefined, undefined],
    [{}, undefined],
    [{ reason: 'Sold out.' }, 'Sold out.'],
  ] as const) {
    const made = await newLink({ type: 'multi_use' })
    await jump(p, 1_000)
    const earliest = p.kaha.clock.now().toISOString()
    const link = bodyOf(await merchant.cancelLink(made.id, body), 200)
    assert.deepEqual(link, {
      ...made,
      status: 'CANCELLED',
      cancelled_at: link.cancelled_at,
      updated_at: link.cancelled_at,
      ...(reason === undefined ? {} : { cancellation_reason: reason }),
    })
    assert.ok(link.cancelled_at >= earliest && link.cancelled_at <= p.kaha.clock.now().toISOString())
    assert.deepEqual(await readLink(made.id), link)
    assert.equal(refusal(await merchant.createIntent({ payment_link_id: made.id })), '422 INVALID_STATE')
  }
})

test('C4.link-cancel.reason: a reason has 1 to 500 characters', async () => {
  const { id } = await newLink()
  assert.equal(
    refusal(await merchant.cancelLink(id, { reason: '☕'.repeat(501) })),
    '400 INVALID_REASON reason max_length',
  )
  assert.equal(refusal(await merchant.cancelLink(id, { reason: ' ' })), '400 BAD_REQUEST reason non_blank')
  assert.equal(refusal(await merchant.cancelLink(id, { reason: 1 })), '400 INVALID_REASON reason type')
  assert.equal(refusal(await merchant.cancelLink(id, { why: 'x' })), '400 BAD_REQUEST why unknown')
  assert.equal((await readLink(id)).status, 'ACTIVE')
  const longest = '☕'.repeat(500)
  assert.equal(bodyOf(await merchant.cancelLink(id, { reason: longest }), 200).cancellation_reason, longest)
})

test('[C4.link-cancel.again, C4.link-state.final] cancelling a CANCELLED link again answers with it and changes nothing', async () => {
  const { id } = await newLink()
  const link = bodyOf(await merchant.cancelLink(id, { reason: 'Sold out.' }), 200)
  await jump(p, 1_000)
  assert.deepEqual(bodyOf(await merchant.cancelLink(id, { reason: 'Another.' }), 200), link)
  await jump(p, 48 * hourMs)
  assert.deepEqual(bodyOf(await merchant.cancelLink(id), 200), link)
  assert.deepEqual(await readLink(id), link)
})

test('C4.link-cancel.ended: a link that is used up or expired, stored as such or not, cannot be cancelled', async () => {
  const [consumed, expired] = [await newLink(), await newLink({ expires_at: fromNow(p, hourMs) })]
  bodyOf(await merchant.confirm((await newIntent({ payment_link_id: consumed.id })).id), 200)
  await jump(p, hourMs)
  for (const { id } of [consumed, expired]) {
    const before = await readLink(id)
    assert.equal(refusal(await merchant.cancelLink(id)), '422 INVALID_STATE')
    assert.deepEqual(await readLink(id), before)
  }
  assert.equal((await readLink(expired.id)).status, 'EXPIRED')
})

test('[C4.machine.waiting.link-cancelled, C4.projection.ended] with a link its open intents are CANCELLED, an open challenge is abandoned, and nothing is announced, then or when their time passes', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const link = await own.newLink()
  const ids = await own.waitingIntents({ payment_link_id: link.id })
  const apart = await own.newIntent()
  const told = await eventTypesOf(one)
  const { cancelled_at: at } = bodyOf(await own.cancelLink(link.id), 200)

  for (const id of ids) {
    const intent = await own.readIntent(id)
    assert.deepEqual([intent.status, intent.updated_at], ['CANCELLED', at])
    assert.ok(!('failure_category' in intent))
    assert.equal(refusal(await own.confirm(id)), '409 INVALID_STATE')
  }
  const last = ids.at(-1) ?? ''
  assert.deepEqual(await attemptOf(one, last), { attempt: 'ABANDONED', intent: 'CANCELLED', transaction: 'CANCELLED' })
  assert.equal((await own.readIntent(apart.id)).status, 'ACTIVE')
  assert.deepEqual(await eventTypesOf(one), told)

  const settled = await Promise.all(ids.map((id) => own.readIntent(id)))
  bodyOf(await own.cancelIntent(apart.id), 200)
  await one.another({ KAHA_ROLES: 'worker' })
  await one.advance(48 * 3_600)
  assert.deepEqual(await Promise.all(ids.map((id) => own.readIntent(id))), settled)
  assert.deepEqual(await eventTypesOf(one), told)
})

test('C4.machine.waiting.link-cancelled: an intent that had expired before its link was cancelled stays EXPIRED', async () => {
  const link = await newLink()
  const expires_at = fromNow(p, hourMs)
  const { id } = await newIntent({ payment_link_id: link.id, expires_at })
  await jump(p, 2 * hourMs)
  bodyOf(await merchant.cancelLink(link.id), 200)
  const intent = await read(id)
  assert.deepEqual([intent.status, intent.updated_at], ['EXPIRED', expires_at])
})

for (const [card, status, count] of [
  [cards.noAnswer, 'SUCCEEDED', 1],
  [silentThenFailed, 'CANCELLED', 0],
] as const) {
  test(`[C4.uses.late-success, C4.uses.late-success-link, C4.machine.processing.ends, C4.machine.processing.ended-approved, C4.machine.processing.ended-refused] a payment that is being processed goes on when its link is cancelled, and becomes ${status}; the link stays CANCELLED`, async (t) => {
    const one = await platform(t, withoutWorker)
    const own = shop(one)
    const link = await own.newLink()
    const { id } = await own.newIntent({ payment_link_id: link.id })
    const processing = bodyOf(await own.confirm(id, card), 202)
    const cancelled = bodyOf(await own.cancelLink(link.id), 200)
    assert.deepEqual(await own.readIntent(id), processing)
    assert.equal((await attemptOf(one, id))?.intent, 'CANCELLED')
    assert.equal(refusal(await own.cancelIntent(id)), '409 INTENT_PROCESSING')

    await one.another({ KAHA_ROLES: 'worker' })
    await one.advance(48 * 3_600)

    const settled = await own.readIntent(id)
    assert.equal(settled.status, status)
    assert.equal('receipt' in settled, count === 1)
    const told = await own.readLink(link.id)
    assert.deepEqual([told.status, told.successful_payment_count], ['CANCELLED', count])
    assert.equal(told.cancelled_at, cancelled.cancelled_at)
    assert.deepEqual(await eventTypesOf(one), [count === 1 ? 'payment.succeeded' : 'payment.failed'])
    const [uses] = await rowsOf(one, 'select reserved_count as reserved from ecommerce.links where id = $1', [link.id])
    assert.deepEqual(uses, { reserved: 0 })
    assert.equal((await own.cancelIntent(id)).status, count === 1 ? 409 : 200)
  })
}

const payers = 12

test('C4.uses.cap: a link that is cancelled while a crowd pays keeps every success, and nothing of it is left open', async () => {
  const link = await newLink({ type: 'multi_use', max_uses: payers + 1 })
  const intents = await Promise.all(Array.from({ length: payers }, () => newIntent({ payment_link_id: link.id })))
  const paying = intents.map(({ id }) => merchant.confirm(id))
  const [answers] = await Promise.all([Promise.all(paying), merchant.cancelLink(link.id)])
  const shown = await Promise.all(intents.map(async ({ id }) => (await read(id)).status))
  for (const [i, answer] of answers.entries())
    assert.equal(shown[i], answer.status === 200 ? 'SUCCEEDED' : 'CANCELLED', refusal(answer))
  const told = await readLink(link.id)
  const paid = shown.filter((status) => status === 'SUCCEEDED').length
  assert.deepEqual([told.status, told.successful_payment_count], ['CANCELLED', paid])
})

test('[C4.idempotency.optional-cancel, C4.idempotency.same] a cancel with a key gives its first answer again; another reason, or another link, is another request', async () => {
  const [link, other] = [await newLink(), await newLink()]
  const idempotencyKey = newKey()
  const asked = { idempotencyKey }
  const first = await merchant.cancelLink(link.id, { reason: 'Sold out.' }, asked)
  assert.equal(bodyOf(first, 200).status, 'CANCELLED')
  assert.equal(first.headers['idempotent-replayed'], undefined)
  const again = await merchant.cancelLink(link.id, { reason: 'Sold out.' }, asked)
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.deepEqual(again.json, first.json)
  assert.equal(refusal(await merchant.cancelLink(link.id, {}, asked)), '409 IDEMPOTENCY_MISMATCH')
  // With the same body.
  const elsewhere = await merchant.cancelLink(other.id, { reason: 'Sold out.' }, asked)
  assert.equal(refusal(elsewhere), '409 IDEMPOTENCY_MISMATCH')
  assert.doesNotMatch(elsewhere.text, /another body/)
  assert.equal((await readLink(other.id)).status, 'ACTIVE')
  assert.match(
    refusal(await merchant.cancelLink(other.id, {}, { idempotencyKey: 'short' })),
    /^400 INVALID_IDEMPOTENCY_KEY/,
  )
  assert.equal(bodyOf(await merchant.cancelLink(other.id), 200).status, 'CANCELLED')

  // The same key names another request where the operation is another.
  const { id } = await newIntent()
  const cancelled = await merchant.cancelIntent(id, asked)
  assert.equal(bodyOf(cancelled, 200).status, 'CANCELLED')
  const repeated = await merchant.cancelIntent(id, asked)
  assert.deepEqual([repeated.headers['idempotent-replayed'], repeated.json], ['true', cancelled.json])
  assert.equal(refusal(await merchant.cancelIntent((await newIntent()).id, asked)), '409 IDEMPOTENCY_MISMATCH')
})

test('[C4.idempotency.optional-cancel, C4.idempotency.errors-free] a cancel that was refused frees its key', async () => {
  const { id } = await merchant.newIntent()
  const idempotencyKey = newKey()
  bodyOf(await merchant.confirm(id, cards.challenge), 200)
  const paid = await newIntent()
  bodyOf(await merchant.confirm(paid.id), 200)
  assert.equal(refusal(await merchant.cancelIntent(paid.id, { idempotencyKey })), '409 INVALID_STATE')
  const answer = await merchant.cancelIntent(id, { idempotencyKey })
  assert.deepEqual([answer.status, answer.headers['idempotent-replayed']], [200, undefined])
})

test('[C4.idempotency.optional-cancel, C4.idempotency.in-progress] while the first cancel with a key still runs, the second is told so at once', async () => {
  const link = await newLink()
  const idempotencyKey = newKey()
  const cancel = () => merchant.cancelLink(link.id, {}, { idempotencyKey })
  const hold = `select from ecommerce.links where id = '${link.id}' for update`
  const [first] = await whileHeld(p, hold, [cancel], async () => {
    assert.equal(refusal(await cancel()), '409 IDEMPOTENCY_IN_PROGRESS')
  })
  assert.equal(bodyOf(first, 200).status, 'CANCELLED')
  const again = await cancel()
  assert.deepEqual([again.headers['idempotent-replayed'], again.json], ['true', first?.json])
})
