import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReportingService } from '../../src/areas/reporting/index.ts'
import { createCursors } from '../../src/kernel/cursor.ts'
import { createSettlement } from '../../src/payments/settlement.ts'
import { cardOf, cards, platform, type Platform } from '../platform.ts'
import { result, shopOf } from '../till.ts'
import { assertRefused, call } from './call.ts'
import { dayOf, midnightAfter } from './operations.ts'
import { everybody, keyFor, type Tenant } from './people.ts'
import { jump, rowsOf, withoutWorker } from './shop.ts'

// Area B: the daily settlement.

const dayMs = 24 * 3_600_000

const toMidnight = async ({ kaha }: Platform): Promise<Date> => {
  const midnight = midnightAfter(kaha.clock.now())
  await kaha.sandboxClock.advance(midnight)
  return midnight
}

const refundOf = async (p: Platform, intentId: string, amount: number) => {
  await p.sdk.refunds.create({ payment_intent_id: intentId, amount })
  await p.idle()
}

test('[B3.settlement.midnight, B3.settlement.status, B3.settlement.batch-number, X0.clocks.business.settlement] what was captured is SETTLED at 00:00 in Manila, in the batch of that day, and nothing else is', async (t) => {
  const p = await platform(t)
  const paid = await p.pay()
  await p.pay({ card: cards.declined })
  const { reports } = p.sdk
  const detail = async (status: 'CAPTURED' | 'DECLINED') => {
    const [row] = (await reports.listTransactions({ status: [status] })).data
    return (await reports.retrieveTransaction(row?.id ?? '')).data
  }
  const before = await detail('CAPTURED')
  assert.deepEqual(
    [before.settlement_status, before.settled_at, before.receipt?.batch_number],
    ['UNSETTLED', null, undefined],
  )
  assert.equal(before.id, paid.payment_attempt_id)
  const midnight = midnightAfter(p.kaha.clock.now())
  await p.kaha.sandboxClock.advance(new Date(midnight.getTime() - 60_000))
  assert.deepEqual((await detail('CAPTURED')).settlement_status, 'UNSETTLED')
  assert.deepEqual((await reports.listSettlements()).data, [])
  await p.kaha.sandboxClock.advance(midnight)
  const after = await detail('CAPTURED')
  assert.deepEqual(
    [after.settlement_status, after.settled_at, after.receipt?.batch_number, after.updated_at],
    ['SETTLED', midnight.toISOString(), dayOf(midnight), midnight.toISOString()],
  )
  assert.deepEqual(after.events.at(-1), {
    event_type: 'SETTLED',
    created_at: midnight.toISOString(),
    amount: '9800',
    description: 'The payment was settled.',
    reason: null,
  })
  const declined = await detail('DECLINED')
  assert.deepEqual([declined.settlement_status, declined.settled_at], ['NOT_APPLICABLE', null])
})

test('[B3.settlements.list, B3.settlements.retrieve, B3.settlement.sum, B3.settlements.unknown] each day has its batch, a day without payments has none, and a batch is the sum of its transactions', async (t) => {
  const p = await platform(t)
  const { reports } = p.sdk
  for (const amount of [100, 250]) await p.pay({ amount })
  const first = await toMidnight(p)
  await p.pay({ amount: 999_999_999_999 })
  const second = await toMidnight(p)
  await p.kaha.sandboxClock.advance(new Date(second.getTime() + 5 * dayMs))
  await p.pay({ amount: 7 })
  const third = await toMidnight(p)
  const batch = (midnight: Date, count: number, gross: number) => ({
    batch_number: dayOf(midnight),
    settled_at: midnight.toISOString(),
    currency: 'PHP',
    count,
    gross,
    refunds: 0,
    net: gross,
  })
  const all = [batch(third, 1, 7), batch(second, 1, 999_999_999_999), batch(first, 2, 350)]
  assert.deepEqual((await reports.listSettlements()).data, all)
  const paged = []
  for await (const one of reports.listAllSettlements({ page_size: 1 })) paged.push(one)
  assert.deepEqual(paged, all)
  for (const one of all) {
    const { data } = await reports.retrieveSettlement(one.batch_number)
    const { merchants, ...rest } = data
    assert.deepEqual(rest, one)
    const { count, gross, refunds, net } = one
    const { id: merchant_id, name: merchant_name } = p.merchant
    assert.deepEqual(merchants, [{ merchant_id, merchant_name, count, gross, refunds, net }])
    let [sum, found] = [0, 0]
    for await (const row of reports.listAllTransactions()) {
      if (row.receipt?.batch_number !== one.batch_number) continue
      sum += row.amount_details.amount_received - row.amount_details.amount_refunded
      found += 1
    }
    assert.deepEqual([found, sum], [one.count, one.net])
  }
  const path = '/reports/v1/settlements'
  const ask = (number: string) => call(p.url, { path: `${path}/${number}`, key: p.merchant.secret_key })
  for (const number of ['x', '2026-02-30', '20260101', '0000-01-01', '%20'])
    assertRefused(path, await ask(number), 400, 'BAD_REQUEST')
  for (const number of ['2020-01-01', dayOf(new Date(third.getTime() + dayMs))])
    assertRefused(path, await ask(number), 404, 'NOT_FOUND')
  assert.equal((await ask(`${dayOf(first)}?currency=PHP`)).status, 200)
  assertRefused(path, await ask(`${dayOf(first)}?currency=USD`), 404, 'NOT_FOUND')
})

