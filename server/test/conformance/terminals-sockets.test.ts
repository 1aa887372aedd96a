import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { statement } from '../../src/kernel/db.ts'
import { isUuid } from '../../src/kernel/ids.ts'
import { platform } from '../platform.ts'
import { result, sale, shopOf, wire, type Wire } from '../till.ts'
import { until } from '../until.ts'
import { assertRefused, call } from './call.ts'
import { whileHeld } from './shop.ts'

const p = await platform({ after })
const shop = shopOf(p)
const others = shopOf(p, p.seed.merchants[1])
after(() => shop[Symbol.asyncDispose]())
after(() => others[Symbol.asyncDispose]())
const till = await shop.till()
const far = await others.till()

const refusedWith = async (opening: Promise<Wire>, status: number, code: string) => {
  await assert.rejects(opening, (error: { status?: number; json?: { error?: { code?: string } } }) => {
    assert.deepEqual([error.status, error.json?.error?.code], [status, code])
    return true
  })
}
const shown = async (): Promise<{ status: string; connectionId: string; terminalId: string }[]> =>
  (await shop.ask({ path: '/v1/terminals' })).json.terminals
const statusOf = async (terminalId: string) => (await shown()).find((one) => one.terminalId === terminalId)?.status
const updates = (of: Wire) => of.received.filter(({ action }) => action === 'terminalStatusUpdate')
/** The next status of a terminal that the till is told of. */
const update = async () => {
  const { timestamp, groupId, version, action: _, ...rest } = await till.next('terminalStatusUpdate')
  assert.match(timestamp, /Z$/)
  assert.deepEqual([groupId, version], [shop.groupId, 'v1'])
  return rest
}
const device = shop.first.device_id

test('[D5.handshake.header, D5.handshake.query, D5.handshake.device, D5.handshake.group, X0.addresses.socket-version] a socket is authenticated in the handshake, by header or query', async () => {
  for (const options of [{}, { inQuery: true }, { groupId: shop.groupId }]) {
    const one = await shop.connect(shop.first, options)
    const { connectionId, terminalInfo, ...rest } = await update()
    assert.deepEqual(rest, { terminalId: device, deviceId: device, status: 'connected' })
    assert.ok(isUuid(connectionId) && terminalInfo.connectionId === connectionId)
    await one.close()
    assert.deepEqual(await update(), { terminalId: device, status: 'disconnected' })
  }
})

test('[D5.handshake.unauthorized, D5.handshake.forbidden] a handshake without a good key is 401, for another group or a wrong role 403, elsewhere 404', async () => {
  const bad = (api_key: string) => wire(p.url, { api_key, api_secret: '' })
  for (const key of ['', 'x', `tk_${'0'.repeat(32)}`, p.merchant.secret_key])
    await refusedWith(bad(key), 401, 'UNAUTHORIZED')
  await refusedWith(wire(p.url, shop.first, { groupId: others.groupId }), 403, 'GROUP_MISMATCH')
  await refusedWith(wire(p.url, shop.desktop, { deviceId: device }), 403, 'GROUP_MISMATCH')
  await refusedWith(wire(p.url, shop.first, { path: '/terminal/v2' }), 404, 'NOT_FOUND')
  for (const deviceId of ['x'.repeat(65), '.', '..'])
    await refusedWith(wire(p.url, shop.first, { deviceId }), 400, 'INVALID_REQUEST')
})

test('a handshake that comes to a process which takes no sockets is refused for now, and seen by an operator', async () => {
  const api = await p.another({ KAHA_ROLES: 'api' })
  await refusedWith(wire(api.localUrl, shop.first), 503, 'UNAVAILABLE')
  await refusedWith(wire(p.url, { api_key: 'x', api_secret: '' }), 401, 'UNAUTHORIZED')
  for (const [url, status] of [
    [api.localUrl, 503],
    [p.url, 401],
  ] as const) {
    const { text } = await call(url, { path: '/metrics' })
    assert.match(
      text,
      new RegExp(`^kaha_http_requests_total{operation="terminals.connect",status="${status}"} [1-9]`, 'm'),
    )
  }
  assert.ok(p.logged.some((line) => line.includes('a handshake was refused') && line.includes('"status":401')))
})

