import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { statement } from '../../src/kernel/db.ts'
import { hooked, paid } from '../terminal-webhooks.ts'
import { approval, result, shopOf } from '../till.ts'
import { platform } from '../platform.ts'

// What is said comes back as it was said, whatever it holds, or is refused by name.

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const till = await shop.till()
const terminal = await shop.connect()

/** A payment that has arrived at the terminal. */
async function begun(fields: Record<string, unknown> = {}) {
  const transactionId = `e-${randomUUID()}`
  const paying = shop.pay({ transactionId, ...fields })
  await terminal.next('payment')
  return { transactionId, paying }
}

const alarmsOf = async (transactionId: string) => {
  const read = statement(
    'test.alarms',
    'select cause from terminals.attention where transaction_id = (select id from terminals.transactions where transaction_id = $1)',
  )
  return (await p.kaha.db.run<{ cause: string }>(read, [transactionId])).map(({ cause }) => cause)
}

const receipts = ['\x1b@KAPE\n\x1dV\0', 'half \ud800 of a pair', '\\u0000', '"\\u0000"', 'plain', '\u2028\ufeff']

test('[D5.response.receipt-data] a receipt passes as it is, with NUL, as printers take it, and with half a surrogate pair', async () => {
  for (const receiptData of receipts) {
    const { transactionId, paying } = await begun()
    terminal.send(result(transactionId, { ...approval, receiptData }))
    const { status, json } = await paying
    assert.deepEqual([status, json.status, json.receiptData], [200, 'SUCCESS', receiptData])
    assert.equal((await shop.read(transactionId)).json.response.receiptData, receiptData)
    assert.equal((await shop.pay({ transactionId })).json.receiptData, receiptData)
    assert.equal((await till.next('paymentComplete')).paymentResponse.receiptData, receiptData)
    // A change from here on keeps it.
    const voiding = shop.voids(transactionId)
    await terminal.next('voidPayment')
    terminal.send({ action: 'voidResult', transactionId, success: true })
    assert.equal((await voiding).json.success, true)
    assert.equal((await shop.read(transactionId)).json.response.receiptData, receiptData)
  }
})

test('[D5.webhook.data] a receipt with NUL is told to endpoints as it is', async (t) => {
  const its = await hooked(t)
  const there = await its.shop.connect()
  await its.made()
  const [receiptData] = receipts
  await paid(its, there, {}, { ...approval, receiptData })
  assert.equal(JSON.parse(its.only().body).data.receiptData, receiptData)
})

test('[D5.result.malformed, D5.message.request-id] a result whose code cannot be kept is refused by its cause and alerts, and what nobody reads of it is no cause', async () => {
  const cannot = /^The message holds text or a key that cannot be kept: NUL/
  for (const wrong of [{ authorizationCode: 'A\0' }, { errorMessage: '\ud800' }, { currency: '\0' }]) {
    const { transactionId, paying } = await begun()
    const refused = await terminal.ask(result(transactionId, { ...approval, ...wrong }))
    assert.deepEqual([refused.error, refused.code], ['Bad Request', 'INVALID_REQUEST'])
    assert.match(refused.message, cannot)
    assert.equal((await shop.read(transactionId)).json.status, 'PENDING')
    assert.deepEqual(await alarmsOf(transactionId), ['malformed_result'])
    terminal.send(result(transactionId, { ...approval, emv: '\0', metadata: { 'a\0': 1 } }))
    assert.equal((await paying).json.status, 'SUCCESS')
  }
  const { transactionId, paying } = await begun()
  terminal.send(result(transactionId))
  await paying
  const voidResult = { action: 'voidResult', transactionId, success: true }
  assert.match((await terminal.ask({ ...voidResult, reason: '\0' })).message, cannot)
  assert.deepEqual(await alarmsOf(transactionId), ['malformed_result'])
  terminal.send({ ...voidResult, receiptData: '\0', paymentResponse: null })
  await terminal.settled()
  assert.equal((await shop.read(transactionId)).json.status, 'VOIDED')
  const unknown = await terminal.ask({ ...result('none\0'), x: 1 })
  assert.match(unknown.message, cannot)
})

test('[D5.message.request-id] any other message with NUL is told so, with its requestId', async () => {
  const sale = { amount: '1.00', currency: 'PHP', paymentMethod: 'CARD', metadata: { note: '\0' } }
  for (const message of [
    { action: 'payment', terminalId: shop.first.device_id, paymentRequest: sale },
    { action: 'voidPayment', transactionId: 'x', reason: '\ud800' },
    { action: 'ping', more: '\0' },
  ]) {
    const refused = await till.ask(message)
    assert.deepEqual([refused.error, refused.code], ['Bad Request', 'INVALID_REQUEST'])
    assert.match(refused.message, /cannot be kept: NUL/)
  }
})
