import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { readQrPh } from '@kaha/qrph'
import { cards, platform } from '../platform.ts'
import { call } from './call.ts'
import { hiddenOf, outcomeOf, startPayer, textOn, unmatchedOf } from './code-payer.ts'
import { qrAccount } from './qr-account.ts'
import { bodyOf, eventTypesOf, fromNow, refusal, rowsOf, shop } from './shop.ts'

// QR Ph in the checkout, by plain HTTP, as a browser without scripts does it.
const p = await platform({ after }, { settings: { KAHA_CURRENCIES: 'PHP,USD' } })
const merchant = shop(p)
const payer = startPayer(p)

const attemptOf = async (intentId: string): Promise<string> => (await merchant.readIntent(intentId)).payment_attempt_id
const intentOf = async (linkId: string): Promise<string> => {
  const [row] = await rowsOf<{ id: string }>(p, 'select id from payments.intents where link_id = $1', [linkId])
  assert.ok(row)
  return row.id
}
const linkStands = async (id: string): Promise<string> => {
  const link = await merchant.readLink(id)
  return `${link.status} ${link.successful_payment_count}`
}
const transactionOf = async (attemptId: string) => (await p.sdk.reports.retrieveTransaction(attemptId)).data

test('[E6.life.checkout-transaction] a code of a link is paid once: one attempt, one transaction by QR Ph, a receipt without a card, the use of the link', async () => {
  const link = await merchant.newLink({ order_reference: 'KT-1' })
  const code = await payer.chooseCode(link.url)
  const id = await intentOf(link.id)
  const waiting = await merchant.readIntent(id)
  const attempt = waiting.payment_attempt_id
  assert.equal(waiting.status, 'REQUIRES_ACTION')
  assert.deepEqual([waiting.user_message, waiting.failure_category, waiting.receipt], [undefined, undefined, undefined])
  const pending = await transactionOf(attempt)
  assert.deepEqual([pending.status, pending.payment_method, pending.amount], ['PENDING', 'QR_PH', 9_800])
  const read = readQrPh(code.text)
  assert.ok('code' in read)
  assert.deepEqual([read.code.amount, read.code.name, read.code.currency], ['98.00', p.merchant.name, '608'])

  const answer = bodyOf(await payer.pay(code.text), 200)
  assert.deepEqual([answer.id, answer.status, answer.merchant_reference_number], [attempt, 'PAID', 'KT-1'])
  const { receipt, status } = await merchant.readIntent(id)
  const { invoice_number: invoice, ...told } = receipt
  assert.equal(status, 'SUCCEEDED')
  assert.match(invoice, /^\d{10}$/)
  assert.deepEqual(told, {
    approval_code: answer.bank_reference,
    transaction_id: attempt,
    reconciliation_id: answer.bank_reference,
    completed_at: answer.at,
  })
  const paid = await transactionOf(attempt)
  assert.deepEqual(
    [paid.status, paid.payment_method, paid.updated_at, paid.reference_number, paid.settlement_status],
    ['CAPTURED', 'QR_PH', answer.at, answer.bank_reference, 'UNSETTLED'],
  )
  assert.deepEqual(
    [paid.card_brand, paid.card_last_four, paid.amount_details.amount_received],
    [undefined, undefined, 9_800],
  )
  assert.deepEqual(
    paid.events.map(({ event_type: type }) => type),
    ['CREATED', 'CAPTURED'],
  )
  assert.equal(await linkStands(link.id), 'CONSUMED 1')
  assert.equal(outcomeOf(await payer.get(code.page)), 'succeeded')

  const refund = bodyOf(await merchant.createRefund(id), 201)
  assert.equal(refund.status, 'SUCCEEDED')
  assert.equal((await transactionOf(attempt)).status, 'REFUNDED')
})

