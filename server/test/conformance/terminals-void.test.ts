import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { attentionStore } from '../../src/commands/store-attention.ts'
import { platform } from '../platform.ts'
import { approval, result, shopOf, type Wire } from '../till.ts'
import { until } from '../until.ts'
import { assertRefused } from './call.ts'

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const till = await shop.till()
const terminal = await shop.connect()

/** A sale that is paid. */
async function sold(at: Wire = terminal): Promise<string> {
  const transactionId = `v-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await at.next('payment')
  at.send(result(transactionId))
  assert.equal((await paying).status, 200)
  return transactionId
}

const stateOf = async (id: string): Promise<string> => (await shop.read(id)).json.status
const answers = (at: Wire, transactionId: string, more: Record<string, unknown>) =>
  at.send({ action: 'voidResult', transactionId, reason: 'x', ...more })

test('[D5.void.ok, D5.machine.completed.void, D5.void-result.fields, D5.void-result.voided-at, D5.void.reason, D5.machine.voided.void, D5.void.joins, D5.id.voided-on-request, D5.message.from-terminal.void-result] a void that the terminal confirms is a success, once and again', async () => {
  const transactionId = await sold()
  const voiding = [shop.voids(transactionId, { reason: 'Wrong table.' }), shop.voids(transactionId)]
  const asked = await terminal.next('voidPayment')
  assert.equal(asked.transactionId, transactionId)
  answers(terminal, transactionId, { success: true })
  const all = [...(await Promise.all(voiding)), await shop.voids(transactionId)]
  for (const { status, json } of all) {
    assert.equal(status, 200)
    const { voidedAt, reason, ...rest } = json
    assert.match(voidedAt, /Z$/)
    assert.equal(reason, asked.reason)
    assert.deepEqual(rest, { success: true, transactionId })
  }
  await terminal.settled()
  assert.equal(terminal.received.filter((one) => one.action === 'voidPayment').length, 1)
  const pushed = await till.next('paymentVoided')
  assert.deepEqual([pushed.transactionId, pushed.reason], [transactionId, asked.reason])
  const record = (await shop.read(transactionId)).json
  assert.deepEqual([record.status, record.voidReason], ['VOIDED', asked.reason])
  const repeat = await shop.pay({ transactionId })
  assert.deepEqual([repeat.status, repeat.json.status, repeat.json.errorCode], [200, 'FAILED', 'VOIDED'])
  for (const reason of ['', 'x'.repeat(256), 1])
    assertRefused('/terminal/v1', await shop.voids(transactionId, { reason }), 400, 'INVALID_REQUEST')
})

test('[D5.message.from-terminal.nothing] what a terminal sends as null, or as an empty text, it has not said, what is not asked of it does not count, and a receipt may be as long as its frame', async () => {
  const paid = async (paymentResponse: Record<string, unknown>) => {
    const transactionId = `v-${randomUUID()}`
    const paying = shop.pay({ transactionId })
    await terminal.next('payment')
    terminal.send(result(transactionId, paymentResponse))
    return (await paying).json
  }
  const nothing = { errorCode: null, errorMessage: '', receiptData: null, metadata: null, timestamp: null }
  const approved = await paid({ ...approval, ...nothing, paymentMethod: 'card' })
  assert.deepEqual(
    [approved.status, approved.authorizationCode, approved.receiptData],
    ['SUCCESS', 'A1B2C3', undefined],
  )
  const receiptData = 'R'.repeat(60_000)
  const long = await paid({ ...approval, receiptData })
  assert.deepEqual([long.status, long.receiptData], ['SUCCESS', receiptData])
  const declined = await paid({ status: 'FAILED', ...nothing, authorizationCode: '', amount: null, currency: null })
  assert.deepEqual([declined.status, declined.errorCode], ['FAILED', 'PAYMENT_FAILED'])
  const blank = await paid({ status: 'FAILED', transactionId: null, errorCode: ' ', errorMessage: ' ' })
  assert.deepEqual([blank.status, blank.errorCode], ['FAILED', 'PAYMENT_FAILED'])
  const voiding = shop.voids(approved.transactionId)
  await terminal.next('voidPayment')
  answers(terminal, approved.transactionId, { success: true, reason: null, error: null, voidedAt: '22/11/2026' })
  assert.equal((await voiding).json.success, true)
})

test('[D5.message.from-terminal.nothing] a result or a void of a terminal is taken however long its words are, and of them the beginning is kept', async () => {
  const long = `${'x'.repeat(63)}${'😀'.repeat(200)}`
  const transactionId = `v-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await terminal.next('payment')
  terminal.send(result(transactionId, { status: 'FAILED', errorCode: long, currency: 'Philippine peso' }))
  const failed = (await paying).json
  assert.deepEqual([failed.status, failed.errorCode], ['FAILED', `${'x'.repeat(63)}\ufffd`])
  const approved = `v-${randomUUID()}`
  const approving = shop.pay({ transactionId: approved })
  await terminal.next('payment')
  // Money that is taken: refused for its code it would be asked back by nobody.
  terminal.send(result(approved, { ...approval, authorizationCode: long }))
  const { status, authorizationCode } = (await approving).json
  assert.equal(status, 'SUCCESS')
  assert.match(authorizationCode, /^x{48}[\w-]{16}$/)
  terminal.send(result(approved, { ...approval, authorizationCode: long }))
  await terminal.settled()
  const causes = async () => (await attentionStore.list(p.kaha.db, 100)).map(({ cause }) => cause)
  assert.deepEqual(await causes(), [])
  terminal.send(result(approved, { ...approval, authorizationCode: `${long}.` }))
  await terminal.settled()
  assert.deepEqual(await causes(), ['further_approval'])
  const kept = await sold()
  const refusing = shop.voids(kept)
  await terminal.next('voidPayment')
  answers(terminal, kept, { success: false, error: 'x'.repeat(1_000) })
  assert.equal((await refusing).json.error, 'x'.repeat(255))
  answers(terminal, kept, { success: true, reason: 'y'.repeat(1_000) })
  await terminal.settled()
  assert.deepEqual([await stateOf(kept), (await shop.read(kept)).json.voidReason], ['VOIDED', 'y'.repeat(255)])
})

