import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { parseCard } from '../card.ts'
import type { Card } from '../card.ts'
import { moveAttempt } from '../machine.ts'
import { shownIntent } from '../projection.ts'
import { eventOf } from './connector.ts'
import type { Outcome } from './connector.ts'
import { simulator, testCards } from './simulator.ts'
import type { DecisionRow, SimulatorStore } from './simulator.ts'

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

function memoryStore(): SimulatorStore & { rows: Map<string, DecisionRow> } {
  const rows = new Map<string, DecisionRow>()
  return {
    rows,
    find: (id) => Promise.resolve(rows.get(id)),
    record: (id, row) => {
      const kept = rows.get(id) ?? row
      rows.set(id, kept)
      return Promise.resolve(kept)
    },
  }
}

function cardOf(number: string): Card {
  const card = parseCard(
    { number, exp_month: 12, exp_year: 2040, cvc: /^3[47]/.test(number) ? '1234' : '123' },
    new Date('2030-01-01'),
  )
  assert.ok(!('refusal' in card))
  return card
}

function sandbox() {
  const time = { now: Date.UTC(2030, 0, 1) }
  const store = memoryStore()
  const clock = { now: () => new Date(time.now) }
  const processor = simulator({ clock, store })
  const payment = (number: string, attemptId = 'a1', signal = new AbortController().signal) => ({
    attemptId,
    card: cardOf(number),
    amount: 10_000n,
    currency: 'PHP',
    signal,
  })
  return {
    processor,
    store,
    clock,
    payment,
    restarted: () => simulator({ clock, store }),
    advance: (ms: number) => (time.now += ms),
    /** A call that is given up on: resolves to whether it had answered. */
    abandoned: async (number: string, attemptId = 'a1') => {
      const deadline = new AbortController()
      const call = processor.authorize(payment(number, attemptId, deadline.signal)).then(
        () => 'answered',
        (error: unknown) => error,
      )
      while (!store.rows.has(attemptId)) await Promise.resolve()
      const reason = new Error('deadline')
      deadline.abort(reason)
      return (await call) === reason ? 'silent' : 'answered'
    },
  }
}

