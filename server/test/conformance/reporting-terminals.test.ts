import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { result, shopOf, type Wire } from '../till.ts'
import { until } from '../until.ts'
import { call } from './call.ts'
import { dayOf, midnightAfter } from './operations.ts'

// Area B: how sales at terminals are reported.

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const device = shop.second.device_id
// The seed puts the second terminal into the second branch.
const branch = p.merchant.branches[1]

/** The latest. */
const lastSale = async () => {
  const { data } = await p.sdk.reports.listTransactions({ payment_method: 'CARD_PRESENT' })
  const [found] = data
  assert.ok(found)
  return found
}
const begin = async (terminal: Wire) => {
  const transactionId = randomUUID()
  const paying = shop.pay({ transactionId }, device)
  await terminal.next('payment')
  return { transactionId, paying }
}

test('[B3.transaction.terminal-details, B3.transaction.terminal-values, B3.status.terminal-branch] a sale is of the branch that its terminal stands in, with the device id and the activation code of that branch', async () => {
  const terminal = await shop.connect(shop.second)
  const { transactionId, paying } = await begin(terminal)
  terminal.send(result(transactionId))
  await paying
  const { id, merchant_details, terminal_details } = await lastSale()
  assert.deepEqual(terminal_details, {
    terminal_name: device,
    activation_code: branch?.activation_code,
    serial_number: device,
  })
  assert.deepEqual([merchant_details.branch_id, merchant_details.branch_name], [branch?.id, branch?.name])
  const idsOf = async (key: string) => (await p.as(key).reports.listTransactions()).data.map((one) => one.id)
  assert.deepEqual(await idsOf(branch?.secret_key ?? ''), [id])
  assert.deepEqual(await idsOf(p.branch.secret_key), [])
  const { data } = await p.sdk.reports.retrieveTransaction(id)
  assert.deepEqual([data.activation_code, data.terminal_details], [branch?.activation_code, terminal_details])
  await terminal.close()
})

test('[B3.status.pending.terminals, B3.status.failed.terminals, B3.status.declined.terminals, B3.status.cancelled.terminals] an open sale is PENDING, with its line or without, and ends FAILED, DECLINED or CANCELLED', async () => {
  const ends = [
    [{ status: 'CANCELLED' }, 'CANCELLED'],
    [{ status: 'FAILED', errorCode: 'INSUFFICIENT_FUNDS', errorMessage: 'No.' }, 'DECLINED'],
    [{ status: 'FAILED', errorCode: 'PRINTER_JAM', errorMessage: 'No.' }, 'FAILED'],
  ] as const
  for (const [said, reported] of ends) {
    const terminal = await shop.connect(shop.second)
    const { transactionId, paying } = await begin(terminal)
    assert.equal((await lastSale()).status, 'PENDING')
    terminal.drop()
    await until('the loss', async () => (await shop.read(transactionId)).json.status === 'AWAITING_RECONNECT')
    assert.equal((await lastSale()).status, 'PENDING')
    const back = await shop.connect(shop.second)
    await back.next('paymentStatus')
    back.send(result(transactionId, said))
    await paying
    assert.equal((await lastSale()).status, reported)
    await back.close()
  }
  const terminal = await shop.connect(shop.second)
  const { transactionId, paying } = await begin(terminal)
  terminal.drop()
  await until('the loss', async () => (await shop.read(transactionId)).json.status === 'AWAITING_RECONNECT')
  const back = await shop.connect(shop.second)
  await back.next('paymentStatus')
  // A decline code of ours, and not of an issuer.
  back.send({ action: 'paymentStatus', transactionId, status: 'UNKNOWN' })
  assert.equal((await paying).json.errorCode, 'TERMINAL_LOST_PAYMENT')
  assert.equal((await lastSale()).status, 'FAILED')
  await back.close()
})

test('B3.settlement.sum: a settled sale has a receipt with the number of its batch, in the list and in the CSV, so that a batch is the sum of its rows', async () => {
  const terminal = await shop.connect(shop.second)
  const { transactionId, paying } = await begin(terminal)
  assert.deepEqual((await lastSale()).receipt, { reference_number: transactionId })
  terminal.send(result(transactionId))
  await paying
  const { approval_code } = (await lastSale()).receipt ?? {}
  assert.ok(approval_code)
  await terminal.close()
  const midnight = midnightAfter(p.kaha.clock.now())
  await p.kaha.sandboxClock.advance(midnight)

  const number = dayOf(midnight)
  const { id, receipt } = await lastSale()
  assert.deepEqual([receipt?.batch_number, receipt?.approval_code], [number, approval_code])
  const { data } = await p.sdk.reports.listTransactions()
  const { data: batch } = await p.sdk.reports.retrieveSettlement(number)
  const inBatch = data.filter((row) => row.receipt?.batch_number === number)
  assert.equal(inBatch.length, batch.count)
  assert.equal(
    inBatch.reduce((sum, row) => sum + row.amount_details.amount_received, 0),
    batch.gross,
  )
  const csv = await call(p.url, {
    path: '/reports/v1/transactions',
    key: p.merchant.secret_key,
    headers: { accept: 'text/csv' },
  })
  assert.match(csv.text.split('\r\n').find((line) => line.startsWith(id)) ?? '', new RegExp(`,${number},`))
})

