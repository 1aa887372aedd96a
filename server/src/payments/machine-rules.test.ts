import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  attemptMoves,
  endIntent,
  moveAttempt,
  type AttemptEvent,
  type AttemptState,
  type FailureCategory,
  type IntentEvent,
  type IntentState,
  type ShownStatus,
} from './machine.ts'
import { shownIntent, type StoredIntent } from './projection.ts'

// Rows of the contract's table that no operation reaches yet, shown on the machine that the operations will use: results of
// challenges, and cancels. The other rows are shown on a whole platform by the conformance tests.

const later = new Date('2030-01-01T00:01:00Z')

/** What a payer and a merchant see of an intent in this state whose latest attempt is in that one. */
function shownOf(state: IntentState, latest: AttemptState | null, category: FailureCategory | null = null) {
  const stored: StoredIntent = {
    state,
    stateAt: later,
    linkEnd: null,
    hadCode: false,
    expiresAt: new Date('2030-01-02T00:00:00Z'),
    latest: latest && {
      method: 'card',
      state: latest,
      stateAt: later,
      category,
      reason: null,
      challengeExpiresAt: null,
    },
    succeededAt: latest === 'SUCCEEDED' ? later : null,
  }
  return shownIntent(stored, later)
}

/** How intents can stand that are shown so: their own state, and their latest attempt's. */
const ways: Readonly<Record<ShownStatus, readonly (readonly [IntentState, AttemptState | null])[]>> = {
  ACTIVE: [
    ['ACTIVE', null],
    ['ACTIVE', 'ABANDONED'],
  ],
  DECLINED: [['ACTIVE', 'DECLINED']],
  FAILED: [['ACTIVE', 'FAILED']],
  REQUIRES_ACTION: [['ACTIVE', 'REQUIRES_ACTION']],
  PROCESSING: [
    ['ACTIVE', 'PROCESSING'],
    ['EXPIRED', 'PROCESSING'],
    ['CANCELLED', 'PROCESSING'],
    ['CONSUMED', 'PROCESSING'],
  ],
  SUCCEEDED: [
    ['ACTIVE', 'SUCCEEDED'],
    ['EXPIRED', 'SUCCEEDED'],
    ['CANCELLED', 'SUCCEEDED'],
  ],
  EXPIRED: [
    ['EXPIRED', null],
    ['EXPIRED', 'DECLINED'],
    ['EXPIRED', 'ABANDONED'],
  ],
  CONSUMED: [
    ['CONSUMED', null],
    ['CONSUMED', 'FAILED'],
    ['CONSUMED', 'ABANDONED'],
  ],
  CANCELLED: [
    ['CANCELLED', null],
    ['CANCELLED', 'DECLINED'],
    ['CANCELLED', 'ABANDONED'],
  ],
}
const statuses = Object.keys(ways) as ShownStatus[]

test('the ways of this file are shown as they say', () => {
  for (const status of statuses)
    for (const [state, latest] of ways[status]) {
      const category = latest === 'DECLINED' ? 'PAYMENT_REJECTED' : latest === 'FAILED' ? 'PROCESSOR_UNAVAILABLE' : null
      assert.equal(shownOf(state, latest, category).status, status)
    }
})

type Result = readonly [rule: string, event: AttemptEvent, shown: ShownStatus, category: FailureCategory | null]
const results: readonly Result[] = [
  ['C4.machine.requires-action.passed', 'challenge_passed', 'PROCESSING', null],
  ['C4.machine.requires-action.passed-full', 'challenge_passed_no_use_free', 'ACTIVE', null],
  ['C4.machine.requires-action.refused', 'challenge_refused', 'DECLINED', 'VERIFICATION_REJECTED'],
  ['C4.machine.requires-action.down', 'challenge_down', 'FAILED', 'VERIFICATION_UNAVAILABLE'],
]
for (const [rule, event, status, category] of results) {
  test(`${rule}: an intent that waits for a challenge is ${status} when it hears ${event}`, () => {
    const move = moveAttempt('REQUIRES_ACTION', event)
    assert.ok('to' in move)
    assert.equal(move.category, category)
    const shown = shownOf('ACTIVE', move.to, move.category)
    assert.deepEqual([shown.status, shown.failureCategory ?? null], [status, category])
    assert.equal(shown.userMessage !== undefined, category !== null)
  })
}

