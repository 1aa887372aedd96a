import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  attemptMoves,
  attemptRefusal,
  attemptsMax,
  confirmRefusal,
  endIntent,
  holdsUse,
  intentMoves,
  moveAttempt,
  moveIntent,
  owesExpiredEvent,
} from './machine.ts'
import type {
  AttemptEvent,
  AttemptState,
  FailureCategory,
  IntentEvent,
  IntentState,
  PaymentEvent,
  ShownStatus,
} from './machine.ts'
import { shownIntent } from './projection.ts'
import type { StoredIntent } from './projection.ts'

const start = new Date('2030-01-01T00:00:00Z')
const later = new Date('2030-01-01T00:01:00Z')

const fresh: StoredIntent = {
  state: 'ACTIVE',
  stateAt: start,
  expiresAt: new Date('2030-01-02T00:00:00Z'),
  latest: null,
  succeededAt: null,
  linkEnd: null,
  hadCode: false,
}

/** One attempt event told to the intent, at `later`, as a service would: a refused move changes nothing. */
function tell(intent: StoredIntent, event: AttemptEvent): StoredIntent {
  const starts = attemptMoves.some((move) => move.from === 'NONE' && move.event === event)
  const move = moveAttempt(starts ? 'NONE' : (intent.latest?.state ?? 'NONE'), event)
  if ('refusal' in move) return intent
  const method = event === 'code_made' ? 'qrph' : starts ? 'card' : (intent.latest?.method ?? 'card')
  const moved = { state: move.to, stateAt: later, category: move.category, reason: null, challengeExpiresAt: null }
  const latest = { ...moved, method } as const
  return { ...intent, latest, succeededAt: move.to === 'SUCCEEDED' ? later : intent.succeededAt }
}

function end(intent: StoredIntent, event: IntentEvent): StoredIntent {
  const latest = intent.latest?.state ?? null
  const ended = endIntent({ state: intent.state, latest, succeeded: intent.succeededAt !== null }, event)
  if ('refusal' in ended) return intent
  return {
    ...intent,
    state: ended.state,
    stateAt: later,
    latest: intent.latest && ended.latest ? { ...intent.latest, state: ended.latest } : null,
  }
}

/** An intent that is shown so, once for each way of getting there that matters. */
const shownSo: Record<ShownStatus, StoredIntent[]> = {
  ACTIVE: [
    fresh,
    tell(tell(fresh, 'challenge_needed'), 'challenge_passed_no_use_free'),
    tell(tell(fresh, 'code_made'), 'code_expired'),
    tell(tell(fresh, 'code_made'), 'code_given_up'),
  ],
  DECLINED: [
    tell(fresh, 'card_ineligible'),
    tell(tell(fresh, 'processing_starts'), 'issuer_refused'),
    tell(tell(fresh, 'code_made'), 'code_declined'),
  ],
  FAILED: [tell(fresh, 'verification_down'), tell(tell(fresh, 'processing_starts'), 'processor_error')],
  REQUIRES_ACTION: [tell(fresh, 'challenge_needed'), tell(fresh, 'code_made')],
  PROCESSING: [
    tell(fresh, 'processing_starts'),
    tell(tell(fresh, 'challenge_needed'), 'challenge_passed'),
    end(tell(fresh, 'processing_starts'), 'expires'),
  ],
  SUCCEEDED: [
    tell(tell(fresh, 'processing_starts'), 'approved'),
    tell(tell(fresh, 'code_made'), 'code_paid'),
    tell(end(tell(fresh, 'processing_starts'), 'link_cancelled'), 'approved'),
  ],
  EXPIRED: [end(fresh, 'expires'), end(tell(fresh, 'challenge_needed'), 'link_expired')],
  CANCELLED: [end(fresh, 'merchant_cancels'), end(tell(fresh, 'code_made'), 'link_cancelled')],
  CONSUMED: [end(fresh, 'link_consumed'), end(tell(fresh, 'challenge_needed'), 'link_consumed')],
}

