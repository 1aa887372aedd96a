import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { operatorStore } from '../../src/commands/store-terminals.ts'
import { statement } from '../../src/kernel/db.ts'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { result, sale, shopOf, wire, type Wire } from '../till.ts'
import { until } from '../until.ts'
import { assertRefused } from './call.ts'

// Clients that do what no client should.

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const device = shop.first.device_id

test('[D5.socket.slow] a client that does not read is closed when more than 1 MiB waits for it, and others go on', async () => {
  const terminal = await shop.connect()
  const till = await shop.till()
  const sockets = statement('test.sockets', 'select key_id from terminals.sockets where terminal_id is null')
  assert.equal((await p.kaha.db.run(sockets, [])).length, 1)
  till.socket.pause()
  const requestId = 'x'.repeat(60_000)
  for (let sent = 0; sent < 400; sent += 1) till.send({ action: 'ping', requestId })
  await until('the end of its connection', async () => (await p.kaha.db.run(sockets, [])).length === 0)
  const paying = shop.pay()
  terminal.send(result((await terminal.next('payment')).transactionId))
  assert.equal((await paying).status, 200)
  await terminal.close()
})

test('[D5.connection.closed] a terminal that says goodbye and keeps its end of the line open is offline all the same', async () => {
  const terminal = await shop.connect()
  // It reads no answer, and sends no end.
  terminal.socket.pause()
  terminal.socket.close(1000)
  await until('offline', async () => (await shop.ask({ path: '/v1/terminals' })).json.count === 0)
  terminal.drop()
})

test('[D5.connection.closed, D5.machine.none.offline] a terminal that an operator closes is offline at once, however long it keeps its end of the line open, and takes no newer one with it', async (t) => {
  const its = await platform(t, { choices: { terminals: { closeMs: 600_000 } } })
  const there = shopOf(its)
  t.after(() => there[Symbol.asyncDispose]())
  const till = await there.till()
  const told = async () => (await till.next('terminalStatusUpdate')).status
  const keyId = 'select key_id from terminals.sockets where terminal_id is not null'
  const orders = [
    (id: string) => operatorStore.disconnect(its.kaha.db, id),
    (id: string) => sql(its.kaha.db, `update identity.terminal_keys set state = 'SUSPENDED' where id = $1`, [id]),
  ]
  for (const order of orders) {
    const terminal = await there.connect()
    assert.equal(await told(), 'connected')
    const paying = there.pay()
    const { transactionId } = await terminal.next('payment')
    const [row] = await sql<{ key_id: string }>(its.kaha.db, keyId)
    // It reads no goodbye, and sends no end.
    terminal.socket.pause()
    await order(row?.key_id ?? '')
    assert.equal(await told(), 'disconnected')
    assert.equal((await there.read(transactionId)).json.status, 'AWAITING_RECONNECT')
    const refused = await there.pay({ transactionId: 'none' })
    assertRefused(`/terminal/v1/terminals/${device}/payments`, refused, 503, 'TERMINAL_OFFLINE')
    assert.equal((await there.read('none')).status, 404)
    await sql(its.kaha.db, `update identity.terminal_keys set state = 'ACTIVE'`)
    let newer: Wire | undefined
    await until('that the key counts', async () => {
      newer = await there.connect().catch(() => undefined)
      return newer !== undefined
    })
    assert.ok(newer !== undefined)
    assert.equal(await told(), 'connected')
    await newer.next('paymentStatus')
    newer.send(result(transactionId))
    assert.equal((await paying).json.status, 'SUCCESS')
    terminal.drop()
    // The till's and the newer one's.
    await until('its end', async () =>
      (await (await fetch(`${its.url}/metrics`)).text()).includes('kaha_terminal_sockets 2\n'),
    )
    assert.equal((await there.ask({ path: '/v1/terminals' })).json.terminals[0].status, 'online')
    await newer.close()
    assert.equal(await told(), 'disconnected')
  }
})

test('a client that sends thousands of frames at once is answered frame by frame', async () => {
  const till = await shop.till()
  const frames = 5_000
  for (let sent = 0; sent < frames; sent += 1) till.send({ action: 'ping', requestId: String(sent) })
  await until('the answers', () => till.received.length >= frames)
  const order = till.received.filter(({ action }) => action === 'pong').map(({ requestId }) => Number(requestId))
  assert.deepEqual(
    order,
    Array.from({ length: frames }, (_, index) => index),
  )
})