test('[B3.settlement.refunds] a refund before the batch is taken off it, one afterwards is in the next, one that failed is in none, and no centavo is counted twice', async (t) => {
  const p = await platform(t)
  const { reports } = p.sdk
  const [one, other] = [await p.pay({ amount: 2_000 }), await p.pay({ amount: 500 })]
  await refundOf(p, one.id, 300)
  // The simulator fails what ends in 991.
  await refundOf(p, one.id, 991)
  const first = await toMidnight(p)
  await refundOf(p, one.id, 100)
  await refundOf(p, other.id, 500)
  const second = await toMidnight(p)
  const { data } = await reports.listSettlements()
  assert.deepEqual(
    data.map(({ batch_number: number, count, gross, refunds, net }) => [number, count, gross, refunds, net]),
    [
      [dayOf(second), 0, 0, 600, -600],
      [dayOf(first), 2, 2_500, 300, 2_200],
    ],
  )
  await p.kaha.sandboxClock.advance(new Date(second.getTime() + 3 * dayMs))
  assert.equal((await reports.listSettlements()).data.length, 2)
})

test('[B3.settlement.refunds] a batch that is made late holds no refund from after its midnight: each is taken off the batch of its own day', async (t) => {
  const p = await platform(t, withoutWorker)
  const settle = createSettlement({ db: p.kaha.work })
  const settleAll = async () => {
    while ((await settle()) === 0);
  }
  const { id } = await p.as(p.branch.secret_key).paymentIntents.create({ amount: 1_000, currency: 'PHP' })
  await p.sdk.paymentIntents.confirm(id, { payment_method: { type: 'card', card: cardOf() } })
  const refund = (amount: number) => p.sdk.refunds.create({ payment_intent_id: id, amount })
  const batches = async () =>
    (await p.sdk.reports.listSettlements()).data.map(({ batch_number: number, count, gross, refunds }) => {
      return [number, count, gross, refunds]
    })
  const midnights = [midnightAfter(p.kaha.clock.now())]
  const nextDay = async () => {
    await jump(p, dayMs)
    midnights.push(midnightAfter(p.kaha.clock.now()))
  }

  // Given back after the midnight that settles the payment, before its batch is made.
  await nextDay()
  await refund(100)
  await settleAll()
  const [first, second] = midnights.map(dayOf)
  assert.deepEqual(await batches(), [[first, 1, 1_000, 0]])

  // Given back before a midnight and after it, and nothing else is due.
  await nextDay()
  await refund(250)
  await settleAll()
  const [, , last] = midnights.map(dayOf)
  assert.deepEqual(await batches(), [
    [second, 0, 0, 100],
    [first, 1, 1_000, 0],
  ])
  await nextDay()
  await settleAll()
  assert.deepEqual(await batches(), [
    [last, 0, 0, 250],
    [second, 0, 0, 100],
    [first, 1, 1_000, 0],
  ])
})

