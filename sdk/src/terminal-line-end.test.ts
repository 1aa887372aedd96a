import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { lineOf, nextOf } from '../test/line.ts'
import { KahaConnectionError } from './index.ts'

const isClosed = (error: unknown) => error instanceof KahaConnectionError && error.reason === 'CLOSED'

test(
  'a line is closed, and whoever waits is told at once, also where the other side says nothing more',
  { timeout: 20_000 },
  async (t) => {
    const { line, opened, states, why } = await lineOf(t, 'opens')
    const arrives = nextOf(opened[0])
    const payment = { amount: '1.00', currency: 'PHP', paymentMethod: 'CARD', transactionId: 'ORDER-1' } as const
    const asked = line.ask('payment', { terminalId: 'T', paymentRequest: payment })
    await arrives
    const reported = line.report('paymentStatus', { transactionId: 'ORDER-1', status: 'UNKNOWN' })
    opened[0]?.pause()
    const closing = line.close()
    await assert.rejects(
      asked,
      (error) => isClosed(error) && (error as KahaConnectionError).transactionId === 'ORDER-1',
    )
    await assert.rejects(reported, isClosed)
    await assert.rejects(line.ask('ping', {}), isClosed)
    await closing
    assert.deepEqual([line.state, states, why()], ['closed', ['closed'], undefined])
  },
)

test('what is asked of a line that is about to be closed is not sent', async (t) => {
  const { line, opened } = await lineOf(t, 'opens')
  const heard: unknown[] = []
  opened[0]?.on('message', (data) => heard.push(data))
  const closing = line.close()
  await assert.rejects(line.ask('ping', {}), isClosed)
  await closing
  assert.deepEqual(heard, [])
})

/** A line that was told to go, and whose socket is then cut off without a close frame. */
async function cutOff(t: TestContext, reason: string) {
  const lined = await lineOf(t, 'opens')
  const { opened, heard } = lined
  const farewell = { action: 'forceDisconnect', reason, message: 'Go.' }
  opened[0]?.send(JSON.stringify(farewell))
  while (heard.length === 0) await setImmediate()
  const waiting = assert.rejects(
    lined.line.ask('ping', {}),
    (error) => error instanceof KahaConnectionError && error.reason === reason,
  )
  opened[0]?.terminate()
  await waiting
  return lined
}

test('a line that was told that its key is used elsewhere stays closed where the close frame is lost', async (t) => {
  const { line, states, seen, why } = await cutOff(t, 'api_key_used_elsewhere')
  await setImmediate()
  assert.deepEqual([line.state, states, seen.connects], ['closed', ['closed'], 1])
  assert.match(String(why()), /api_key_used_elsewhere/)
})

test(
  'a line that was told to go for another cause comes back as after its close code',
  { timeout: 20_000 },
  async (t) => {
    for (const reason of ['admin_action', 'server_restarting', 'stale_connection_timeout', 'other']) {
      const { states, seen, becomes } = await cutOff(t, reason)
      await becomes('open')
      assert.deepEqual([states, seen.connects], [['reconnecting', 'open'], 2])
    }
  },
)

const failsBy = (reason: string, says: RegExp) => (error: unknown) =>
  error instanceof KahaConnectionError && error.reason === reason && says.test(String(error.cause))

test('a handshake that fails by no code of the system tells the name of its error, and the error as its cause', async (t) => {
  const wrong = (fields: string) => (_open: () => void, raw: Socket) =>
    raw.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n${fields}\r\n\r\n`)
  await assert.rejects(
    lineOf(t, wrong('upgrade: websocket\r\nsec-websocket-accept: wrong')),
    failsBy('Error', /Sec-WebSocket-Accept/),
  )
  await assert.rejects(lineOf(t, wrong('upgrade: other')), failsBy('Error', /Upgrade header/))
  await assert.rejects(
    lineOf(t, (_open, raw) => raw.destroy()),
    failsBy('ECONNRESET', /hang up/),
  )
})

test('a connect takes ten seconds at most, also where nothing or a drop after the other is answered', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let wire: Socket | undefined
  const ways = [
    '',
    'HTTP/1.1 401 Unauthorized\r\nx-drop: ',
    'HTTP/1.1 401 Unauthorized\r\ncontent-length: 1000\r\n\r\n{',
  ]
  for (const way of ways) {
    const arrives = Promise.withResolvers<void>()
    let failure: unknown
    const connecting = lineOf(t, (_open, raw) => {
      wire = raw
      raw.write(way)
      arrives.resolve()
    }).catch((error: unknown) => (failure = error))
    await arrives.promise
    for (let passed = 0; passed < 10; passed += 1) {
      assert.equal(failure, undefined)
      if (way !== '') wire?.write('x')
      await setImmediate()
      t.mock.timers.tick(1_000)
    }
    wire?.destroy()
    await connecting
    assert.ok(failsBy('TIMEOUT', /undefined/)(failure))
  }
})

test(
  'a line on which nothing comes for 45 seconds is taken for lost, and a ping alone keeps it',
  { timeout: 20_000 },
  async (t) => {
    const silenceMs = 45_000
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { line, opened, becomes } = await lineOf(t, 'opens')
    const [socket] = opened
    assert.ok(socket !== undefined)
    for (let pings = 0; pings < 2; pings += 1) {
      t.mock.timers.tick(silenceMs - 1)
      const heard = once(socket, 'pong')
      socket.ping()
      await heard
    }
    const lost = assert.rejects(line.ask('ping', {}), KahaConnectionError)
    socket.removeAllListeners('message')
    assert.equal(line.state, 'open')
    t.mock.timers.tick(silenceMs)
    await Promise.all([lost, becomes('reconnecting')])
  },
)
