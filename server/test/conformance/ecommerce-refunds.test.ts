import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, newKey, platform, type Platform } from '../platform.ts'
import type { Answer } from './call.ts'
import { keyFor } from './people.ts'
import { bodyOf, hourMs, jump, lockOf, ownBranch, refusal, rowsOf, shop, whileHeld, withoutWorker } from './shop.ts'

// Money that goes back: never more than came, never twice, and never without being written down first.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)

const fails = 991n
const silent = 992n
const lost = 993n
const slow = 994n
/** An amount of about a hundred pesos that goes as its last digits say. */
const amountOf = (ending: bigint): number => Number(10_000n + ending)

const paid = async (amount = 9800, of = merchant): Promise<string> => {
  const { id } = bodyOf(await of.createIntent({ amount }), 201)
  assert.equal(bodyOf(await of.confirm(id), 200).status, 'SUCCEEDED')
  return id
}

interface Money {
  readonly status: string
  readonly received: bigint
  readonly reserved: bigint
  readonly refunded: bigint
}
const moneyOf = async (intentId: string, on: Platform = p): Promise<Money> => {
  const [row] = await rowsOf<Money>(
    on,
    `select t.status, t.amount_received as received, t.amount_refund_reserved as reserved, t.amount_refunded as refunded
       from payments.transactions t join payments.attempts a on a.id = t.id where a.intent_id = $1 and a.state = 'SUCCEEDED'`,
    [intentId],
  )
  assert.ok(row)
  return row
}
const money = (status: string, received: bigint, reserved: bigint, refunded: bigint): Money => ({
  status,
  received,
  reserved,
  refunded,
})
const refundsOf = (intentId: string, on: Platform = p) =>
  rowsOf<{ id: string; state: string; amount: bigint }>(
    on,
    'select id, state, amount from payments.refunds where intent_id = $1 order by created_at, id',
    [intentId],
  )

test('[C4.refund-create.created, C4.refund-create.fields, C4.refund-create.status, C4.refund-retrieve.ok] a refund is 201 with its seven fields, and is retrieved as it was made', async () => {
  const intentId = await paid()
  const from = p.kaha.clock.now().toISOString()
  const refund = bodyOf(await merchant.createRefund(intentId, { amount: 2_300, reason: 'One cup broke' }), 201)
  const { id, created_at, ...others } = refund
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  assert.ok(created_at >= from && created_at <= p.kaha.clock.now().toISOString())
  assert.deepEqual(others, {
    payment_intent_id: intentId,
    amount: 2_300,
    currency: 'PHP',
    status: 'SUCCEEDED',
    reason: 'One cup broke',
  })
  assert.deepEqual(bodyOf(await merchant.retrieveRefund(id), 200), refund)
  // What was not said is left out.
  const { id: second, ...silently } = bodyOf(await merchant.createRefund(intentId, { amount: 100 }), 201)
  assert.ok(!('reason' in silently))
  assert.ok(!('reason' in bodyOf(await merchant.retrieveRefund(second), 200)))
})

test('[C4.refund-create.amount-default, C4.refund.transaction] parts of a payment go back, then all that is left, and the transaction adds up at each step', async () => {
  const intentId = await paid()
  assert.deepEqual(await moneyOf(intentId), money('CAPTURED', 9800n, 0n, 0n))
  bodyOf(await merchant.createRefund(intentId, { amount: 1 }), 201)
  assert.deepEqual(await moneyOf(intentId), money('PARTIALLY_REFUNDED', 9800n, 0n, 1n))
  bodyOf(await merchant.createRefund(intentId, { amount: 4_799 }), 201)
  assert.deepEqual(await moneyOf(intentId), money('PARTIALLY_REFUNDED', 9800n, 0n, 4800n))
  assert.equal(bodyOf(await merchant.createRefund(intentId), 201).amount, 5_000)
  assert.deepEqual(await moneyOf(intentId), money('REFUNDED', 9800n, 0n, 9800n))
  // The payment itself stays what it was: the money had come.
  const intent = bodyOf(await merchant.retrieveIntent(intentId), 200)
  assert.equal(intent.status, 'SUCCEEDED')
  assert.ok(intent.receipt)
})

test('C4.refund-create.amount-default: a refund without an amount gives a whole payment back at once', async () => {
  const intentId = await paid(12_345)
  const refund = bodyOf(await merchant.createRefund(intentId), 201)
  assert.deepEqual([refund.amount, refund.status], [12_345, 'SUCCEEDED'])
  assert.deepEqual(await moneyOf(intentId), money('REFUNDED', 12_345n, 0n, 12_345n))
})