test('[B3.settlement.midnight, B3.settlement.refunds, B3.settlement.voids] what happens at the very midnight is of the next batch: a payment, a refund, a void of what was settled', async (t) => {
  const p = await platform(t, { ...withoutWorker, settings: { KAHA_ROLES: 'api,gateway' } })
  const settle = createSettlement({ db: p.kaha.work })
  const branch = p.as(p.branch.secret_key)
  const paid = async (amount: number) => {
    const { id } = await branch.paymentIntents.create({ amount, currency: 'PHP' })
    return p.sdk.paymentIntents.confirm(id, { payment_method: { type: 'card', card: cardOf() } })
  }
  const shopAt = shopOf(p)
  t.after(() => shopAt[Symbol.asyncDispose]())
  const terminal = await shopAt.connect()
  const paying = shopAt.pay()
  const { transactionId } = await terminal.next('payment')
  terminal.send(result(transactionId))
  await paying
  const firstMs = midnightAfter(p.kaha.clock.now()).getTime()
  const midnight = (days: number) => new Date(firstMs + days * dayMs)
  /** The batches that there are a day later, oldest first. */
  const nextDay = async () => {
    await jump(p, dayMs)
    while ((await settle()) === 0);
    return (await p.sdk.reports.listSettlements()).data
      .map(({ batch_number: number, count, gross, refunds }) => [number, count, gross, refunds])
      .toReversed()
  }
  const refunded = await paid(1_000)
  const first = [dayOf(midnight(0)), 2, 16_000, 0]
  assert.deepEqual(await nextDay(), [first])

  // But for one payment, all as the next midnight strikes; and its batch is made later.
  await paid(20)
  const late = await paid(300)
  await p.sdk.refunds.create({ payment_intent_id: refunded.id, amount: 50 })
  const voiding = shopAt.voids(transactionId)
  await terminal.next('voidPayment')
  terminal.send({ action: 'voidResult', transactionId, success: true })
  assert.equal((await voiding).status, 200)
  const at = midnight(1)
  const captured = 'update payments.transactions set captured_at = $1 where id = $2'
  await rowsOf(p, captured, [at, late.payment_attempt_id])
  await rowsOf(p, 'update payments.refunds set state_at = $1', [at])
  await rowsOf(p, 'update payments.transactions set updated_at = $1 where amount_refunded > 0', [at])
  const second = [dayOf(at), 1, 20, 0]
  assert.deepEqual(await nextDay(), [first, second])
  assert.deepEqual(await nextDay(), [first, second, [dayOf(midnight(2)), 1, 300, 15_050]])
})

test('[B3.settlements.scoped] settlements are those of the entity of the key and of everything under it', async (t) => {
  const p = await platform(t)
  const people = await everybody(p)
  const pay = async (key: string, amount: number) => {
    const sdk = p.as(key)
    const intent = await sdk.paymentIntents.create({ amount, currency: 'PHP' })
    const card = { number: cards.approved, exp_month: 1, exp_year: 2050, cvc: '123' }
    await sdk.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card } })
  }
  await pay(people.branch.key, 1)
  await pay(people.otherBranch.key, 20)
  await pay(people.otherMerchantsBranch.key, 300)
  await pay(people.otherPartnersBranch.key, 4_000)
  const number = dayOf(await toMidnight(p))
  const expected = [
    [people.partner, 321],
    [people.merchant, 21],
    [people.branch, 1],
    [people.otherBranch, 20],
    [people.otherMerchant, 300],
    [people.otherMerchantsBranch, 300],
    [people.otherPartner, 4_000],
    [people.otherPartnersMerchant, 4_000],
    [people.otherPartnersBranch, 4_000],
  ] as const
  for (const [{ key }, gross] of expected) {
    const { reports } = p.as(key)
    assert.deepEqual(
      (await reports.listSettlements()).data.map((row) => row.gross),
      [gross],
    )
    assert.equal((await reports.retrieveSettlement(number)).data.gross, gross)
  }
  const shares = (await p.as(people.partner.key).reports.retrieveSettlement(number)).data.merchants
  assert.deepEqual(
    shares.map(({ gross }) => gross),
    [21, 300],
  )
  // A part of the merchants would be a wrong sum.
  const { db, clock, keyring } = p.kaha
  const narrow = createReportingService({ db, clock, cursors: createCursors(keyring), sharesMax: 1 })
  const readBy = ({ id, level }: Tenant) => {
    const ids = { keyId: id, entityId: id, partnerId: people.partner.id, merchantId: null, branchId: null }
    return narrow.retrieveSettlement({ ...ids, level, scopes: new Set() }, number, {})
  }
  await assert.rejects(readBy(people.partner), { code: 'BAD_REQUEST' })
  assert.equal((await readBy(people.merchant)).length, 1)
  const { secretKey } = await keyFor(p, { id: p.merchant.branches[1]?.id ?? '', level: 'branch' })
  assert.equal((await p.as(secretKey).reports.listSettlements()).data.length, 1)
})

