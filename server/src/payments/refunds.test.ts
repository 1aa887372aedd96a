import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bodyOf, hourMs, jump, rowsOf } from '../../test/conformance/shop.ts'
import { never, paymentsRoom, processorThat } from '../../test/payments-room.ts'
import { until } from '../../test/until.ts'
import type { Db } from '../kernel/db.ts'
import { newId } from '../kernel/ids.ts'
import type { CardRefund, RefundAnswer, RefundOutcome } from './connectors/connector.ts'
import type { Refunds } from './refunds.ts'

// Refunds by themselves, with processors that do as a test says. No worker runs: whoever asks is told to.
const room = await paymentsRoom({ after })

const paid = async (amount = 9_800): Promise<string> => {
  const { id } = bodyOf(await room.shop.createIntent({ amount }), 201)
  bodyOf(await room.shop.confirm(id), 200)
  return id
}
const reserved = async (
  refunds: Refunds,
  amount: bigint | null = null,
  intentId?: string,
  at = room.kaha.clock.now(),
): Promise<string> => {
  const refund = { id: newId(at), intentId: intentId ?? (await paid()), amount, reason: null, at }
  await room.kaha.db.tx((tx) => refunds.reserve(tx, refund))
  return refund.id
}
const stateOf = async (id: string): Promise<string | undefined> => {
  const [row] = await rowsOf<{ state: string }>(room, 'select state from payments.refunds where id = $1', [id])
  return row?.state
}
const moneyOf = async (refundId: string) => {
  const [row] = await rowsOf<{ reserved: bigint; refunded: bigint }>(
    room,
    `select t.amount_refund_reserved as reserved, t.amount_refunded as refunded
       from payments.transactions t join payments.refunds r on r.transaction_id = t.id where r.id = $1`,
    [refundId],
  )
  return row
}
const leasesRunOut = () =>
  rowsOf(
    room,
    `update payments.refunds set lease_until = clock_timestamp() - interval '1 ms' where lease_until is not null`,
  )

test('C4.refund-create.reserved: the processor is told which payment and how much, by the ids of the refund and of the payment, once all of it is committed', async () => {
  const asked: CardRefund[] = []
  const processor = processorThat({
    refund: async (refund): Promise<RefundAnswer> => {
      asked.push(refund)
      assert.equal(await stateOf(refund.refundId), 'PENDING')
      assert.deepEqual(await moneyOf(refund.refundId), { reserved: 4_000n, refunded: 0n })
      return { kind: 'refunded' }
    },
  })
  const { refunds } = room.payments(processor)
  const intentId = await paid()
  const id = await reserved(refunds, 4_000n, intentId)
  assert.equal(asked.length, 0)
  assert.equal((await refunds.carryOut(id)).state, 'SUCCEEDED')
  const [attempt] = await rowsOf<{ id: string; processor_transaction_id: string }>(
    room,
    'select id, processor_transaction_id from payments.attempts where intent_id = $1',
    [intentId],
  )
  assert.deepEqual(
    asked.map((call) => ({ ...call, signal: undefined })),
    [
      {
        refundId: id,
        attemptId: attempt?.id,
        transactionId: attempt?.processor_transaction_id,
        amount: 4_000n,
        currency: 'PHP',
        signal: undefined,
      },
    ],
  )
  assert.deepEqual(await moneyOf(id), { reserved: 0n, refunded: 4_000n })
  // Whoever comes again calls nobody.
  assert.equal((await refunds.carryOut(id)).state, 'SUCCEEDED')
  assert.equal((await refunds.resume(id)).state, 'SUCCEEDED')
  await refunds.reconcile()
  assert.equal(asked.length, 1)
})

const ends: readonly (readonly [outcome: RefundOutcome, state: string, refunded: bigint])[] = [
  [{ kind: 'refunded' }, 'SUCCEEDED', 9_800n],
  [{ kind: 'failed' }, 'FAILED', 0n],
  [{ kind: 'none' }, 'FAILED', 0n],
]
for (const [outcome, state, refunded] of ends) {
  test(`C4.refund-create.no-answer: a refund whose process died is ${state} once the processor says ${outcome.kind}, and is asked about once`, async () => {
    const dead = room.payments(processorThat({ refund: never }))
    const id = await reserved(dead.refunds)
    void dead.refunds.carryOut(id)
    const processor = processorThat({ inquireRefund: async () => outcome })
    const { refunds } = room.payments(processor)
    // As long as the lease lasts its owner may still answer.
    await refunds.reconcile()
    assert.deepEqual(processor.asked, [])
    await leasesRunOut()
    for (let round = 0; round < 3; round++) await refunds.reconcile()
    assert.deepEqual(processor.asked, ['inquireRefund'])
    assert.equal(await stateOf(id), state)
    assert.deepEqual(await moneyOf(id), { reserved: 0n, refunded })
  })
}

test('C4.refund-create.no-answer: a processor that does not know, or cannot be asked, is asked ever more rarely, and every five minutes at the least', async () => {
  let known = false
  const processor = processorThat({
    refund: () => Promise.reject(new Error('no line')),
    inquireRefund: async () => {
      if (!known && processor.asked.length % 2 === 0) throw new Error('no line')
      return known ? { kind: 'refunded' } : { kind: 'pending' }
    },
  })
  const { refunds } = room.payments(processor)
  const id = await reserved(refunds)
  // Whoever asks may have thought that nothing is due for long.
  let told = 0
  const forget = room.kaha.bus.listen('payments', () => (told += 1))
  assert.equal((await refunds.carryOut(id)).state, 'PENDING')
  forget()
  assert.equal(told, 1)
  const waits: number[] = []
  for (const ageMs of [0, 60_000, hourMs, 10 * hourMs]) {
    await jump(room, ageMs + 2_000)
    await refunds.reconcile()
    const asked = processor.asked.length
    // Not before its time.
    await refunds.reconcile()
    assert.equal(processor.asked.length, asked)
    const [row] = await rowsOf<{ ms: number }>(
      room,
      `select (extract(epoch from run_at - state_at) * 1000 - extract(epoch from kernel.now() - state_at) * 1000)::float8 as ms
         from payments.refunds where id = $1`,
      [id],
    )
    waits.push(row?.ms ?? -1)
  }
  assert.deepEqual(
    waits,
    waits.toSorted((one, other) => one - other),
  )
  assert.ok(waits.every((ms) => ms <= 300_000))
  assert.equal(await stateOf(id), 'PENDING')
  known = true
  await jump(room, 301_000)
  await refunds.reconcile()
  assert.equal(await stateOf(id), 'SUCCEEDED')
})

