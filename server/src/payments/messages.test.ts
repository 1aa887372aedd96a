import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeclineReason } from './connectors/connector.ts'
import { attemptMoves } from './machine.ts'
import type { ShownStatus } from './machine.ts'
import { userMessageOf } from './messages.ts'

const reasons: DeclineReason[] = [
  'generic',
  'insufficient_funds',
  'lost_card',
  'stolen_card',
  'expired_card',
  'wrong_cvc',
]

const rejection = (reason: DeclineReason | null) =>
  userMessageOf({ status: 'DECLINED', category: 'PAYMENT_REJECTED', reason })

test('every failure by card has a message in both languages that says that nothing was charged', () => {
  const failures = attemptMoves.filter(({ category }) => category !== null)
  assert.ok(failures.length > 0)
  const messages = failures.flatMap(({ to, category }) =>
    to === 'DECLINED' || to === 'FAILED'
      ? reasons.map((reason) => userMessageOf({ status: to, category, reason }))
      : [],
  )
  for (const message of messages) {
    assert.match(message?.en ?? '', /You have not been charged\./)
    assert.match(message?.fil ?? '', /Hindi ka siningil\./)
  }
})

test('of a card that was refused after a code was shown, no message says that nothing was charged, and each says what to do', () => {
  const failures = attemptMoves.flatMap(({ to, category }) =>
    category !== null && (to === 'DECLINED' || to === 'FAILED') ? [{ status: to, category }] : [],
  )
  for (const failure of failures)
    for (const reason of reasons) {
      const { en, fil } = userMessageOf({ ...failure, reason, byCode: true }) ?? {}
      assert.match(en ?? '', /This card was not charged\. .* do not pay again: ask the merchant\. If not, please /)
      assert.match(fil ?? '', /Hindi siningil ang card na ito\. .* magtanong sa merchant\. Kung hindi, [a-z]/)
    }
})

test('of a code that was declined no message says that nothing was charged, for a bank may have taken money for it or one before', () => {
  const declined = { status: 'DECLINED', category: 'PAYMENT_REJECTED', reason: 'code_declined', byCode: true } as const
  const { en, fil } = userMessageOf(declined) ?? {}
  assert.match(en ?? '', /^Your bank declined this payment\. .* do not pay again: ask the merchant\. If not, please /)
  assert.match(fil ?? '', /^Tinanggihan .* huwag nang magbayad ulit: magtanong sa merchant\. Kung hindi, [a-z]/)
  assert.doesNotMatch(`${en} ${fil}`, /You have not been charged|Hindi ka siningil/)
})

test('a payer cannot tell a lost or stolen card from any other refusal', () => {
  assert.deepEqual(rejection('lost_card'), rejection('generic'))
  assert.deepEqual(rejection('stolen_card'), rejection('generic'))
  assert.deepEqual(rejection(null), rejection('generic'))
})

test('a payer is told what can be put right: funds, expiry, security code', () => {
  const told = (['insufficient_funds', 'expired_card', 'wrong_cvc'] as const).map((reason) => rejection(reason)?.en)
  assert.equal(new Set([...told, rejection('generic')?.en]).size, 4)
})

test('no message speaks of fraud, loss, theft or blocking', () => {
  const texts = reasons.flatMap((reason) => Object.values(rejection(reason) ?? {}))
  for (const text of texts)
    assert.doesNotMatch(text, /fraud|lost|stolen|theft|block|risk|suspicious|nawala|ninakaw|panloloko/i)
})

test('an intent without an outcome has no message, and each end has one', () => {
  const messageOf = (status: ShownStatus) => userMessageOf({ status, category: null, reason: null })
  for (const status of ['ACTIVE', 'REQUIRES_ACTION', 'PROCESSING'] as const) assert.equal(messageOf(status), null)
  for (const status of ['SUCCEEDED', 'EXPIRED', 'CANCELLED', 'CONSUMED'] as const) {
    const message = messageOf(status)
    assert.ok(message?.en && message.fil)
  }
})