test('[B3.settlement.sum] a sum that a JSON number does not hold exactly is refused with the way out, and the largest that it holds is told', async (t) => {
  const p = await platform(t)
  const exactMax = BigInt(Number.MAX_SAFE_INTEGER)
  const branches = p.seed.merchants.flatMap(({ id, branches: of }) => of.map((branch) => [id, branch.id] as const))
  await rowsOf(p, `insert into payments.settlement_days values ('2020-01-02', '2020-01-01T16:00:00Z', now())`)
  const insert = `insert into payments.settlement_shares (partner_id, merchant_id, branch_id, batch_number, currency, transaction_count, gross, refunds)
    values ($1, $2, $3, '2020-01-02', 'PHP', 1, $4, $5)`
  const share = (at: number, gross: bigint, refunds: bigint) =>
    rowsOf(p, insert, [p.seed.partner.id, ...(branches[at] ?? []), gross, refunds])
  await share(0, exactMax, exactMax)
  const readers = [
    (key: string) => p.as(key).reports.listSettlements(),
    (key: string) => p.as(key).reports.retrieveSettlement('2020-01-02'),
  ]
  assert.equal((await p.sdk.reports.retrieveSettlement('2020-01-02')).data.gross, Number.MAX_SAFE_INTEGER)
  const other = branches.findIndex(([merchantId]) => merchantId !== p.merchant.id)
  await share(other, 1n, 0n)
  const [listing, reading] = [
    'The PHP of 2020-01-02 add up to more than a JSON number holds exactly, and no page can have that day; ask with the key of each merchant or branch, or read the other days one by one, each at /reports/v1/settlements/{batch_number}.',
    'batch_number: the PHP of 2020-01-02 add up to more than a JSON number holds exactly; ask with the key of each merchant or branch.',
  ]
  for (const [index, read] of readers.entries()) {
    await assert.rejects(read(p.seed.partner.secret_key), {
      status: 400,
      code: 'BAD_REQUEST',
      message: [listing, reading][index],
    })
    await read(p.merchant.secret_key)
  }
  // Neither the other currencies of that day nor the other days have anything of it.
  await rowsOf(
    p,
    `insert into payments.settlement_shares (partner_id, merchant_id, branch_id, batch_number, currency, transaction_count, gross, refunds)
     select partner_id, merchant_id, branch_id, batch_number, 'USD', 1, 5, 0 from payments.settlement_shares limit 1`,
  )
  assert.equal((await p.sdk.reports.retrieveSettlement('2020-01-02', { currency: 'USD' })).data.gross, 5)
  // What is given back in a batch may be of payments of earlier ones, and more than was received in it.
  await rowsOf(
    p,
    `with moved as (update payments.settlement_shares set gross = 1, refunds = $1 where currency = 'PHP' returning 1)
     delete from payments.settlement_shares where currency = 'USD' and exists (select from moved)`,
    [exactMax],
  )
  for (const read of readers) {
    await assert.rejects(read(p.seed.partner.secret_key), { status: 400, code: 'BAD_REQUEST' })
    await read(p.merchant.secret_key)
  }
})

test('[B3.settlement.missed, B3.settlement.sum] many processes and small steps make one batch a day, over days that were missed', async (t) => {
  const p = await platform(t, withoutWorker)
  const made: Date[] = []
  for (let day = 0; day < 3; day += 1) {
    made.push(midnightAfter(p.kaha.clock.now()))
    for (let payment = 0; payment < 3; payment += 1) {
      const intent = await p.as(p.branch.secret_key).paymentIntents.create({ amount: 10 + payment, currency: 'PHP' })
      const card = { number: cards.approved, exp_month: 1, exp_year: 2050, cvc: '123' }
      await p.sdk.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card } })
    }
    await jump(p, dayMs)
  }
  const worker = async () => {
    const turn = createSettlement({ db: p.kaha.work, rowsMax: 2 })
    while ((await turn()) === 0);
  }
  await Promise.all([worker(), worker(), worker()])
  const { data } = await p.sdk.reports.listSettlements()
  assert.deepEqual(
    data.map(({ batch_number: number, count, gross }) => [number, count, gross]),
    made.toReversed().map((midnight) => [dayOf(midnight), 3, 33]),
  )
  const [open] = await rowsOf<{ open: number }>(
    p,
    'select count(*)::integer as open from payments.settlement_days where closed_at is null',
  )
  assert.equal(open?.open, 0)
})
