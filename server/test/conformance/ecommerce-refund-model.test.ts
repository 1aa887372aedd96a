import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import * as fc from 'fast-check'
import { noConnector } from '../../src/payments/connectors/none.ts'
import { simulatorStore } from '../../src/payments/connectors/simulator-store.ts'
import { simulatedRefunds } from '../../src/payments/connectors/simulator-refunds.ts'
import { createRefunds } from '../../src/payments/refunds.ts'
import { newKey, platform } from '../platform.ts'
import type { Answer } from './call.ts'
import { bodyOf, jump, refusal, rowsOf, shop, withoutWorker } from './shop.ts'

// Refunds, lost answers, questions and moves of the clock in any order, against a ledger of a few lines.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)
const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)

/** What a worker of another process does about refunds. */
const worker = createRefunds({
  db: p.kaha.db,
  clock: p.kaha.clock,
  connector: {
    ...noConnector,
    ...simulatedRefunds({ clock: p.kaha.clock, memory: simulatorStore({ db: p.kaha.db }).refunds }),
  },
  waitMsMax: 50,
  dueSooner: () => {},
})

type State = 'PENDING' | 'SUCCEEDED' | 'FAILED'

interface Entry {
  readonly id: string
  readonly amount: bigint
  readonly ask: () => Promise<Answer>
  readonly end: State
  state: State
}

/** One payment as the model has it: a list of refunds, and what each will come to. */
interface Ledger {
  readonly intentId: string
  readonly received: bigint
  readonly entries: Entry[]
}

const sum = (entries: readonly Entry[], ...states: readonly State[]): bigint =>
  entries.reduce((total, { state, amount }) => (states.includes(state) ? total + amount : total), 0n)
const left = ({ received, entries }: Ledger): bigint => received - sum(entries, 'PENDING', 'SUCCEEDED')

/** By the last digits of the amount: what the call answers, and what asking will find. */
const fate = (amount: bigint): { first: State; end: State } => {
  const endings: Record<string, { first: State; end: State }> = {
    991: { first: 'FAILED', end: 'FAILED' },
    992: { first: 'PENDING', end: 'SUCCEEDED' },
    993: { first: 'PENDING', end: 'FAILED' },
    994: { first: 'PENDING', end: 'SUCCEEDED' },
  }
  return endings[String(amount % 1_000n)] ?? { first: 'SUCCEEDED', end: 'SUCCEEDED' }
}

const amounts = [1, 991, 992, 993, 994, 1_992, 2_000, 2_993, 3_994, 5_000, 9_999, undefined] as const
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('refund' as const), amount: fc.constantFrom(...amounts) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('repeat' as const), which: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('ask' as const), workers: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1_500, 25_000, 400_000) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('burst' as const), amount: fc.constantFrom(700, 2_000) }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const asks = (workers: number) => Promise.all(Array.from({ length: workers }, () => worker.reconcile()))

async function refund(ledger: Ledger, amount: number | undefined): Promise<void> {
  const idempotencyKey = newKey()
  const ask = () => merchant.createRefund(ledger.intentId, amount === undefined ? {} : { amount }, { idempotencyKey })
  const wanted = amount === undefined ? left(ledger) : BigInt(amount)
  const answer = await ask()
  if (wanted < 1n || wanted > left(ledger)) {
    assert.equal(refusal(answer), '422 AMOUNT_EXCEEDS_REMAINING amount remaining')
    return
  }
  const made = bodyOf(answer, 201)
  const { first, end } = fate(wanted)
  assert.deepEqual([BigInt(made.amount), made.status], [wanted, first])
  ledger.entries.push({ id: made.id, amount: wanted, ask, state: first, end })
}

