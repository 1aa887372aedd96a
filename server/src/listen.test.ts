import assert from 'node:assert/strict'
import dns, { type LookupAddress } from 'node:dns'
import { test } from 'node:test'
import fastify from 'fastify'
import { listen } from './listen.ts'

test('localhost is listened on by one server, whose settings and whose close hold for all that comes', async (t) => {
  const withTwo = (host: string, _options: unknown, found: (error: null, all: LookupAddress[]) => void) =>
    found(
      null,
      (host === 'localhost' ? ['127.0.0.1', '127.0.0.2'] : [host]).map((address) => ({ address, family: 4 })),
    )
  t.mock.method(dns, 'lookup', withTwo)
  const http = fastify()
  t.after(() => http.close())
  await listen(http, { host: 'localhost', port: 0 }, 'KAHA_PORT')
  assert.equal(http.addresses().length, 1)
})