test('a request that is no whole handshake is 400, and takes the place of no socket', async () => {
  const one = await shop.connect()
  const { connectionId } = await update()
  const upgrade = {
    connection: 'upgrade',
    upgrade: 'websocket',
    'x-api-key': shop.first.api_key,
    'x-device-id': device,
  }
  const whole = { ...upgrade, 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' }
  const path = '/terminal/v1'
  for (const headers of [
    upgrade,
    { ...whole, 'sec-websocket-key': 'x' },
    { ...whole, 'sec-websocket-version': '12' },
    ...[',', 'a,', 'a,,b', 'a b', '"a"', 'a, b, a'].map((names) => ({ ...whole, 'sec-websocket-protocol': names })),
  ]) {
    const answer = await call(p.url, { path, headers })
    assertRefused(path, answer, 400, 'INVALID_REQUEST')
    assert.equal(answer.headers['sec-websocket-version'], '13')
  }
  for (const twice of ['?x-api-key=a&x-api-key=b', '?x-group-id=a&x-group-id=b'])
    assertRefused(path, await call(p.url, { path: path + twice, headers: whole }), 400, 'INVALID_REQUEST')
  const devices = { ...whole, 'x-device-id': [device, device] }
  assertRefused(path, await call(p.url, { path, headers: devices }), 400, 'INVALID_REQUEST')
  assertRefused(path, await call(p.url, { method: 'POST', path, headers: whole }), 400, 'INVALID_REQUEST')
  await one.settled()
  assert.deepEqual([one.closed, (await shown()).map((terminal) => terminal.connectionId)], [null, [connectionId]])
  await one.close()
  await update()
})

test('[D5.handshake.rate] a handshake over the rate limit is 429', async (t) => {
  const frozen = Date.now()
  const limited = await platform(t, { settings: { KAHA_RATE_LIMIT: '1' }, choices: { wall: () => frozen } })
  const { desktop } = limited.merchant.terminal_group
  for (let n = 0; n < 2; n += 1) (await wire(limited.url, desktop)).drop()
  await refusedWith(wire(limited.url, desktop), 429, 'RATE_LIMITED')
})

test('[D5.socket.one-per-key, D5.socket.one-per-device, D5.socket.late-close, D5.connection.anew, D5.disconnect.form, D5.disconnect.api-key-used-elsewhere, D5.connection.connects, D5.push.connected] the newest connection wins, and the late close of the older one unregisters nothing', async () => {
  const older = await shop.connect()
  const first = await update()
  const newer = await shop.connect()
  const second = await update()
  assert.deepEqual([first.status, second.status], ['connected', 'connected'])
  assert.notEqual(first.connectionId, second.connectionId)
  const { reason, message } = await older.next('forceDisconnect')
  assert.equal(reason, 'api_key_used_elsewhere')
  assert.ok(message.length > 0)
  await until('the close', () => older.closed !== null)
  assert.equal(older.closed, 4001)
  assert.equal(await statusOf(device), 'online')
  assert.equal((await shown())[0]?.connectionId, second.connectionId)
  const paying = shop.pay()
  newer.send(result((await newer.next('payment')).transactionId))
  assert.equal((await paying).status, 200)
  await newer.close()
  assert.equal((await update()).status, 'disconnected')
})

test('[D5.socket.identity, D5.socket.device-claimed, D5.connection.key-moves] a device id belongs to the key that used it first, and a key that moves to another leaves the first', async () => {
  const one = await shop.connect(shop.first)
  await update()
  await refusedWith(wire(p.url, shop.second, { deviceId: device }), 403, 'GROUP_MISMATCH')
  const moved = await shop.connect({ ...shop.first, device_id: 'counter-2' })
  assert.deepEqual(await update(), { terminalId: device, status: 'disconnected' })
  assert.equal((await update()).terminalId, 'counter-2')
  await until('the close', () => one.closed === 4001)
  await moved.close()
  await update()
  const bare = await shop.connect({ api_key: shop.first.api_key, api_secret: '' })
  const { terminalId, connectionId, deviceId } = await update()
  assert.deepEqual([terminalId, deviceId], [connectionId, undefined])
  // By which a till may name it: another's payments would go to whoever took that for its own.
  await refusedWith(wire(p.url, shop.second, { deviceId: connectionId }), 403, 'GROUP_MISMATCH')
  bare.drop()
  assert.deepEqual(await update(), { terminalId: connectionId, status: 'disconnected' })
  const own = await shop.connect({ ...shop.first, device_id: connectionId })
  assert.equal((await update()).deviceId, connectionId)
  await own.close()
  await update()
})

test('[D5.socket.device-claimed] of two keys that name a new device id in one moment one gets it, and who connects beside them is let in', async () => {
  const claimed = (deviceId: string) =>
    `insert into terminals.terminals (id, group_id, partner_id, merchant_id, branch_id, key_id, device_id, connection_id, status,
        connected_at, last_activity_at)
     select gen_random_uuid(), group_id, partner_id, merchant_id, branch_id, gen_random_uuid(), '${deviceId}', gen_random_uuid(), 'offline', now(),
            now() from terminals.terminals where device_id = '${device}'`
  const late = (deviceId: string) => refusedWith(wire(p.url, shop.second, { deviceId }), 403, 'GROUP_MISMATCH')
  // What goes to the database together waits there for the claim of a third key that is not stored yet.
  await whileHeld(p, claimed('counter-3'), [() => late('counter-3')], async () => {})
  const both = () => Promise.all([late('counter-4'), shop.connect().then((one) => one.close())])
  await whileHeld(p, claimed('counter-4'), [both], async () => {})
  assert.deepEqual([(await update()).status, (await update()).status], ['connected', 'disconnected'])
})

test('[D5.connection.lost, D5.connection.grace, D5.connection.closed, D5.connection.lost-no-device, D5.push.reconnecting, D5.push.disconnected] a terminal whose line is lost is reconnecting for 60 s, one that says goodbye is offline', async () => {
  const one = await shop.connect()
  await update()
  one.drop()
  assert.deepEqual(await update(), { terminalId: device, deviceId: device, status: 'reconnecting' })
  assert.equal(await statusOf(device), 'reconnecting')
  assert.equal((await shop.pay()).json.error.code, 'TERMINAL_OFFLINE')
  await p.advance(45)
  assert.equal(await statusOf(device), 'reconnecting')
  await p.advance(15)
  assert.deepEqual(await update(), { terminalId: device, status: 'disconnected' })
  assert.equal(await statusOf(device), undefined)
})

test('[D5.push.group] what happens in a group is told to its desktops and to nobody else', async () => {
  await far.settled()
  assert.deepEqual(updates(far), [])
  const terminal = await shop.connect()
  await update()
  const paying = shop.pay()
  terminal.send(result((await terminal.next('payment')).transactionId))
  await paying
  await far.settled()
  await terminal.settled()
  const foreign = [...far.received, ...terminal.received].map(({ action }) => action)
  assert.ok(!foreign.includes('paymentComplete') && !foreign.includes('terminalStatusUpdate'))
  await terminal.close()
  await update()
})

test('[D5.message.action, D5.message.request-id, D5.message.get-terminals, D5.message.ping] a desktop gets the terminals, anybody a pong, each with the requestId', async () => {
  const terminal = await shop.connect()
  await update()
  const { action, terminals, timestamp, requestId } = await till.ask({ action: 'getTerminals' })
  assert.equal(action, 'terminalsResponse')
  assert.ok(timestamp.endsWith('Z') && requestId.startsWith('ask-'))
  assert.deepEqual(terminals, (await shop.ask({ path: '/v1/terminals' })).json.terminals)
  for (const one of [till, terminal]) {
    assert.equal((await one.ask({ action: 'ping' })).action, 'pong')
    // Many count their messages.
    one.send({ action: 'ping', requestId: 7 })
    one.send({ action: 'none', requestId: 8 })
    one.send({ action: 'ping', requestId: 8.5 })
    await one.settled()
    const answered = one.received.filter(({ requestId: id }) => typeof id === 'number')
    assert.deepEqual(
      answered.map(({ action: is, requestId: id }) => [is, id]),
      [
        ['pong', 7],
        ['error', 8],
      ],
    )
    assert.match(
      one.received.find(({ action: is, requestId: id }) => is === 'error' && id === undefined).message,
      /requestId/,
    )
  }
  await terminal.close()
  await update()
})

test('[D5.message.payment, D5.push.payment-complete, D5.push.payment-complete-when, D5.socket.same-rules, D5.message.to-terminal.payment, D5.message.cancel-payment, D5.message.void-payment] a till pays, cancels and voids over its socket', async () => {
  const terminal = await shop.connect()
  const { connectionId } = await update()
  const accepted = await till.ask({
    action: 'payment',
    terminalId: device,
    paymentRequest: { ...sale, metadata: { a: 1 } },
  })
  const { transactionId } = accepted
  assert.deepEqual([accepted.action, accepted.terminalId], ['paymentAccepted', device])
  const { timestamp: _, ...payment } = await terminal.next('payment')
  assert.deepEqual(payment, {
    action: 'payment',
    transactionId,
    terminalId: device,
    connectionId,
    paymentRequest: { transactionId, ...sale, metadata: { a: 1 } },
    groupId: shop.groupId,
    version: 'v1',
  })
  const busy = await till.ask({ action: 'payment', terminalId: device, paymentRequest: sale })
  assert.deepEqual([busy.error, busy.code], ['Conflict', 'PAYMENT_IN_PROGRESS'])
  const cancel = await till.ask({ action: 'cancelPayment', transactionId })
  assert.deepEqual([cancel.action, cancel.transactionId], ['cancelAccepted', transactionId])
  terminal.send(result(transactionId))
  const complete = await till.next('paymentComplete')
  while (complete.transactionId !== transactionId) Object.assign(complete, await till.next('paymentComplete'))
  assert.deepEqual(
    [complete.terminalId, complete.paymentResponse.status, complete.paymentResponse.metadata],
    [device, 'SUCCESS', { a: 1 }],
  )
  const voiding = till.ask({ action: 'voidPayment', transactionId, reason: 'No.' })
  await terminal.next('voidPayment')
  terminal.send({ action: 'voidResult', transactionId, success: true })
  const voided = await voiding
  assert.deepEqual([voided.action, voided.success, voided.reason], ['voidResult', true, 'No.'])
  const late = await till.ask({ action: 'cancelPayment', transactionId })
  assert.deepEqual([late.error, late.code], ['Conflict', 'INVALID_TRANSACTION_STATE'])
  await terminal.close()
  await update()
})

test('[D5.socket-errors.form, D5.socket-errors.invalid-json, D5.socket-errors.terminal-id, D5.socket-errors.payment-request, D5.socket-errors.terminal-not-found, D5.socket-errors.desktop-only, D5.socket-errors.other-group, D5.socket-errors.other] refusals come word for word, with the code of the HTTP API', async () => {
  const desk = await shop.till()
  const terminal = await shop.connect()
  const errorTo = async (on: Wire, message: string | Buffer) => {
    const before = on.received.length
    on.socket.send(message)
    await until('an error', () => on.received.slice(before).some(({ action }) => action === 'error'))
    const { error, message: says, code } = on.received.slice(before).find(({ action }) => action === 'error')
    return [error, says, code]
  }
  const invalid = ['Bad Request', 'Invalid JSON in message body', 'INVALID_REQUEST']
  for (const text of ['', 'no JSON', '[]', '"x"', 'null', Buffer.from('{}')])
    assert.deepEqual(await errorTo(desk, text), invalid)
  const asked = async (on: Wire, message: Record<string, unknown>) => {
    const { action, error, message: says, code, requestId } = await on.ask(message)
    assert.ok(action === 'error' && requestId !== undefined)
    return [error, says, code]
  }
  const payment = { action: 'payment', terminalId: device, paymentRequest: sale }
  assert.deepEqual(await asked(desk, { ...payment, terminalId: undefined }), [
    'Bad Request',
    'terminalId is required',
    'INVALID_REQUEST',
  ])
  assert.deepEqual(await asked(desk, { ...payment, paymentRequest: undefined }), [
    'Bad Request',
    'paymentRequest is required',
    'INVALID_REQUEST',
  ])
  const notFound = (code: string) => ['Not Found', 'Terminal connection not found', code]
  assert.deepEqual(await asked(desk, { ...payment, terminalId: 'nowhere' }), notFound('TERMINAL_NOT_FOUND'))
  assert.deepEqual(await asked(desk, { ...payment, terminalId: 'counter-2' }), notFound('TERMINAL_OFFLINE'))
  assert.deepEqual(await asked(terminal, { action: 'getTerminals' }), [
    'Forbidden',
    'Only desktop devices can request terminal list',
    'GROUP_MISMATCH',
  ])
  const abroad = await others.till()
  assert.deepEqual(await asked(abroad, payment), [
    'Forbidden',
    'Cannot send message to connection in different group',
    'GROUP_MISMATCH',
  ])
  for (const action of [undefined, 'none', '__proto__', 1])
    assert.equal((await asked(desk, { action }))[2], 'INVALID_REQUEST')
  const wrong = [{ amount: '0' }, { amount: '' }, { amount: null }, { currency: 'php' }, { products: [{ id: 'a' }] }]
  for (const fields of [...wrong, { amount: undefined }, { paymentMethod: 'card' }, { metadata: [] }]) {
    const paymentRequest = { ...sale, ...fields }
    const { code, message } = (await shop.pay(paymentRequest)).json.error
    assert.deepEqual(await asked(desk, { ...payment, paymentRequest }), ['Bad Request', message, code])
  }
  assert.deepEqual((await asked(desk, { action: 'cancelPayment', transactionId: 'none' })).toSpliced(1, 1), [
    'Not Found',
    'TRANSACTION_NOT_FOUND',
  ])
  assert.equal((await asked(desk, result('x')))[0], 'Forbidden')
  assert.equal((await asked(terminal, payment))[0], 'Forbidden')
  await terminal.close()
})

test('[D5.socket.frame] a frame of 64 KiB is read, and one byte more, or text that is no UTF-8, ends the socket', async () => {
  const most = 64 * 1024
  const ping = JSON.stringify({ action: 'ping', requestId: 'whole' })
  const whole = await shop.till()
  whole.send(ping.padEnd(most, ' '))
  assert.equal((await whole.next('pong')).requestId, 'whole')
  whole.send(ping.padEnd(most + 1, ' '))
  await until('the close', () => whole.closed !== null)
  assert.equal(whole.closed, 1009)
  const odd = await shop.till()
  odd.socket.send(Buffer.from([0x7b, 0xff, 0x7d]), { binary: false })
  await until('the close', () => odd.closed !== null)
  assert.equal(odd.closed, 1007)
})

test('[D5.handshake.draining, D5.disconnect.server-restarting, D5.pay.server-stops] a server that stops says so, answers calls that wait with PENDING, and gives nothing up', async (t) => {
  const its = await platform(t)
  const there = shopOf(its)
  t.after(() => there[Symbol.asyncDispose]())
  const terminal = await there.connect()
  const transactionId = 'over-the-restart'
  const paying = there.pay({ transactionId })
  await terminal.next('payment')
  const second = await its.another()
  await its.kaha[Symbol.asyncDispose]()
  const answer = await paying
  assert.deepEqual([answer.status, answer.json.status, answer.json.amount], [200, 'PENDING', '150.00'])
  assert.equal((await terminal.next('forceDisconnect')).reason, 'server_restarting')
  await until('the close', () => terminal.closed === 4004)
  const back = await wire(second.localUrl, there.first, { deviceId: there.first.device_id })
  t.after(() => back[Symbol.asyncDispose]())
  assert.equal((await back.next('paymentStatus')).transactionId, transactionId)
  back.send(result(transactionId))
  const read = statement('test.state', 'select state from terminals.transactions where transaction_id = $1')
  await until(
    'the end',
    async () => (await second.db.run<{ state: string }>(read, [transactionId]))[0]?.state === 'COMPLETED',
  )
})

test('[D5.socket.ping, D5.socket.stale, D5.socket.life, D5.disconnect.stale-connection-timeout] a socket that answers no ping is closed as stale, and one that does stays', async (t) => {
  const its = await platform(t, { choices: { terminals: { pingMs: 150 } } })
  const there = shopOf(its)
  t.after(() => there[Symbol.asyncDispose]())
  const silent = await there.connect(there.first, { client: { autoPong: false } })
  const lively = await there.connect(there.second)
  // It answers no ping; what it says instead counts as much.
  const talking = await there.till({ client: { autoPong: false } })
  let pings = 0
  lively.socket.on('ping', () => (pings += 1))
  let talks = 0
  // A message or a ping of its own, in turns.
  talking.socket.on('ping', () => {
    talks += 1
    if (talks % 8 < 4) talking.send({ action: 'ping' })
    else talking.socket.ping()
  })
  await until('the close', () => silent.closed !== null)
  assert.ok([4002, 1006].includes(silent.closed ?? 0))
  assert.equal((await silent.next('forceDisconnect')).reason, 'stale_connection_timeout')
  await until('pings', () => pings > 8 && talks > 8)
  assert.deepEqual([lively.closed, talking.closed], [null, null])
})