test('[E6.life.checkout-events] a code of a checkout causes payment.succeeded or payment.declined, nothing encrypted, and the QR service knows no such code', async () => {
  const before = (await eventTypesOf(p)).filter((type) => type === 'payment.declined').length
  const intent = await merchant.newIntent()
  const first = await payer.chooseCode(intent.checkout_url)
  bodyOf(await payer.answer(first.text, 'DECLINED'), 200)
  const second = await payer.chooseCode(intent.checkout_url)
  bodyOf(await payer.pay(second.text), 200)
  await p.idle()
  const events = await rowsOf<{ type: string; dialect: string; data: Record<string, unknown> }>(
    p,
    `select type, dialect, body::json -> 'data' as data from delivery.events where payment_intent_id = $1 order by id`,
    [intent.id],
  )
  assert.deepEqual(
    events.map(({ type }) => type),
    ['payment.declined', 'payment.succeeded'],
  )
  const [declined, paid] = events.map(({ data }) => data)
  assert.deepEqual([declined?.['status'], declined?.['failure_category']], ['DECLINED', 'PAYMENT_REJECTED'])
  assert.deepEqual(
    [paid?.['status'], paid?.['amount'], paid?.['card_brand'], paid?.['card_last_four']],
    ['SUCCEEDED', 9_800, undefined, undefined],
  )
  assert.equal(paid?.['payment_attempt_id'], await attemptOf(intent.id))
  assert.equal((await eventTypesOf(p)).filter((type) => type === 'payment.declined').length, before + 1)
  assert.deepEqual(await rowsOf(p, `select id from delivery.events where dialect = 'encrypted'`), [])
  assert.equal((await qrAccount(p).get(await attemptOf(intent.id))).status, 404)
})

test('a code that the bank declines leaves the payer to choose again, by card too, and its use of the link is free', async () => {
  const link = await merchant.newLink()
  const code = await payer.chooseCode(link.url)
  const id = await intentOf(link.id)
  bodyOf(await payer.answer(code.text, 'DECLINED'), 200)
  const declined = await merchant.readIntent(id)
  assert.deepEqual([declined.status, declined.failure_category], ['DECLINED', 'PAYMENT_REJECTED'])
  assert.match(declined.user_message, /^Your bank declined this payment\. .* do not pay again: ask the merchant\./)
  assert.equal((await transactionOf(declined.payment_attempt_id)).status, 'DECLINED')
  const page = await payer.get(code.page)
  assert.equal(outcomeOf(page), 'open')
  assert.match(page.text, /Your bank declined this payment/)
  assert.equal((await payer.payByCard(code.page, page)).status, 303)
  assert.equal((await merchant.readIntent(id)).status, 'SUCCEEDED')
  assert.equal(await linkStands(link.id), 'CONSUMED 1')
  await refusedAsFinal(code.text)
})

const refusedAsFinal = async (text: string): Promise<void> =>
  assert.match(refusal(await payer.pay(text)), /^422 CODE_FINAL/)

test('[E6.life.unmatched] a bank that pays a code twice, or pays one that was declined, is refused, and its money recorded', async () => {
  const intent = await merchant.newIntent()
  const declined = await payer.chooseCode(intent.checkout_url)
  bodyOf(await payer.answer(declined.text, 'DECLINED'), 200)
  const declinedId = await attemptOf(intent.id)
  await refusedAsFinal(declined.text)
  assert.deepEqual(await unmatchedOf(p, declinedId), ['DECLINED 9800'])

  const code = await payer.chooseCode(intent.checkout_url)
  const answers = await Promise.all([1, 2, 3].map(() => payer.pay(code.text)))
  assert.deepEqual(answers.map(({ status }) => `${status}`).toSorted(), ['200', '422', '422'])
  assert.deepEqual(await unmatchedOf(p, await attemptOf(intent.id)), ['PAID 9800', 'PAID 9800'])
  assert.equal((await merchant.readIntent(intent.id)).status, 'SUCCEEDED')
})

test('[E6.life.other-amount] another amount pays no code of a checkout, and leaves it to be paid', async () => {
  const { checkout_url: url, id } = await merchant.newIntent()
  const code = await payer.chooseCode(url)
  assert.match(refusal(await payer.pay(code.text, { amount: 9_700 })), /^422 AMOUNT_MISMATCH/)
  assert.equal((await merchant.readIntent(id)).status, 'REQUIRES_ACTION')
  bodyOf(await payer.pay(code.text), 200)
})

test('C4.checkout.twice: a form that asks for a code twice, one after the other or at once, makes one code and leads to it', async () => {
  const link = await merchant.newLink({ type: 'multi_use' })
  const form = await payer.get(link.url)
  const clicks = await Promise.all(Array.from({ length: 6 }, () => payer.askCode(link.url, form)))
  clicks.push(await payer.askCode(link.url, form))
  assert.deepEqual(new Set(clicks.map(({ status, location }) => `${status} ${location}`)).size, 1)
  const attempts = await rowsOf(
    p,
    `select a.id from payments.attempts a join payments.intents i on i.id = a.intent_id where i.link_id = $1`,
    [link.id],
  )
  assert.equal(attempts.length, 1)
})

