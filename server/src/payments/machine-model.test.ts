import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  attemptMoves,
  attemptRefusal,
  attemptsMax,
  challengeWaitMs,
  codeWaitMs,
  confirmRefusal,
  endIntent,
  intentMoves,
  moveAttempt,
  owesExpiredEvent,
} from './machine.ts'
import type { AttemptEvent, AttemptState, IntentEvent, PaymentEvent } from './machine.ts'
import { asOf, overdueMoves, shownIntent } from './projection.ts'
import type { ShownIntent, StoredAttempt, StoredIntent } from './projection.ts'

/** One intent of a careful service: it stores what is overdue before it handles anything, and asks before each confirm and cancel. */
type Model = {
  intent: Omit<StoredIntent, 'latest' | 'hadCode'>
  attempts: (StoredAttempt & { readonly emitted: readonly PaymentEvent[] })[]
  now: number
}

/** `look` lets time pass and stores nothing; `sweep` stores what is overdue. */
type Step = { event: AttemptEvent | IntentEvent | 'look' | 'sweep'; waitMs: number; target: number; useFree: boolean }

const opening = new Set(attemptMoves.filter(({ from }) => from === 'NONE').map(({ event }) => event))
const attemptEvents = [...new Set(attemptMoves.map(({ event }) => event))].filter((event) => event !== 'intent_ended')
const intentEvents = [...new Set(intentMoves.map(({ event }) => event))].filter((event) => event !== 'expires')

const isIntentEvent = (event: Step['event']): event is IntentEvent => (intentEvents as string[]).includes(event)

const stored = (model: Model): StoredIntent => ({
  ...model.intent,
  latest: model.attempts.at(-1) ?? null,
  hadCode: model.attempts.some(({ method }) => method === 'qrph'),
})
/** A bank is heard about codes alone, and an issuer about cards. */
const isOf = (event: AttemptEvent, method: StoredAttempt['method'] | undefined) =>
  event.startsWith('code_') === (method === 'qrph')

const shownOf = (model: Model): ShownIntent => shownIntent(stored(model), new Date(model.now))

function take(model: Model, { event, waitMs, target, useFree }: Step, guarded: boolean) {
  model.now += waitMs
  if (event === 'look') return
  for (const { of, event: due, at } of overdueMoves(stored(model), new Date(model.now))) {
    if (of === 'attempt') moveOne(model, model.attempts.length - 1, due, at)
    else endAll(model, due, at)
  }
  if (event === 'sweep') return
  const { status } = shownOf(model)
  const now = new Date(model.now)
  if (isIntentEvent(event)) {
    endAll(model, event, now)
  } else if (!opening.has(event)) {
    const index = target < 0 ? model.attempts.length - 1 : target % model.attempts.length
    if (model.attempts.length > 0 && isOf(event, model.attempts[index]?.method)) moveOne(model, index, event, now)
  } else if (
    !guarded ||
    (confirmRefusal(status) === null && attemptRefusal({ attempts: model.attempts.length, useFree }) === null)
  ) {
    const move = moveAttempt('NONE', event)
    assert.ok('to' in move)
    const method = event === 'code_made' ? 'qrph' : 'card'
    const codeEnd = Math.min(model.now + codeWaitMs, model.intent.expiresAt.getTime())
    const waitsUntil = new Date(method === 'qrph' ? codeEnd : model.now + challengeWaitMs)
    model.attempts.push({
      method,
      state: move.to,
      stateAt: now,
      category: move.category,
      reason: null,
      challengeExpiresAt: move.to === 'REQUIRES_ACTION' ? waitsUntil : null,
      emitted: move.emits ? [move.emits] : [],
    })
  }
}

function moveOne(model: Model, index: number, event: AttemptEvent, at: Date) {
  const attempt = model.attempts[index]
  assert.ok(attempt)
  const move = moveAttempt(attempt.state, event)
  if ('refusal' in move || move.to === attempt.state) return
  const emitted = move.emits ? [...attempt.emitted, move.emits] : attempt.emitted
  model.attempts[index] = { ...attempt, state: move.to, stateAt: at, category: move.category, emitted }
  if (move.to === 'SUCCEEDED') model.intent = { ...model.intent, succeededAt: at }
}

