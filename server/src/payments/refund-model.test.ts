import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { amountMax } from '../kernel/money.ts'
import { refundEventOf, type RefundOutcome } from './connectors/connector.ts'
import { moveRefund, refundMoves, type RefundEvent, type RefundMove, type RefundState } from './refund-machine.ts'

/** A refund as we have it, and what the processor has of it. */
interface Entry {
  readonly amount: bigint
  state: RefundState
  /** Null while the call has not reached the processor: it may be on its way, or lost. */
  processor: 'refunded' | 'failed' | 'none' | null
  moves: number
}

/** One payment, by our books, and the processor that holds the money. */
interface Model {
  readonly received: bigint
  reserved: bigint
  refunded: bigint
  readonly entries: Entry[]
}

const steps = ['ask', 'call', 'callAgain', 'answer', 'answerAgain', 'inquire', 'noAnswer'] as const

/** `part`: which part of what is left is asked for, in thousandths, 0 for all of it and over 1,000 for more. */
type Step = { kind: (typeof steps)[number]; part: number; target: number; refuses: boolean }

const left = ({ received, reserved, refunded }: Model): bigint => received - reserved - refunded

/** What a row of the table does to the books. */
function book(model: Model, amount: bigint, from: RefundMove['from'], { to, amount: goes }: RefundMove): void {
  if (from === 'PENDING' && to !== 'PENDING') model.reserved -= amount
  if (from === 'NONE' && goes === 'reserved') model.reserved += amount
  if (goes === 'refunded') model.refunded += amount
}

/** Compare-and-set, as the statement does it: an event that the table does not have changes nothing. */
function settle(model: Model, entry: Entry, event: RefundEvent, guarded: boolean): void {
  const from = guarded ? entry.state : 'PENDING'
  const move = moveRefund(from, event)
  if ('refusal' in move) return
  book(model, entry.amount, from, move)
  if (move.to !== entry.state) entry.moves += 1
  entry.state = move.to
}

/** The processor gets a call: the first one decides, and one after an inquiry that found nothing is refused. */
const reach = (entry: Entry, refuses: boolean) => (entry.processor ??= refuses ? 'failed' : 'refunded')

/** What the processor says of what it has. */
const told: Readonly<Record<NonNullable<Entry['processor']>, RefundOutcome>> = {
  refunded: { kind: 'refunded' },
  failed: { kind: 'failed' },
  none: { kind: 'none' },
}

function take(model: Model, { kind, part, target, refuses }: Step, guarded: boolean): void {
  if (kind === 'ask') return ask(model, part)
  const entry = model.entries[target % Math.max(1, model.entries.length)]
  if (entry === undefined) return
  if (kind === 'noAnswer') return settle(model, entry, 'no_answer', guarded)
  if (kind === 'call' || kind === 'callAgain') return void reach(entry, refuses)
  if (kind === 'inquire') entry.processor ??= 'none'
  // An answer to a call or to a question, in time, late or twice; one that was lost on the way is no step at all.
  if (entry.processor !== null) settle(model, entry, refundEventOf(told[entry.processor]), guarded)
}

function ask(model: Model, part: number): void {
  const amount = part === 0 ? left(model) : (left(model) * BigInt(part)) / 1_000n
  if (amount < 1n || amount > left(model)) return
  const move = moveRefund('NONE', 'asked')
  assert.ok('to' in move)
  book(model, amount, 'NONE', move)
  model.entries.push({ amount, state: move.to, processor: null, moves: 0 })
}

const sum = (entries: readonly Entry[]): bigint => entries.reduce((total, { amount }) => total + amount, 0n)

function mustHold(model: Model, before: readonly RefundState[]): void {
  const { received, reserved, refunded, entries } = model
  const being = (state: RefundState) => entries.filter((entry) => entry.state === state)
  assert.equal(reserved, sum(being('PENDING')), 'what is held back is not what is open')
  assert.equal(refunded, sum(being('SUCCEEDED')), 'what is refunded is not what succeeded')
  assert.ok(reserved >= 0n && refunded >= 0n && reserved + refunded <= received, 'more goes back than came')
  const given = sum(entries.filter(({ processor }) => processor === 'refunded'))
  assert.ok(given <= received, 'the processor gave back more than came')
  for (const [i, state] of before.entries())
    if (state !== 'PENDING') assert.equal(entries[i]?.state, state, 'an end was left')
  for (const { state, processor, moves } of entries) {
    assert.ok(moves <= 1, 'an amount was counted twice')
    if (state === 'SUCCEEDED') assert.equal(processor, 'refunded')
    if (state === 'FAILED') assert.ok(processor === 'failed' || processor === 'none')
  }
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 2, arbitrary: fc.constant<Step['kind']>('ask') },
    { weight: 5, arbitrary: fc.constantFrom(...steps) },
  ),
  part: fc.oneof(fc.integer({ min: 1, max: 1_100 }), fc.constantFrom(0, 500, 1_000)),
  target: fc.nat(30),
  refuses: fc.oneof({ weight: 2, arbitrary: fc.constant(false) }, fc.constant(true)),
})

function holds(counts: { steps: number; refunded: number; failed: number; whole: number }, guarded: boolean) {
  const amounts = fc.oneof(
    fc.bigInt({ min: 1n, max: amountMax }),
    fc.bigInt({ min: 1n, max: 100n }),
    fc.constantFrom(1n, amountMax),
  )
  return fc.property(amounts, fc.array(step, { minLength: 40, maxLength: 90, size: 'max' }), (received, taken) => {
    const model: Model = { received, reserved: 0n, refunded: 0n, entries: [] }
    for (const one of taken) {
      const before = model.entries.map(({ state }) => state)
      take(model, one, guarded)
      mustHold(model, before)
    }
    counts.steps += taken.length
    counts.refunded += model.entries.filter(({ state }) => state === 'SUCCEEDED').length
    counts.failed += model.entries.filter(({ state }) => state === 'FAILED').length
    if (model.refunded === received) counts.whole += 1
  })
}

const nothing = () => ({ steps: 0, refunded: 0, failed: 0, whole: 0 })

test('whatever order calls, answers and questions come in, late, lost or doubled: no more goes back than came, each amount is counted once, and every end is final', (t) => {
  const counts = nothing()
  const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)
  fc.assert(holds(counts, true), { seed, numRuns: 2_500 })
  const { refunded, failed, whole } = counts
  t.diagnostic(
    `seed ${seed}, ${counts.steps} steps; ${refunded} refunded, ${failed} failed, ${whole} payments in whole`,
  )
  assert.ok(counts.steps >= 100_000)
  for (const count of [refunded, failed, whole]) assert.ok(count > 100)
})

test('the test above can fail: books that do not look at the state of a refund break it', () => {
  assert.ok(fc.check(holds(nothing(), false), { seed: 1, numRuns: 100 }).failed)
})

test('every row of the table is taken by the walk: no event is left out', () => {
  const events = new Set<string>([
    'asked',
    ...Object.values(told).map(refundEventOf),
    refundEventOf({ kind: 'pending' }),
  ])
  assert.deepEqual(events, new Set(refundMoves.map(({ event }) => event)))
})
