import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { statement } from '../../src/kernel/db.ts'
import { attentionOf } from '../attention.ts'
import { platform } from '../platform.ts'
import { approval, result, sale, shopOf, signedHeaders, type Wire } from '../till.ts'
import { until } from '../until.ts'
import { assertRefused, type Answer } from './call.ts'

// Rows of the table of a transaction, on real sockets and the sandbox's clock.

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const till = await shop.till()
const at = `/terminal/v1/terminals/${shop.first.device_id}/payments`

const stateOf = async (id: string): Promise<string> => (await shop.read(id)).json.status
const becomes = (id: string, state: string) => until(`${id} ${state}`, async () => (await stateOf(id)) === state)

/** A payment that has arrived at the terminal, and the call that waits for it. */
async function begun(terminal?: Wire) {
  const on = terminal ?? (await shop.connect())
  const transactionId = `m-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await on.next('payment')
  return { transactionId, paying, terminal: on }
}

/** The same, and the line of the terminal is lost. */
async function dropped() {
  const one = await begun()
  one.terminal.drop()
  await becomes(one.transactionId, 'AWAITING_RECONNECT')
  return one
}

const back = async (transactionId: string) => {
  const terminal = await shop.connect()
  await until('the question', () =>
    terminal.received.some((one) => one.action === 'paymentStatus' && one.transactionId === transactionId),
  )
  return terminal
}

/** What the till was told of a payment, in order. */
async function pushes(transactionId: string): Promise<string[]> {
  await till.settled()
  return till.received.filter((one) => one.transactionId === transactionId).map((one) => one.action)
}

const isPaid = (answer: Answer) => assert.deepEqual([answer.status, answer.json.status], [200, 'SUCCESS'], answer.text)

const announcedOf = async (transactionId: string) => {
  const read = statement('test.announced', 'select announced from terminals.transactions where transaction_id = $1')
  return (await p.kaha.db.run<{ announced: string | null }>(read, [transactionId]))[0]?.announced
}

const givenUpOf = async (transactionId: string) => {
  const read = statement('test.givenUp', 'select given_up from terminals.transactions where transaction_id = $1')
  return (await p.kaha.db.run<{ given_up: string | null }>(read, [transactionId]))[0]?.given_up
}

/** How reports show it. */
const reported = async (transactionId: string) => {
  const read = statement('test.idOf', 'select id from terminals.transactions where transaction_id = $1')
  const [row] = await p.kaha.db.run<{ id: string }>(read, [transactionId])
  const { data } = await p.sdk.reports.retrieveTransaction(row?.id ?? '')
  return [data.status, data.payment_method, data.amount_details?.amount_received]
}

test('[D5.machine.pending.lost, D5.connection.open-payments, D5.machine.awaiting.success, D5.message.to-terminal.payment-status, B3.status.captured.terminals, B3.status.one-per-terminal-transaction] a line that is lost and comes back with SUCCESS is a paid sale', async () => {
  const { transactionId, paying } = await dropped()
  const terminal = await back(transactionId)
  terminal.send(result(transactionId))
  isPaid(await paying)
  assert.equal(await announcedOf(transactionId), 'payment.completed')
  assert.deepEqual(await pushes(transactionId), ['paymentComplete'])
  assert.deepEqual(await reported(transactionId), ['CAPTURED', 'CARD_PRESENT', 15_000])
  await terminal.close()
})

test('[D5.machine.awaiting.failed, D5.machine.awaiting.cancelled] a line that is lost and comes back with FAILED or CANCELLED ends so', async () => {
  for (const status of ['FAILED', 'CANCELLED']) {
    const { transactionId, paying } = await dropped()
    const terminal = await back(transactionId)
    terminal.send(result(transactionId, { status, errorCode: 'DECLINED', errorMessage: 'No.' }))
    const answer = await paying
    assert.deepEqual([answer.status, answer.json.status], [200, status])
    assert.equal(await announcedOf(transactionId), `payment.${status.toLowerCase()}`)
    await terminal.close()
  }
})

test('[D5.machine.awaiting.back, D5.result.pending, D5.message.from-terminal.payment-status] a terminal that is back and still working has its payment PENDING again', async () => {
  const { transactionId, paying } = await dropped()
  const terminal = await back(transactionId)
  terminal.send({ action: 'paymentStatus', transactionId, status: 'PENDING' })
  await becomes(transactionId, 'PENDING')
  // Its grace is over with that: 60 s later nothing is given up.
  await p.advance(70)
  assert.equal(await stateOf(transactionId), 'PENDING')
  terminal.send(result(transactionId, { status: 'PENDING' }))
  terminal.send(result(transactionId))
  isPaid(await paying)
  await terminal.close()
})

test('[D5.machine.open.unknown, D5.result.unknown] a terminal without a record of it ends the payment, if it was asked', async () => {
  const { transactionId, paying, terminal: first } = await begun()
  const refused = await first.ask({ action: 'paymentStatus', transactionId, status: 'UNKNOWN' })
  assert.deepEqual([refused.error, refused.code], ['Bad Request', 'INVALID_REQUEST'])
  assert.equal(await stateOf(transactionId), 'PENDING')
  first.drop()
  await becomes(transactionId, 'AWAITING_RECONNECT')
  const terminal = await back(transactionId)
  terminal.send({ action: 'paymentStatus', transactionId, status: 'UNKNOWN' })
  const answer = await paying
  assert.deepEqual([answer.status, answer.json.status, answer.json.errorCode], [200, 'FAILED', 'TERMINAL_LOST_PAYMENT'])
  assert.equal(await announcedOf(transactionId), 'payment.failed')
  await terminal.close()
})

test('[D5.machine.awaiting.grace, D5.machine.given-up.success, D5.given-up.sticky, D5.id.voided-automatically, D5.record.voided, D5.record.voided-automatically, D5.push.payment-timeout, D5.auto-void.not-received, B3.status.voided.terminals, D5.message.to-terminal.void-payment] 60 s after the loss the sale is given up, and a success that comes later is voided', async () => {
  const { transactionId, paying } = await dropped()
  // Time goes on by itself too: a test leaves it some seconds.
  await p.advance(45)
  assert.equal(await givenUpOf(transactionId), null)
  await p.advance(16)
  assert.equal(await givenUpOf(transactionId), 'TERMINAL_CONNECTION_ERROR')
  assertRefused(at, await paying, 502, 'TERMINAL_CONNECTION_ERROR')
  assert.equal(await stateOf(transactionId), 'AWAITING_RECONNECT')
  const terminal = await back(transactionId)
  assert.equal((await terminal.next('cancelPayment')).transactionId, transactionId)
  terminal.send(result(transactionId))
  const told = await terminal.next('voidPayment')
  assert.equal(told.transactionId, transactionId)
  const record = (await shop.read(transactionId)).json
  assert.deepEqual([record.status, record.response.status], ['VOIDED', 'FAILED'])
  assert.match(record.voidReason, /too late/)
  assert.ok(record.voidedAt >= record.createdAt)
  assertRefused(at, await shop.pay({ transactionId }), 502, 'TERMINAL_CONNECTION_ERROR')
  await p.advance(30)
  assert.equal(await announcedOf(transactionId), 'payment.timeout')
  assert.deepEqual(await pushes(transactionId), ['paymentTimeout', 'paymentVoided'])
  assert.equal(till.received.find((one) => one.transactionId === transactionId).code, 'TERMINAL_CONNECTION_ERROR')
  assert.deepEqual(await reported(transactionId), ['VOIDED', 'CARD_PRESENT', 0])
  terminal.send({ action: 'voidResult', transactionId, success: true })
  await terminal.settled()
  await terminal.close()
})

test('[D5.grace.from-notice] the grace counts from the latest loss', async () => {
  const { transactionId, paying } = await dropped()
  await p.advance(40)
  const terminal = await back(transactionId)
  terminal.drop()
  await until(
    'the second loss',
    async () => (await shop.ask({ path: '/v1/terminals' })).json.terminals[0]?.status === 'reconnecting',
  )
  // 85 s since the first loss, 45 since the second.
  await p.advance(45)
  assert.equal(await givenUpOf(transactionId), null)
  await p.advance(20)
  // 90 s since the start were over before the 60 s since the second loss.
  assertRefused(at, await paying, 504, 'TIMEOUT')
  const last = await back(transactionId)
  last.send({ action: 'paymentStatus', transactionId, status: 'UNKNOWN' })
  await becomes(transactionId, 'FAILED')
  await last.close()
})

test('[D5.machine.open.timeout, D5.machine.given-up.failed, D5.busy.open, D5.busy.cancel-resent, D5.busy.free, D5.machine.none.busy, D5.message.to-terminal.cancel-payment, X0.clocks.business.terminals] after 90 s the sale is given up, the terminal is told to cancel, and is busy for two minutes', async () => {
  const { transactionId, paying, terminal } = await begun()
  assertRefused(at, await shop.pay(), 409, 'PAYMENT_IN_PROGRESS')
  await p.advance(75)
  assert.equal(await givenUpOf(transactionId), null)
  await p.advance(15)
  assertRefused(at, await paying, 504, 'TIMEOUT')
  assertRefused(at, await shop.pay({ transactionId }), 504, 'TIMEOUT')
  assert.equal(await announcedOf(transactionId), 'payment.timeout')
  const cancels = () =>
    terminal.received.filter((one) => one.action === 'cancelPayment' && one.transactionId === transactionId).length
  await terminal.settled()
  assert.equal(cancels(), 1)
  assertRefused(at, await shop.pay(), 409, 'PAYMENT_IN_PROGRESS')
  await p.advance(105)
  await terminal.settled()
  assert.equal(cancels(), 4)
  assertRefused(at, await shop.pay(), 409, 'PAYMENT_IN_PROGRESS')
  await p.advance(16)
  const next = await begun(terminal)
  terminal.send(result(transactionId, { status: 'FAILED', errorCode: 'DECLINED' }))
  await becomes(transactionId, 'FAILED')
  assert.equal(await announcedOf(transactionId), 'payment.timeout')
  terminal.send(result(next.transactionId))
  isPaid(await next.paying)
  assert.deepEqual(await pushes(transactionId), ['paymentTimeout', 'paymentComplete'])
  await terminal.close()
})

test('[D5.machine.given-up.cancelled] a cancel that comes after 90 s ends the payment, with no second webhook', async () => {
  const { transactionId, paying, terminal } = await begun()
  await p.advance(91)
  assertRefused(at, await paying, 504, 'TIMEOUT')
  terminal.send(result(transactionId, { status: 'CANCELLED' }))
  await becomes(transactionId, 'CANCELLED')
  assert.equal(await announcedOf(transactionId), 'payment.timeout')
  await terminal.close()
})

test('[D5.machine.given-up.no-result, D5.machine.ended.success, D5.push.payment-voided, D5.auto-void.told, D5.auto-void.alert] 24 h without a result end it; a success that still comes is voided, and told until the terminal answers', async () => {
  const { transactionId, paying, terminal: before } = await begun()
  await p.advance(91)
  assertRefused(at, await paying, 504, 'TIMEOUT')
  await p.advance(24 * 3600)
  assert.equal(await stateOf(transactionId), 'FAILED')
  assert.equal((await shop.read(transactionId)).json.response.errorCode, 'NO_RESULT')
  before.drop()
  // Ended without a result: asked about when it is back.
  const terminal = await back(transactionId)
  terminal.send(result(transactionId))
  // It had said nothing else before.
  assert.match(String((await terminal.next('voidPayment')).reason), /too late/)
  assert.equal(await stateOf(transactionId), 'VOIDED')
  const voids = () =>
    terminal.received.filter((one) => one.action === 'voidPayment' && one.transactionId === transactionId).length
  // Again after 30 s, then after one minute more, then two, and so on up to a quarter of an hour.
  for (const [seconds, times] of [
    [31, 2],
    [60, 3],
    [120, 4],
    [240, 5],
    [480, 6],
    [900, 7],
    [900, 8],
  ] as const) {
    await p.advance(seconds)
    await terminal.settled()
    assert.equal(voids(), times)
  }
  terminal.drop()
  const again = await shop.connect()
  assert.equal((await again.next('voidPayment')).transactionId, transactionId)
  await p.advance(24 * 3600)
  assert.match(await attentionOf(p.kaha.db, transactionId), /^void_unanswered: .*24 hours\.$/)
  again.send({ action: 'voidResult', transactionId, success: true })
  await again.settled()
  const voided = await shop.voids(transactionId)
  assert.deepEqual([voided.status, voided.json.success], [200, true])
  // Whoever sees to it must not give the money back a second time.
  assert.match(await attentionOf(p.kaha.db, transactionId), /^void_unanswered: .*24 hours\. .*since: give nothing.*$/)
  await again.close()
})

test('[D5.machine.ended.other, D5.machine.final.result, D5.machine.any.same-result, B3.status.declined.terminals] any further result changes nothing', async () => {
  const { transactionId, paying, terminal } = await begun()
  terminal.send(result(transactionId))
  isPaid(await paying)
  const before = (await shop.read(transactionId)).json
  for (const status of ['SUCCESS', 'FAILED', 'CANCELLED', 'PENDING'])
    terminal.send(result(transactionId, { ...approval, status }))
  await terminal.settled()
  const { timestamp: _, ...same } = (await shop.read(transactionId)).json
  const { timestamp: __, ...was } = before
  assert.deepEqual(same, was)
  const second = await begun(terminal)
  terminal.send(result(second.transactionId, { status: 'FAILED', errorCode: 'DECLINED' }))
  assert.equal((await second.paying).json.status, 'FAILED')
  for (const status of ['FAILED', 'CANCELLED']) terminal.send(result(second.transactionId, { status }))
  await terminal.settled()
  const record = (await shop.read(second.transactionId)).json
  assert.deepEqual([record.status, record.response.errorCode], ['FAILED', 'DECLINED'])
  assert.deepEqual(await reported(second.transactionId), ['DECLINED', 'CARD_PRESENT', 0])
  // A contradiction is voided, and a repeat still says what the first caller was given.
  terminal.send(result(second.transactionId))
  await becomes(second.transactionId, 'VOIDED')
  const repeat = await shop.pay({ transactionId: second.transactionId })
  assert.deepEqual([repeat.status, repeat.json.status, repeat.json.errorCode], [200, 'FAILED', 'DECLINED'])
  terminal.send({ action: 'voidResult', transactionId: second.transactionId, success: true })
  await terminal.settled()
  await terminal.close()
})

test('[D5.result.amount-mismatch] a SUCCESS with another amount or currency is voided, and the caller gets FAILED', async () => {
  const terminal = await shop.connect()
  for (const other of [{ amount: '150.01' }, { amount: '0' }, { amount: '150.001' }, { currency: 'USD' }]) {
    const { transactionId, paying } = await begun(terminal)
    terminal.send(result(transactionId, { ...approval, ...other }))
    const answer = await paying
    assert.deepEqual([answer.status, answer.json.status, answer.json.errorCode], [200, 'FAILED', 'AMOUNT_MISMATCH'])
    assert.deepEqual([answer.json.amount, answer.json.currency], ['150.00', 'PHP'])
    assert.equal((await terminal.next('voidPayment')).transactionId, transactionId)
    assert.deepEqual([await stateOf(transactionId), await announcedOf(transactionId)], ['VOIDED', 'payment.failed'])
    assert.equal((await shop.read(transactionId)).json.response.status, 'FAILED')
    terminal.send({ action: 'voidResult', transactionId, success: true })
  }
  await terminal.close()
})

const alarmsOf = async (transactionId: string) => {
  const read = statement(
    'test.attention',
    'select cause from terminals.attention where transaction_id = (select id from terminals.transactions where transaction_id = $1)',
  )
  return (await p.kaha.db.run<{ cause: string }>(read, [transactionId])).map(({ cause }) => cause)
}

test('[D5.result.malformed, D5.message.from-terminal.payment-response] a SUCCESS without authorizationCode, or a malformed result, is an error and changes nothing', async () => {
  const { transactionId, paying, terminal } = await begun()
  for (const wrong of [
    ...[undefined, '', ' ', null].map((authorizationCode) => ({ authorizationCode })),
    { transactionId: 'another' },
    { transactionId: 'another', status: 'FAILED' },
    { status: 'DONE' },
    { amount: undefined },
    { amount: '' },
    ...['+150.00', ' 150.00', '1.5e2', '1,500.00', '150.', '.5', 'abc', -150].map((amount) => ({ amount })),
    ...[null, 'PH', 'php'].map((currency) => ({ currency })),
    { receiptData: 1 },
  ]) {
    const refused = await terminal.ask(result(transactionId, { ...approval, ...wrong }))
    assert.deepEqual([refused.error, refused.code], ['Bad Request', 'INVALID_REQUEST'], JSON.stringify(wrong))
    assert.equal(await stateOf(transactionId), 'PENDING')
  }
  assert.deepEqual(await alarmsOf(transactionId), ['malformed_result'])
  terminal.send(result(transactionId))
  isPaid(await paying)
  await terminal.close()
})

test('[D5.result.own-terminal, D5.result.foreign] a result from another terminal is Forbidden, kept, and brought before a person', async () => {
  const { transactionId, paying, terminal } = await begun()
  const other = await shop.connect(shop.second)
  const refused = await other.ask(result(transactionId))
  assert.deepEqual([refused.error, refused.code], ['Forbidden', 'GROUP_MISMATCH'])
  assert.equal(await stateOf(transactionId), 'PENDING')
  assert.deepEqual(await alarmsOf(transactionId), ['foreign_result'])
  terminal.send(result(transactionId))
  isPaid(await paying)
  await Promise.all([terminal.close(), other.close()])
})

test('[D5.pay.hang-up] a caller that hangs up cancels nothing', async () => {
  const terminal = await shop.connect()
  const transactionId = 'hung-up'
  const body = JSON.stringify({ ...sale, transactionId })
  const leaving = new AbortController()
  const headers = signedHeaders(shop.desktop, { method: 'POST', path: at, bytes: body })
  const init = {
    method: 'POST',
    body,
    headers: { ...headers, 'content-type': 'application/json' },
    signal: leaving.signal,
  }
  const calling = fetch(`${p.url}${at}`, init).catch(() => 'gone')
  await terminal.next('payment')
  leaving.abort()
  assert.equal(await calling, 'gone')
  terminal.send(result(transactionId))
  await becomes(transactionId, 'COMPLETED')
  isPaid(await shop.pay({ transactionId }))
  await terminal.close()
})

test('[D5.machine.pending.cancel, D5.machine.awaiting.cancel, D5.cancel.ok, D5.machine.other.cancel, D5.errors.invalid-state] a cancel asks the terminal, now or when it is back, and its result decides', async () => {
  const { transactionId, paying, terminal } = await begun()
  const asked = await shop.cancel(transactionId)
  assert.deepEqual([asked.status, asked.json.status], [200, 'PENDING'])
  assert.equal((await terminal.next('cancelPayment')).transactionId, transactionId)
  terminal.drop()
  await becomes(transactionId, 'AWAITING_RECONNECT')
  assert.equal((await shop.cancel(transactionId)).json.status, 'AWAITING_RECONNECT')
  const again = await back(transactionId)
  assert.equal((await again.next('cancelPayment')).transactionId, transactionId)
  again.send(result(transactionId, { status: 'CANCELLED' }))
  assert.equal((await paying).json.status, 'CANCELLED')
  assertRefused(at, await shop.cancel(transactionId), 409, 'INVALID_TRANSACTION_STATE')
  await again.close()
})

test('[D5.machine.pending.not-reached] a payment that is known not to have reached the terminal is 502, and failed', async () => {
  const terminal = await shop.connect()
  const connection = statement(
    'test.lostSocket',
    `update terminals.terminals set connection_id = $1 where device_id = $2 returning id`,
  )
  // As after the death of a process: the row says online, and nobody holds the socket.
  await p.kaha.db.run(connection, ['0198f5a2-7c1e-7d3a-9b1f-2a6f0c9d4e11', shop.first.device_id])
  const transactionId = 'not-reached'
  const paying = shop.pay({ transactionId })
  await becomes(transactionId, 'PENDING').catch(() => {})
  await p.advance(11)
  assertRefused(at, await paying, 502, 'TERMINAL_CONNECTION_ERROR')
  assert.deepEqual([await stateOf(transactionId), await announcedOf(transactionId)], ['FAILED', 'payment.failed'])
  assertRefused(at, await shop.pay({ transactionId }), 502, 'TERMINAL_CONNECTION_ERROR')
  terminal.drop()
})
