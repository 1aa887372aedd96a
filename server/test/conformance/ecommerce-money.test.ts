import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import * as fc from 'fast-check'
import { amountMax, formatMoney } from '../../src/kernel/money.ts'
import { platform } from '../platform.ts'
import { midnightAfter } from './operations.ts'
import { refusal, rowsOf, shop } from './shop.ts'

// Money on its whole way, in currencies without decimals, with two and with three.
const currencies = ['JPY', 'PHP', 'KWD'] as const
const p = await platform({ after }, { settings: { KAHA_CURRENCIES: currencies.join() } })
const merchant = shop(p)
const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)

const amounts = fc.oneof(
  fc.bigInt({ min: 1n, max: amountMax }),
  fc.bigInt({ min: 1n, max: 9_999n }),
  fc.constantFrom(1n, 99n, 100n, 999n, 1_000n, amountMax),
)

interface Sum {
  count: number
  gross: bigint
  refunds: bigint
}

/** What lines of a link may be: one that is priced apart, and the rest. */
function linesOf(amount: bigint, quantity: bigint): object[] {
  const rest = amount % quantity
  const lines = [{ sku: 'A', name: 'A', unit_price: Number(amount / quantity), quantity: Number(quantity) }]
  return rest === 0n ? lines : [...lines, { sku: 'B', name: 'B', unit_price: Number(rest), quantity: 1 }]
}

/** A link is paid, and a part of it goes back: every number on the way is the one that was asked for. */
async function onItsWay(amount: bigint, part: bigint, currency: (typeof currencies)[number], sums: Map<string, Sum>) {
  const total = Number(amount)
  const lines = linesOf(amount, 1n + (part % 7n))
  for (const wrong of [total - 1, total + 1]) {
    const answer = await merchant.createLink({ currency, amount: wrong, line_items: lines })
    assert.match(refusal(answer), /^400 INVALID_AMOUNT amount/)
  }
  const link = await merchant.newLink({ currency, amount: total, line_items: lines })
  assert.deepEqual([link.amount, link.line_items], [total, lines])
  assert.ok((await (await fetch(link.url)).text()).includes(formatMoney(amount, currency, 'en')))

  const intent = await merchant.newIntent({ payment_link_id: link.id })
  const { json: paid } = await merchant.confirm(intent.id)
  assert.deepEqual([paid.status, paid.amount, paid.currency], ['SUCCEEDED', total, currency])
  const { json: refund } = await merchant.createRefund(intent.id, { amount: Number(part) })
  await p.advance(60)
  const given = (await merchant.retrieveRefund(refund.id)).json
  assert.deepEqual([given.amount, given.currency], [Number(part), currency])
  const back = given.status === 'SUCCEEDED' ? part : 0n

  const { data: transaction } = await p.sdk.reports.retrieveTransaction(paid.payment_attempt_id)
  assert.deepEqual([transaction.amount, transaction.currency], [total, currency])
  const { amount_received: received, amount_refunded: refunded } = transaction.amount_details
  assert.deepEqual([received, refunded], [total, Number(back)])
  assert.equal(transaction.events.find(({ event_type }) => event_type === 'CAPTURED')?.amount, String(amount))
  const [event] = await rowsOf<{ body: string }>(p, 'select body from delivery.events where payment_intent_id = $1', [
    intent.id,
  ])
  assert.ok(event?.body.includes(`"amount":${amount},"currency":"${currency}"`), event?.body)

  const sum = sums.get(currency) ?? { count: 0, gross: 0n, refunds: 0n }
  sums.set(currency, { count: sum.count + 1, gross: sum.gross + amount, refunds: sum.refunds + back })
}

test('[C4.link-create.amount-sum, C4.intent.amount, B3.transaction.amount, B3.settlement.sum] every amount up to the largest is the same on its whole way, from the lines of a link to the settlement, with 0, 2 and 3 decimals', async (t) => {
  t.diagnostic(`seed ${seed}`)
  const sums = new Map<string, Sum>()
  for (const currency of currencies) {
    const way = fc.asyncProperty(amounts, amounts, (amount, other) =>
      onItsWay(amount, 1n + (other % amount), currency, sums),
    )
    await fc.assert(way, { seed, numRuns: 8, examples: [[amountMax, amountMax]], endOnFailure: true })
  }
  await p.kaha.sandboxClock.advance(midnightAfter(p.kaha.clock.now()))
  const { data: batches } = await p.sdk.reports.listSettlements()
  for (const currency of currencies) {
    const of = batches.filter((batch) => batch.currency === currency)
    const told = (name: 'count' | 'gross' | 'refunds') => of.reduce((total, batch) => total + BigInt(batch[name]), 0n)
    const sum = sums.get(currency)
    assert.deepEqual(
      [told('count'), told('gross'), told('refunds')],
      [BigInt(sum?.count ?? 0), sum?.gross, sum?.refunds],
    )
  }
})
