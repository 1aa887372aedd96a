import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asOf, overdueMoves, shownIntent } from './projection.ts'
import type { StoredAttempt, StoredIntent } from './projection.ts'

const at = (minutes: number) => new Date(Date.UTC(2030, 0, 1) + minutes * 60_000)

const intent = (latest: Partial<StoredAttempt> | null, more: Partial<StoredIntent> = {}): StoredIntent => ({
  state: 'ACTIVE',
  stateAt: at(0),
  expiresAt: at(60),
  succeededAt: null,
  linkEnd: null,
  hadCode: false,
  ...more,
  latest: latest && {
    method: 'card',
    state: 'PROCESSING',
    stateAt: at(10),
    category: null,
    reason: null,
    challengeExpiresAt: null,
    ...latest,
  },
})

const declined = { state: 'DECLINED', category: 'PAYMENT_REJECTED' } as const

const brief = (stored: StoredIntent, minutes: number) => {
  const { status, updatedAt, failureCategory } = shownIntent(stored, at(minutes))
  return [status, (updatedAt.getTime() - at(0).getTime()) / 60_000, failureCategory].filter(
    (value) => value !== undefined,
  )
}

test('an intent that nobody tried to pay expires to the instant, whether or not anything noticed', () => {
  assert.deepEqual(brief(intent(null), 59), ['ACTIVE', 0])
  assert.deepEqual(shownIntent(intent(null), new Date(at(60).getTime() - 1)).status, 'ACTIVE')
  assert.deepEqual(brief(intent(null), 60), ['EXPIRED', 60])
  assert.deepEqual(brief(intent(null), 600), ['EXPIRED', 60])
  assert.deepEqual(brief(intent(null, { state: 'EXPIRED', stateAt: at(60) }), 600), ['EXPIRED', 60])
})

test('a declined intent expires too, and then shows no failure any more', () => {
  assert.deepEqual(brief(intent(declined), 59), ['DECLINED', 10, 'PAYMENT_REJECTED'])
  assert.deepEqual(brief(intent(declined), 60), ['EXPIRED', 60])
})

test('a payment in progress is shown past the expiry, and when it is refused the expiry shows from then on', () => {
  assert.deepEqual(brief(intent({}), 61), ['PROCESSING', 10])
  assert.deepEqual(brief(intent({}, { state: 'EXPIRED', stateAt: at(60) }), 61), ['PROCESSING', 10])
  const refused = { ...declined, stateAt: at(70) }
  assert.deepEqual(brief(intent(refused), 71), ['EXPIRED', 70])
  assert.deepEqual(brief(intent(refused, { state: 'EXPIRED', stateAt: at(60) }), 71), ['EXPIRED', 70])
  assert.deepEqual(brief(intent(refused, { state: 'CONSUMED', stateAt: at(30) }), 71), ['CONSUMED', 70])
})

test('paid is paid, past the expiry and past any end', () => {
  const paid = { state: 'SUCCEEDED', stateAt: at(20) } as const
  for (const succeededAt of [at(20), null]) {
    assert.deepEqual(brief(intent(paid, { succeededAt }), 21), ['SUCCEEDED', 20])
    assert.deepEqual(brief(intent(paid, { succeededAt }), 600), ['SUCCEEDED', 20])
    assert.deepEqual(brief(intent(paid, { succeededAt, state: 'CANCELLED', stateAt: at(15) }), 600), ['SUCCEEDED', 20])
  }
  assert.deepEqual(brief(intent(declined, { succeededAt: at(5) }), 21), ['SUCCEEDED', 5])
})

test('a challenge that nobody takes is refused to the instant, and the intent stays open', () => {
  const challenge = { state: 'REQUIRES_ACTION', challengeExpiresAt: at(25) } as const
  assert.deepEqual(brief(intent(challenge), 24), ['REQUIRES_ACTION', 10])
  assert.deepEqual(brief(intent(challenge), 25), ['DECLINED', 25, 'VERIFICATION_REJECTED'])
  assert.deepEqual(brief(intent(challenge), 59), ['DECLINED', 25, 'VERIFICATION_REJECTED'])
  assert.deepEqual(brief(intent(challenge), 60), ['EXPIRED', 60])
})