test('[D5.void.reason] the reason of a void is requested where none is given', async () => {
  const transactionId = await sold()
  const voiding = shop.voids(transactionId)
  assert.equal((await terminal.next('voidPayment')).reason, 'requested')
  answers(terminal, transactionId, { success: true })
  assert.equal((await voiding).json.reason, 'requested')
})

test("[D5.machine.completed.void-refused, D5.void-result.error] a void that the terminal refuses leaves the sale, with the terminal's own error or ours", async () => {
  // Words of ours say of a void what a refusal is not: that it may still come, or was never begun.
  const ours = ['TIMEOUT', 'TERMINAL_OFFLINE', 'PENDING_CONFIRMATION', 'INVALID_TRANSACTION_STATE']
  for (const error of [undefined, 'BATCH_CLOSED', ...ours]) {
    const transactionId = await sold()
    const voiding = shop.voids(transactionId)
    await terminal.next('voidPayment')
    answers(terminal, transactionId, { success: false, error })
    const { json } = await voiding
    assert.deepEqual(
      [json.success, json.error, json.voidedAt],
      [false, error === 'BATCH_CLOSED' ? error : 'TERMINAL_REFUSED', undefined],
    )
    assert.equal(await stateOf(transactionId), 'COMPLETED')
  }
})

test('[D5.machine.completed.void-silent, D5.void.asked-again, D5.void.late-success] a void without an answer is TIMEOUT, is asked again, and its late success counts', async () => {
  const transactionId = await sold()
  const voiding = shop.voids(transactionId)
  await terminal.next('voidPayment')
  await p.advance(31)
  const { json } = await voiding
  assert.deepEqual([json.success, json.error], [false, 'TIMEOUT'])
  assert.equal(await stateOf(transactionId), 'COMPLETED')
  assert.equal((await terminal.next('voidPayment')).transactionId, transactionId)
  terminal.drop()
  const back = await shop.connect()
  assert.equal((await back.next('voidPayment')).transactionId, transactionId)
  answers(back, transactionId, { success: true })
  await until('the void', async () => (await stateOf(transactionId)) === 'VOIDED')
  await back.close()
})

test('[D5.void.asked-again] after 24 hours without an answer a void is asked no more, and the sale stays, until the terminal says otherwise', async () => {
  const at = await shop.connect()
  const transactionId = await sold(at)
  const voiding = shop.voids(transactionId, { reason: 'spilt' })
  await at.next('voidPayment')
  await p.advance(24 * 3600)
  assert.equal((await voiding).json.error, 'TIMEOUT')
  await at.settled()
  const asks = (on: Wire) =>
    on.received.filter((one) => one.action === 'voidPayment' && one.transactionId === transactionId).length
  const asked = asks(at)
  // Four times in the first 15 minutes, then every quarter of an hour.
  assert.ok(asked > 90 && asked < 110, `${asked}`)
  await p.advance(3600)
  await at.settled()
  assert.equal(asks(at), asked)
  at.drop()
  const back = await shop.connect()
  await back.settled()
  assert.deepEqual([asks(back), await stateOf(transactionId)], [0, 'COMPLETED'])
  // It may have been done all the same, and be told when the terminal is at hand again.
  answers(back, transactionId, { success: true })
  await until('the void', async () => (await stateOf(transactionId)) === 'VOIDED')
  assert.equal((await shop.read(transactionId)).json.voidReason, 'spilt')
  await back.close()
})