test('three processes that look after refunds at once ask about each of them once', async () => {
  const silent = room.payments(processorThat({ refund: async () => ({ kind: 'pending' }) })).refunds
  const ids: string[] = []
  for (let i = 0; i < 5; i++) {
    const id = await reserved(silent)
    await silent.carryOut(id)
    ids.push(id)
  }
  await jump(room, 5_000)
  const asked: string[] = []
  const inquireRefund = async (id: string): Promise<RefundOutcome> => {
    asked.push(id)
    await until('everything has been asked about', () => asked.length >= ids.length)
    return { kind: 'refunded' }
  }
  await Promise.all([1, 2, 3].map(() => room.payments(processorThat({ inquireRefund })).refunds.reconcile()))
  assert.deepEqual(asked.toSorted(), ids.toSorted())
  for (const id of ids) assert.deepEqual(await moneyOf(id), { reserved: 0n, refunded: 9_800n })
})

test('an answer that comes after another process has settled the refund changes nothing', async () => {
  const { promise, resolve } = Promise.withResolvers<RefundAnswer>()
  const slow = room.payments(processorThat({ refund: () => promise })).refunds
  const id = await reserved(slow, 3_000n)
  const carried = slow.carryOut(id)
  await leasesRunOut()
  await room.payments(processorThat({ inquireRefund: async () => ({ kind: 'refunded' }) })).refunds.reconcile()
  assert.deepEqual(await moneyOf(id), { reserved: 0n, refunded: 3_000n })
  resolve({ kind: 'refunded' })
  assert.equal((await carried).state, 'SUCCEEDED')
  assert.deepEqual(await moneyOf(id), { reserved: 0n, refunded: 3_000n })
})

test('a refund that is settled, and whose answer from the database is lost, is settled again and counted once', async () => {
  const { db } = room.kaha
  let lost = 0
  const forgetful: Db = {
    ...db,
    async run(statement, values) {
      const rows = await db.run<never>(statement, values)
      if (statement.name !== 'payments.settleRefund' || lost > 0) return rows
      lost += 1
      throw new Error('Connection terminated unexpectedly')
    },
  }
  const { refunds } = room.payments(processorThat(), forgetful)
  const id = await reserved(refunds, 3_000n)
  assert.equal((await refunds.carryOut(id)).state, 'SUCCEEDED')
  assert.equal(lost, 1)
  assert.deepEqual(await moneyOf(id), { reserved: 0n, refunded: 3_000n })
})

test('C4.refund-create.resumed: of five who resume a refund whose process died one calls the processor, and a refund that waits for its inquiry is called for by nobody', async () => {
  const dead = room.payments(processorThat({ refund: never })).refunds
  const [orphan, waiting] = [await reserved(dead), await reserved(dead)]
  await leasesRunOut()
  const processor = processorThat()
  const { refunds } = room.payments(processor)
  await Promise.all(Array.from({ length: 5 }, () => refunds.resume(orphan)))
  assert.deepEqual(processor.asked, ['refund'])
  assert.deepEqual(await moneyOf(orphan), { reserved: 0n, refunded: 9_800n })

  await room.payments(processorThat({ refund: async () => ({ kind: 'pending' }) })).refunds.resume(waiting)
  const told = await refunds.resume(waiting)
  assert.deepEqual([told.state, told.calling], ['PENDING', false])
  assert.deepEqual(processor.asked, ['refund'])
})

test('what a payment says of its last change never goes back: a process whose clock is behind refunds it', async () => {
  const { refunds } = room.payments(processorThat())
  const intentId = await paid()
  const of = `where id = (select id from payments.attempts where intent_id = $1)`
  const ahead = await rowsOf<{ updated_at: Date }>(
    room,
    `update payments.transactions set updated_at = kernel.now() + interval '1 hour' ${of} returning updated_at`,
    [intentId],
  )
  assert.equal((await refunds.carryOut(await reserved(refunds, 4_000n, intentId))).state, 'SUCCEEDED')
  const told = `select updated_at, status from payments.transactions ${of}`
  assert.deepEqual(await rowsOf(room, told, [intentId]), [{ ...ahead[0], status: 'PARTIALLY_REFUNDED' }])
})

for (const kind of ['refunded', 'failed'] as const)
  test(`a refund that the clock of another process made a little later than it is here ends no sooner than it began: ${kind}`, async () => {
    const { refunds } = room.payments(processorThat({ refund: async () => ({ kind }) }))
    const ahead = new Date(room.kaha.clock.now().getTime() + 1_500)
    const id = await reserved(refunds, null, await paid(), ahead)
    await refunds.carryOut(id)
    const read = 'select state, created_at, state_at from payments.refunds where id = $1'
    const state = kind === 'refunded' ? 'SUCCEEDED' : 'FAILED'
    assert.deepEqual(await rowsOf(room, read, [id]), [{ state, created_at: ahead, state_at: ahead }])
  })
