import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { failureCategories } from '@kaha/contract'
import { cards, platform } from '../platform.ts'
import { startPayer } from './code-payer.ts'
import { bodyOf, hourMs, jump, refusal, shop, whileHeld, withoutWorker, type Shop } from './shop.ts'

// The table of states, row by row, as a merchant sees it. Rows that no operation reaches yet are shown by payments/machine-rules.test.ts.
// No worker runs unless a test starts one.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)

interface Vector {
  readonly number: string
  readonly brand: string
  readonly outcome: string
  readonly status: string
  readonly failure_category: string | null
  readonly note: string | null
}
const vectors = (
  JSON.parse(readFileSync(new URL('../vectors/test-cards.json', import.meta.url), 'utf8')) as { cards: Vector[] }
).cards

const verificationRefused = '4230000000000004'
const verificationDown = '4000000000003238'
const silentThenFailed = '4000000000006728'

const newIntent = async (fields: object = {}, of: Shop = merchant) => bodyOf(await of.createIntent(fields), 201)
const read = async (id: string, of: Shop = merchant) => bodyOf(await of.retrieveIntent(id), 200)
const isFailure = (status: string): boolean => status === 'DECLINED' || status === 'FAILED'

/** Intents that are open, once for each way in which they are shown. */
const openOnes = async (): Promise<{ shown: string; id: string }[]> => {
  const intents = [await newIntent(), await newIntent(), await newIntent()] as const
  bodyOf(await merchant.confirm(intents[1].id, cards.declined), 200)
  bodyOf(await merchant.confirm(intents[2].id, cards.error), 200)
  const shown = await Promise.all(intents.map(({ id }) => read(id)))
  assert.deepEqual(
    shown.map(({ status }) => status),
    ['ACTIVE', 'DECLINED', 'FAILED'],
  )
  return shown.map(({ id, status }) => ({ id, shown: status }))
}

type Row = readonly [rule: string, card: string, status: string, category: string | null]
const rows: readonly Row[] = [
  ['C4.machine.open.ineligible', cards.ineligible, 'DECLINED', 'CARD_NOT_ELIGIBLE'],
  ['C4.machine.open.verification-refused', verificationRefused, 'DECLINED', 'VERIFICATION_REJECTED'],
  ['C4.machine.open.verification-down', verificationDown, 'FAILED', 'VERIFICATION_UNAVAILABLE'],
  ['C4.machine.open.challenge', cards.challenge, 'REQUIRES_ACTION', null],
  ['C4.machine.open.confirm', cards.noAnswer, 'PROCESSING', null],
  ['C4.machine.processing.approved', cards.approved, 'SUCCEEDED', null],
  ['C4.machine.processing.refused', cards.declined, 'DECLINED', 'PAYMENT_REJECTED'],
  ['C4.machine.processing.unavailable', cards.unavailable, 'FAILED', 'PROCESSOR_UNAVAILABLE'],
  ['C4.machine.processing.error', cards.error, 'FAILED', 'PAYMENT_PROCESSING_ERROR'],
]
for (const [rule, card, status, category] of rows) {
  test(`${rule}: shown as ACTIVE, DECLINED or FAILED, an intent that is confirmed with such a card is ${status}`, async () => {
    for (const { id, shown } of await openOnes()) {
      const answer = await merchant.confirm(id, card)
      const { next_action, ...intent } = bodyOf(answer, status === 'PROCESSING' ? 202 : 200)
      assert.equal(next_action !== undefined, status === 'REQUIRES_ACTION')
      assert.deepEqual([intent.status, intent.failure_category ?? null], [status, category], `from ${shown}`)
      assert.equal('receipt' in intent, status === 'SUCCEEDED')
      assert.equal('user_message' in intent, isFailure(status) || status === 'SUCCEEDED')
      assert.deepEqual(await read(id), intent)
    }
  })
}

for (const { number, brand, outcome, status, failure_category: category, note } of vectors) {
  test(`[C4.intent.failure-category, C4.intent.user-message-failures] ${brand} ${number}: ${outcome}${note === null ? '' : `, ${note}`}`, async () => {
    const { id } = await newIntent()
    const intent = bodyOf(await merchant.confirm(id, number), status === 'PROCESSING' ? 202 : 200)
    assert.deepEqual([intent.status, intent.failure_category ?? null], [status, category])
    if (isFailure(status)) {
      assert.ok(failureCategories.includes(intent.failure_category))
      assert.match(intent.user_message, /not been charged/)
      // A card that was reported lost or stolen must not be told so: the reader may be whoever has it.
      if (note === 'lost card' || note === 'stolen card')
        assert.doesNotMatch(intent.user_message, /lost|stolen|reported/i)
    }
  })
}

