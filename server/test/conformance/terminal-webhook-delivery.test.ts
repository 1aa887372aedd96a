import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { sql } from '../sql.ts'
import { hooked, paid, readWebhook } from '../terminal-webhooks.ts'
import { approval, result } from '../till.ts'
import { until } from '../until.ts'
import { assertRefused } from './call.ts'

// Area D: what becomes of a payment arrives at the endpoints of its group, signed, once.

test('[D5.webhook.completed, D5.webhook.signature, D5.webhook.payload, D5.webhook.data, D5.webhook.data-status, D5.webhook.ids, D5.webhook.always-sent, D5.amount.webhook] an approved payment is told as payment.completed, signed as Standard Webhooks, with all that it was', async (t) => {
  const p = await hooked(t)
  const terminal = await p.shop.connect()
  const { secret } = await p.made()
  const metadata = { table: 7, deep: { list: [1, 'two', null] } }
  const { json } = await paid(p, terminal, { amount: 150, metadata }, { ...approval, receiptData: 'opaque\n=' })
  const one = p.only()
  assert.equal(one.headers['content-type'], 'application/json')
  const { eventId, timestamp, ...rest } = readWebhook(one, secret)
  assert.deepEqual(rest, {
    eventType: 'payment.completed',
    data: {
      transactionId: json.transactionId,
      status: 'SUCCESS',
      amount: '150.00',
      currency: 'PHP',
      paymentMethod: 'CARD',
      authorizationCode: 'A1B2C3',
      receiptData: 'opaque\n=',
      terminalId: p.shop.first.device_id,
      metadata,
    },
  })
  assert.match(eventId, /^evt_[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  assert.equal(timestamp, json.timestamp)
  // And by a library that is not ours either.
  assert.ok(new Webhook(secret).verify(one.body, one.headers as Record<string, string>))
})

test('D5.amount.webhook: the amount is a string with as many decimals as the currency has, however it was written', async (t) => {
  const p = await hooked(t)
  const terminal = await p.shop.connect()
  await p.made()
  const amounts: [string | number, string, string][] = [
    ['150', 'PHP', '150.00'],
    [99.5, 'USD', '99.50'],
    ['1500', 'JPY', '1500'],
  ]
  for (const [amount, currency] of amounts)
    await paid(p, terminal, { amount, currency }, { ...approval, amount, currency })
  assert.deepEqual(
    p.webhooks().map(({ body }) => JSON.parse(body).data.amount),
    amounts.map(([, , told]) => told),
  )
})

test('[D5.webhook.failed, D5.webhook.cancelled, D5.webhook.data, D5.webhook.data-status] a decline is payment.failed with its code and message, a failure without a code with one that is no decline, a cancel payment.cancelled', async (t) => {
  const p = await hooked(t)
  const terminal = await p.shop.connect()
  const { secret } = await p.made()
  await paid(p, terminal, {}, { status: 'FAILED', errorCode: 'INSUFFICIENT_FUNDS', errorMessage: 'Not enough.' })
  await paid(p, terminal, {}, { status: 'FAILED', errorMessage: 'Paper out' })
  await paid(p, terminal, {}, { status: 'CANCELLED' })
  const [failed, unexplained, cancelled] = p.webhooks().map((one) => readWebhook(one, secret))
  const { status, errorCode, errorMessage, authorizationCode } = failed.data
  assert.deepEqual(
    [failed.eventType, status, errorCode, errorMessage, authorizationCode],
    ['payment.failed', 'FAILED', 'INSUFFICIENT_FUNDS', 'Not enough.', undefined],
  )
  assert.deepEqual([unexplained.eventType, unexplained.data.errorCode], ['payment.failed', 'PAYMENT_FAILED'])
  assert.deepEqual([cancelled.eventType, cancelled.data.status], ['payment.cancelled', 'CANCELLED'])
  assert.equal(p.webhooks().length, 3)
})

test('[D5.webhook.timeout, D5.webhook.one] a payment without a result for 90 s is payment.timeout, and the approval that comes later is voided and told to no endpoint', async (t) => {
  const p = await hooked(t)
  const terminal = await p.shop.connect()
  const { secret } = await p.made()
  const paying = p.shop.pay()
  const { transactionId } = await terminal.next('payment')
  await p.advance(90)
  assertRefused('/terminal/v1', await paying, 504, 'TIMEOUT')
  const { eventType, data } = readWebhook(p.only(), secret)
  assert.deepEqual([eventType, data.status, data.errorCode], ['payment.timeout', 'TIMEOUT', 'TIMEOUT'])
  terminal.send(result(transactionId))
  await terminal.next('voidPayment')
  terminal.send({ action: 'voidResult', transactionId, success: true })
  await terminal.settled()
  await p.advance(86_400)
  assert.equal((await p.shop.read(transactionId)).json.status, 'VOIDED')
  const told = readWebhook(p.only(), secret)
  assert.equal(told.data.authorizationCode, undefined)
})

test('[D5.webhook.one, D5.webhook.timeout] a payment that was given up before the 90 s and then approved is one payment.timeout', async (t) => {
  const p = await hooked(t)
  const terminal = await p.shop.connect()
  const { secret } = await p.made()
  const paying = p.shop.pay()
  const { transactionId } = await terminal.next('payment')
  terminal.drop()
  const isLost = async () => (await p.shop.read(transactionId)).json.status === 'AWAITING_RECONNECT'
  await until('the loss of the line', isLost)
  await p.advance(60)
  assertRefused('/terminal/v1', await paying, 502, 'TERMINAL_CONNECTION_ERROR')
  const back = await p.shop.connect()
  await back.next('paymentStatus')
  back.send(result(transactionId))
  await back.next('voidPayment')
  assert.equal(p.webhooks().length, 0)
  await p.advance(30)
  assert.equal(readWebhook(p.only(), secret).eventType, 'payment.timeout')
  await p.advance(86_400)
  assert.equal(p.webhooks().length, 1)
})

test('[D5.webhook.one, D5.webhook.completed] a payment that is voided on request had its payment.completed, and no other webhook follows', async (t) => {
  const p = await hooked(t)
  const terminal = await p.shop.connect()
  const { secret } = await p.made()
  const { json } = await paid(p, terminal)
  const voiding = p.shop.voids(json.transactionId)
  await terminal.next('voidPayment')
  terminal.send({ action: 'voidResult', transactionId: json.transactionId, success: true })
  assert.equal((await voiding).json.success, true)
  terminal.send(result(json.transactionId))
  await terminal.settled()
  await p.advance(86_400)
  assert.equal(readWebhook(p.only(), secret).eventType, 'payment.completed')
})

test('[D5.webhook.failed, D5.webhook.one] an approval of another amount, and a payment that the terminal lost, are payment.failed', async (t) => {
  const p = await hooked(t)
  const terminal = await p.shop.connect()
  const { secret } = await p.made()
  await paid(p, terminal, {}, { ...approval, amount: '151.00' })
  const paying = p.shop.pay()
  const { transactionId } = await terminal.next('payment')
  terminal.drop()
  const back = await p.shop.connect()
  await back.next('paymentStatus')
  back.send({ action: 'paymentStatus', transactionId, status: 'UNKNOWN' })
  assert.equal((await paying).json.errorCode, 'TERMINAL_LOST_PAYMENT')
  await p.idle()
  const told = p.webhooks().map((one) => readWebhook(one, secret))
  assert.deepEqual(
    told.map(({ eventType, data }) => [eventType, data.errorCode, data.authorizationCode]),
    [
      ['payment.failed', 'AMOUNT_MISMATCH', undefined],
      ['payment.failed', 'TERMINAL_LOST_PAYMENT', undefined],
    ],
  )
})

test('[D5.pay.webhook-mode, D5.given-up.webhook-mode, D5.webhook.always-sent] webhookMode answers 202 PENDING at once, the webhook tells the end, and a repeat gives it', async (t) => {
  const p = await hooked(t)
  const terminal = await p.shop.connect()
  const { secret, endpointId } = await p.made()
  const order = { transactionId: 'order-1', webhookMode: true, metadata: { table: 7 } }
  const first = await p.shop.pay(order)
  const { timestamp, ...shown } = first.json
  assert.match(timestamp, /Z$/)
  assert.deepEqual(
    [first.status, shown],
    [
      202,
      {
        transactionId: 'order-1',
        status: 'PENDING',
        amount: '150.00',
        currency: 'PHP',
        paymentMethod: 'CARD',
        metadata: { table: 7 },
      },
    ],
  )
  assert.deepEqual([(await p.shop.pay(order)).status, p.webhooks().length], [202, 0])
  await terminal.next('payment')
  terminal.send(result('order-1'))
  await terminal.settled()
  await p.idle()
  assert.equal(readWebhook(p.only(), secret).data.status, 'SUCCESS')
  const again = await p.shop.pay(order)
  assert.deepEqual([again.status, again.json.status, again.json.authorizationCode], [200, 'SUCCESS', 'A1B2C3'])
  const silent = { transactionId: 'order-2', webhookMode: true }
  assert.equal((await p.shop.pay(silent)).status, 202)
  await terminal.next('payment')
  await p.advance(90)
  assert.equal(readWebhook(p.webhooks()[1] ?? p.only(), secret).eventType, 'payment.timeout')
  assertRefused('/terminal/v1', await p.shop.pay(silent), 504, 'TIMEOUT')
  // Without an active endpoint nothing new is taken, and what was taken is still itself.
  await p.update(endpointId, { status: 'disabled' })
  assertRefused('/terminal/v1', await p.shop.pay({ webhookMode: true }), 400, 'NO_WEBHOOK_ENDPOINTS')
  assert.equal((await p.shop.pay(order)).status, 200)
  // One whose till waits may not be left to a webhook that nobody gets.
  await p.advance(120)
  const waited = p.shop.pay({ transactionId: 'order-3' })
  await terminal.next('payment')
  const noWebhook = await p.shop.pay({ transactionId: 'order-3', webhookMode: true })
  assertRefused('/terminal/v1', noWebhook, 400, 'NO_WEBHOOK_ENDPOINTS')
  terminal.send(result('order-3'))
  assert.equal((await waited).json.status, 'SUCCESS')
  // Of what has ended nothing is left for a webhook.
  const ended = await p.shop.pay({ transactionId: 'order-3', webhookMode: true })
  assert.deepEqual([ended.status, ended.json.status], [200, 'SUCCESS'])
})

test('an end that no endpoint of the group subscribes to is an event that nobody is sent, and waits for no dispatcher', async (t) => {
  const p = await hooked(t, { settings: { KAHA_ROLES: 'api,gateway' } })
  const terminal = await p.shop.connect()
  const after = async (said?: Record<string, unknown>) => {
    const paying = p.shop.pay()
    const { transactionId } = await terminal.next('payment')
    terminal.send(result(transactionId, said))
    await paying
    const [counts] = await sql<{ events: number; unheard: number; waiting: number }>(
      p.kaha.db,
      `select (select count(*)::integer from delivery.events) as events, (select count(*)::integer from delivery.unsubscribed) as unheard,
         (select count(*)::integer from delivery.outbox) as waiting`,
    )
    return counts
  }
  const declined = { status: 'FAILED', errorCode: 'INSUFFICIENT_FUNDS', errorMessage: 'Not enough.' }
  await p.sdk.webhooks.createEndpoint({ url: `${p.receiver.url}/of-payments`, enabled_events: ['payment.failed'] })
  assert.deepEqual(await after(declined), { events: 1, unheard: 1, waiting: 0 })
  const { endpointId } = await p.made({ events: ['payment.failed'] })
  assert.deepEqual(await after(approval), { events: 2, unheard: 2, waiting: 0 })
  assert.deepEqual(await after(declined), { events: 3, unheard: 2, waiting: 1 })
  await p.update(endpointId, { status: 'disabled' })
  assert.deepEqual(await after(declined), { events: 4, unheard: 3, waiting: 1 })
})