test('[D5.machine.completed.void-offline, D5.void.offline-dropped] a void that finds the terminal offline is not sent, then or later', async () => {
  const first = await shop.connect()
  const transactionId = await sold(first)
  await first.close()
  await until('offline', async () => (await shop.ask({ path: '/v1/terminals' })).json.count === 0)
  const { json } = await shop.voids(transactionId)
  assert.deepEqual([json.success, json.error], [false, 'TERMINAL_OFFLINE'])
  const back = await shop.connect()
  await back.settled()
  assert.equal(back.received.filter((one) => one.action === 'voidPayment').length, 0)
  await back.close()
})

test('[D5.machine.completed.voided-at-terminal] a void that nobody asked for is believed, with its reason', async () => {
  const at = await shop.connect()
  const transactionId = await sold(at)
  at.send({ action: 'voidResult', transactionId, success: true, reason: 'The customer left.' })
  await until('the void', async () => (await stateOf(transactionId)) === 'VOIDED')
  assert.equal((await shop.read(transactionId)).json.voidReason, 'The customer left.')
  await at.close()
})

test('[D5.void.reason, D5.machine.completed.voided-at-terminal] the reason of a void that was refused is that of no other', async () => {
  for (const reason of ['second', undefined]) {
    const at = await shop.connect()
    const transactionId = await sold(at)
    const voiding = shop.voids(transactionId, { reason: 'first' })
    await at.next('voidPayment')
    answers(at, transactionId, { success: false })
    assert.equal((await voiding).json.reason, 'first')
    await at.close()
    await until('offline', async () => (await shop.ask({ path: '/v1/terminals' })).json.count === 0)
    const offline = (await shop.voids(transactionId, { reason: 'third' })).json
    assert.deepEqual([offline.error, offline.reason], ['TERMINAL_OFFLINE', 'third'])
    const back = await shop.connect()
    answers(back, transactionId, { success: true, reason })
    await until('the void', async () => (await stateOf(transactionId)) === 'VOIDED')
    assert.equal((await shop.read(transactionId)).json.voidReason, reason ?? 'It was voided at the terminal.')
    await back.close()
  }
})

test('[D5.machine.other.void, D5.void.reason] a void of what is not completed changes nothing, and leaves no reason behind', async () => {
  const at = await shop.connect()
  const transactionId = `v-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await at.next('payment')
  const { updatedAt } = (await shop.read(transactionId)).json
  answers(at, transactionId, { success: true, reason: 'STALE' })
  await at.settled()
  assert.equal((await shop.read(transactionId)).json.updatedAt, updatedAt)
  at.send(result(transactionId))
  await paying
  answers(at, transactionId, { success: true, reason: 'REAL' })
  await until('the void', async () => (await stateOf(transactionId)) === 'VOIDED')
  assert.equal((await shop.read(transactionId)).json.voidReason, 'REAL')
  await at.close()
})

test('[D5.machine.voided.void-automatic] a sale that was voided automatically is PENDING_CONFIRMATION until the terminal confirms', async () => {
  const at = await shop.connect()
  const transactionId = `v-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await at.next('payment')
  await p.advance(91)
  assert.equal((await paying).status, 504)
  at.send(result(transactionId))
  await at.next('voidPayment')
  const pending = (await shop.voids(transactionId)).json
  assert.deepEqual([pending.success, pending.error], [false, 'PENDING_CONFIRMATION'])
  answers(at, transactionId, { success: true })
  await at.settled()
  assert.equal((await shop.voids(transactionId)).json.success, true)
  await at.close()
})

test('[D5.machine.other.void] a sale that is not completed cannot be voided', async () => {
  const at = await shop.connect()
  const transactionId = `v-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await at.next('payment')
  const open = (await shop.voids(transactionId)).json
  assert.deepEqual([open.success, open.error], [false, 'INVALID_TRANSACTION_STATE'])
  at.send(result(transactionId, { status: 'CANCELLED' }))
  await paying
  const ended = (await shop.voids(transactionId)).json
  assert.deepEqual([ended.success, ended.error], [false, 'INVALID_TRANSACTION_STATE'])
  await at.close()
})

test('[D5.machine.open.voided-at-terminal] a void that comes before the result is refused, and undoes the sale once that is told', async () => {
  const at = await shop.connect()
  const transactionId = `v-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await at.next('payment')
  const undone = { action: 'voidResult', transactionId, success: true, reason: 'Wrong table.' }
  const early = await at.ask(undone)
  assert.deepEqual([early.action, early.code], ['error', 'INVALID_REQUEST'])
  assert.equal(await stateOf(transactionId), 'PENDING')
  at.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  at.send(undone)
  await at.settled()
  const record = (await shop.read(transactionId)).json
  assert.deepEqual([record.status, record.voidReason], ['VOIDED', 'Wrong table.'])
  // Of what has no money there is nothing to undo.
  const declined = `v-${randomUUID()}`
  const failing = shop.pay({ transactionId: declined })
  await at.next('payment')
  answers(at, declined, { success: false })
  at.send(result(declined, { status: 'FAILED' }))
  assert.equal((await failing).json.status, 'FAILED')
  answers(at, declined, { success: true })
  await at.settled()
  assert.equal(await stateOf(declined), 'FAILED')
})