const look = (intent: StoredIntent) => shownIntent(intent, later)
const open: ShownStatus[] = ['ACTIVE', 'DECLINED', 'FAILED']
const final: ShownStatus[] = ['SUCCEEDED', 'EXPIRED', 'CANCELLED', 'CONSUMED']
const all = Object.keys(shownSo) as ShownStatus[]

test('the examples of this file are shown as they say', () => {
  for (const status of all) for (const intent of shownSo[status]) assert.equal(look(intent).status, status)
})

type Row = [
  from: ShownStatus[],
  event: AttemptEvent,
  next: ShownStatus,
  category: FailureCategory | null,
  emits: PaymentEvent | null,
]

const rows: Row[] = [
  [open, 'card_ineligible', 'DECLINED', 'CARD_NOT_ELIGIBLE', 'payment.declined'],
  [open, 'verification_refused', 'DECLINED', 'VERIFICATION_REJECTED', 'payment.declined'],
  [open, 'verification_down', 'FAILED', 'VERIFICATION_UNAVAILABLE', 'payment.failed'],
  [open, 'challenge_needed', 'REQUIRES_ACTION', null, null],
  [open, 'processing_starts', 'PROCESSING', null, null],
  [['REQUIRES_ACTION'], 'challenge_passed', 'PROCESSING', null, null],
  [['REQUIRES_ACTION'], 'challenge_passed_no_use_free', 'ACTIVE', null, null],
  [['REQUIRES_ACTION'], 'challenge_refused', 'DECLINED', 'VERIFICATION_REJECTED', 'payment.declined'],
  [['REQUIRES_ACTION'], 'challenge_abandoned', 'DECLINED', 'VERIFICATION_REJECTED', 'payment.declined'],
  [['REQUIRES_ACTION'], 'challenge_down', 'FAILED', 'VERIFICATION_UNAVAILABLE', 'payment.failed'],
]

const codeRows: Row[] = [
  [open, 'code_made', 'REQUIRES_ACTION', null, null],
  [['REQUIRES_ACTION'], 'code_paid', 'SUCCEEDED', null, 'payment.succeeded'],
  [['REQUIRES_ACTION'], 'code_declined', 'DECLINED', 'PAYMENT_REJECTED', 'payment.declined'],
  [['REQUIRES_ACTION'], 'code_expired', 'ACTIVE', null, null],
  [['REQUIRES_ACTION'], 'code_given_up', 'ACTIVE', null, null],
]

const processorRows: Row[] = [
  [['PROCESSING'], 'approved', 'SUCCEEDED', null, 'payment.succeeded'],
  [['PROCESSING'], 'issuer_refused', 'DECLINED', 'PAYMENT_REJECTED', 'payment.declined'],
  [['PROCESSING'], 'processor_unavailable', 'FAILED', 'PROCESSOR_UNAVAILABLE', 'payment.failed'],
  [['PROCESSING'], 'processor_error', 'FAILED', 'PAYMENT_PROCESSING_ERROR', 'payment.failed'],
  [['PROCESSING'], 'no_answer', 'PROCESSING', null, null],
]

for (const [from, event, next, category, emits] of [...rows, ...codeRows, ...processorRows]) {
  test(`${from.join(', ')}: ${event} shows ${next}${category ? `, ${category}` : ''}`, () => {
    for (const intent of from.flatMap((status) => shownSo[status])) {
      if (intent.state !== 'ACTIVE') continue
      const shown = look(tell(intent, event))
      assert.equal(shown.status, next)
      assert.equal(shown.failureCategory ?? null, category)
      assert.equal(shown.userMessage !== undefined, category !== null || next === 'SUCCEEDED')
    }
    const move = attemptMoves.find((one) => one.event === event)
    assert.equal(move?.emits, emits)
    assert.equal(move?.category, category)
  })
}