function endAll(model: Model, event: IntentEvent, at: Date) {
  const { state, succeededAt } = model.intent
  const last = model.attempts.length - 1
  const end = endIntent({ state, latest: model.attempts[last]?.state ?? null, succeeded: succeededAt !== null }, event)
  if ('refusal' in end || end.state === state) return
  model.intent = { ...model.intent, state: end.state, stateAt: at }
  if (last >= 0) moveOne(model, last, 'intent_ended', at)
}

const ended: ReadonlySet<AttemptState> = new Set(['SUCCEEDED', 'DECLINED', 'FAILED', 'ABANDONED'])
const isOpen = ({ state }: StoredAttempt) => !ended.has(state)

const statuses = new Set<string>([
  'ACTIVE',
  'CONSUMED',
  'EXPIRED',
  'CANCELLED',
  'REQUIRES_ACTION',
  'PROCESSING',
  'SUCCEEDED',
  'DECLINED',
  'FAILED',
])

const owes = (model: Model) => {
  const { state, latest, succeededAt } = asOf(stored(model), new Date(model.now))
  return owesExpiredEvent({ state, latest: latest?.state ?? null, succeeded: succeededAt !== null, hasLink: false })
}

type Seen = {
  shown: ShownIntent
  owed: boolean
  intent: Model['intent']
  attempts: readonly Model['attempts'][number][]
}

const seenOf = (model: Model): Seen => ({
  shown: shownOf(model),
  owed: owes(model),
  intent: model.intent,
  attempts: [...model.attempts],
})

function mustHold(model: Model, before: Seen, { event }: Step) {
  const after = seenOf(model)
  assert.ok(model.attempts.length <= attemptsMax)
  const successes = model.attempts.filter(({ state }) => state === 'SUCCEEDED').length
  assert.ok(successes <= 1, 'two attempts succeeded')
  assert.ok(
    model.attempts.slice(0, -1).every((attempt) => !isOpen(attempt)),
    'an earlier attempt is open',
  )
  if (before.intent.state !== 'ACTIVE') assert.equal(after.intent.state, before.intent.state)
  for (const [index, attempt] of before.attempts.entries()) {
    const now = model.attempts[index]
    if (!isOpen(attempt)) assert.equal(now, attempt)
    if (attempt.state === 'PROCESSING' && (isIntentEvent(event) || event === 'sweep' || event === 'look'))
      assert.equal(now, attempt)
  }
  for (const { state, emitted } of model.attempts)
    assert.equal(
      emitted.length,
      ended.has(state) && state !== 'ABANDONED' ? 1 : 0,
      `${state} with ${emitted.length} events`,
    )
  showsWell(model, before.shown, after.shown)
  assert.ok(after.owed || !before.owed, 'payment.expired was owed and is not any more')
  assert.ok(!(after.owed && successes > 0), 'a paid intent owes payment.expired')
}

function showsWell(model: Model, before: ShownIntent, after: ShownIntent) {
  const { status, updatedAt, failureCategory, userMessage } = after
  assert.ok(statuses.has(status), status)
  assert.equal(failureCategory !== undefined, status === 'DECLINED' || status === 'FAILED')
  assert.equal(userMessage !== undefined, !['ACTIVE', 'REQUIRES_ACTION', 'PROCESSING'].includes(status))
  assert.ok(updatedAt >= before.updatedAt && updatedAt.getTime() <= model.now, 'updatedAt went back or ahead')
  assert.equal(status === 'SUCCEEDED', model.intent.succeededAt !== null)
  if (['SUCCEEDED', 'EXPIRED', 'CANCELLED', 'CONSUMED'].includes(before.status)) assert.deepEqual(after, before)
  const swept: Model = { ...model, attempts: [...model.attempts] }
  take(swept, { event: 'sweep', waitMs: 0, target: -1, useFree: true }, true)
  assert.deepEqual(shownOf(swept), after, 'a sweeper changed what is shown')
}

const hourMs = 3_600_000
const start = Date.UTC(2030, 0, 1)

