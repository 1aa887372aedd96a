import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTerminals } from '@kaha/sdk'
import { isUuid } from '../../src/kernel/ids.ts'
import { platform } from '../platform.ts'
import { approval, result, sale, shopOf, signedCall } from '../till.ts'
import { until } from '../until.ts'
import { assertRefused, type Answer } from './call.ts'

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const terminal = await shop.connect()
const at = `/terminal/v1/terminals/${shop.first.device_id}/payments`

/** A payment that the terminal answers so. */
async function paid(fields: Record<string, unknown> = {}, said: Record<string, unknown> = {}) {
  const paying = shop.pay(fields)
  const payment = await terminal.next('payment')
  const amount = payment.paymentRequest.amount
  terminal.send(
    result(payment.transactionId, { ...approval, amount, currency: payment.paymentRequest.currency, ...said }),
  )
  return { payment, answer: await paying }
}

const refusesAmount = async (fields: Record<string, unknown>) =>
  assertRefused(at, await shop.pay(fields), 400, 'INVALID_AMOUNT')
const refuses = async (fields: Record<string, unknown>) =>
  assertRefused(at, await shop.pay(fields), 400, 'INVALID_REQUEST')

test('[D5.pay.ok, D5.machine.none.accepted, D5.machine.pending.success, D5.response.transaction-id, D5.response.status, D5.response.echo, D5.response.authorization-code, D5.response.timestamp, D5.response.metadata, D5.request.metadata, D5.result.request-fields, X0.metadata.terminals] a payment is given what the terminal said, with what the request had', async () => {
  const metadata = { table: 7, deep: { list: [1, 'two', null] } }
  const { payment, answer } = await paid({ metadata }, { metadata: { not: 'ours' }, paymentMethod: 'CASH' })
  assert.equal(answer.status, 200, answer.text)
  const { timestamp, ...rest } = answer.json
  assert.match(timestamp, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  assert.deepEqual(rest, {
    transactionId: payment.transactionId,
    status: 'SUCCESS',
    amount: '150.00',
    currency: 'PHP',
    paymentMethod: 'CARD',
    metadata,
    authorizationCode: 'A1B2C3',
  })
  assert.ok(isUuid(payment.transactionId))
})

test('[D5.response.error, D5.response.receipt-data, D5.machine.pending.failed] a decline is 200 with FAILED, its code and its message, and receipt data passes as it is', async () => {
  const receiptData = 'opaque\n=\u00e9'
  const said = { status: 'FAILED', errorCode: 'INSUFFICIENT_FUNDS', errorMessage: 'Not enough.', receiptData }
  const { answer } = await paid({}, said)
  assert.equal(answer.status, 200)
  const { status, errorCode, errorMessage, authorizationCode } = answer.json
  assert.deepEqual(
    [status, errorCode, errorMessage, authorizationCode],
    ['FAILED', 'INSUFFICIENT_FUNDS', 'Not enough.', undefined],
  )
  assert.equal(answer.json.receiptData, receiptData)
})

test('D5.machine.pending.cancelled: a cancel at the terminal is 200 with CANCELLED', async () => {
  const { answer } = await paid({}, { status: 'CANCELLED' })
  assert.deepEqual([answer.status, answer.json.status], [200, 'CANCELLED'])
})

test('[D5.request.transaction-id, D5.id.form] a transactionId is any name of 1 to 64 letters, digits, dots, underscores and hyphens, and part of a path', async () => {
  for (const transactionId of ['a', 'order-1.B_2', '...', '.a', 'x'.repeat(64)]) {
    const { answer } = await paid({ transactionId })
    assert.deepEqual([answer.status, answer.json.transactionId], [200, transactionId])
  }
  for (const transactionId of ['', '.', '..', 'x'.repeat(65), 'a b', 'a/b', 'ä', 1, null])
    await refuses({ transactionId })
})

test('[D5.id.joins, D5.id.replays, D5.id.unique] the same id joins the running wait, then gives the stored answer, and charges once', async () => {
  const transactionId = 'joined-1'
  const first = shop.pay({ transactionId })
  const payment = await terminal.next('payment')
  const second = shop.pay({ transactionId })
  terminal.send(result(payment.transactionId))
  const answers = [await first, await second, await shop.pay({ transactionId })]
  for (const { status, json } of answers) {
    assert.deepEqual([status, json.status, json.authorizationCode], [200, 'SUCCESS', 'A1B2C3'])
  }
  await terminal.settled()
  assert.equal(terminal.received.filter((one) => one.transactionId === transactionId).length, 1)
})

test('[D5.id.other-body, D5.id.other-terminal] the same id with another body or terminal is a conflict, and charges nothing', async () => {
  const transactionId = 'taken-1'
  await paid({ transactionId, metadata: { order: { table: 4, seat: 2 }, note: 'x' } })
  // JSON has no order of keys: the same body again.
  const again = await shop.pay({ metadata: { note: 'x', order: { seat: 2, table: 4 } }, transactionId })
  assert.deepEqual([again.status, again.json.status], [200, 'SUCCESS'])
  assertRefused(at, await shop.pay({ transactionId, amount: '150.01' }), 409, 'TRANSACTION_CONFLICT')
  assertRefused(at, await shop.pay({ transactionId, metadata: { a: 1 } }), 409, 'TRANSACTION_CONFLICT')
  const other = await shop.connect(shop.second)
  assertRefused(at, await shop.pay({ transactionId }, shop.second.device_id), 409, 'TRANSACTION_CONFLICT')
  await other.settled()
  assert.equal(other.received.filter(({ action }) => action === 'payment').length, 0)
  await other.close()
})

test('[D5.request.amount, D5.request.currency, D5.request.payment-method, D5.errors.invalid-request, D5.errors.envelope, D5.errors.details] amount, currency and paymentMethod are needed, and an error names the field', async () => {
  for (const missing of ['amount', 'currency', 'paymentMethod']) {
    const answer = await shop.pay({ [missing]: undefined })
    assertRefused(at, answer, 400, 'INVALID_REQUEST')
    assert.deepEqual(answer.json.error.details, { field: missing, rule: 'required' })
  }
  await refuses({ currency: 'php' })
  const foreign = await shop.pay({ currency: 'CHF' })
  assertRefused(at, foreign, 400, 'INVALID_REQUEST')
  assert.equal(foreign.json.error.message, 'currency: must be one of USD, EUR, GBP, PHP, JPY, CAD, AUD.')
  await refuses({ paymentMethod: 'CHEQUE' })
  await refuses({ metadata: 'text' })
  for (const bytes of ['', 'no JSON', '[]', '"text"', 'null', '{"amount":'])
    assertRefused(
      at,
      await shop.ask({ method: 'POST', path: at.slice('/terminal'.length), bytes }),
      400,
      'INVALID_REQUEST',
    )
  for (const paymentMethod of ['CARD', 'CASH', 'MOBILE', 'OTHER']) {
    const { answer } = await paid({ paymentMethod }, { paymentMethod })
    assert.deepEqual([answer.status, answer.json.paymentMethod], [200, paymentMethod])
  }
})

test('[D5.amount.form, D5.amount.digits, D5.amount.number, D5.errors.invalid-amount] an amount is a plain decimal over 0 that the currency can hold', async () => {
  const texts = [
    '',
    '0',
    '0.00',
    '-1',
    '+1',
    '1e2',
    '1,000.00',
    ' 1',
    '1.',
    '.5',
    '01',
    '1.001',
    '1234567890123',
    'NaN',
    '₱1',
  ]
  for (const amount of texts) await refusesAmount({ amount })
  for (const amount of [0, -1, 1.001, 1_234_567_890_123, true, null, {}, []]) await refusesAmount({ amount })
  await refusesAmount({ amount: '1.5', currency: 'JPY' })
  for (const written of ['1e2', '150.000000000000001', '0.1e3', '150.0000000000000000']) {
    const bytes = `{"amount":${written},"currency":"PHP","paymentMethod":"CARD"}`
    const answer = await shop.ask({ method: 'POST', path: at.slice('/terminal'.length), bytes })
    assertRefused(at, answer, 400, 'INVALID_AMOUNT')
  }
  // The way out is one that the field has.
  const wayOut = async (fields: Record<string, unknown>) => {
    const answer = await shop.pay({ products: [{ ...line, ...fields }] })
    assertRefused(at, answer, 400, 'INVALID_AMOUNT')
    return answer.json.error.message
  }
  const many = (field: string, way: string) => `products.0.${field}: has more digits than a number can hold; ${way}.`
  assert.equal(await wayOut({ price: 49.999_999_999_999_99 }), many('price', 'send it as a string'))
  assert.equal(await wayOut({ quantity: 1.1 * 3 }), many('quantity', 'round it'))
  assert.equal(await wayOut({ tax: 0.1 + 0.2 }), many('tax', 'round it'))
  assert.equal(await wayOut({ discount: 4.04 * 3 }), many('discount', 'round it'))
})

test('[D5.amount.echo, D5.amount.currencies] a string comes back as it was sent and a number as its value, in each of the seven currencies', async () => {
  for (const amount of ['150', '150.5', '150.50', 150, 150.5, 99.99]) {
    const { answer } = await paid({ amount })
    assert.deepEqual([answer.status, answer.json.amount], [200, amount], answer.text)
  }
  for (const currency of ['USD', 'EUR', 'GBP', 'PHP', 'JPY', 'CAD', 'AUD']) {
    const { answer } = await paid({ amount: '150', currency })
    assert.deepEqual([answer.status, answer.json.currency], [200, currency])
  }
})

const line = { id: 'M', name: 'Mug', price: '50.00', quantity: 3 }

test('[D5.request.products, D5.product.id, D5.product.name, D5.product.price, D5.product.quantity, D5.product.optional] a product needs its id, name, price and quantity, and may say more', async () => {
  for (const missing of ['id', 'name', 'price', 'quantity'])
    await refuses({ products: [{ ...line, [missing]: undefined }] })
  const more = { category: 'Cups', sku: 'MUG-1', brand: 'Tasa', tax: 0, discount: 0 }
  const { payment, answer } = await paid({ products: [{ ...line, ...more, colour: 'red' }] })
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(payment.paymentRequest.products, [{ ...line, ...more }])
})

test('[D5.amount.sum, D5.amount.line, D5.amount.quantity, D5.amount.tax-discount] the amount is the sum of the lines, or that with tax and discount, each line rounded half up', async () => {
  const fits = async (amount: string, ...products: unknown[]) => {
    const { answer } = await paid({ amount, products })
    assert.equal(answer.status, 200, `${amount} ${answer.text}`)
  }
  await fits('150.00', line)
  await fits('160.00', { ...line, tax: 15, discount: 5 })
  await fits('150.00', { ...line, tax: 15, discount: 5 })
  // 0.333 × 10.05 = 3.34665, and 0.5 × 0.01 = 0.005 rounds up.
  await fits('3.35', { ...line, price: '10.05', quantity: 0.333 })
  await fits('0.01', { ...line, price: 0.01, quantity: 0.5 })
  await fits('0.02', { ...line, price: '0.005', quantity: 1 }, { ...line, price: '0.005', quantity: 1 })
  // As many digits as any number of them holds.
  await fits('150.00', { ...line, price: 50.000_000_000_000_1 })
  for (const wrong of [
    { amount: '149.99', products: [line] },
    { amount: '165.00', products: [{ ...line, tax: 15, discount: 5 }] },
    { products: [{ ...line, quantity: 0 }] },
    { products: [{ ...line, quantity: -3 }] },
    { products: [{ ...line, quantity: 3.0001 }] },
    { products: [{ ...line, price: 50.000_000_000_000_01 }] },
    { products: [{ ...line, price: '-50' }] },
    { products: [{ ...line, price: 'fifty' }] },
    { products: [{ ...line, price: '' }] },
    { products: [{ ...line, price: null }] },
    { products: [{ ...line, quantity: '2' }] },
    { products: [{ ...line, tax: '' }] },
  ])
    await refusesAmount(wrong)
  await refuses({ products: [{ quantity: 1 }] })
})

test('[D5.request.customer-info, X0.input.unknown-property.terminals, X0.input.unknown-property.terminals-unstored] customerInfo may name the customer, and what else a till sends is left aside', async () => {
  const customerInfo = { customerId: 'C1', email: 'a@b.test', phone: '+63 2 1' }
  const { payment } = await paid({ customerInfo: { ...customerInfo, loyalty: true }, clerk: 'Ana', unknown: { a: 1 } })
  assert.deepEqual(payment.paymentRequest, { transactionId: payment.transactionId, ...sale, customerInfo })
  const record = await shop.read(payment.transactionId)
  assert.deepEqual(record.json.request, payment.paymentRequest)
})

test('[D5.pay.webhook-mode-no-endpoint] webhookMode without an active endpoint is refused, and nothing is sent', async () => {
  assertRefused(at, await shop.pay({ webhookMode: true }), 400, 'NO_WEBHOOK_ENDPOINTS')
  await refuses({ webhookMode: 'yes' })
})

test('[D5.machine.none.unknown-terminal, D5.machine.none.offline, D5.errors.group-mismatch, D5.errors.transaction-not-found, I1.foreign.terminals] terminals that are unknown, offline or of another group take no payment', async () => {
  const nowhere = await shop.pay({}, 'nowhere')
  assertRefused(at, nowhere, 404, 'TERMINAL_NOT_FOUND')
  const terminal2 = await shop.connect(shop.second)
  await terminal2.close()
  await until('the end of the second terminal', async () => {
    const { terminals } = (await shop.ask({ path: '/v1/terminals' })).json as { terminals: { deviceId?: string }[] }
    return !terminals.some(({ deviceId }) => deviceId === shop.second.device_id)
  })
  const offline = await shop.pay({}, shop.second.device_id)
  assertRefused(at, offline, 503, 'TERMINAL_OFFLINE')
  const others = shopOf(p, p.seed.merchants[1])
  const foreign = await signedCall(p.url, others.desktop, {
    method: 'POST',
    path: at.slice('/terminal'.length),
    body: sale,
  })
  assertRefused(at, foreign, 403, 'GROUP_MISMATCH')
  const mine = await paid({ transactionId: 'ours-alone' })
  assert.equal(mine.answer.status, 200)
  for (const { method, path } of [
    { method: 'GET', path: '/v1/transactions/ours-alone' },
    { method: 'POST', path: '/v1/transactions/ours-alone/void' },
    { method: 'POST', path: '/v1/transactions/ours-alone/cancel' },
  ]) {
    assertRefused(at, await others.ask({ method, path }), 403, 'GROUP_MISMATCH')
    assertRefused(
      at,
      await others.ask({ method, path: path.replace('ours-alone', 'nobodys') }),
      404,
      'TRANSACTION_NOT_FOUND',
    )
  }
  const theirs = await others.ask({ path: '/v1/transactions' })
  assert.deepEqual([theirs.status, theirs.json.count], [200, 0])
})

test('[D5.list.ok, D5.list.connected, D5.list.group, D5.terminal.connection-id, D5.terminal.terminal-id, D5.terminal.device-id, D5.terminal.times, D5.terminal.status, D5.resolve.device-first] the list shows the terminals of the group that are there, and a terminal is found by device id and by connection id', async () => {
  const list = async () => (await shop.ask({ path: '/v1/terminals' })).json
  const before = await list()
  assert.equal(before.count, 1)
  const [shown] = before.terminals
  const { connectionId, connectedAt, lastActivity, ...rest } = shown
  assert.deepEqual(rest, { terminalId: shop.first.device_id, deviceId: shop.first.device_id, status: 'online' })
  assert.ok(isUuid(connectionId) && Date.parse(connectedAt) <= Date.parse(lastActivity))
  const paying = shop.pay({}, connectionId)
  const payment = await terminal.next('payment')
  assert.equal(payment.connectionId, connectionId)
  terminal.send(result(payment.transactionId))
  assert.equal((await paying).status, 200)
  const others = shopOf(p, p.seed.merchants[1])
  assert.deepEqual((await others.ask({ path: '/v1/terminals' })).json.terminals, [])
  const again = await shop.connect(shop.second)
  const bare = await shop.connect({ api_key: shop.second.api_key, api_secret: '' })
  await again[Symbol.asyncDispose]()
  const listed = (await list()).terminals.find((one: { deviceId?: string }) => one.deviceId === undefined)
  assert.equal(listed.terminalId, listed.connectionId)
  await bare.close()
})

test('[D5.transaction.ok, D5.record.fields, D5.record.response, D5.record.completed-at, D5.record.terminal-device-id] a record tells of the request, the response and the times', async () => {
  const { payment, answer } = await paid({ metadata: { a: 1 } })
  const { status, json } = await shop.read(payment.transactionId)
  assert.equal(status, 200)
  const { createdAt, updatedAt, completedAt, timestamp, ...rest } = json
  assert.deepEqual(rest, {
    transactionId: payment.transactionId,
    status: 'COMPLETED',
    request: { transactionId: payment.transactionId, ...sale, metadata: { a: 1 } },
    response: answer.json,
    terminalDeviceId: shop.first.device_id,
  })
  assert.ok(createdAt <= updatedAt && updatedAt <= completedAt && completedAt <= timestamp)
})

test('D5.transactions.ok: transactions are listed newest first, page by page, and by status, terminal and time', async () => {
  const all: string[] = []
  let cursor: string | null = null
  do {
    const page: Answer = await shop.ask({
      path: `/v1/transactions?pageSize=7${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    })
    assert.equal(page.status, 200, page.text)
    all.push(...page.json.transactions.map(({ transactionId }: { transactionId: string }) => transactionId))
    assert.equal(page.json.count, page.json.transactions.length)
    cursor = page.json.nextCursor
  } while (cursor !== null)
  assert.ok(all.length > 20 && new Set(all).size === all.length)
  const { api_key: apiKey, api_secret: apiSecret } = shop.desktop
  const client = createTerminals({ baseUrl: `${p.url}/terminal`, apiKey, apiSecret })
  const byClient: string[] = []
  for await (const { transactionId } of client.listAllTransactions({ pageSize: 7 })) byClient.push(transactionId)
  assert.deepEqual(byClient, all)
  const only = async (query: string) => (await shop.ask({ path: `/v1/transactions?${query}` })).json
  const cancelled = await only('status=CANCELLED')
  assert.equal(cancelled.count, 1)
  for (const status of ['CANCELLED,FAILED', 'FAILED,CANCELLED,FAILED'])
    assert.equal((await only(`status=${status}`)).count, 2)
  assert.equal((await only(`terminalId=${shop.second.device_id}`)).count, 0)
  assert.equal((await only(`terminalId=${shop.first.device_id}&pageSize=100`)).count, all.length)
  const { createdAt } = cancelled.transactions[0]
  const { transactions } = await only(`dateFrom=${createdAt}&dateTo=${createdAt}`)
  assert.deepEqual(
    transactions.map((one: { transactionId: string }) => one.transactionId),
    [cancelled.transactions[0].transactionId],
  )
  const finer = (digits: string) => createdAt.replace('Z', `${digits}Z`)
  for (const [dateFrom, dateTo, count] of [
    [finer('0'), finer('9'), 1],
    [finer('1'), finer('9'), 0],
    [finer('000000000000'), finer('000000000001'), 1],
    [finer('000000000001'), finer('9'), 0],
  ])
    assert.equal((await only(`dateFrom=${dateFrom}&dateTo=${dateTo}`)).count, count)
  const list = '/terminal/v1/transactions'
  for (const wrong of [
    'pageSize=0',
    'pageSize=101',
    'status=OPEN',
    'dateFrom=today',
    'cursor=x',
    'page=1',
    `dateFrom=${createdAt}&dateTo=2020-01-01T00:00:00Z`,
  ])
    assertRefused(list, await shop.ask({ path: `/v1/transactions?${wrong}` }), 400, 'INVALID_REQUEST')
})

test('D5.transactions.ok: payments at a terminal without a device id are found by the connection id that they named, and by the present one', async () => {
  const { api_key, api_secret } = shop.second
  const connectionId = async () => {
    const { terminals } = (await shop.ask({ path: '/v1/terminals' })).json
    return terminals.find(({ deviceId }: { deviceId?: string }) => deviceId === undefined).connectionId as string
  }
  const unnamed = await shop.connect({ api_key, api_secret })
  const then = await connectionId()
  const transactionId = 'by-connection'
  const paying = shop.pay({ transactionId }, then)
  await unnamed.next('payment')
  unnamed.send(result(transactionId))
  assert.equal((await paying).status, 200)
  const back = await shop.connect({ api_key, api_secret })
  const now = await connectionId()
  assert.notEqual(now, then)
  for (const id of [then, now]) {
    const { transactions } = (await shop.ask({ path: `/v1/transactions?terminalId=${id}` })).json
    assert.deepEqual(
      transactions.map((one: { transactionId: string }) => one.transactionId),
      [transactionId],
      id,
    )
  }
  await back.close()
})

test('[D5.response.error, B3.status.failed.terminals] a terminal that fails without a code has not been declined: the code is PAYMENT_FAILED, and its message is passed on', async () => {
  for (const code of [{}, { errorCode: '' }, { errorCode: null }]) {
    const { answer } = await paid({}, { status: 'FAILED', errorMessage: 'Paper out', ...code })
    const { status, errorCode, errorMessage } = answer.json
    assert.deepEqual([status, errorCode, errorMessage], ['FAILED', 'PAYMENT_FAILED', 'Paper out'])
    const { data } = await p.sdk.reports.listTransactions({ page_size: 1 })
    assert.equal(data[0]?.status, 'FAILED')
  }
})