test('a payment in progress when its intent ends succeeds all the same, and refused it shows that end', () => {
  const ends: [IntentEvent, ShownStatus][] = [
    ['expires', 'EXPIRED'],
    ['link_expired', 'EXPIRED'],
    ['link_consumed', 'CONSUMED'],
    ['link_cancelled', 'CANCELLED'],
  ]
  for (const [event, shown] of ends) {
    const ended = end(tell(fresh, 'processing_starts'), event)
    assert.equal(ended.state, shown)
    assert.equal(look(ended).status, 'PROCESSING')
    assert.equal(look(tell(ended, 'no_answer')).status, 'PROCESSING')
    assert.equal(look(tell(ended, 'approved')).status, 'SUCCEEDED')
    for (const refusal of ['issuer_refused', 'processor_unavailable', 'processor_error'] as const) {
      const refused = look(tell(ended, refusal))
      assert.equal(refused.status, shown)
      assert.equal(refused.failureCategory, undefined)
    }
  }
})

test('an intent that is open or waits for a challenge or a code ends at once, and what it waits for is abandoned', () => {
  const ends: [IntentEvent, IntentState][] = [
    ['expires', 'EXPIRED'],
    ['merchant_cancels', 'CANCELLED'],
    ['link_consumed', 'CONSUMED'],
    ['link_expired', 'EXPIRED'],
    ['link_cancelled', 'CANCELLED'],
  ]
  for (const [event, shown] of ends) {
    for (const intent of [...open, 'REQUIRES_ACTION' as const].flatMap((status) => shownSo[status])) {
      const ended = end(intent, event)
      assert.equal(look(ended).status, shown)
      assert.equal(ended.latest?.state, intent.latest?.state === 'REQUIRES_ACTION' ? 'ABANDONED' : intent.latest?.state)
    }
  }
})

test('a challenge result that comes late or twice changes nothing', () => {
  const results = attemptMoves
    .filter(({ event }) => event.startsWith('challenge_') && event !== 'challenge_needed')
    .map(({ event }) => event)
  assert.equal(results.length, 5)
  for (const event of results)
    for (const state of ['NONE', 'PROCESSING', 'SUCCEEDED', 'DECLINED', 'FAILED', 'ABANDONED'] as const)
      assert.deepEqual(moveAttempt(state, event), { refusal: 'INVALID_STATE' })
})

test("a bank's answer to a code that comes late or twice changes nothing, and no processor is ever called for a code", () => {
  const answers = attemptMoves
    .filter(({ event }) => event.startsWith('code_') && event !== 'code_made')
    .map(({ event }) => event)
  assert.equal(answers.length, 4)
  for (const event of answers)
    for (const state of ['NONE', 'PROCESSING', 'SUCCEEDED', 'DECLINED', 'FAILED', 'ABANDONED'] as const)
      assert.deepEqual(moveAttempt(state, event), { refusal: 'INVALID_STATE' })
  for (const { from, to } of attemptMoves.filter(({ event }) => event.startsWith('code_')))
    assert.ok(from !== 'PROCESSING' && to !== 'PROCESSING')
})

test('a use of the link is held by a code from when it is shown, by a card from when the processor is called', () => {
  for (const method of ['card', 'qrph'] as const) {
    assert.equal(holdsUse(method, 'PROCESSING'), true)
    assert.equal(holdsUse(method, 'REQUIRES_ACTION'), method === 'qrph')
    for (const state of ['SUCCEEDED', 'DECLINED', 'FAILED', 'ABANDONED'] as const)
      assert.equal(holdsUse(method, state), false)
  }
})

test('an attempt that has ended is moved by nothing', () => {
  const events = new Set(attemptMoves.map(({ event }) => event))
  for (const state of ['SUCCEEDED', 'DECLINED', 'FAILED', 'ABANDONED'] as const)
    for (const event of events) assert.deepEqual(moveAttempt(state, event), { refusal: 'INVALID_STATE' })
})

test('an intent that has ended is moved by nothing, and paid it has no end', () => {
  const events = new Set(intentMoves.map(({ event }) => event))
  for (const event of events) {
    for (const state of ['CONSUMED', 'EXPIRED', 'CANCELLED'] as const) {
      const move = moveIntent(state, event)
      if (state === 'CANCELLED' && event === 'merchant_cancels') assert.equal('to' in move && move.to, 'CANCELLED')
      else assert.deepEqual(move, { refusal: 'INVALID_STATE' })
    }
    for (const intent of shownSo.SUCCEEDED) assert.equal(end(intent, event), intent)
  }
})