test('a challenge that is open when the intent expires is abandoned, not refused', () => {
  for (const challengeExpiresAt of [at(60), at(65)]) {
    const stored = intent({ state: 'REQUIRES_ACTION', stateAt: at(50), challengeExpiresAt })
    assert.deepEqual(brief(stored, 70), ['EXPIRED', 60])
    assert.equal(asOf(stored, at(70)).latest?.state, 'ABANDONED')
    assert.deepEqual(overdueMoves(stored, at(70)), [{ of: 'intent', event: 'expires', at: at(60) }])
  }
})

test('an intent ends with its link, whether or not that is stored, unless it was paid or had ended before', () => {
  const ended = { linkEnd: { event: 'link_cancelled', at: at(30) } } as const
  const challenge = { state: 'REQUIRES_ACTION', challengeExpiresAt: at(30) } as const
  assert.deepEqual(brief(intent(null, ended), 31), ['CANCELLED', 30])
  assert.deepEqual(brief(intent(declined, ended), 600), ['CANCELLED', 30])
  assert.deepEqual(brief(intent(challenge, ended), 31), ['CANCELLED', 30])
  assert.equal(asOf(intent(challenge, ended), at(31)).latest?.state, 'ABANDONED')
  assert.equal(
    asOf(intent({ ...challenge, challengeExpiresAt: at(29) }, ended), at(31)).latest?.category,
    'VERIFICATION_REJECTED',
  )
  assert.deepEqual(brief(intent(null, { ...ended, expiresAt: at(30) }), 31), ['EXPIRED', 30])
  assert.deepEqual(brief(intent({}, ended), 31), ['PROCESSING', 10])
  assert.deepEqual(brief(intent({ state: 'SUCCEEDED', stateAt: at(40) }, ended), 41), ['SUCCEEDED', 40])
})

test('deadlines that passed unnoticed are told in their order, each with its own time', () => {
  const stored = intent({ state: 'REQUIRES_ACTION', challengeExpiresAt: at(25) })
  assert.deepEqual(overdueMoves(stored, at(24)), [])
  assert.deepEqual(overdueMoves(stored, at(70)), [
    { of: 'attempt', event: 'challenge_abandoned', at: at(25) },
    { of: 'intent', event: 'expires', at: at(60) },
  ])
  assert.deepEqual(overdueMoves(asOf(stored, at(70)), at(70)), [])
})

test('a passed challenge that found no use of the link free counts as no attempt', () => {
  const shown = shownIntent(intent({ state: 'ABANDONED', stateAt: at(12) }), at(13))
  assert.deepEqual(shown, { status: 'ACTIVE', updatedAt: at(12) })
})

test('an end that abandoned a challenge shows its own time, and of one that began meanwhile that', () => {
  for (const [begun, shownAt] of [
    [29, 30],
    [30, 30],
    [31, 31],
  ] as const)
    assert.deepEqual(
      brief(intent({ state: 'ABANDONED', stateAt: at(begun) }, { state: 'CANCELLED', stateAt: at(30) }), 40),
      ['CANCELLED', shownAt],
    )
})

test('nothing reads as ended before it began, which was by a clock perhaps that was ahead', () => {
  const waits = { state: 'REQUIRES_ACTION', stateAt: at(20), challengeExpiresAt: at(19) } as const
  assert.deepEqual(brief(intent(waits), 21).slice(0, 2), ['DECLINED', 20])
  const code = { ...waits, method: 'qrph' } as const
  assert.deepEqual(brief(intent(code), 21), ['ACTIVE', 20])
  assert.deepEqual(brief(intent(waits, { expiresAt: at(18) }), 21), ['EXPIRED', 20])
  const linkEnd = { event: 'link_expired', at: at(29) } as const
  assert.deepEqual(brief(intent(null, { stateAt: at(30), linkEnd }), 31), ['EXPIRED', 30])
})