/** The whole way of a card through confirm, as a payer's intent would show it. Processors are asked until they know. */
async function outcomeOf(number: string): Promise<{ status: string; category: string | undefined; outcome?: Outcome }> {
  const { processor, payment, abandoned, advance } = sandbox()
  const show = (state: 'NONE' | 'PROCESSING', event: Parameters<typeof moveAttempt>[1]) => {
    const move = moveAttempt(state, event)
    assert.ok('to' in move)
    const at = new Date(0)
    const latest = { state: move.to, stateAt: at, category: move.category, reason: null, challengeExpiresAt: null }
    const shown = shownIntent({ state: 'ACTIVE', stateAt: at, expiresAt: new Date(1), succeededAt: null, latest }, at)
    return { status: shown.status, category: shown.failureCategory }
  }
  const card = cardOf(number)
  if (processor.eligibility(card) === 'ineligible') return show('NONE', 'card_ineligible')
  const { kind } = await processor.verify(payment(number))
  if (kind === 'refused') return show('NONE', 'verification_refused')
  if (kind === 'unavailable') return show('NONE', 'verification_down')
  const silent = testCards.get(number) !== 'ineligible' && isSilent(number)
  let outcome: Outcome =
    silent && (await abandoned(number)) === 'silent' ? { kind: 'pending' } : await processor.authorize(payment(number))
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
      assert.deepEqual(await processor.verify(payment(number)), { kind: 'challenge' })
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
    assert.equal(processor.eligibility(cardOf(number)), 'ineligible')
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

test('the same attempt asked for again, after a restart too, is the same payment; another attempt is another', async () => {
  const { processor, payment, restarted, advance } = sandbox()
  const first = await processor.authorize(payment('4242424242424242'))
  advance(60_000)
  assert.deepEqual(await processor.authorize(payment('4242424242424242')), first)
  assert.deepEqual(await restarted().authorize(payment('4242424242424242')), first)
  assert.deepEqual(await restarted().inquire('a1'), first)
  assert.notDeepEqual(await processor.authorize(payment('4242424242424242', 'a2')), first)
})

test('a slow card is pending until 20 seconds of the clock have passed, and then was approved at that moment', async () => {
  const { processor, payment, advance } = sandbox()
  assert.deepEqual(await processor.authorize(payment('4000000000000259')), { kind: 'pending' })
  advance(19_999)
  assert.deepEqual(await processor.inquire('a1'), { kind: 'pending' })
  assert.deepEqual(await processor.authorize(payment('4000000000000259')), { kind: 'pending' })
  advance(1)
  const outcome = await processor.inquire('a1')
  assert.ok(outcome.kind === 'approved')
  assert.deepEqual(outcome.completedAt, new Date('2030-01-01T00:00:20Z'))
})

test('a card without an answer keeps the call waiting until its deadline, and an inquiry tells what happened', async () => {
  const { processor, abandoned } = sandbox()
  assert.equal(await abandoned('4000000000004954', 'yes'), 'silent')
  assert.equal((await processor.inquire('yes')).kind, 'approved')
  assert.equal(await abandoned('4000000000006728', 'no'), 'silent')
  assert.deepEqual(await processor.inquire('no'), { kind: 'failed', category: 'PAYMENT_PROCESSING_ERROR' })
  assert.equal(await abandoned('4242424242424242', 'control'), 'answered')
})

test('a call whose deadline has passed already does nothing', async () => {
  const { processor, payment, store } = sandbox()
  const gone = AbortSignal.abort(new Error('deadline'))
  await assert.rejects(processor.authorize(payment('4242424242424242', 'a1', gone)), /deadline/)
  await assert.rejects(processor.verify(payment('4242424242424242', 'a1', gone)), /deadline/)
  await assert.rejects(processor.inquire('a1', gone), /deadline/)
  assert.equal(store.rows.size, 0)
})

test('an attempt that the processor says it does not know is never charged by a call that comes late', async () => {
  const { processor, payment, restarted } = sandbox()
  assert.deepEqual(await processor.inquire('a1'), { kind: 'none' })
  const late = await processor.authorize(payment('4242424242424242'))
  assert.deepEqual(late, { kind: 'failed', category: 'PAYMENT_PROCESSING_ERROR' })
  assert.deepEqual(await restarted().inquire('a1'), { kind: 'none' })
  assert.equal(eventOf({ kind: 'none' }), eventOf(late))
})

/** Calls and inquiries on two attempts, whose reads and writes of the processor's memory are interleaved in any order. */
function agrees(remember: (store: ReturnType<typeof memoryStore>) => SimulatorStore) {
  const numbers = ['4242424242424242', '4000000000000002', '4000000000000119', '4000000000000259']
  const call = fc.record({ kind: fc.constantFrom('authorize', 'inquire', 'wait'), attempt: fc.nat(1) })
  const calls = fc.array(call, { maxLength: 12 })
  return fc.asyncProperty(calls, fc.constantFrom(...numbers), fc.scheduler(), async (made, number, scheduler) => {
    const { store, clock, advance, payment } = sandbox()
    const { find, record } = remember(store)
    const processor = simulator({
      clock,
      store: { find: scheduler.scheduleFunction(find), record: scheduler.scheduleFunction(record) },
    })
    const said = new Map<string, Set<string>>()
    const running = made.map(async ({ kind, attempt }) => {
      if (kind === 'wait') return void advance(5_000)
      const id = `a${attempt}`
      const outcome = kind === 'inquire' ? await processor.inquire(id) : await processor.authorize(payment(number, id))
      if (outcome.kind !== 'pending') said.set(id, (said.get(id) ?? new Set()).add(eventOf(outcome)))
    })
    await scheduler.waitFor(Promise.all(running))
    for (const [id, events] of said) assert.equal(events.size, 1, `${id} was told ${[...events].join(' and ')}`)
  })
}

test('in whatever order calls and inquiries reach the processor, what it has once said stays true', async (t) => {
  const seed = Date.now() & 0x7fffffff
  t.diagnostic(`seed ${seed}`)
  await fc.assert(
    agrees((store) => store),
    { seed, numRuns: 500 },
  )
})

test('the test above can fail: a processor whose last writer wins contradicts itself', async () => {
  const forgetful = agrees(({ find, rows }) => ({ find, record: async (id, row) => (rows.set(id, row), row) }))
  assert.ok((await fc.check(forgetful, { seed: 1, numRuns: 500 })).failed)
})

test('the processor remembers nothing of a card', async () => {
  const { processor, payment, store } = sandbox()
  for (const { number } of vectors.filter((card) => !isSilent(card.number)))
    await processor.authorize(payment(number, number.slice(-4)))
  const remembered = JSON.stringify([...store.rows.values()])
  for (const { number } of vectors) assert.ok(!remembered.includes(number) && !remembered.includes(number.slice(0, 12)))
})
