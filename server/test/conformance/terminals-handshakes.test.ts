import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { operatorStore } from '../../src/commands/store-terminals.ts'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { result, shopOf, signedCall, wire, type Wire } from '../till.ts'
import { until } from '../until.ts'
import { whileHeld } from './shop.ts'

// What changes while a socket is registered, or while its end is.

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const device = shop.first.device_id

const keyOf = async (connecting: Promise<Wire>): Promise<string> => {
  const one = await connecting
  const [row] = await sql<{ key_id: string }>(
    p.kaha.db,
    'select key_id from terminals.sockets order by connected_at desc limit 1',
  )
  await one.close()
  return row?.key_id ?? ''
}
const [first, second] = [await keyOf(shop.connect()), await keyOf(shop.connect(shop.second))]

/** How the first terminal is stored, and the connection that it has, or had last. */
const stored = async () => {
  const rows = await sql<{ status: string; connection_id: string }>(
    p.kaha.db,
    'select status, connection_id from terminals.terminals where device_id = $1',
    [device],
  )
  return { status: rows[0]?.status, connectionId: rows[0]?.connection_id }
}
const becomes = (status: string) => until(`that it is ${status}`, async () => (await stored()).status === status)
await becomes('offline')

/** Who connects with this key, or leaves it, waits for it. */
const holding = (key: string) => `select pg_advisory_xact_lock(hashtextextended('terminals ${key}', 0))`
const setKeys = (state: string) =>
  sql(p.kaha.db, 'update identity.terminal_keys set state = $2 where id = any($1::uuid[])', [[first, second], state])

test('[D5.disconnect.admin-action] a key that is revoked while its socket is let in opens none that stays', async () => {
  const other = await shop.connect(shop.second)
  const [late] = await whileHeld(p, holding(first), [() => shop.connect()], async () => {
    await setKeys('REVOKED')
    // Every socket that is here has been looked at by then.
    assert.equal((await other.next('forceDisconnect')).reason, 'admin_action')
  })
  assert.ok(late)
  assert.equal((await late.next('forceDisconnect')).reason, 'admin_action')
  await until('the close', () => late.closed === 4003)
  await setKeys('ACTIVE')
  await becomes('offline')
})

test('[D5.disconnect.admin-action] a terminal that comes anew as an operator closes its line before keeps the new one', async () => {
  const [older, other] = [await shop.connect(), await shop.connect(shop.second)]
  const [newer] = await whileHeld(p, holding(first), [() => shop.connect()], async () => {
    assert.equal(await operatorStore.disconnect(p.kaha.db, first), true)
  })
  assert.ok(newer)
  await until('the close', () => older.closed !== null)
  assert.equal(await operatorStore.disconnect(p.kaha.db, second), true)
  // By then every socket that is to be closed has been told so.
  assert.equal((await other.next('forceDisconnect')).reason, 'admin_action')
  await newer.settled()
  assert.deepEqual([newer.closed, newer.received.filter(({ action }) => action !== 'pong')], [null, []])
  await newer.close()
  await becomes('offline')
})

test('[D5.connection.lost] a terminal that leaves while its socket is let in is not taken for one that is here', async () => {
  const leavings: ((socket: Socket) => Promise<void>)[] = [
    async (socket) => {
      socket.end()
      await once(socket, 'finish')
    },
    async (socket) => {
      socket.resetAndDestroy()
      await once(socket, 'close')
    },
  ]
  for (const leave of leavings) {
    const socket = connect(Number(new URL(p.url).port), '127.0.0.1')
    const handshake = [
      'GET /terminal/v1 HTTP/1.1',
      'host: kaha',
      'connection: upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      `x-api-key: ${shop.first.api_key}`,
      `x-device-id: ${device}`,
    ]
    const ask = async () => void socket.write(`${handshake.join('\r\n')}\r\n\r\n`)
    const { connectionId } = await stored()
    await whileHeld(p, holding(first), [ask], () => leave(socket))
    await until('its connection', async () => (await stored()).connectionId !== connectionId)
    await becomes('reconnecting')
    socket.destroy()
  }
})

test('[D5.connection.closed] the goodbye of a terminal that the database is away for is stored as soon as it can be', async () => {
  const terminal = await shop.connect()
  const till = await shop.till()
  await whileHeld(p, holding(first), [() => terminal.close()], async (backends) => {
    await sql(p.kaha.db, 'select pg_terminate_backend(pid) from unnest($1::integer[]) pid', [backends])
  })
  const { terminalId, status } = await till.next('terminalStatusUpdate')
  assert.deepEqual([terminalId, status], [device, 'disconnected'])
})

test('a socket that is let in while the server goes is not opened any more', async (t) => {
  const its = await platform(t)
  const there = shopOf(its)
  t.after(() => there[Symbol.asyncDispose]())
  const one = await there.connect()
  const [row] = await sql<{ key_id: string }>(its.kaha.db, 'select key_id from terminals.sockets')
  await one.close()
  await until('its end', async () => (await sql(its.kaha.db, 'select 1 from terminals.sockets')).length === 0)
  // It does not read the goodbye, which is waited for.
  const slow = await there.till()
  slow.socket.pause()
  const refusal = (opening: Promise<Wire>) => opening.then(() => 'opened', String)
  let stopping: PromiseLike<void> | undefined
  const late = () => refusal(there.connect())
  const [how] = await whileHeld(its, holding(row?.key_id ?? ''), [late], async () => {
    stopping = its.kaha[Symbol.asyncDispose]()
    await until('that no other is let in', async () => (await refusal(wire(its.url, there.second))) !== 'opened')
  })
  assert.match(how ?? '', /socket hang up/)
  await stopping
})

test('what a terminal says after it was told to go counts no more, its goodbye neither', async (t) => {
  const its = await platform(t)
  const there = shopOf(its)
  t.after(() => there[Symbol.asyncDispose]())
  const terminal = await there.connect()
  const paying = there.pay()
  const { transactionId } = await terminal.next('payment')
  terminal.socket.on('message', (data: Buffer) => {
    if (!data.includes('forceDisconnect')) return
    terminal.send(result(transactionId))
    terminal.socket.close(1000)
  })
  const next = await its.another()
  await its.kaha[Symbol.asyncDispose]()
  assert.equal((await paying).json.status, 'PENDING')
  const ask = async (path: string) => (await signedCall(next.localUrl, there.desktop, { path })).json
  assert.equal((await ask(`/v1/transactions/${transactionId}`)).status, 'AWAITING_RECONNECT')
  const { terminals } = await ask('/v1/terminals')
  assert.deepEqual([terminals[0]?.terminalId, terminals[0]?.status], [there.first.device_id, 'reconnecting'])
})