test('C4.refund-create.reason: a reason of 500 characters is taken and one of 501 is not', async () => {
  const intentId = await paid()
  const reason = 'ñ'.repeat(500)
  assert.equal(bodyOf(await merchant.createRefund(intentId, { amount: 1, reason }), 201).reason, reason)
  assert.equal(
    refusal(await merchant.createRefund(intentId, { amount: 1, reason: `${reason}x` })),
    '400 INVALID_REASON reason max_length',
  )
})

test('C4.refund-create.exceeds: a centavo more than is left, or anything where nothing is left, is refused and changes nothing', async () => {
  const intentId = await paid()
  const over = '422 AMOUNT_EXCEEDS_REMAINING amount remaining'
  assert.equal(refusal(await merchant.createRefund(intentId, { amount: 9_801 })), over)
  bodyOf(await merchant.createRefund(intentId, { amount: 9_000 }), 201)
  const idempotencyKey = newKey()
  assert.equal(refusal(await merchant.createRefund(intentId, { amount: 801 }, { idempotencyKey })), over)
  assert.equal((await refundsOf(intentId)).length, 1)
  // The key is free again, for another body too.
  bodyOf(await merchant.createRefund(intentId, { amount: 800 }, { idempotencyKey }), 201)
  assert.equal(refusal(await merchant.createRefund(intentId)), over)
  assert.equal(refusal(await merchant.createRefund(intentId, { amount: 1 })), over)
  assert.deepEqual(await moneyOf(intentId), money('REFUNDED', 9800n, 0n, 9800n))
})

test('C4.refund-create.exceeds: of twenty refunds at once, at two processes, as many are made as the payment pays for', async (t) => {
  const one = await platform(t, withoutWorker)
  const second = await one.another(withoutWorker.settings)
  const desks = [shop(one), shop({ ...one, url: second.localUrl })] as const
  for (const [amount, made] of [
    [1_000, 9],
    [4_900, 2],
    [undefined, 1],
  ] as const) {
    const intentId = await paid(9800, desks[0])
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        desks[i % 2 === 0 ? 0 : 1].createRefund(intentId, amount === undefined ? {} : { amount }),
      ),
    )
    assert.equal(answers.filter(({ status }) => status === 201).length, made)
    for (const answer of answers.filter(({ status }) => status !== 201))
      assert.equal(refusal(answer), '422 AMOUNT_EXCEEDS_REMAINING amount remaining')
    const refunded = BigInt((amount ?? 9_800) * made)
    const status = refunded === 9800n ? 'REFUNDED' : 'PARTIALLY_REFUNDED'
    assert.deepEqual(await moneyOf(intentId, one), money(status, 9800n, 0n, refunded))
  }
})

test('C4.refund-create.not-succeeded: what was not paid is not refunded', async () => {
  const states = [
    ['ACTIVE', undefined],
    ['DECLINED', cards.declined],
    ['FAILED', cards.error],
    ['PROCESSING', cards.noAnswer],
  ] as const
  for (const [status, card] of states) {
    const { id } = bodyOf(await merchant.createIntent(), 201)
    if (card !== undefined) await merchant.confirm(id, card)
    assert.equal(bodyOf(await merchant.retrieveIntent(id), 200).status, status)
    assert.equal(refusal(await merchant.createRefund(id, { amount: 1 })), '422 INVALID_STATE')
    assert.equal(refusal(await merchant.createRefund(id)), '422 INVALID_STATE')
    assert.deepEqual(await refundsOf(id), [])
  }
})

test('C4.refund-create.unknown: an intent or a refund that is unknown, or of a branch beside, is 404', async () => {
  const nobodys = '01a1fcef-9ed7-78da-86e8-e01924f01831'
  const intentId = await paid()
  const refund = bodyOf(await merchant.createRefund(intentId, { amount: 100 }), 201)
  const beside = await ownBranch(p)
  for (const id of [nobodys, intentId])
    assert.equal(refusal(await beside.createRefund(id, { amount: 1 })), '404 NOT_FOUND')
  for (const id of [nobodys, refund.id]) assert.equal(refusal(await beside.retrieveRefund(id)), '404 NOT_FOUND')
  assert.equal((await refundsOf(intentId)).length, 1)
  // The control: its merchant and its branch find both.
  const { secretKey: key } = await keyFor(p, { id: p.branch.id, level: 'branch' })
  bodyOf(await merchant.createRefund(intentId, { amount: 1 }, { key }), 201)
  assert.deepEqual(bodyOf(await merchant.retrieveRefund(refund.id, { key }), 200), refund)
})