test('[B3.settlement.voids, B3.settlement.sum] a sale that is voided after it was settled keeps its batch and is taken off that of the day, as a refund is; one voided before is in no batch', async () => {
  await using terminal = await shop.connect(shop.second)
  const sold = async () => {
    const { transactionId, paying } = await begin(terminal)
    terminal.send(result(transactionId))
    await paying
    const { id, receipt } = await lastSale()
    return { transactionId, id, receipt }
  }
  const voided = async (transactionId: string) => {
    const voiding = shop.voids(transactionId)
    await terminal.next('voidPayment')
    terminal.send({ action: 'voidResult', transactionId, reason: 'x', success: true })
    assert.equal((await voiding).status, 200)
  }
  const nextDay = async () => {
    const midnight = midnightAfter(p.kaha.clock.now())
    await p.kaha.sandboxClock.advance(midnight)
    return dayOf(midnight)
  }
  const { reports } = p.sdk
  const detail = async (id: string) => (await reports.retrieveTransaction(id)).data
  const figures = async (number: string) => {
    const { count, gross, refunds, net } = (await reports.retrieveSettlement(number)).data
    return [count, gross, refunds, net]
  }
  const [early, late, kept] = [await sold(), await sold(), await sold()]

  await voided(early.transactionId)
  const day = await nextDay()
  const unsettled = await detail(early.id)
  assert.deepEqual([unsettled.status, unsettled.settlement_status], ['VOIDED', 'NOT_APPLICABLE'])
  const { amount_received: none, amount_refunded: nothing } = unsettled.amount_details
  assert.deepEqual([none, nothing, unsettled.receipt], [0, 0, early.receipt])
  assert.equal(early.receipt?.reference_number, early.transactionId)
  const before = await detail(late.id)
  assert.deepEqual(await figures(day), [2, 30_000, 0, 30_000])

  await voided(late.transactionId)
  const taken = await detail(late.id)
  assert.deepEqual([taken.status, taken.settlement_status], ['VOIDED', 'SETTLED'])
  assert.deepEqual([taken.settled_at, taken.receipt], [before.settled_at, before.receipt])
  assert.equal(taken.receipt?.batch_number, day)
  assert.deepEqual(taken.amount_details, { ...before.amount_details, amount_refunded: 15_000 })
  assert.deepEqual(
    taken.events.map(({ event_type, amount }) => [event_type, amount]),
    ['CREATED', 'CAPTURED', 'SETTLED', 'VOIDED'].map((type) => [type, '15000']),
  )
  // One sentence for both: it may not say that nothing was taken, where it was given back.
  for (const { events } of [unsettled, taken])
    assert.equal(
      events.at(-1)?.description,
      'The payment was voided: it is undone whole, and none of its money is kept.',
    )
  const csv = await call(p.url, {
    path: '/reports/v1/transactions',
    key: p.merchant.secret_key,
    headers: { accept: 'text/csv' },
  })
  assert.match(csv.text.split('\r\n').find((line) => line.startsWith(late.id)) ?? '', new RegExp(`,${day},`))

  const [next, last] = [await nextDay(), await nextDay()]
  assert.deepEqual(await figures(day), [2, 30_000, 0, 30_000])
  assert.deepEqual(await figures(next), [0, 0, 15_000, -15_000])
  assert.ok((await reports.listSettlements()).data.every(({ batch_number: number }) => number !== last))
  assert.equal((await detail(late.id)).updated_at, taken.updated_at)
  const rows = (await reports.listTransactions()).data.filter(({ receipt }) => receipt?.batch_number === day)
  assert.deepEqual(new Set(rows.map(({ id }) => id)), new Set([late.id, kept.id]))
  assert.equal(
    rows.reduce((sum, row) => sum + row.amount_details.amount_received, 0),
    30_000,
  )
})

test('B3.settlement.sum: what a version before took the amounts of, for a void after its batch, has them back, and the next batch takes it off', async () => {
  const terminal = await shop.connect(shop.second)
  const { transactionId, paying } = await begin(terminal)
  terminal.send(result(transactionId))
  await paying
  await terminal.close()
  await p.kaha.sandboxClock.advance(midnightAfter(p.kaha.clock.now()))
  const { id, receipt, amount_details: paid } = await lastSale()
  await sql(
    p.kaha.db,
    `update payments.transactions set status = 'VOIDED', amount_authorized = 0, amount_received = 0, updated_at = kernel.now() where id = $1`,
    [id],
  )
  const migration = join(import.meta.dirname, '../../migrations/0210_payments_void_settled.sql')
  for (const one of (await readFile(migration, 'utf8')).split(/;$/m)) await sql(p.kaha.db, one, [])
  const mended = await lastSale()
  assert.deepEqual([mended.id, mended.status, mended.receipt], [id, 'VOIDED', receipt])
  assert.deepEqual(mended.amount_details, { ...paid, amount_refunded: paid.amount_received })
  const midnight = midnightAfter(p.kaha.clock.now())
  await p.kaha.sandboxClock.advance(midnight)
  const { data } = await p.sdk.reports.retrieveSettlement(dayOf(midnight))
  assert.deepEqual([data.count, data.gross, data.refunds], [0, 0, paid.amount_received])
})

test('a process of an earlier version tells the end of a sale as JSON', async () => {
  const terminal = await shop.connect(shop.second)
  const { transactionId, paying } = await begin(terminal)
  const { id } = await lastSale()
  const ended = JSON.stringify([{ id, status: 'CAPTURED', approval_code: 'EARLIER', at: p.kaha.clock.now() }])
  await sql(p.kaha.db, 'select payments.change_terminal_transactions($1::json)', [ended])
  const { status, receipt, amount_details } = await lastSale()
  assert.deepEqual([status, receipt?.approval_code, amount_details.amount_received], ['CAPTURED', 'EARLIER', 15_000])
  terminal.send(result(transactionId))
  await paying
  await terminal.close()
})
