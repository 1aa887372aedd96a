import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { agrees, cardNumbered, processorOn, simulatorSuite } from '../../../test/simulator-suite.ts'
import { moveAttempt } from '../machine.ts'
import { shownIntent } from '../projection.ts'
import { eventOf } from './connector.ts'
import type { Outcome } from './connector.ts'
import { testCards } from './simulator.ts'
import type { DecisionRow, SimulatorStore } from './simulator.ts'
import type { ChallengeDesk, ChallengeMemory, HeldChallenge } from './simulator-challenges.ts'
import type { RefundDecisionRow } from './simulator-refunds.ts'

type Vector = {
  number: string
  brand: string
  outcome: string
  status: string
  failure_category: string | null
  note: string | null
}

const vectors = (
  JSON.parse(readFileSync(new URL('../../../test/vectors/test-cards.json', import.meta.url), 'utf8')) as {
    cards: Vector[]
  }
).cards

const reasonOf: Record<string, string> = {
  generic: 'generic',
  'insufficient funds': 'insufficient_funds',
  'lost card': 'lost_card',
  'stolen card': 'stolen_card',
  'expired card': 'expired_card',
  'wrong CVC': 'wrong_cvc',
}

const memoryOf = <Row>(rows: Map<string, Row>) => ({
  find: (id: string) => Promise.resolve(rows.get(id)),
  record: (id: string, row: Row) => {
    const kept = rows.get(id) ?? row
    rows.set(id, kept)
    return Promise.resolve(kept)
  },
})

function memoryChallenges() {
  const rows = new Map<string, HeldChallenge>()
  const findByToken = async (token: string) => [...rows.values()].find((one) => one.token === token)
  const memory: ChallengeMemory = {
    find: async (attemptId) => rows.get(attemptId),
    async open(challenge) {
      const kept = rows.get(challenge.attemptId) ?? challenge
      rows.set(challenge.attemptId, kept)
      return kept
    },
  }
  const desk: ChallengeDesk = {
    findByToken,
    async answer(token, result) {
      const held = await findByToken(token)
      if (held === undefined || held.result !== null) return false
      rows.set(held.attemptId, { ...held, result })
      return true
    },
  }
  return { rows, memory, desk }
}

function memoryStore() {
  const challenges = memoryChallenges()
  const rows = new Map<string, DecisionRow>()
  const refundRows = new Map<string, RefundDecisionRow>()
  const store: SimulatorStore = { ...memoryOf(rows), refunds: memoryOf(refundRows), challenges: challenges.memory }
  return { rows, refundRows, challenges, store }
}

const sandbox = () => processorOn(memoryStore().store)

/** The whole way of a card through confirm, as a payer's intent would show it. Processors are asked until they know. */
async function outcomeOf(number: string): Promise<{ status: string; category: string | undefined; outcome?: Outcome }> {
  const { processor, payment, abandoned, advance } = sandbox()
  const show = (state: 'NONE' | 'PROCESSING', event: Parameters<typeof moveAttempt>[1]) => {
    const move = moveAttempt(state, event)
    assert.ok('to' in move)
    const at = new Date(0)
    const moved = { state: move.to, stateAt: at, category: move.category, reason: null, challengeExpiresAt: null }
    const latest = { method: 'card', ...moved } as const
    const open = { state: 'ACTIVE', stateAt: at, expiresAt: new Date(1), succeededAt: null, linkEnd: null } as const
    const shown = shownIntent({ ...open, latest, hadCode: false }, at)
    return { status: shown.status, category: shown.failureCategory }
  }
  const card = cardNumbered(number)
  if (processor.eligibility(card) === 'ineligible') return show('NONE', 'card_ineligible')
  const { kind } = await processor.verify(payment(number))
  if (kind === 'refused') return show('NONE', 'verification_refused')
  if (kind === 'unavailable') return show('NONE', 'verification_down')
  const silent = testCards.get(number) !== 'ineligible' && isSilent(number)
  let outcome: Outcome =
    silent && (await abandoned(number, 'a1')) === 'silent'
      ? { kind: 'pending' }
      : await processor.authorize(payment(number, 'a1'))
  while (outcome.kind === 'pending') {
    outcome = await processor.inquire('a1')
    advance(1_000)
  }
  return { ...show('PROCESSING', eventOf(outcome)), outcome }
}

const isSilent = (number: string) =>
  vectors.some((card) => card.number === number && card.outcome.startsWith('no answer'))

test('the test cards are exactly the published ones', () => {
  assert.deepEqual(
    [...testCards.keys()],
    vectors.map(({ number }) => number),
  )
})

for (const { number, brand, outcome, status, failure_category, note } of vectors) {
  test(`${brand} ${number}: ${outcome}${note ? ` (${note})` : ''}`, async () => {
    const { processor, payment } = sandbox()
    const result = await outcomeOf(number)
    if (outcome.startsWith('challenge') && status === 'REQUIRES_ACTION') {
      assert.equal((await processor.verify(payment(number))).kind, 'challenge')
      assert.equal(result.status, outcome === 'challenge, then decline' ? 'DECLINED' : 'SUCCEEDED')
      assert.equal(result.category, outcome === 'challenge, then decline' ? 'PAYMENT_REJECTED' : undefined)
    } else if (status === 'PROCESSING') {
      const settled =
        outcome === 'no answer, no authorization' ? ['FAILED', 'PAYMENT_PROCESSING_ERROR'] : ['SUCCEEDED', undefined]
      assert.deepEqual([result.status, result.category], settled)
    } else {
      assert.equal(result.status, status)
      assert.equal(result.category ?? null, failure_category)
    }
    if (outcome === 'decline') assert.deepEqual(result.outcome, { kind: 'declined', reason: reasonOf[note ?? ''] })
  })
}

test('a number that is no test card is ineligible, and is not approved even if someone tries', async () => {
  const { processor, payment } = sandbox()
  for (const number of ['4242424242424259', '6011000990139424', '36227206271667']) {
    assert.equal(processor.eligibility(cardNumbered(number)), 'ineligible')
    assert.equal((await processor.authorize(payment(number, number))).kind, 'declined')
  }
})

test('a card that verification refuses is not approved even if someone tries', async () => {
  const { processor, payment } = sandbox()
  for (const number of ['4230000000000004', '4000000000003238', '5200000000000197'])
    assert.equal((await processor.authorize(payment(number, number))).kind, 'declined')
})

test('an approval has what a receipt needs', async () => {
  const { processor, payment } = sandbox()
  const outcome = await processor.authorize(payment('4242424242424242'))
  assert.ok(outcome.kind === 'approved')
  assert.match(outcome.approvalCode, /^[0-9]{6}$/)
  assert.match(outcome.transactionId, /^SIM[A-Z]{17}$/)
  assert.match(outcome.reconciliationId, /^[A-Z]{12}$/)
  assert.deepEqual(outcome.completedAt, new Date('2030-01-01T00:00:00Z'))
})

simulatorSuite(
  'in memory',
  () => {
    const { rows, refundRows, challenges, store } = memoryStore()
    const all = () => [...rows.values(), ...refundRows.values(), ...challenges.rows.values()]
    return { store, desk: challenges.desk, contents: () => Promise.resolve(all().map((row) => inspect(row))) }
  },
  { numRuns: 500 },
)

test('the suite can fail: a processor whose last writer wins contradicts itself', async () => {
  const forgetful = agrees(() => {
    const { rows, store } = memoryStore()
    return { ...store, record: async (id, row) => (rows.set(id, row), row) }
  })
  assert.ok((await fc.check(forgetful, { seed: 1, numRuns: 500 })).failed)
})
