import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import { terminalsOperations, type Operation } from '@kaha/contract'
import { socketPath } from '../../src/areas/terminals/index.ts'
import { statement } from '../../src/kernel/db.ts'
import { platform } from '../platform.ts'
import { result, sale, shopOf, signedHeaders, wire } from '../till.ts'
import { assertRefused, call, type Call } from './call.ts'

// Statuses that are common to area D, over all of its operations.

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const terminal = await shop.connect()
terminal.socket.on('message', (data: Buffer) => {
  const { action, transactionId } = JSON.parse(data.toString()) as { action: string; transactionId: string }
  if (action === 'payment' && transactionId !== 'open') terminal.send(result(transactionId))
  if (action === 'voidPayment') terminal.send({ action: 'voidResult', transactionId, success: true })
})
await shop.pay({ transactionId: 'ended' })
const open = shop.pay({ transactionId: 'open' })
await terminal.next('payment')
after(() => open)

const endpoint = () => ({ url: p.receiver.url, events: ['payment.completed'] })
const made = async () => (await shop.ask({ method: 'POST', path: '/v1/webhooks/endpoints', body: endpoint() })).json
const [kept, spare] = [await made(), await made()]

const operations: readonly Operation[] = Object.values(terminalsOperations)
const other = await shop.connect(shop.second)
other.socket.on('message', (data: Buffer) => {
  const { action, transactionId } = JSON.parse(data.toString()) as { action: string; transactionId: string }
  if (action === 'payment') other.send(result(transactionId))
})

/** A request of this operation that is right in everything but its signature. */
const rightCall = ({ id, method, path }: Operation): Call => ({
  method,
  path: path
    .replace('{terminalId}', shop.second.device_id)
    .replace('{transactionId}', id === 'cancelTerminalTransaction' ? 'open' : 'ended')
    .replace('{endpointId}', id === 'deleteTerminalWebhook' ? spare.endpointId : kept.endpointId),
  ...(id === 'createTerminalPayment' ? { body: sale } : {}),
  ...(id === 'voidTerminalTransaction' ? { body: { reason: 'x' } } : {}),
  ...(id === 'createTerminalWebhook' ? { body: endpoint() } : {}),
  ...(id === 'updateTerminalWebhook' ? { body: { description: 'x' } } : {}),
})
const fullPath = (request: Call) => `/terminal${request.path}`

