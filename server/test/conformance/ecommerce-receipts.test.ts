import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform, type Platform } from '../platform.ts'
import type { Answer } from './call.ts'
import { bodyOf, hourMs, jump, rowsOf, shop, withoutWorker } from './shop.ts'

// What is left of a payment: its receipt, and the record that reporting reads.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)

const newIntent = async (fields: object = {}, of = merchant) => bodyOf(await of.createIntent(fields), 201)

test('[C4.receipt.fields, C4.intent.receipt] a success has a receipt of exactly seven fields, all filled, and it never changes', async () => {
  const { id } = await newIntent()
  bodyOf(await merchant.confirm(id, cards.declined), 200)
  assert.ok(!('receipt' in bodyOf(await merchant.retrieveIntent(id), 200)))

  const from = p.kaha.clock.now().toISOString()
  const { receipt, updated_at } = bodyOf(await merchant.confirm(id), 200)
  const fields = [
    'approval_code',
    'transaction_id',
    'reconciliation_id',
    'card_scheme',
    'card_last_four',
    'invoice_number',
    'completed_at',
  ]
  assert.deepEqual(Object.keys(receipt).toSorted(), fields.toSorted())
  for (const field of fields) assert.ok(typeof receipt[field] === 'string' && receipt[field] !== '', field)
  assert.match(receipt.approval_code, /^\d{6}$/)
  assert.match(receipt.invoice_number, /^\d{10}$/)
  assert.deepEqual([receipt.card_scheme, receipt.card_last_four], ['VISA', '4242'])
  assert.ok(receipt.completed_at >= from && receipt.completed_at <= p.kaha.clock.now().toISOString())
  assert.ok(updated_at >= receipt.completed_at)

  await jump(p, 48 * hourMs)
  assert.deepEqual(bodyOf(await merchant.retrieveIntent(id), 200).receipt, receipt)
})

test('C4.receipt.fields: each payment has numbers of its own, and the card is named as it was used', async () => {
  const kinds = [
    ['4111111111111111', 'VISA', '1111'],
    ['2223003122003222', 'MASTERCARD', '3222'],
    ['378282246310005', 'AMEX', '0005'],
    ['6011111111111117', 'DISCOVER', '1117'],
    ['3566002020360505', 'JCB', '0505'],
    ['6200000000000005', 'UNIONPAY', '0005'],
  ] as const
  const receipts = []
  for (const [number, scheme, lastFour] of kinds) {
    const { id } = await newIntent()
    const card = scheme === 'AMEX' ? { number, cvc: '7391' } : number
    const { receipt } = bodyOf(await merchant.confirm(id, card), 200)
    assert.deepEqual([receipt.card_scheme, receipt.card_last_four], [scheme, lastFour])
    receipts.push(receipt)
  }
  for (const field of ['transaction_id', 'reconciliation_id', 'invoice_number'])
    assert.equal(new Set(receipts.map((receipt) => receipt[field])).size, kinds.length, field)
  const invoices = receipts.map(({ invoice_number: invoice }) => String(invoice))
  assert.deepEqual(invoices, invoices.toSorted())
})

interface TransactionRow {
  readonly id: string
  readonly branch_id: string
  readonly status: string
  readonly amount: bigint
  readonly currency: string
  readonly payment_method: string
  readonly card_brand: string
  readonly card_last_four: string
  readonly correlation_id: string
  readonly amount_authorized: bigint
  readonly amount_received: bigint
  readonly amount_refunded: bigint
  readonly approval_code: string | null
  readonly reference_number: string | null
  readonly receipt_number: string | null
  readonly settlement_status: string
  readonly created_at: Date
  readonly updated_at: Date
}

const transactionsOf = (on: Platform, intentId: string) =>
  rowsOf<TransactionRow>(
    on,
    `select t.* from payments.transactions t join payments.attempts a on a.id = t.id where a.intent_id = $1 order by a.number`,
    [intentId],
  )

test('every attempt leaves one transaction, with what was received and the receipt of a success, or with nothing received', async () => {
  const { id } = await newIntent({ amount: 12_345 })
  const outcomes = [
    [cards.declined, 'DECLINED'],
    [cards.error, 'FAILED'],
    [cards.ineligible, 'DECLINED'],
    [cards.approved, 'CAPTURED'],
  ] as const
  const answers: Answer[] = []
  for (const [card] of outcomes) answers.push(await merchant.confirm(id, card))
  const transactions = await transactionsOf(p, id)
  assert.equal(transactions.length, outcomes.length)
  const { receipt } = answers.at(-1)?.json ?? {}
  for (const [index, [, status]] of outcomes.entries()) {
    const row = transactions[index]
    const answer = answers[index]
    assert.ok(row && answer)
    const paid = status === 'CAPTURED'
    assert.equal(row.id, answer.json.payment_attempt_id)
    assert.equal(row.correlation_id, answer.headers['x-correlation-id'])
    assert.deepEqual(
      [row.status, row.branch_id, row.amount, row.currency, row.payment_method, row.card_brand, row.amount_refunded],
      [status, p.branch.id, 12_345n, 'PHP', 'CARD_NOT_PRESENT', index === 2 ? 'MASTERCARD' : 'VISA', 0n],
    )
    assert.deepEqual(
      [row.amount_authorized, row.amount_received, row.settlement_status],
      paid ? [12_345n, 12_345n, 'UNSETTLED'] : [0n, 0n, 'NOT_APPLICABLE'],
    )
    assert.deepEqual(
      [row.approval_code, row.reference_number, row.receipt_number],
      paid ? [receipt.approval_code, receipt.reconciliation_id, receipt.invoice_number] : [null, null, null],
    )
    assert.ok(row.updated_at >= row.created_at)
  }
})

test('a transaction is PENDING while its attempt is open, and ends as the attempt does', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const link = bodyOf(await own.createLink(), 201)
  const ofLink = { payment_link_id: link.id }
  const soon = { expires_at: new Date(one.kaha.clock.now().getTime() + 5 * 60_000).toISOString() }
  const ends = [
    ['approved without an answer', {}, cards.noAnswer, 'CAPTURED'],
    ['failed without an answer', {}, '4000000000006728', 'FAILED'],
    ['a challenge that nobody takes', {}, cards.challenge, 'DECLINED'],
    ['a challenge on an intent that expires', soon, cards.challenge, 'EXPIRED'],
    ['a challenge on a link that is used up', ofLink, cards.challenge, 'CANCELLED'],
  ] as const
  const ids: string[] = []
  for (const [says, fields, card] of ends) {
    const { id } = await newIntent(fields, own)
    await own.confirm(id, card)
    assert.deepEqual(
      (await transactionsOf(one, id)).map(({ status }) => status),
      ['PENDING'],
      says,
    )
    ids.push(id)
  }
  const payer = await newIntent(ofLink, own)
  bodyOf(await own.confirm(payer.id), 200)
  await one.another({ KAHA_ROLES: 'worker' })
  await one.advance(16 * 60)
  for (const [index, [says, , , status]] of ends.entries()) {
    const transactions = await transactionsOf(one, ids[index] ?? '')
    assert.deepEqual(
      transactions.map((row) => row.status),
      [status],
      says,
    )
    assert.equal(transactions[0]?.amount_received, status === 'CAPTURED' ? 9800n : 0n)
  }
})