test('[C4.idempotency.required-refund] a refund is not made without an Idempotency-Key', async () => {
  const intentId = await paid()
  assert.equal(
    refusal(await merchant.createRefund(intentId, {}, { idempotencyKey: null })),
    '400 INVALID_IDEMPOTENCY_KEY Idempotency-Key required',
  )
  assert.equal(
    refusal(await merchant.createRefund(intentId, {}, { idempotencyKey: 'short' })),
    '400 INVALID_IDEMPOTENCY_KEY Idempotency-Key format',
  )
  assert.deepEqual(await refundsOf(intentId), [])
})

test('C4.refund-create.resumed: asked again with its key a refund is the same one, also where nothing is left to refund', async () => {
  const intentId = await paid()
  const idempotencyKey = newKey()
  const first = await merchant.createRefund(intentId, {}, { idempotencyKey })
  assert.equal(first.headers['idempotent-replayed'], undefined)
  for (let again = 0; again < 3; again++) {
    const repeated = await merchant.createRefund(intentId, {}, { idempotencyKey })
    assert.deepEqual(bodyOf(repeated, 201), bodyOf(first, 201))
    assert.equal(repeated.headers['idempotent-replayed'], 'true')
  }
  assert.equal(
    refusal(await merchant.createRefund(intentId, { amount: 9_800 }, { idempotencyKey })),
    '409 IDEMPOTENCY_MISMATCH',
  )
  assert.equal((await refundsOf(intentId)).length, 1)
  assert.deepEqual(await moneyOf(intentId), money('REFUNDED', 9800n, 0n, 9800n))
})

test('C4.refund-create.resumed: twenty identical refunds at once, with one key, are one refund', async () => {
  const intentId = await paid()
  const idempotencyKey = newKey()
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => merchant.createRefund(intentId, { amount: 400 }, { idempotencyKey })),
  )
  const made = answers.filter(({ status }) => status === 201)
  assert.ok(made.length > 0)
  assert.equal(new Set(made.map(({ json }) => json.id)).size, 1)
  for (const answer of answers.filter(({ status }) => status !== 201))
    assert.equal(refusal(answer), '409 IDEMPOTENCY_IN_PROGRESS')
  assert.deepEqual(await moneyOf(intentId), money('PARTIALLY_REFUNDED', 9800n, 0n, 400n))
})

test('[C4.refund-create.reserved] before the processor is called the refund, its key and its amount are written down for all to see', async () => {
  const intentId = await paid()
  const idempotencyKey = newKey()
  const ask = () => merchant.createRefund(intentId, { amount: 9_000 }, { idempotencyKey })
  // The processor cannot write the refund down, so its call does not end.
  const [first] = await whileHeld(p, lockOf('sandbox.refunds'), [ask], async () => {
    const [refund] = await refundsOf(intentId)
    assert.deepEqual([refund?.state, refund?.amount], ['PENDING', 9_000n])
    assert.deepEqual(await moneyOf(intentId), money('CAPTURED', 9800n, 9_000n, 0n))
    const kept = await rowsOf(p, `select 1 from ecommerce.idempotency where operation = 'createRefund' and key = $1`, [
      idempotencyKey,
    ])
    assert.equal(kept.length, 1)
    assert.equal(refusal(await ask()), '409 IDEMPOTENCY_IN_PROGRESS')
    const beside = await merchant.createRefund(intentId, { amount: 801 })
    assert.equal(refusal(beside), '422 AMOUNT_EXCEEDS_REMAINING amount remaining')
    // Nothing of ours is locked meanwhile.
    assert.equal(bodyOf(await merchant.retrieveRefund(refund?.id ?? ''), 200).status, 'PENDING')
  })
  assert.equal(bodyOf(first, 201).status, 'SUCCEEDED')
  assert.deepEqual(await moneyOf(intentId), money('PARTIALLY_REFUNDED', 9800n, 0n, 9_000n))
  const again = await ask()
  assert.deepEqual([bodyOf(again, 201), again.headers['idempotent-replayed']], [bodyOf(first, 201), 'true'])
})

