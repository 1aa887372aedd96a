import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { test } from 'node:test'
import { platform } from '../platform.ts'
import { shopOf, wire } from '../till.ts'
import { call } from './call.ts'

const live = {
  KAHA_MODE: 'live',
  KAHA_BASE_URL: 'https://kaha.test',
  KAHA_MASTER_KEY: randomBytes(32).toString('base64'),
}
// A stop that takes longer is cut off, and its workers give nothing back.
const drainMsMax = 4_000

test('[D5.handshake.draining] a process that stops is not ready from its first moment, takes no socket, and has time left for its workers, whoever does not let go', async (t) => {
  const p = await platform(t, { settings: live })
  const shop = shopOf(p)
  t.after(() => shop[Symbol.asyncDispose]())
  // Neither answers a goodbye, nor ends its request.
  const terminal = await shop.connect()
  terminal.socket.pause()
  const half = connect(Number(new URL(p.url).port), '127.0.0.1')
  t.after(() => half.destroy())
  half.on('error', () => {})
  half.write('POST /ecom/v1/payment-links HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{')
  assert.equal((await call(p.url, { path: '/readyz' })).status, 200)

  const begun = performance.now()
  const stopped = p.kaha[Symbol.asyncDispose]()
  assert.equal((await call(p.url, { path: '/readyz' })).status, 503)
  await assert.rejects(wire(p.url, shop.second, { deviceId: shop.second.device_id }), { status: 503 })
  await stopped
  const tookMs = performance.now() - begun
  assert.ok(tookMs < drainMsMax, `it took ${Math.round(tookMs)} ms`)
})