test('a merchant cannot cancel while a payment is being processed', () => {
  for (const state of ['ACTIVE', 'EXPIRED', 'CANCELLED'] as const)
    assert.deepEqual(endIntent({ state, latest: 'PROCESSING', succeeded: false }, 'merchant_cancels'), {
      refusal: 'INTENT_PROCESSING',
    })
})

test('confirm is taken by open intents alone; the others say why not', () => {
  for (const status of open) assert.equal(confirmRefusal(status), null)
  for (const status of final) assert.equal(confirmRefusal(status), 'INVALID_STATE')
  assert.equal(confirmRefusal('REQUIRES_ACTION'), 'INVALID_STATE')
  assert.equal(confirmRefusal('PROCESSING'), 'INTENT_PROCESSING')
})

test('cancel is taken until a payment is processed or made, and may be repeated; confirm by an intent that is ACTIVE in the table', () => {
  const refusals: Partial<Record<ShownStatus, string>> = {
    SUCCEEDED: 'INVALID_STATE',
    EXPIRED: 'INVALID_STATE',
    CONSUMED: 'INVALID_STATE',
    PROCESSING: 'INTENT_PROCESSING',
  }
  for (const status of all) {
    for (const intent of shownSo[status]) {
      const states = {
        state: intent.state,
        latest: intent.latest?.state ?? null,
        succeeded: intent.succeededAt !== null,
      }
      const cancelled = endIntent(states, 'merchant_cancels')
      assert.equal('refusal' in cancelled ? cancelled.refusal : undefined, refusals[status], status)
      if (confirmRefusal(status) === null) assert.equal(intent.state, 'ACTIVE')
    }
  }
  const [cancelled] = shownSo.CANCELLED
  assert.ok(cancelled)
  assert.deepEqual(look(end(cancelled, 'merchant_cancels')), look(cancelled))
})

test('the twentieth attempt is the last, and then a link needs a free use', () => {
  assert.equal(attemptsMax, 20)
  assert.equal(attemptRefusal({ attempts: 19, useFree: true }), null)
  assert.equal(attemptRefusal({ attempts: 20, useFree: true }), 'ATTEMPT_LIMIT_REACHED')
  assert.equal(attemptRefusal({ attempts: 20, useFree: false }), 'ATTEMPT_LIMIT_REACHED')
  assert.equal(attemptRefusal({ attempts: 0, useFree: false }), 'LINK_FULLY_RESERVED')
})

test('an expired intent without a link is announced once it is certain that nobody paid', () => {
  const owes = (state: IntentState, latest: AttemptState | null, hasLink = false) =>
    owesExpiredEvent({ state, latest, succeeded: latest === 'SUCCEEDED', hasLink })
  assert.equal(owes('EXPIRED', null), true)
  assert.equal(owes('EXPIRED', 'DECLINED'), true)
  assert.equal(owes('EXPIRED', 'ABANDONED'), true)
  assert.equal(owes('EXPIRED', 'PROCESSING'), false)
  assert.equal(owes('EXPIRED', 'SUCCEEDED'), false)
  assert.equal(owes('EXPIRED', null, true), false)
  for (const state of ['ACTIVE', 'CANCELLED', 'CONSUMED'] as const) assert.equal(owes(state, null), false)
})

test('the tables name each move once, a failure has a category and an event, nothing else has a category', () => {
  for (const moves of [intentMoves, attemptMoves]) {
    const keys = moves.map(({ from, event }) => `${from} ${event}`)
    assert.equal(new Set(keys).size, keys.length)
  }
  const emitted: Record<AttemptState, PaymentEvent | null> = {
    REQUIRES_ACTION: null,
    PROCESSING: null,
    SUCCEEDED: 'payment.succeeded',
    DECLINED: 'payment.declined',
    FAILED: 'payment.failed',
    ABANDONED: null,
  }
  for (const { to, emits, category } of attemptMoves) {
    assert.equal(emits, emitted[to])
    assert.equal(category !== null, to === 'DECLINED' || to === 'FAILED')
  }
})