const step: fc.Arbitrary<Step> = fc.record({
  // Ends are rare, so that most intents live long enough to be interesting.
  event: fc.oneof(
    { weight: 50, arbitrary: fc.constantFrom(...attemptEvents) },
    {
      weight: 30,
      arbitrary: fc.constantFrom<Step['event']>(
        'processing_starts',
        'challenge_needed',
        'issuer_refused',
        'card_ineligible',
        'code_made',
        'code_declined',
        'code_given_up',
        'look',
        'sweep',
      ),
    },
    { weight: 1, arbitrary: fc.constantFrom(...intentEvents) },
  ),
  waitMs: fc.oneof(
    { weight: 40, arbitrary: fc.nat(60_000) },
    fc.constant(0),
    fc.constant(challengeWaitMs),
    fc.nat(challengeWaitMs),
  ),
  // Mostly the latest attempt; now and then an older one, whose result comes late.
  target: fc.oneof({ weight: 4, arbitrary: fc.constant(-1) }, fc.nat(attemptsMax)),
  useFree: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
})

function holds(counts: { steps: number; succeeded: number; limited: number }, guarded: boolean) {
  const steps = fc.array(step, { minLength: 40, maxLength: 90, size: 'max' })
  return fc.property(steps, fc.integer({ min: 1, max: 24 * hourMs }), (taken, lifeMs) => {
    const [stateAt, expiresAt] = [new Date(start), new Date(start + lifeMs)]
    const model: Model = {
      intent: { state: 'ACTIVE', stateAt, expiresAt, succeededAt: null, linkEnd: null },
      attempts: [],
      now: start,
    }
    for (const one of taken) {
      const before = seenOf(model)
      take(model, one, guarded)
      mustHold(model, before, one)
    }
    counts.steps += taken.length
    if (model.intent.succeededAt) counts.succeeded += 1
    if (model.attempts.length === attemptsMax) counts.limited += 1
  })
}

const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)

test('whatever happens in whatever order: one success at most, ends are final, a payment in progress is never cut off', (t) => {
  const counts = { steps: 0, succeeded: 0, limited: 0 }
  fc.assert(holds(counts, true), { seed, numRuns: 2_500 })
  t.diagnostic(
    `seed ${seed}, ${counts.steps} steps; of 2500 intents ${counts.succeeded} paid, ${counts.limited} out of attempts`,
  )
  assert.ok(counts.steps >= 100_000)
})

test('the test above can fail: a service that does not ask before a confirm breaks it', () => {
  assert.ok(fc.check(holds({ steps: 0, succeeded: 0, limited: 0 }, false), { seed: 1, numRuns: 100 }).failed)
})

test('it does not matter how often an intent is looked at: deadlines applied in two goes are the same as in one', (t) => {
  t.diagnostic(`seed ${seed}`)
  const time = fc.nat(100).map((minutes) => new Date(start + minutes * 60_000))
  const attempt: fc.Arbitrary<StoredAttempt> = fc.record({
    method: fc.constantFrom('card', 'qrph'),
    state: fc.constantFrom<AttemptState>('REQUIRES_ACTION', 'PROCESSING', 'DECLINED', 'SUCCEEDED', 'ABANDONED'),
    stateAt: fc.constant(new Date(start)),
    category: fc.constant(null),
    reason: fc.constant(null),
    challengeExpiresAt: fc.option(time),
  })
  const intent: fc.Arbitrary<StoredIntent> = fc.record({
    state: fc.constantFrom('ACTIVE', 'EXPIRED'),
    stateAt: fc.constant(new Date(start)),
    expiresAt: time,
    latest: fc.option(attempt),
    succeededAt: fc.constant(null),
    linkEnd: fc.option(fc.record({ event: fc.constantFrom('link_consumed', 'link_cancelled'), at: time })),
    hadCode: fc.boolean(),
  })
  fc.assert(
    fc.property(intent, time, time, (any, first, second) => {
      const [early, late] = first <= second ? [first, second] : [second, first]
      // Nobody reads of the end of a link before it.
      const one = any.linkEnd !== null && any.linkEnd.at > early ? { ...any, linkEnd: null } : any
      assert.deepEqual(asOf(asOf(one, early), late), asOf(one, late))
    }),
    { seed, numRuns: 2_000 },
  )
})