/** Many at once, while others are asked about. */
async function burst(ledger: Ledger, amount: number): Promise<void> {
  const before = left(ledger)
  const [answers] = await Promise.all([
    Promise.all(Array.from({ length: 6 }, () => merchant.createRefund(ledger.intentId, { amount }))),
    asks(1),
  ])
  const made = answers.filter(({ status }) => status === 201)
  assert.ok(BigInt(made.length) >= (before / BigInt(amount) < 6n ? before / BigInt(amount) : 6n))
  for (const { json } of made) {
    ledger.entries.push({
      id: json.id,
      amount: BigInt(amount),
      ask: () => merchant.retrieveRefund(json.id),
      state: 'SUCCEEDED',
      end: 'SUCCEEDED',
    })
  }
}

async function take(ledger: Ledger, taken: Step): Promise<void> {
  if (taken.kind === 'refund') await refund(ledger, taken.amount)
  if (taken.kind === 'burst') await burst(ledger, taken.amount)
  if (taken.kind === 'wait') await jump(p, taken.ms)
  if (taken.kind === 'ask') await asks(taken.workers)
  const repeated = taken.kind === 'repeat' && ledger.entries[taken.which % Math.max(1, ledger.entries.length)]
  if (repeated) {
    const { json } = await repeated.ask()
    assert.deepEqual([json.id, json.status], [repeated.id, repeated.state])
  }
}

/** What is stored is what the model has; a PENDING refund may have come to its end, and to no other. */
async function compare(ledger: Ledger): Promise<void> {
  const stored = await rowsOf<{ id: string; amount: bigint; state: State }>(
    p,
    'select id, amount, state from payments.refunds where intent_id = $1 order by id',
    [ledger.intentId],
  )
  assert.equal(stored.length, ledger.entries.length)
  for (const entry of ledger.entries) {
    const row = stored.find(({ id }) => id === entry.id)
    assert.ok(row && row.amount === entry.amount)
    if (row.state !== entry.state) assert.deepEqual([entry.state, row.state], ['PENDING', entry.end])
    entry.state = row.state
  }
  const [money] = await rowsOf<{ status: string; refunded: bigint; reserved: bigint; given: bigint }>(
    p,
    `select t.status, t.amount_refunded as refunded, t.amount_refund_reserved as reserved,
            (select coalesce(sum(r.amount), 0)::bigint from payments.refunds r join sandbox.refunds s on s.refund_id = r.id
              where r.transaction_id = t.id and s.outcome = 'refunded') as given
       from payments.transactions t join payments.attempts a on a.id = t.id where a.intent_id = $1`,
    [ledger.intentId],
  )
  assert.ok(money)
  const refunded = sum(ledger.entries, 'SUCCEEDED')
  assert.deepEqual([money.refunded, money.reserved], [refunded, sum(ledger.entries, 'PENDING')])
  // The invariant, by our books and by the processor's.
  assert.ok(money.refunded + money.reserved <= ledger.received && money.given <= ledger.received)
  const status = refunded === 0n ? 'CAPTURED' : refunded < ledger.received ? 'PARTIALLY_REFUNDED' : 'REFUNDED'
  assert.equal(money.status, status)
}

async function newLedger(amount: number): Promise<Ledger> {
  const { id } = bodyOf(await merchant.createIntent({ amount }), 201)
  bodyOf(await merchant.confirm(id), 200)
  return { intentId: id, received: BigInt(amount), entries: [] }
}

test('[C4.refund-create.exceeds, C4.refund-create.no-answer, C4.refund.transaction] whatever order refunds, answers, questions and time come in, no more goes back than came, and every refund ends as the processor has it', async (t) => {
  t.diagnostic(`seed ${seed}`)
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(2_993, 9_800, 10_994),
      fc.array(step, { maxLength: 14 }),
      async (amount, steps) => {
        const ledger = await newLedger(amount)
        for (const taken of steps) {
          await take(ledger, taken)
          await compare(ledger)
        }
        // In the end everything is known.
        for (let round = 0; round < 2; round++) {
          await jump(p, 400_000)
          await asks(2)
        }
        await compare(ledger)
        for (const { state, end } of ledger.entries) assert.equal(state, end)
      },
    ),
    { seed, numRuns: 15 },
  )
})