test('handshakes with bad keys are refused one by one, and hold nothing', async () => {
  const opening = Array.from({ length: 300 }, (_, index) =>
    wire(p.url, { api_key: `tk_${String(index).padStart(32, '0')}`, api_secret: '' }).then(
      () => 'open',
      ({ status }: { status?: number }) => status,
    ),
  )
  assert.deepEqual([...new Set(await Promise.all(opening))], [401])
  const metrics = await (await fetch(`${p.url}/metrics`)).text()
  assert.match(metrics, /^kaha_terminal_sockets [01]$/m)
})

test('ten payments at once at one terminal are made one after the other, or refused', async () => {
  const terminal = await shop.connect()
  // Whoever comes when the one before has ended is a payment too.
  terminal.socket.on('message', (data: Buffer) => {
    const { action, transactionId } = JSON.parse(data.toString()) as { action: string; transactionId: string }
    if (action === 'payment') terminal.send(result(transactionId))
  })
  // Of one millisecond and one body they would be one request ten times over.
  const all = Array.from({ length: 10 }, (_, counter) => shop.pay({ metadata: { counter } }))
  const codes = (await Promise.all(all)).map(({ status, json }) => json.error?.code ?? status)
  assert.ok(codes.every((one) => one === 200 || one === 'PAYMENT_IN_PROGRESS') && codes.includes(200))
  await terminal.settled()
  const sent = terminal.received.filter(({ action }) => action === 'payment').length
  assert.equal(codes.filter((one) => one === 200).length, sent)
  await terminal.close()
})

test('ten calls at once with one transactionId are one payment, and all are given its result', async () => {
  const terminal = await shop.connect()
  const transactionId = randomUUID()
  const all = Array.from({ length: 10 }, () => shop.pay({ transactionId }))
  terminal.send(result((await terminal.next('payment')).transactionId))
  for (const { status, json } of await Promise.all(all)) assert.deepEqual([status, json.status], [200, 'SUCCESS'])
  await terminal.settled()
  assert.equal(terminal.received.filter(({ action }) => action === 'payment').length, 1)
  await terminal.close()
})

test('a till that missed a hundred results is told them all at once, and its client takes that for no attack', async () => {
  // In the place of whichever is still there.
  await (await shop.till()).close()
  const terminal = await shop.connect()
  terminal.socket.on('message', (data: Buffer) => {
    const { action, transactionId } = JSON.parse(data.toString()) as { action: string; transactionId: string }
    if (action === 'payment') terminal.send(result(transactionId))
  })
  const missed = 100
  for (let counter = 0; counter < missed; counter += 1)
    assert.equal((await shop.pay({ metadata: { counter } })).status, 200)
  const completes = ({ received }: Wire) => received.filter(({ action }) => action === 'paymentComplete').length
  const till = await shop.till()
  await till.settled()
  assert.ok(completes(till) >= missed)
  assert.equal(till.closed, null)
  const unseen = statement('test.unseen', 'select id from terminals.transactions where complete_unseen')
  await until('all to be seen', async () => (await p.kaha.db.run(unseen, [])).length === 0)
  const again = await shop.till()
  await again.settled()
  assert.equal(completes(again), 0)
  await terminal.close()
})

test('[D5.retention.socket] 7 days after its end a transaction of a socket is gone, one of HTTP is not', async () => {
  const terminal = await shop.connect()
  const till = await shop.till()
  const ids: string[] = []
  for (const way of ['socket', 'http']) {
    const transactionId = `${way}-${randomUUID()}`
    const paying = way === 'http' ? shop.pay({ transactionId }) : undefined
    if (way === 'socket')
      await till.ask({ action: 'payment', terminalId: device, paymentRequest: { ...sale, transactionId } })
    await terminal.next('payment')
    terminal.send(result(transactionId))
    await paying
    await terminal.settled()
    ids.push(transactionId)
  }
  await terminal.settled()
  await p.advance(7 * 86_400 + 60)
  const [bySocket = '', byHttp = ''] = ids
  assertRefused('/terminal/v1', await shop.read(bySocket), 404, 'TRANSACTION_NOT_FOUND')
  assert.equal((await shop.read(byHttp)).status, 200)
  await terminal.close()
})

test('[D5.socket-errors.internal] a defect of ours is told as such, and nothing of its cause', async (t) => {
  const broken = await platform(t)
  const there = shopOf(broken)
  t.after(() => there[Symbol.asyncDispose]())
  const till = await there.till()
  await broken.kaha.db.run(statement('test.break', 'alter table terminals.transactions rename to lost_table'), [])
  const { error, message, code } = await till.ask({ action: 'cancelPayment', transactionId: 'x' })
  assert.deepEqual([error, message, code], ['Internal Server Error', 'Failed to process message', 'INTERNAL_ERROR'])
})