test('[C4.intent.status, C4.intent.user-message, C4.intent.payment-attempt-id] from state to state an intent shows one status, its latest attempt, and a message only where there is an outcome', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const { id } = await newIntent({}, own)
  const fields = async () => {
    const { status, user_message, payment_attempt_id, failure_category } = await read(id, own)
    return [status, user_message !== undefined, payment_attempt_id !== undefined, failure_category !== undefined]
  }
  assert.deepEqual(await fields(), ['ACTIVE', false, false, false])
  const ids = new Set<string>()
  for (const [card, status] of [
    [cards.declined, 'DECLINED'],
    [cards.error, 'FAILED'],
    [cards.challenge, 'REQUIRES_ACTION'],
  ] as const) {
    ids.add(bodyOf(await own.confirm(id, card), 200).payment_attempt_id)
    assert.deepEqual(await fields(), [status, isFailure(status), true, isFailure(status)])
  }
  assert.equal(ids.size, 3)
  await jump(one, 24 * hourMs)
  assert.deepEqual(await fields(), ['EXPIRED', true, true, false])
  assert.ok(ids.has((await read(id, own)).payment_attempt_id))
})

test('C4.intent.updated-at: it tells when the shown state came about, and reading moves nothing', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const { id, updated_at } = await newIntent({}, own)
  let last = updated_at
  for (const card of [cards.declined, cards.error, cards.challenge]) {
    await jump(one, 60_000)
    const from = one.kaha.clock.now().toISOString()
    bodyOf(await own.confirm(id, card), 200)
    const to = one.kaha.clock.now().toISOString()
    await jump(one, 60_000)
    const read1 = await read(id, own)
    assert.ok(read1.updated_at >= from && read1.updated_at <= to && read1.updated_at > last)
    assert.deepEqual(await read(id, own), read1)
    last = read1.updated_at
  }
})

test('C4.intent.updated-at: an attempt that waited for another change of its intent is not shown as older than that', async () => {
  const { id } = await merchant.newIntent()
  const hold = `select from payments.intents where id = '${id}' for update`
  const confirm = () => merchant.confirm(id, cards.ineligible)
  let released = ''
  const [answer] = await whileHeld(p, hold, [confirm], async () => {
    await jump(p, 5_000)
    released = p.kaha.clock.now().toISOString()
  })
  const { status, updated_at } = bodyOf(answer, 200)
  assert.equal(status, 'DECLINED')
  assert.ok(updated_at >= released, `${updated_at}, though others could change it until ${released}`)
})

for (const method of ['card', 'qrph'] as const)
  test(`C4.intent.updated-at: an intent that was made while a payment by ${method} waited for their link is not CONSUMED before that`, async (t) => {
    const one = await platform(t)
    const own = shop(one)
    const payer = startPayer(one)
    const link = await own.newLink()
    const paying = await newIntent({ payment_link_id: link.id }, own)
    const code = method === 'card' ? undefined : await payer.chooseCode(paying.checkout_url)
    if (code === undefined) bodyOf(await own.confirm(paying.id, cards.noAnswer), 202)
    const pay = () => (code === undefined ? one.advance(3_600) : payer.pay(code.text))
    // As each intent of the link does while it is made.
    const hold = `select from ecommerce.links where id = '${link.id}' for share`
    let made = paying
    await whileHeld<unknown>(one, hold, [pay], async () => {
      made = await newIntent({ payment_link_id: link.id }, own)
    })
    const [paid, other] = [await read(paying.id, own), await read(made.id, own)]
    assert.deepEqual([paid.status, other.status], ['SUCCEEDED', 'CONSUMED'])
    assert.ok(other.updated_at >= made.updated_at, `${other.updated_at}, made at ${made.updated_at}`)
  })

test('C4.intent.updated-at: a payment whose answer came late changed when it was known, and not when its processor was done', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const { id } = await newIntent({}, own)
  bodyOf(await own.confirm(id, cards.noAnswer), 202)
  await jump(one, 60_000)
  const asked = one.kaha.clock.now().toISOString()
  await one.another({ KAHA_ROLES: 'worker' })
  await one.advance(3_600)
  const { updated_at, receipt } = await read(id, own)
  assert.ok(updated_at >= asked && receipt.completed_at < asked, `${updated_at}, ${receipt.completed_at}, ${asked}`)
})