test('a payer who changes to a card gives up the code first: whatever the bank says then, one payment is made', async () => {
  const link = await merchant.newLink()
  const code = await payer.chooseCode(link.url)
  const id = await intentOf(link.id)
  const attempt = await attemptOf(id)
  assert.match(refusal(await merchant.confirm(id)), /^409 INVALID_STATE/)
  const changed = await payer.giveUp(code.page)
  assert.deepEqual([changed.status, changed.location], [303, code.page])
  const open = await payer.get(code.page)
  assert.equal(outcomeOf(open), 'open')
  assert.equal((await merchant.readIntent(id)).status, 'ACTIVE')
  assert.equal((await transactionOf(attempt)).status, 'CANCELLED')
  await refusedAsFinal(code.text)
  assert.deepEqual(await unmatchedOf(p, attempt), ['EXPIRED 9800'])
  assert.equal((await payer.payByCard(code.page, open)).status, 303)
  await refusedAsFinal(code.text)
  assert.equal(await linkStands(link.id), 'CONSUMED 1')
  const paid = await rowsOf(p, `select id from payments.attempts where intent_id = $1 and state = 'SUCCEEDED'`, [id])
  assert.equal(paid.length, 1)
})

test('the page of an earlier code gives up no later one, and a code that was paid is not given up any more', async () => {
  const intent = await merchant.newIntent()
  const first = await payer.chooseCode(intent.checkout_url)
  const earlier = await payer.get(first.page)
  await payer.giveUp(first.page)
  const second = await payer.chooseCode(intent.checkout_url)
  await payer.giveUp(first.page, earlier)
  assert.equal(textOn(await payer.get(first.page)), second.text)
  const later = await payer.get(second.page)
  bodyOf(await payer.pay(second.text), 200)
  assert.equal((await payer.giveUp(second.page, later)).status, 303)
  assert.equal((await merchant.readIntent(intent.id)).status, 'SUCCEEDED')
})

test('a form that did not come from its own page neither makes a code nor gives one up', async () => {
  const intent = await merchant.newIntent()
  const forged = { ...hiddenOf(await payer.get(intent.checkout_url)), csrf: 'of another page', method: 'qrph' }
  assert.equal((await payer.post(intent.checkout_url, forged)).status, 403)
  const code = await payer.chooseCode(intent.checkout_url)
  assert.equal((await payer.post(`${code.page}/other`, forged)).status, 403)
  assert.equal((await merchant.readIntent(intent.id)).status, 'REQUIRES_ACTION')
})

test('QR Ph is offered for pesos from 1.00 to 99,999.99, and nowhere else a code is made', async () => {
  const offers = async (fields: object) => {
    const { checkout_url: url } = await merchant.newIntent(fields)
    const page = await payer.get(url)
    const asked = await payer.askCode(url, page)
    assert.equal(asked.status, page.text.includes('value="qrph"') ? 303 : 400)
    return asked.status === 303
  }
  assert.equal(await offers({ amount: 99 }), false)
  assert.equal(await offers({ amount: 100 }), true)
  assert.equal(await offers({ amount: 9_999_999 }), true)
  assert.equal(await offers({ amount: 10_000_000 }), false)
  assert.equal(await offers({ currency: 'USD' }), false)
})

test('the picture of a code is there while the code can be paid, and nobody keeps it', async () => {
  const intent = await merchant.newIntent()
  const url = `${intent.checkout_url}/code.png`
  assert.equal((await fetch(url)).status, 404)
  const code = await payer.chooseCode(intent.checkout_url)
  const picture = await fetch(url)
  assert.deepEqual(
    [picture.status, picture.headers.get('content-type'), picture.headers.get('cache-control')],
    [200, 'image/png', 'no-store'],
  )
  assert.equal(
    Buffer.from(await picture.arrayBuffer())
      .subarray(1, 4)
      .toString(),
    'PNG',
  )
  bodyOf(await payer.pay(code.text), 200)
  assert.equal((await fetch(url)).status, 404)
})

test('S7.bank.any-text: a bank app shows a code of a checkout from its text and from the picture of the page, and how it stands', async () => {
  const intent = await merchant.newIntent({ order_reference: 'KT-2' })
  const code = await payer.chooseCode(intent.checkout_url)
  const picture = Buffer.from(await (await fetch(`${intent.checkout_url}/code.png`)).arrayBuffer())
  const read = (body: object) =>
    call(p.url, { method: 'POST', path: '/sandbox/bank/read', key: p.seed.partner.secret_key, body })
  const shown = bodyOf(await read({ qr_image: picture.toString('base64') }), 200)
  assert.deepEqual(
    [shown.qr_text, shown.status, shown.merchant_reference_number, shown.refusal],
    [code.text, 'PENDING', 'KT-2', undefined],
  )
  bodyOf(await payer.pay(code.text), 200)
  const paid = bodyOf(await read({ qr_text: code.text }), 200)
  assert.deepEqual([paid.status, paid.refusal.code, paid.refusal.rule], ['PAID', 'CODE_FINAL', 'paid'])
})

