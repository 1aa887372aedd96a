import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import * as fc from 'fast-check'
import { freshDatabase } from '../../../test/cluster.ts'
import { createDb } from '../../kernel/db.ts'
import { refundEventOf } from './connector.ts'
import { noConnector } from './none.ts'
import { simulatedRefunds, testRefunds, type RefundDecisionRow, type RefundMemory } from './simulator-refunds.ts'
import { simulatorStore } from './simulator-store.ts'

const held = new AsyncDisposableStack()
after(() => held.disposeAsync())
const { target } = held.use(await freshDatabase())
const db = held.use(
  createDb({
    target,
    onError: (error) => {
      throw error
    },
  }),
)

function inMemory(): RefundMemory {
  const rows = new Map<string, RefundDecisionRow>()
  return {
    find: async (id) => rows.get(id),
    record: async (id, row) => {
      const kept = rows.get(id) ?? row
      rows.set(id, kept)
      return kept
    },
  }
}

const memories: readonly (readonly [where: string, open: () => RefundMemory, numRuns: number])[] = [
  ['in memory', inMemory, 300],
  ['in PostgreSQL', () => simulatorStore({ db }).refunds, 40],
]

const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)

function processorOn(memory: RefundMemory) {
  const time = { now: Date.UTC(2030, 0, 1) }
  const processor = simulatedRefunds({ clock: { now: () => new Date(time.now) }, memory })
  const refund = (amount: bigint, refundId: string = randomUUID(), signal = new AbortController().signal) =>
    processor.refund({ refundId, attemptId: randomUUID(), transactionId: 'SIM', amount, currency: 'PHP', signal })
  /** A call that is given up on. */
  const abandoned = async (amount: bigint, refundId: string) => {
    const deadline = new AbortController()
    const call = refund(amount, refundId, deadline.signal).then(
      () => 'answered',
      (error: unknown) => error,
    )
    // What the processor does of a call it does before it would answer.
    await memory.find(refundId)
    const reason = new Error('deadline')
    setImmediate(() => deadline.abort(reason))
    return (await call) === reason ? 'silent' : 'answered'
  }
  return { processor, refund, abandoned, advance: (ms: number) => (time.now += ms) }
}

for (const [where, open, numRuns] of memories) {
  test(`${where}: an amount goes back, and the same refund asked for again is the same refund`, async () => {
    const { processor, refund } = processorOn(open())
    const id = randomUUID()
    for (let again = 0; again < 3; again++) assert.deepEqual(await refund(9_800n, id), { kind: 'refunded' })
    assert.deepEqual(await processor.inquireRefund(id), { kind: 'refunded' })
  })

  test(`${where}: the last three digits of the amount choose how a refund goes`, async () => {
    const memory = open()
    const { processor, refund, abandoned, advance } = processorOn(memory)
    assert.deepEqual(await refund(991n), { kind: 'failed' })
    assert.deepEqual(await refund(1_991n), { kind: 'failed' })
    const [answered, lost, slow] = [randomUUID(), randomUUID(), randomUUID()]
    assert.equal(await abandoned(992n, answered), 'silent')
    assert.deepEqual(await processor.inquireRefund(answered), { kind: 'refunded' })
    assert.equal(await abandoned(993n, lost), 'silent')
    assert.equal(await memory.find(lost), undefined)
    assert.deepEqual(await processor.inquireRefund(lost), { kind: 'none' })
    assert.deepEqual(await refund(994n, slow), { kind: 'pending' })
    advance(19_999)
    assert.deepEqual(await processor.inquireRefund(slow), { kind: 'pending' })
    advance(1)
    assert.deepEqual(await processor.inquireRefund(slow), { kind: 'refunded' })
    for (const amount of [1n, 99n, 990n, 995n, 99_100n, 10_000n])
      assert.deepEqual(await refund(amount), { kind: 'refunded' })
  })

  test(`${where}: a refund that the processor says it does not know is never made by a call that comes late`, async () => {
    const { processor, refund } = processorOn(open())
    const id = randomUUID()
    assert.deepEqual(await processor.inquireRefund(id), { kind: 'none' })
    assert.deepEqual(await refund(9_800n, id), { kind: 'failed' })
    assert.deepEqual(await processor.inquireRefund(id), { kind: 'none' })
  })

  test(`${where}: a call whose deadline has passed already does nothing`, async () => {
    const memory = open()
    const { processor, refund } = processorOn(memory)
    const id = randomUUID()
    const gone = AbortSignal.abort(new Error('deadline'))
    await assert.rejects(refund(9_800n, id, gone), /deadline/)
    await assert.rejects(processor.inquireRefund(id, gone), /deadline/)
    assert.equal(await memory.find(id), undefined)
  })

  test(`${where}: in whatever order calls and inquiries reach the processor, it never tells that it refunded and that it did not`, async (t) => {
    t.diagnostic(`seed ${seed}`)
    const step = fc.record({ kind: fc.constantFrom('refund', 'inquire', 'wait'), which: fc.nat(1) })
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 12 }),
        fc.constantFrom(9_800n, 991n, 994n),
        fc.scheduler(),
        async (steps, amount, scheduler) => {
          const { find, record } = open()
          const { processor, refund, advance } = processorOn({
            find: scheduler.scheduleFunction(find),
            record: scheduler.scheduleFunction(record),
          })
          const ids = [randomUUID(), randomUUID()] as const
          const told = new Map<string, Set<boolean>>()
          const running = steps.map(async ({ kind, which }) => {
            if (kind === 'wait') return void advance(5_000)
            const id = ids[which === 0 ? 0 : 1]
            const outcome = kind === 'refund' ? await refund(amount, id) : await processor.inquireRefund(id)
            if (outcome.kind === 'pending') return
            told.set(id, (told.get(id) ?? new Set()).add(refundEventOf(outcome) === 'refunded'))
          })
          await scheduler.waitFor(Promise.all(running))
          for (const said of told.values()) assert.equal(said.size, 1)
        },
      ),
      { seed, numRuns },
    )
  })
}

test('each test refund says how it goes', () => {
  assert.deepEqual([...testRefunds.keys()], ['991', '992', '993', '994'])
})

test('without a processor nothing is refunded, and both answers say so', async () => {
  const signal = new AbortController().signal
  const refund = { refundId: 'r', attemptId: 'a', transactionId: 't', amount: 1n, currency: 'PHP', signal }
  assert.deepEqual(await noConnector.refund(refund), { kind: 'failed' })
  assert.deepEqual(await noConnector.inquireRefund('r'), { kind: 'none' })
})