test('C4.refund-create.resumed: a refund whose process died before the processor had it is made once by the retry with its key', async () => {
  const intentId = await paid()
  const idempotencyKey = newKey()
  const ask = () => merchant.createRefund(intentId, { amount: 9_000 }, { idempotencyKey })
  await whileHeld(p, lockOf('sandbox.refunds'), [ask], async (backends) => {
    await rowsOf(p, 'select pg_terminate_backend(pid, 5000) from unnest($1::int[]) pid', [backends])
  })
  // As the dead process left it: still leased, then not any more.
  const leased = (until: string) =>
    rowsOf(p, `update payments.refunds set lease_until = clock_timestamp() ${until} where intent_id = $1`, [intentId])
  await leased(`+ interval '20 s'`)
  assert.equal(refusal(await ask()), '409 IDEMPOTENCY_IN_PROGRESS')
  await leased(`- interval '1 ms'`)
  const answers = await Promise.all(Array.from({ length: 5 }, ask))
  const made = answers.filter(({ status }) => status === 201)
  assert.equal(new Set(made.map(({ json }) => json.id)).size, 1)
  assert.equal(bodyOf(await ask(), 201).status, 'SUCCEEDED')
  assert.deepEqual(await moneyOf(intentId), money('PARTIALLY_REFUNDED', 9800n, 0n, 9_000n))
})

test('[C4.refund-create.failed, S7.refunds.amounts] a refund that the processor refuses is FAILED, and its amount is free again', async () => {
  const intentId = await paid(amountOf(fails))
  const refund = bodyOf(await merchant.createRefund(intentId), 201)
  assert.deepEqual([refund.amount, refund.status], [amountOf(fails), 'FAILED'])
  assert.deepEqual(await moneyOf(intentId), money('CAPTURED', 10_991n, 0n, 0n))
  bodyOf(await merchant.createRefund(intentId, { amount: 991 }), 201)
  assert.equal(bodyOf(await merchant.createRefund(intentId, { amount: 10_000 }), 201).status, 'SUCCEEDED')
  bodyOf(await merchant.createRefund(intentId, { amount: 990 }), 201)
  assert.deepEqual(await moneyOf(intentId), money('PARTIALLY_REFUNDED', 10_991n, 0n, 10_990n))
})

test('[C4.refund-create.no-answer, S7.refunds.amounts] without an answer a refund stays PENDING and holds its amount, until the processor is asked and knows', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const ends = [
    [silent, 'SUCCEEDED'],
    [lost, 'FAILED'],
    [slow, 'SUCCEEDED'],
  ] as const
  const open: { intentId: string; id: string; ending: bigint; status: string; ask: () => Promise<Answer> }[] = []
  for (const [ending, status] of ends) {
    const intentId = await paid(amountOf(ending) + 1, own)
    const idempotencyKey = newKey()
    const ask = () => own.createRefund(intentId, { amount: amountOf(ending) }, { idempotencyKey })
    const refund = bodyOf(await ask(), 201)
    assert.equal(refund.status, 'PENDING')
    assert.deepEqual(bodyOf(await ask(), 201), refund)
    const all = 10_001n + ending
    assert.deepEqual(await moneyOf(intentId, one), money('CAPTURED', all, all - 1n, 0n))
    assert.equal(
      refusal(await own.createRefund(intentId, { amount: 2 })),
      '422 AMOUNT_EXCEEDS_REMAINING amount remaining',
    )
    open.push({ intentId, id: refund.id, ending, status, ask })
  }
  // No worker is about: time alone decides nothing.
  await jump(one, hourMs)
  for (const { id } of open) assert.equal(bodyOf(await own.retrieveRefund(id), 200).status, 'PENDING')

  await one.another({ KAHA_ROLES: 'worker' })
  await one.idle()
  for (const { intentId, id, ending, status, ask } of open) {
    assert.equal(bodyOf(await own.retrieveRefund(id), 200).status, status)
    assert.equal(bodyOf(await ask(), 201).status, status)
    const all = 10_001n + ending
    const refunded = status === 'SUCCEEDED' ? all - 1n : 0n
    const stands = refunded === 0n ? 'CAPTURED' : 'PARTIALLY_REFUNDED'
    assert.deepEqual(await moneyOf(intentId, one), money(stands, all, 0n, refunded))
  }
  // However often time moves on, nothing happens a second time.
  await one.advance(48 * 3_600)
  for (const { id, status } of open) assert.equal(bodyOf(await own.retrieveRefund(id), 200).status, status)
})

test('the clock of a sandbox passes through what is due of a refund', async (t) => {
  const one = await platform(t, { choices: { confirmWaitMsMax: 50 } })
  const intent = await one.pay({ amount: amountOf(slow) })
  const refund = await one.sdk.refunds.create({ payment_intent_id: intent.id })
  assert.equal(refund.status, 'PENDING')
  await one.advance(5)
  assert.equal((await one.sdk.refunds.retrieve(refund.id)).status, 'PENDING')
  await one.advance(30)
  assert.equal((await one.sdk.refunds.retrieve(refund.id)).status, 'SUCCEEDED')
})
