import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { statement } from '../../src/kernel/db.ts'
import { hooked, paid } from '../terminal-webhooks.ts'
import { approval, result, sale, shopOf, type Wire } from '../till.ts'
import { platform } from '../platform.ts'
import { until } from '../until.ts'
import { assertRefused } from './call.ts'

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
  for (const wrong of [
    { authorizationCode: 'A\0' },
    { status: 'FAILED', errorMessage: '\ud800' },
    { currency: '\0' },
  ]) {
    const { transactionId, paying } = await begun()
    const refused = await terminal.ask(result(transactionId, { ...approval, ...wrong }))
    assert.deepEqual([refused.error, refused.code], ['Bad Request', 'INVALID_REQUEST'])
    assert.match(refused.message, cannot)
    assert.equal((await shop.read(transactionId)).json.status, 'PENDING')
    assert.deepEqual(await alarmsOf(transactionId), ['malformed_result'])
    terminal.send(
      result(transactionId, {
        ...approval,
        emv: '\0',
        errorMessage: '\ud800',
        errorCode: '\0',
        metadata: { 'a\0': 1 },
      }),
    )
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

test('[D5.message.request-id] a requestId of a terminal that is none, and what else nobody reads, is no cause to refuse a result or a void', async () => {
  for (const odd of [null, '', 7, ['x'], 'x'.repeat(200)]) {
    const { transactionId, paying } = await begun()
    terminal.send({ ...result(transactionId, { ...approval, paymentMethod: odd }), requestId: odd })
    assert.equal((await paying).json.status, 'SUCCESS')
    terminal.send({ action: 'voidResult', transactionId, success: true, voidedAt: odd, requestId: odd })
    await terminal.settled()
    assert.equal((await shop.read(transactionId)).json.status, 'VOIDED')
    assert.deepEqual(await alarmsOf(transactionId), [])
    // It comes when it comes, and must not come between what follows.
    await until('the push of the void', () =>
      till.received.some((one) => one.action === 'paymentVoided' && one.transactionId === transactionId),
    )
  }
  for (const wire of [terminal, till]) {
    const before = wire.received.length
    wire.send({ action: 'ping', requestId: null })
    await wire.settled()
    assert.deepEqual(
      wire.received.slice(before).map(({ action }) => action),
      ['pong', 'pong'],
    )
  }
})

test('[D5.result.amount-mismatch] an amount that is the same in another spelling is no other amount', async () => {
  for (const [amount, currency, spellings] of [
    ['150.00', 'PHP', ['150', '150.0', '150.000', '0150.00', 150]],
    ['1500', 'JPY', ['1500.00', '1500.0', 1500]],
  ] as const) {
    for (const spelling of spellings) {
      const paying = shop.pay({ amount, currency })
      const { transactionId } = await terminal.next('payment')
      terminal.send(result(transactionId, { ...approval, amount: spelling, currency }))
      const { json } = await paying
      assert.deepEqual([json.status, json.amount], ['SUCCESS', amount], String(spelling))
    }
  }
})

test('[D5.message.request-id] any other message with NUL is told so, with its requestId', async () => {
  for (const message of [
    { action: 'payment', terminalId: shop.first.device_id, paymentRequest: { ...sale, metadata: { note: '\0' } } },
    { action: 'voidPayment', transactionId: 'x', reason: '\ud800' },
    { action: 'ping', more: '\0' },
  ]) {
    const refused = await till.ask(message)
    assert.deepEqual([refused.error, refused.code], ['Bad Request', 'INVALID_REQUEST'])
    assert.match(refused.message, /cannot be kept: NUL/)
  }
})

const numbers =
  '{"id":12345678901234567890,"e":1e400,"tiny":1e-400,"one":1.0,"minus":-0,"in":{"a":[0.10,9007199254740993]},"text":"1.0"}'
const bodyOf = (transactionId: string, metadata: string) =>
  `\ufeff{ "transactionId": "${transactionId}", "amount": "150.00", "currency": "PHP", "paymentMethod": "CARD", "metadata": ${metadata} }`
const path = `/v1/terminals/${shop.first.device_id}/payments`
const payBytes = (ask: typeof shop.ask, bytes: string) => ask({ method: 'POST', path, bytes })

test('[D5.response.metadata, D5.id.other-body] numbers of metadata are the numbers that they were sent as, everywhere, and another number is another body', async (t) => {
  const its = await hooked(t)
  const [there, desk] = [await its.shop.connect(), await its.shop.till()]
  await its.made()
  const frames: string[] = []
  for (const { socket } of [there, desk]) socket.on('message', (data: Buffer) => frames.push(data.toString()))
  const transactionId = 'digits'
  const paying = payBytes(its.shop.ask, bodyOf(transactionId, numbers))
  await there.next('payment')
  there.send(result(transactionId))
  await desk.next('paymentComplete')
  const texts = [
    (await paying).text,
    (await payBytes(its.shop.ask, bodyOf(transactionId, numbers.replace('1.0', '1')))).text,
    (await its.shop.read(transactionId)).text,
    (await its.shop.ask({ path: '/v1/transactions' })).text,
    ...frames.filter((frame) => frame.includes('digits')),
  ]
  assert.equal(texts.length, 6)
  await its.idle()
  const kept = numbers.replace('1.0', '1').replace('-0', '0').replace('0.10', '0.1')
  for (const text of [...texts, its.only().body]) assert.ok(text.includes(`"metadata":${kept}`), text)
  for (const [one, other] of [
    ['12345678901234567890', '12345678901234567891'],
    ['1e400', '1e401'],
  ] as const) {
    const answer = await payBytes(its.shop.ask, bodyOf(transactionId, numbers.replace(one, other)))
    assertRefused('/terminal/v1', answer, 409, 'TRANSACTION_CONFLICT')
  }

  const asked = bodyOf('digits-2', numbers).slice(1)
  desk.send(`{"action":"payment","terminalId":"${its.shop.first.device_id}","paymentRequest":${asked}}`)
  await there.next('payment')
  const arrived = frames.find((frame) => frame.startsWith('{"action":"payment","transactionId":"digits-2"'))
  assert.ok(arrived?.includes(`"metadata":${kept}`))
})

test('a payment is at most as large as what its terminal can be sent, and one with numbers that only text holds is small', async (t) => {
  const its = await hooked(t)
  const there = await its.shop.connect()
  const list = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(',')}]`
  const asked = (transactionId: string, metadata: string) => payBytes(its.shop.ask, bodyOf(transactionId, metadata))
  const payWith = async (transactionId: string, metadata: string) => {
    const paying = asked(transactionId, metadata)
    await there.next('payment')
    there.send(result(transactionId))
    return paying
  }
  const whole = `{"note":"${'x'.repeat(60_000)}"}`
  const large = await payWith('large', whole)
  assert.ok(large.status === 200 && large.text.includes(`"metadata":${whole}`))
  const numerous = await payWith('numerous', `{"a":${list(20_000, '1.0')}}`)
  assert.deepEqual([numerous.status, numerous.json.metadata.a.length], [200, 20_000])
  assert.equal((await payWith('long', `{"a":${list(300, '12345678901234567890')}}`)).status, 200)
  for (const metadata of [
    `{"note":"${'x'.repeat(62_000)}"}`,
    `{"note":"${'漢'.repeat(21_000)}"}`,
    `{"a":${list(500, '12345678901234567890')}}`,
  ])
    assertRefused('/terminal/v1', await asked('refused', metadata), 400, 'INVALID_REQUEST')
})

test('[D5.webhook.update] metadata of an endpoint with a number that would come back as another is refused', async (t) => {
  const its = await hooked(t)
  const { endpointId } = await its.made({ metadata: { n: 1.5 } })
  const at = '/v1/webhooks/endpoints'
  const fields = `"url":"${its.receiver.url}","events":["payment.failed"]`
  for (const number of ['9007199254740993', '1e400']) {
    for (const [method, address, more] of [
      ['POST', at, `${fields},`],
      ['PUT', `${at}/${endpointId}`, ''],
    ] as const) {
      const refused = await its.shop.ask({ method, path: address, bytes: `{${more}"metadata":{"a":[${number}]}}` })
      assertRefused('/terminal/v1', refused, 400, 'INVALID_REQUEST')
      assert.deepEqual(refused.json.error.details, { field: 'metadata', rule: 'digits' })
    }
  }
  const taken = await its.shop.ask({ method: 'PUT', path: `${at}/${endpointId}`, bytes: `{"metadata":{"n":1.50}}` })
  assert.deepEqual([taken.status, taken.json.metadata], [200, { n: 1.5 }])
})

test('[D5.result.malformed, D5.message.request-id] a message that nests too deep is a Bad Request however deep it is, and alerts where it is a result', async () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const fields = '"amount":"150.00","currency":"PHP","paymentMethod":"CARD"'
  const at = `"action":"payment","terminalId":"${shop.first.device_id}"`
  const isRefused = async (wire: Wire, message: string) => {
    const requestId = randomUUID()
    wire.send(`{"requestId":"${requestId}",${message}}`)
    await wire.settled()
    const refused = wire.received.find((one) => one.requestId === requestId)
    assert.deepEqual([refused?.error, refused?.code], ['Bad Request', 'INVALID_REQUEST'])
    assert.match(refused.message, /deeper than 100 levels/)
  }
  for (const levels of [101, 3_000, 20_000]) {
    await isRefused(till, `"action":"ping","more":${nested(levels)}`)
    await isRefused(till, `${at},"paymentRequest":{${fields},"metadata":{"a":${nested(levels)}}}`)
  }
  const { transactionId, paying } = await begun({ metadata: { a: JSON.parse(nested(90)) as unknown } })
  const paymentResponse = `{"status":"FAILED","more":${nested(20_000)}}`
  const about = `"action":"paymentResponse","transactionId":"${transactionId}"`
  await isRefused(terminal, `${about},"paymentResponse":${paymentResponse}`)
  assert.deepEqual(await alarmsOf(transactionId), ['malformed_result'])
  terminal.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
})

test('[D5.result.malformed] a key that stands twice is refused over HTTP and in a message, and alerts in a result', async () => {
  const sold = '"currency":"PHP","paymentMethod":"CARD"'
  const twice = `"amount":"1.00","amount":"150.00"`
  const refused = await payBytes(shop.ask, `{${twice},${sold}}`)
  assertRefused('/terminal/v1', refused, 400, 'INVALID_REQUEST')
  const hears = async (wire: Wire, message: string) => {
    const requestId = randomUUID()
    wire.send(`{"requestId":"${requestId}",${message}}`)
    await wire.settled()
    const heard = wire.received.find((one) => one.requestId === requestId)
    assert.deepEqual([heard?.error, heard?.code], ['Bad Request', 'INVALID_REQUEST'])
    assert.match(heard.message, /has a key twice/)
  }
  await hears(till, `"action":"payment","terminalId":"${shop.first.device_id}","paymentRequest":{${twice},${sold}}`)
  const { transactionId, paying } = await begun()
  const about = `"action":"paymentResponse","transactionId":"${transactionId}"`
  await hears(terminal, `${about},"paymentResponse":{"status":"FAILED","status":"CANCELLED"}`)
  assert.deepEqual(await alarmsOf(transactionId), ['malformed_result'])
  terminal.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
})

test('[X0.input.unknown-property.terminals] an operation of area D that takes no body leaves aside what one says, as long as it is an object', async () => {
  const { transactionId, paying } = await begun()
  const cancel = (body: unknown) => shop.ask({ method: 'POST', path: `/v1/transactions/${transactionId}/cancel`, body })
  const cancelled = await cancel({ reason: 'x' })
  assert.deepEqual([cancelled.status, cancelled.json.transactionId], [200, transactionId])
  for (const body of [[], 'x', null]) assertRefused('/terminal/v1', await cancel(body), 400, 'INVALID_REQUEST')
  terminal.send(result(transactionId, { status: 'CANCELLED' }))
  assert.equal((await paying).json.status, 'CANCELLED')
})

test('[D5.result.malformed, D5.result.foreign, D5.machine.final.result] what is alerted of a payment, or was said of it before, changes nothing of it', async () => {
  const other = await shop.connect(shop.second)
  const { transactionId, paying } = await begun()
  const standing = async () => {
    const { timestamp: _, ...record } = (await shop.read(transactionId)).json
    return record
  }
  const before = await standing()
  await other.ask(result(transactionId))
  await terminal.ask(result(transactionId, { ...approval, authorizationCode: '' }))
  await terminal.ask(result(transactionId, { status: 'DONE' }))
  assert.deepEqual((await alarmsOf(transactionId)).toSorted(), ['foreign_result', 'malformed_result'])
  assert.deepEqual(await standing(), before)
  terminal.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  terminal.send({ action: 'voidResult', transactionId, success: true })
  await terminal.settled()
  const voided = await standing()
  assert.equal(voided.status, 'VOIDED')
  terminal.send({ action: 'voidResult', transactionId, success: true, reason: 'again' })
  await terminal.ask(result(transactionId, { ...approval, authorizationCode: null }))
  assert.deepEqual(await standing(), voided)
  await other.close()
})

test('[D5.message.payment, X0.input.unknown-property.terminals] webhookMode, which is for calls that wait, is left aside over a socket', async () => {
  const transactionId = 'socket-webhook-mode'
  const paying = (more: Record<string, unknown>) =>
    till.ask({
      action: 'payment',
      terminalId: shop.first.device_id,
      paymentRequest: { ...sale, transactionId, ...more },
    })
  assert.equal((await paying({ webhookMode: true })).action, 'paymentAccepted')
  await terminal.next('payment')
  for (const webhookMode of [undefined, 'x']) assert.equal((await paying({ webhookMode })).action, 'paymentAccepted')
  terminal.send(result(transactionId))
  assert.equal((await shop.pay({ transactionId })).json.status, 'SUCCESS')
})

test('[D5.id.joins, D5.message.payment-again] a payment is the same however it is to be answered: without waiting, with, or over a socket', async (t) => {
  const its = await hooked(t)
  await its.made()
  const [there, desktop] = [await its.shop.connect(), await its.shop.till()]
  for (const webhookMode of [true, false]) {
    const transactionId = `mode-${webhookMode}`
    const first = its.shop.pay({ transactionId, webhookMode })
    await there.next('payment')
    for (const mode of [true, false, undefined]) {
      const paymentRequest = { ...sale, transactionId, webhookMode: mode }
      const again = await desktop.ask({ action: 'payment', terminalId: its.shop.first.device_id, paymentRequest })
      assert.equal(again.action, 'paymentAccepted')
    }
    assert.equal((await its.shop.pay({ transactionId, webhookMode: true })).status, 202)
    const joins = its.shop.pay({ transactionId })
    there.send(result(transactionId))
    assert.deepEqual([(await first).status, (await joins).json.status], [webhookMode ? 202 : 200, 'SUCCESS'])
    const other = await its.shop.pay({ transactionId, amount: '150.01' })
    assert.deepEqual([other.status, other.json.error.code], [409, 'TRANSACTION_CONFLICT'])
  }
  await Promise.all([there.close(), desktop.close()])
})

test('[D5.push.missed] a desktop is told of all that it missed, also where that is more than a socket may have unread', async (t) => {
  const its = await hooked(t)
  const there = await its.shop.connect()
  const note = `{"note":"${'x'.repeat(50_000)}"}`
  const missed = Array.from({ length: 150 }, (_, number) => `missed-${number}`)
  for (const transactionId of missed) {
    const paying = payBytes(its.shop.ask, bodyOf(transactionId, note))
    await there.next('payment')
    there.send(result(transactionId))
    assert.equal((await paying).status, 200)
  }
  const desk = await its.shop.till()
  for (const transactionId of missed) {
    const told = await desk.next('paymentComplete')
    assert.equal(told['transactionId'], transactionId)
  }
})