test('[X0.versions.prefix.terminals, X0.time.format.terminals, D5.void.ok, D5.cancel.ok, X0.correlation.header.terminals] every operation answers a right request with its success, a version in its path and times in UTC with milliseconds', async () => {
  for (const operation of operations) {
    assert.ok(operation.path.startsWith('/v1/'))
    const answer = await shop.ask(rightCall(operation))
    assert.ok(answer.status in operation.success, `${operation.id}: ${answer.status} ${answer.text}`)
    assert.match(String(answer.headers['x-request-id']), /^[0-9a-f-]{36}$/)
    for (const [, time] of answer.text.matchAll(/"\w*(?:[aA]t|timestamp|lastActivity)":"([^"]*)"/g))
      assert.match(time ?? '', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  }
})

test('[D5.errors.unauthorized] no operation answers without a key, or with one that was never issued', async () => {
  for (const operation of operations) {
    const request = rightCall(operation)
    const path = fullPath(request)
    for (const headers of [{}, { 'x-api-key': '' }, { 'x-api-key': `tk_${'a'.repeat(32)}` }])
      assertRefused(path, await call(p.url, { ...request, path, headers }), 401, 'UNAUTHORIZED')
  }
})

test('[I1.key-state.terminals, I1.account-state.terminals] a key that is revoked, or whose merchant is not active, is 401 from the next request on', async (t) => {
  const its = await platform(t)
  const there = shopOf(its)
  assert.equal((await there.ask({ path: '/v1/terminals' })).status, 200)
  const suspend = (state: string) =>
    its.kaha.db.run(statement('test.suspend', 'update identity.entities set state = $2 where id = $1'), [
      its.merchant.id,
      state,
    ])
  await suspend('LOCKED')
  its.kaha.bus.hint('keys')
  assertRefused('/terminal/v1', await there.ask({ path: '/v1/terminals' }), 401, 'UNAUTHORIZED')
  await suspend('ACTIVE')
  its.kaha.bus.hint('keys')
  assert.equal((await there.ask({ path: '/v1/terminals' })).status, 200)
  await its.kaha.db.run(statement('test.revoke', `update identity.terminal_keys set state = 'REVOKED'`), [])
  its.kaha.bus.hint('keys')
  assertRefused('/terminal/v1', await there.ask({ path: '/v1/terminals' }), 401, 'UNAUTHORIZED')
})

test('[D5.errors.invalid-request, X0.limits.body.terminals, X0.limits.content-type.terminals, X0.routes.unknown.terminals, X0.routes.method.terminals] paths that are none are 404, other methods 405 with Allow, and bodies that are too large or no JSON 400', async () => {
  const none = ['/terminal', '/terminal/none', '/terminal/v2/terminals', '/terminal/v1', '/terminal/v1/none']
  const emptyIds = ['/terminal/v1/transactions/', '/terminal/v1/terminals//payments']
  for (const path of [...none, ...emptyIds, '/terminal/v1/terminals/a/b/c'])
    assertRefused(path, await call(p.url, { path }), 404, 'NOT_FOUND')
  for (const operation of operations) {
    const request = rightCall(operation)
    const path = fullPath(request)
    const answer = await call(p.url, { method: 'PATCH', path })
    assertRefused(path, answer, 405, 'METHOD_NOT_ALLOWED')
    assert.ok(String(answer.headers.allow).includes(operation.method))
    if (operation.body === undefined) continue
    const bytes = `${JSON.stringify(request.body).slice(0, -1)}${' '.repeat(256 * 1024)}}`
    assertRefused(path, await shop.ask({ ...request, bytes }), 400, 'INVALID_REQUEST')
    const headers = { 'content-type': 'text/plain' }
    assertRefused(path, await shop.ask({ ...request, headers }), 400, 'INVALID_REQUEST')
    const packed = { 'content-encoding': 'gzip' }
    assertRefused(path, await shop.ask({ ...request, headers: packed }), 400, 'INVALID_REQUEST')
  }
})

test('[D5.errors.rate-limited] every operation answers 429 with Retry-After to a key that is over its rate', async (t) => {
  const frozen = Date.now()
  const limited = await platform(t, { settings: { KAHA_RATE_LIMIT: '1' }, choices: { wall: () => frozen } })
  const there = shopOf(limited)
  const read = () => there.ask({ path: '/v1/transactions' }, frozen)
  for (let sent = 0; sent < 2; sent += 1) assert.equal((await read()).status, 200)
  for (const operation of operations) {
    const request = rightCall(operation)
    const answer = await there.ask(request, frozen)
    assertRefused(fullPath(request), answer, 429, 'RATE_LIMITED')
    assert.equal(answer.headers['retry-after'], '1')
  }
})

test('[D5.socket.rate] what a till asks for on its socket counts with its other requests, what a terminal reports does not', async (t) => {
  const frozen = Date.now()
  const limited = await platform(t, { settings: { KAHA_RATE_LIMIT: '2' }, choices: { wall: () => frozen } })
  const there = shopOf(limited)
  t.after(() => there[Symbol.asyncDispose]())
  // Of the till's four in a burst the handshake is the first.
  const [device, till] = [await there.connect(), await there.till()]
  till.send({ action: 'payment', terminalId: there.first.device_id, paymentRequest: sale })
  const { transactionId } = await device.next('payment')
  for (let said = 0; said < 20; said += 1) device.send({ action: 'paymentStatus', transactionId, status: 'PENDING' })
  device.send(result(transactionId))
  assert.equal((await till.next('paymentComplete')).transactionId, transactionId)
  assert.deepEqual(
    device.received.filter(({ action }) => action === 'error'),
    [],
  )
  for (let sent = 0; sent < 2; sent += 1)
    assert.equal((await till.ask({ action: 'getTerminals' })).action, 'terminalsResponse')
  for (const asked of [
    { action: 'getTerminals' },
    { action: 'payment', terminalId: there.first.device_id, paymentRequest: sale },
    { action: 'cancelPayment', transactionId },
    { action: 'voidPayment', transactionId },
  ]) {
    const { error, code } = await till.ask(asked)
    assert.deepEqual([asked.action, error, code], [asked.action, 'Too Many Requests', 'RATE_LIMITED'])
  }
  assert.equal((await till.ask({ action: 'ping' })).action, 'pong')
  assert.equal((await there.ask({ path: '/v1/transactions' }, frozen)).status, 429)
})

test('[D5.errors.internal] a defect of ours is 500 in every operation, and tells nothing of its cause', async (t) => {
  const broken = await platform(t)
  const there = shopOf(broken)
  await broken.kaha.db.run(
    statement('test.break', 'alter table identity.terminal_keys rename to lost_table_of_keys'),
    [],
  )
  for (const operation of operations) {
    const request = rightCall(operation)
    const answer = await there.ask(request)
    assertRefused(fullPath(request), answer, 500, 'INTERNAL_ERROR')
    assert.doesNotMatch(answer.text, /identity|keys|lost|\brelation|select|sql|\.ts|node_modules/i)
  }
})

test('X0.addresses.own-host.terminals: on a host name of its own the service answers without its prefix, over HTTP and WebSocket', async (t) => {
  const its = await platform(t, {
    settings: { KAHA_TERMINAL_URL: 'https://pos.kaha.test', KAHA_TERMINAL_WS_URL: 'ws://sockets.kaha.test' },
  })
  const { desktop, terminals } = its.merchant.terminal_group
  const path = '/v1/terminals'
  const statusAt = async (host: string) =>
    (await call(its.url, { path, headers: { ...signedHeaders(desktop, { path }), host } })).status
  for (const host of ['pos.kaha.test', 'POS.kaha.test', 'pos.kaha.test:443'])
    assert.equal(await statusAt(host), 200, host)
  for (const host of ['pos.kaha.test:80', 'kaha.test']) assert.equal(await statusAt(host), 404, host)
  const [first] = terminals
  assert.ok(first !== undefined)
  for (const host of ['sockets.kaha.test', 'sockets.kaha.test:80']) {
    const opened = await wire(its.url, first, { path: '/v1', headers: { host } })
    assert.equal((await opened.ask({ action: 'ping' })).action, 'pong')
    await opened.close()
  }
  const wholeAddress = { url: 'http://pos.kaha.test/v1', headers: { host: 'localhost' } } as IncomingMessage
  assert.equal(socketPath(new Map([['pos.kaha.test', '/terminal']]))(wholeAddress), '/v1')
})