test('[C4.confirm.qrph] a confirm with qrph makes a code, and next_action leads to the page that shows it', async () => {
  const { id, client_secret: secret, checkout_url: url } = await merchant.newIntent()
  const asked = bodyOf(await merchant.confirmBy({ type: 'qrph' }, id, { client_secret: secret }), 200)
  assert.deepEqual([asked.status, asked.next_action], ['REQUIRES_ACTION', { type: 'redirect', url }])
  assert.equal('next_action' in (await merchant.readIntent(id)), false)
  assert.match(refusal(await merchant.confirmBy({ type: 'qrph' }, id)), /^409 INVALID_STATE/)
  const text = textOn(await payer.get(url))
  assert.ok(text)
  bodyOf(await payer.pay(text), 200)
  assert.equal((await merchant.readIntent(id)).status, 'SUCCEEDED')

  const byAmount = /QR Ph pays an amount from 1\.00 to 99999\.99 alone\.$/
  const refused: readonly (readonly [object, RegExp])[] = [
    [{ amount: 99 }, byAmount],
    [{ amount: 10_000_000 }, byAmount],
    [{ currency: 'USD' }, /QR Ph pays in PHP alone\.$/],
  ]
  for (const [fields, why] of refused) {
    const answer = await merchant.confirmBy({ type: 'qrph' }, (await merchant.newIntent(fields)).id)
    assert.equal(refusal(answer), '400 INVALID_PAYMENT_METHOD payment_method.type offered')
    assert.match(answer.json.error.message, why)
  }
  const other = await merchant.newIntent()
  assert.equal(
    refusal(await merchant.confirmBy({ type: 'card' }, other.id)),
    '400 BAD_REQUEST payment_method.card required',
  )
  const both = { type: 'qrph', card: { number: cards.approved, exp_month: 12, exp_year: 2060, cvc: '123' } }
  assert.equal(refusal(await merchant.confirmBy(both, other.id)), '400 BAD_REQUEST payment_method.card unknown')
  assert.equal((await merchant.readIntent(other.id)).payment_attempt_id, undefined)
})

test('a payer whose code waits for the bank in one tab is led to it by the form of another, and does not pay by card as well', async () => {
  const link = await merchant.newLink({ type: 'multi_use' })
  const [first, other] = [await payer.get(link.url), await payer.get(link.url)]
  const { location } = await payer.askCode(link.url, first)
  const cookie = `kaha_payment=${location?.split('/').at(-1)}`
  const card = { number: cards.approved, expiry: '12/60', cvc: '123' }
  const submit = async () => {
    const body = new URLSearchParams({ ...hiddenOf(other), ...card })
    const answer = await fetch(link.url, { method: 'POST', body, redirect: 'manual', headers: { cookie } })
    return answer.headers.get('location')
  }
  assert.equal(await submit(), location)
  assert.equal(await linkStands(link.id), 'ACTIVE 0')
  await payer.giveUp(location ?? '')
  assert.notEqual(await submit(), location)
  assert.equal(await linkStands(link.id), 'ACTIVE 1')
})

test('a link takes as many codes at once as it has uses, and a payer who waits for the bank comes back to the code', async () => {
  const link = await merchant.newLink({ type: 'multi_use', max_uses: 2, expires_at: fromNow(p, 3_600_000) })
  const visits = await Promise.all(Array.from({ length: 5 }, () => payer.get(link.url)))
  const asked = await Promise.all(visits.map((visit) => payer.askCode(link.url, visit)))
  const shown = await Promise.all(asked.map(({ location }) => payer.get(location ?? '')))
  const texts = shown.flatMap((page) => textOn(page) ?? [])
  assert.equal(texts.length, 2)
  assert.deepEqual(shown.map((page) => outcomeOf(page) ?? '').toSorted(), [
    'code',
    'code',
    'fully_reserved',
    'fully_reserved',
    'fully_reserved',
  ])
  const { location } = asked[shown.findIndex((page) => outcomeOf(page) === 'code')] ?? {}
  const cookie = `kaha_payment=${location?.split('/').at(-1)}`
  assert.equal((await payer.get(link.url, { cookie })).location, location)
  assert.match(refusal(await merchant.updateLink(link.id, { max_uses: 2 })), /^400 INVALID_MAX_USES/)
  for (const text of texts) bodyOf(await payer.pay(text), 200)
  assert.equal(await linkStands(link.id), 'CONSUMED 2')
})