test('C4.machine.requires-action.passed-full: the attempt is ABANDONED, which leaves the intent open for another card', () => {
  const move = moveAttempt('REQUIRES_ACTION', 'challenge_passed_no_use_free')
  assert.ok('to' in move)
  assert.deepEqual([move.to, move.category, move.emits], ['ABANDONED', null, null])
  assert.deepEqual(shownOf('ACTIVE', 'ABANDONED'), { status: 'ACTIVE', updatedAt: later })
})

test('C4.projection.abandoned: an ABANDONED attempt is shown in no state, with no message of its own and no category', () => {
  for (const status of statuses)
    for (const [state] of ways[status]) assert.notEqual(shownOf(state, 'ABANDONED').status, 'ABANDONED')
  const { status, userMessage, failureCategory } = shownOf('ACTIVE', 'ABANDONED')
  assert.deepEqual([status, userMessage, failureCategory], ['ACTIVE', undefined, undefined])
})

test('C4.machine.any.challenge-late: a result for an attempt that waits for none is refused, so that nobody calls the processor', () => {
  const told = attemptMoves.filter(({ event }) => /^challenge_(?!needed)/.test(event)).map(({ event }) => event)
  assert.equal(new Set(told).size, 5)
  for (const event of told)
    for (const state of ['NONE', 'PROCESSING', 'SUCCEEDED', 'DECLINED', 'FAILED', 'ABANDONED'] as const)
      assert.deepEqual(moveAttempt(state, event), { refusal: 'INVALID_STATE' })
})

/** Ends an intent that stands so, and tells how it stands then. */
const end = (event: IntentEvent, [state, latest]: readonly [IntentState, AttemptState | null]) =>
  endIntent({ state, latest, succeeded: latest === 'SUCCEEDED' }, event)

const cancels: readonly (readonly [rule: string, event: IntentEvent])[] = [
  ['C4.machine.waiting.cancelled', 'merchant_cancels'],
  ['C4.machine.waiting.link-cancelled', 'link_cancelled'],
]
for (const [rule, event] of cancels) {
  test(`${rule}: an intent that is open or waits for a challenge is CANCELLED, and the challenge is abandoned (${event})`, () => {
    for (const status of ['ACTIVE', 'DECLINED', 'FAILED', 'REQUIRES_ACTION'] as const) {
      for (const [state, latest] of ways[status]) {
        const left = latest === 'REQUIRES_ACTION' ? 'ABANDONED' : latest
        assert.deepEqual(end(event, [state, latest]), { state: 'CANCELLED', latest: left })
        assert.equal(shownOf('CANCELLED', left).status, 'CANCELLED')
      }
    }
  })
}

test('C4.machine.processing.cancel: a merchant cannot cancel what is being paid', () => {
  for (const way of ways.PROCESSING) assert.deepEqual(end('merchant_cancels', way), { refusal: 'INTENT_PROCESSING' })
})

test('C4.machine.final.cancel: what was paid, has expired or was used up cannot be cancelled', () => {
  for (const status of ['SUCCEEDED', 'EXPIRED', 'CONSUMED'] as const) {
    for (const way of ways[status]) assert.deepEqual(end('merchant_cancels', way), { refusal: 'INVALID_STATE' })
  }
})

test('C4.machine.cancelled.cancel: a second cancel is no refusal and changes nothing', () => {
  for (const way of ways.CANCELLED) assert.deepEqual(end('merchant_cancels', way), { state: way[0], latest: way[1] })
})

test('C4.machine.processing.ended-refused: an intent whose end was stored during its payment shows that end once the payment is refused', () => {
  for (const state of ['EXPIRED', 'CONSUMED', 'CANCELLED'] as const)
    for (const latest of ['DECLINED', 'FAILED'] as const) {
      const shown = shownOf(state, latest, latest === 'DECLINED' ? 'PAYMENT_REJECTED' : 'PROCESSOR_UNAVAILABLE')
      assert.deepEqual([shown.status, shown.failureCategory], [state, undefined])
    }
})
