import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import { attemptOf, bodyOf, eventTypesOf, fromNow, hourMs, jump, refusal, shop, withoutWorker } from './shop.ts'

// What a merchant ends of intents. No worker runs unless a test starts one.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)

const { newLink, readLink, newIntent, readIntent: read } = merchant

test('[C4.intent-cancel.ok, C4.machine.waiting.cancelled] an intent that is open or waits for a challenge is CANCELLED when the merchant says so, and takes no card any more', async () => {
  for (const id of await merchant.waitingIntents()) {
    await jump(p, 1_000)
    const earliest = p.kaha.clock.now().toISOString()
    const intent = bodyOf(await merchant.cancelIntent(id), 200)
    assert.equal(intent.status, 'CANCELLED')
    assert.ok(intent.updated_at >= earliest)
    assert.ok(!('failure_category' in intent) && !('client_secret' in intent))
    assert.deepEqual(await read(id), intent)
    const stored = await attemptOf(p, id)
    assert.ok(stored?.attempt !== 'REQUIRES_ACTION' && stored?.intent === 'CANCELLED')
    if (stored.attempt === 'ABANDONED') assert.equal(stored.transaction, 'CANCELLED')
    for (const card of [cards.approved, cards.challenge])
      assert.equal(refusal(await merchant.confirm(id, card)), '409 INVALID_STATE')
  }
})

test('C4.intent-cancel.ok: cancelling an intent of a link leaves the link and its other intents to be paid', async () => {
  const link = await newLink()
  const [one, other] = [await newIntent({ payment_link_id: link.id }), await newIntent({ payment_link_id: link.id })]
  bodyOf(await merchant.cancelIntent(one.id), 200)
  assert.deepEqual(await readLink(link.id), link)
  assert.equal(bodyOf(await merchant.confirm(other.id), 200).status, 'SUCCEEDED')
})

test('C4.machine.cancelled.cancel: cancelling a CANCELLED intent again answers with it and changes nothing, past its time too', async () => {
  const { id } = await newIntent()
  const intent = bodyOf(await merchant.cancelIntent(id), 200)
  await jump(p, 48 * hourMs)
  assert.deepEqual(bodyOf(await merchant.cancelIntent(id), 200), intent)
  assert.deepEqual(await read(id), intent)
})

test('C4.machine.processing.cancel: an intent that is being paid cannot be cancelled, past its time neither', async () => {
  const { id } = await newIntent({ expires_at: fromNow(p, hourMs) })
  const processing = bodyOf(await merchant.confirm(id, cards.noAnswer), 202)
  assert.equal(refusal(await merchant.cancelIntent(id)), '409 INTENT_PROCESSING')
  await jump(p, 2 * hourMs)
  assert.equal(refusal(await merchant.cancelIntent(id)), '409 INTENT_PROCESSING')
  assert.deepEqual(await read(id), processing)
})

test('C4.machine.final.cancel: an intent that is paid, expired or came too late for its link cannot be cancelled', async () => {
  const link = await newLink()
  const of = { payment_link_id: link.id }
  const [paid, consumed] = [await newIntent(of), await newIntent(of)]
  const expired = await newIntent({ expires_at: fromNow(p, hourMs) })
  bodyOf(await merchant.confirm(paid.id), 200)
  await jump(p, hourMs)
  for (const [{ id }, status] of [
    [paid, 'SUCCEEDED'],
    [consumed, 'CONSUMED'],
    [expired, 'EXPIRED'],
  ] as const) {
    const before = await read(id)
    assert.equal(before.status, status)
    assert.equal(refusal(await merchant.cancelIntent(id)), '409 INVALID_STATE')
    assert.deepEqual(await read(id), before)
  }
})

test('C4.machine.waiting.cancelled: a challenge whose time was over before the cancel was declined first, and that is told once', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const { id } = await own.newIntent()
  bodyOf(await own.confirm(id, cards.challenge), 200)
  await jump(one, hourMs)
  assert.equal((await own.readIntent(id)).status, 'DECLINED')
  const cancelled = bodyOf(await own.cancelIntent(id), 200)
  assert.equal(cancelled.status, 'CANCELLED')

  await one.another({ KAHA_ROLES: 'worker' })
  await one.advance(48 * 3_600)
  assert.deepEqual(await own.readIntent(id), cancelled)
  assert.deepEqual(await attemptOf(one, id), { attempt: 'DECLINED', intent: 'CANCELLED', transaction: 'DECLINED' })
  assert.deepEqual(await eventTypesOf(one), ['payment.declined'])
})

test('C4.intent-retrieve.unknown: a cancel of no intent, and of one of somebody else, is 404', async () => {
  const { id } = await newIntent()
  const [, other] = p.seed.merchants
  assert.ok(other)
  assert.equal(refusal(await merchant.cancelIntent('01890000-0000-7000-8000-000000000000')), '404 NOT_FOUND')
  assert.equal(refusal(await merchant.cancelIntent(id, { key: other.secret_key })), '404 NOT_FOUND')
  assert.equal((await read(id)).status, 'ACTIVE')
})

test('C4.intent-cancel.ok: the cancel of an intent takes no body but an empty object', async () => {
  const { id } = await newIntent()
  const withBody = (body: object) =>
    fetch(`${p.url}/ecom/v1/payment-intents/${id}/cancel`, {
      method: 'POST',
      headers: { 'x-api-key': p.merchant.secret_key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  assert.equal((await withBody({ reason: 'Sold out.' })).status, 400)
  assert.equal((await read(id)).status, 'ACTIVE')
  assert.equal((await withBody({})).status, 200)
})

const payers = 12

test('C4.machine.waiting.cancelled: whoever pays and whoever cancels at the same moment, one of them wins and the other is told', async () => {
  const pairs = await Promise.all(
    Array.from({ length: payers }, async () => {
      const { id } = await newIntent()
      const [paid, cancelled] = await Promise.all([merchant.confirm(id), merchant.cancelIntent(id)])
      return { shown: (await read(id)).status, told: [refusal(paid), refusal(cancelled)] }
    }),
  )
  for (const { shown, told } of pairs) {
    if (shown === 'CANCELLED') assert.match(told.join(), /^409 INVALID_STATE,200 $/)
    else {
      assert.equal(shown, 'SUCCEEDED')
      assert.match(told.join(), /^200 ,409 (INVALID_STATE|INTENT_PROCESSING)$/)
    }
  }
})
