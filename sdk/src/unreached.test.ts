import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { peer } from '../test/peer.ts'
import { createKaha, KahaConnectionError } from './index.ts'

// What a call says that reached nobody.

const apiKey = 'sk_test_0123456789ABCDEFGHIJKLMN'
const id = '0198f5a2-6f10-7a44-8c57-1f0e6a2b9d01'

async function thrownAt(baseUrl: string, fetch?: typeof globalThis.fetch): Promise<KahaConnectionError> {
  const { paymentIntents } = createKaha({ baseUrl, apiKey, maxRetries: 0, ...(fetch === undefined ? {} : { fetch }) })
  const thrown: unknown = await paymentIntents.retrieve(id).catch((error: unknown) => error)
  assert.ok(thrown instanceof KahaConnectionError)
  return thrown
}

test('a refused connection is a KahaConnectionError that names the cause', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  const { operation, reason } = await thrownAt(`http://127.0.0.1:${port}`)
  assert.deepEqual([operation, reason], ['retrievePaymentIntent', 'ECONNREFUSED'])
})

test('a port that fetch sends nothing to is told in the words of fetch', async () => {
  for (const port of [9, 6000]) {
    const { message } = await thrownAt(`http://127.0.0.1:${port}`)
    assert.equal(message, 'retrievePaymentIntent: no answer (bad port)')
  }
})

test('what a cause says is not told where it may hold an address or a secret', async () => {
  for (const said of [`cannot reach http://u:pw@host/${apiKey}`, apiKey, 'secret', 'bad key: abc', 'a\nb c', '']) {
    const cause = new RangeError(said)
    const { message } = await thrownAt('http://x', () => Promise.reject(new TypeError('fetch failed', { cause })))
    assert.equal(message, 'retrievePaymentIntent: no answer (RangeError)', said)
  }
})

test('an export whose answer does not begin within timeoutMs is a TIMEOUT, as a call is', async () => {
  await using server = await peer('hang')
  const { reports } = createKaha({ baseUrl: server.url, apiKey })
  const isTimeout = (error: unknown) => error instanceof KahaConnectionError && error.reason === 'TIMEOUT'
  await assert.rejects(reports.exportTransactions({}, { timeoutMs: 250 }), isTimeout)
})

test('an answer without an end is left after 64 MiB, and is no answer of the platform', async () => {
  const chunk = new Uint8Array(1024 * 1024).fill(0x20)
  let [read, isLeft] = [0, false]
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      read += 1
      if (read > 100) controller.error(new Error('far too much is read'))
      else controller.enqueue(chunk)
    },
    cancel: () => void (isLeft = true),
  })
  const { paymentIntents } = createKaha({ baseUrl: 'http://x', apiKey, fetch: async () => new Response(endless) })
  await assert.rejects(paymentIntents.retrieve(id), { code: 'UNEXPECTED_ANSWER', status: 200 })
  assert.ok(isLeft)
})
