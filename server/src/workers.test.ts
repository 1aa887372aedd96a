import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { platform } from '../test/platform.ts'
import { until } from '../test/until.ts'
import { createDb, statement } from './kernel/db.ts'

const anyInHand = statement(
  'test.anyInHand',
  `select exists (select from delivery.hands) or exists (select from delivery.queue where lease_until is not null) as is`,
)

test('a request that does not end keeps no worker from giving back what it has in hand', async (t) => {
  const p = await platform(t, { choices: { delivery: { drainMsMax: 0 } } })
  p.receiver.answer = () => {}
  const endpoint = await p.sdk.webhooks.createEndpoint({ url: p.receiver.url, enabled_events: ['payment.succeeded'] })
  await p.sdk.webhooks.testEndpoint(endpoint.id, { type: 'payment.succeeded' })
  await until('the attempt', () => p.receiver.received.length === 1)

  const { port } = new URL(p.url)
  const socket = connect(Number(port), '127.0.0.1')
  t.after(() => socket.destroy())
  const host = 'HTTP/1.1\r\nHost: localhost\r\n'
  socket.write(`GET /healthz ${host}\r\nPOST /ecom/v1/payment-links ${host}Content-Length: 100\r\n\r\n{`)
  await once(socket, 'data')
  const cut = once(socket, 'close')

  await using db = createDb({ target: p.target, onError: () => {} })
  const inHand = async () => (await db.run<{ is: boolean }>(anyInHand, []))[0]?.is
  assert.equal(await inHand(), true)
  const stopped = p.kaha[Symbol.asyncDispose]()
  await until('what was in hand is given back', async () => !(await inHand()))
  assert.equal(socket.closed, false, 'before the request is cut')
  await Promise.all([cut, stopped])
})
