import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { cardOf, newKey, platform } from '../platform.ts'
import vectors from '../vectors/test-cards.json' with { type: 'json' }

// The test cards of the sandbox, as they are published.

const p = await platform({ after })

async function pay(card: { number: string; exp_month: number; exp_year: number; cvc: string; name?: string }) {
  const { id } = await p.sdk.paymentIntents.create(
    { amount: 9800, currency: 'PHP', merchant_branch_reference_number: p.branch.reference_number },
    { idempotencyKey: newKey() },
  )
  return p.sdk.paymentIntents.confirm(id, { payment_method: { type: 'card', card } })
}

const rules = [
  ['S7.cards.approve', 'approve', 'SUCCEEDED', undefined],
  ['S7.cards.decline', 'decline', 'DECLINED', 'PAYMENT_REJECTED'],
  ['S7.cards.error', 'error', 'FAILED', 'PAYMENT_PROCESSING_ERROR'],
  ['S7.cards.unavailable', 'unavailable', 'FAILED', 'PROCESSOR_UNAVAILABLE'],
  ['S7.cards.ineligible', 'ineligible', 'DECLINED', 'CARD_NOT_ELIGIBLE'],
] as const

for (const [rule, outcome, status, category] of rules) {
  const those = vectors.cards.filter((card) => card.outcome === outcome)
  test(`${rule}: each of the ${those.length} cards that ${outcome} ends so, and says what the payer may read`, async () => {
    assert.ok(those.length > 0)
    for (const { number, brand, status: published, failure_category: publishedCategory } of those) {
      const paid = await pay(cardOf(number))
      assert.deepEqual([paid.status, paid.failure_category ?? null], [published, publishedCategory], number)
      assert.deepEqual([paid.status, paid.failure_category], [status, category], number)
      assert.ok((paid.user_message ?? '').length > 10)
      if (outcome === 'approve')
        assert.deepEqual([paid.receipt?.card_scheme, paid.receipt?.card_last_four], [brand, number.slice(-4)])
      else assert.equal(paid.receipt, undefined)
    }
  })
}

test('S7.cards.any-expiry-and-cvc: a test card takes any future expiry and any CVC of the right length', async (t) => {
  const seed = Date.now() & 0x7fffffff
  t.diagnostic(`seed ${seed}`)
  const now = p.kaha.clock.now()
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth() + 1]
  const property = fc.asyncProperty(
    fc.constantFrom('4242424242424242', '378282246310005'),
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: year + 1, max: 9999 }),
    fc.nat(9999),
    async (number, exp_month, exp_year, digits) => {
      const length = number.startsWith('37') ? 4 : 3
      const cvc = String(digits).padStart(4, '0').slice(0, length)
      assert.equal((await pay({ number, exp_month, exp_year, cvc })).status, 'SUCCEEDED')
    },
  )
  await fc.assert(property, { seed, numRuns: 20 })
  assert.equal((await pay({ ...cardOf(), exp_month: month, exp_year: year })).status, 'SUCCEEDED')
  const last = month === 1 ? { exp_month: 12, exp_year: year - 1 } : { exp_month: month - 1, exp_year: year }
  const wrong = [
    { ...cardOf(), ...last },
    { ...cardOf(), cvc: '1234' },
    { ...cardOf(), cvc: '12' },
    { ...cardOf('378282246310005'), cvc: '123' },
  ]
  for (const card of wrong) await assert.rejects(pay(card), { status: 400, code: 'INVALID_CARD' })
})

/** The check digit that makes a number pass Luhn's test. */
function withCheckDigit(digits: string): string {
  const sum = digits
    .split('')
    .toReversed()
    .reduce((total, digit, at) => {
      const doubled = at % 2 === 0 ? Number(digit) * 2 : Number(digit)
      return total + (doubled > 9 ? doubled - 9 : doubled)
    }, 0)
  return digits + String((10 - (sum % 10)) % 10)
}

test('S7.cards.other-number: a number that is no test card is DECLINED, CARD_NOT_ELIGIBLE, however real it looks', async (t) => {
  const seed = Date.now() & 0x7fffffff
  t.diagnostic(`seed ${seed}`)
  const digits = fc.array(fc.nat(9), { minLength: 11, maxLength: 14 }).map((all) => all.join(''))
  const property = fc.asyncProperty(
    fc.constantFrom('4', '51', '222', '34', '6011', '35', '62', '9'),
    digits,
    async (prefix, rest) => {
      const number = withCheckDigit((prefix + rest).slice(0, prefix === '34' ? 14 : 15))
      if (vectors.cards.some((card) => card.number === number)) return
      const paid = await pay(cardOf(number)).catch((error: { code: string }) => error.code)
      // Not every beginning is one of a card at all, which is the form's matter.
      if (paid === 'INVALID_CARD') return
      assert.ok(typeof paid === 'object', JSON.stringify(paid))
      assert.deepEqual([paid.status, paid.failure_category], ['DECLINED', 'CARD_NOT_ELIGIBLE'], number)
    },
  )
  await fc.assert(property, { seed, numRuns: 40 })
  for (const number of ['4242424242424259', '5555555555554451', '6011000990139424']) {
    const paid = await pay(cardOf(withCheckDigit(number.slice(0, -1))))
    assert.deepEqual([paid.status, paid.failure_category], ['DECLINED', 'CARD_NOT_ELIGIBLE'], number)
  }
})