test('C4.machine.requires-action.confirm: an intent that waits for a challenge takes no other card', async () => {
  const { id, client_secret } = await newIntent()
  const { next_action: _, ...waiting } = bodyOf(await merchant.confirm(id, cards.challenge), 200)
  for (const card of [cards.approved, cards.challenge, { number: 'no card' }])
    assert.equal(refusal(await merchant.confirm(id, card)), '409 INVALID_STATE')
  assert.equal(refusal(await merchant.confirmAsPayer(id, client_secret)), '409 INVALID_STATE')
  assert.deepEqual(await read(id), waiting)
})

test('[C4.machine.processing.confirm, C4.projection.processing] while a payment is being processed no other is taken', async () => {
  const { id, client_secret } = await newIntent()
  bodyOf(await merchant.confirm(id, cards.declined), 200)
  const processing = bodyOf(await merchant.confirm(id, cards.noAnswer), 202)
  assert.deepEqual(
    Object.keys(processing).toSorted(),
    ['id', 'amount', 'currency', 'status', 'updated_at', 'payment_attempt_id'].toSorted(),
  )
  for (const card of [cards.approved, { number: 'no card' }])
    assert.equal(refusal(await merchant.confirm(id, card)), '409 INTENT_PROCESSING')
  assert.equal(refusal(await merchant.confirmAsPayer(id, client_secret)), '409 INTENT_PROCESSING')
  assert.deepEqual(await read(id), processing)
})

test('C4.machine.processing.no-answer: a payment without an answer stays PROCESSING until the processor has been asked, and then is what the processor says', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const outcomes = new Map([
    [cards.noAnswer, 'SUCCEEDED'],
    [silentThenFailed, 'FAILED'],
    [cards.slow, 'SUCCEEDED'],
  ])
  const silent: { id: string; card: string; answer: unknown }[] = []
  for (const card of outcomes.keys()) {
    const { id } = await newIntent({}, own)
    silent.push({ id, card, answer: bodyOf(await own.confirm(id, card), 202) })
  }
  await jump(one, hourMs)
  for (const { id, answer } of silent) assert.deepEqual(await read(id, own), answer)

  await one.another({ KAHA_ROLES: 'worker' })
  await one.idle()

  for (const { id, card } of silent) {
    const settled = await read(id, own)
    assert.equal(settled.status, outcomes.get(card))
    assert.equal(settled.failure_category, card === silentThenFailed ? 'PAYMENT_PROCESSING_ERROR' : undefined)
    assert.equal(settled.receipt !== undefined, settled.status === 'SUCCEEDED')
  }
})

test('C4.machine.final.confirm: a payment that succeeded, expired, was cancelled or came too late for its link takes no further card', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const link = bodyOf(await own.createLink(), 201)
  const [paid, consumed] = [
    await newIntent({ payment_link_id: link.id }, own),
    await newIntent({ payment_link_id: link.id }, own),
  ]
  bodyOf(await own.confirm(paid.id), 200)
  const cancelled = await newIntent({}, own)
  bodyOf(await own.cancelIntent(cancelled.id), 200)
  const expires_at = new Date(one.kaha.clock.now().getTime() + 60_000).toISOString()
  const expired = await newIntent({ expires_at }, own)
  await jump(one, 60_000)

  for (const [{ id, client_secret }, status] of [
    [paid, 'SUCCEEDED'],
    [consumed, 'CONSUMED'],
    [cancelled, 'CANCELLED'],
    [expired, 'EXPIRED'],
  ] as const) {
    const before = await read(id, own)
    assert.equal(before.status, status)
    for (const card of [cards.approved, cards.ineligible, cards.challenge])
      assert.equal(refusal(await own.confirm(id, card)), '409 INVALID_STATE')
    assert.equal(refusal(await own.confirmAsPayer(id, client_secret)), '409 INVALID_STATE')
    assert.deepEqual(await read(id, own), before)
  }
})

test('[C4.projection.succeeded, C4.projection.latest] the latest attempt is what is shown, and a success stays when time and link end', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const { id } = await newIntent({}, own)
  for (const [card, status] of [
    [cards.declined, 'DECLINED'],
    [cards.unavailable, 'FAILED'],
    [cards.ineligible, 'DECLINED'],
    [cards.approved, 'SUCCEEDED'],
  ] as const) {
    bodyOf(await own.confirm(id, card), 200)
    assert.equal((await read(id, own)).status, status)
  }
  const paid = await read(id, own)
  await jump(one, 48 * hourMs)
  assert.deepEqual(await read(id, own), paid)
  await one.another({ KAHA_ROLES: 'worker' })
  await one.idle()
  assert.deepEqual(await read(id, own), paid)
})
