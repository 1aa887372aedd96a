import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { platform } from '../platform.ts'
import { shopOf, wire } from '../till.ts'
import { until } from '../until.ts'
import { call } from './call.ts'

/** Whether somebody listens there. */
const isTaken = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

test('[D5.handshake.draining] a process that stops is not ready from its first moment, takes no socket, and has time left for its workers, whoever does not let go', async (t) => {
  const p = await platform(t, { choices: { leaveMs: undefined } })
  const shop = shopOf(p)
  t.after(() => shop[Symbol.asyncDispose]())
  const port = Number(new URL(p.url).port)
  const opened = (head: string) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    t.after(() => socket.destroy())
    socket.write(`${head}\r\nHost: localhost\r\n`)
    return socket
  }
  // Neither answers a goodbye, nor ends its request.
  const terminal = opened('GET /terminal/v1 HTTP/1.1')
  const { api_key: key, device_id: device } = shop.first
  terminal.write(
    `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n`,
  )
  terminal.write(`x-api-key: ${key}\r\nx-device-id: ${device}\r\n\r\n`)
  assert.match(String(((await once(terminal, 'data')) as [Buffer])[0]), /^HTTP\/1\.1 101 /)
  opened('POST /ecom/v1/payment-links HTTP/1.1').write('Content-Length: 100\r\n\r\n{')
  assert.equal((await call(p.url, { path: '/readyz' })).status, 200)

  const stopped = p.kaha[Symbol.asyncDispose]()
  assert.equal((await call(p.url, { path: '/readyz' })).status, 503)
  await assert.rejects(wire(p.url, shop.second, { deviceId: shop.second.device_id }), { status: 503 })
  await until('the port is given up', async () => !(await isTaken(port)))
  // One after the other would leave the workers none of the time that a stop may take.
  assert.equal(terminal.closed, false, 'requests were let in until the sockets had been drained')
  await stopped
})
