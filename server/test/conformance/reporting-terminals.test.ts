import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { platform } from '../platform.ts'
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
  assert.equal((await lastSale()).receipt, undefined)
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
