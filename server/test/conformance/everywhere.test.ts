import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { addressesOf } from '../../src/addresses.ts'
import { readConfig } from '../../src/config.ts'
import { statement } from '../../src/kernel/db.ts'
import { cards, platform } from '../platform.ts'
import { assertRefused, call, type Call } from './call.ts'
import { operations, rightCall, subjectsOf } from './operations.ts'
import { idempotent, linkFor } from './people.ts'

const p = await platform({ after })
const key = p.merchant.secret_key
const ask = (request: Call) => call(p.url, { key, ...request })
const subjects = await subjectsOf(p)

test('X0.addresses.one-process: areas A and C, checkout, dashboard and sandbox answer on one port', async () => {
  const { url } = await p.link()
  const paths = ['/v1/webhook_endpoints', '/ecom/v1/payment-links', new URL(url).pathname, '/dashboard']
  const { host } = new URL(url)
  for (const path of paths) assert.equal((await ask({ path, headers: { host } })).status, 200, path)
  assert.equal((await ask({ path: '/sandbox/clock', key: p.seed.partner.secret_key })).status, 200)
})

test('a client that offers HTTP/2 with each request, as those of Java and curl may, is answered in HTTP/1.1', async () => {
  const headers = {
    connection: 'Upgrade, HTTP2-Settings',
    upgrade: 'h2c',
    'http2-settings': 'AAMAAABkAAQAoAAAAAIAAAAA',
  }
  assert.equal((await ask({ path: '/v1/webhook_endpoints', headers })).status, 200)
  const body = { type: 'one_time' }
  assertRefused(
    '/ecom/v1/payment-links',
    await ask({ method: 'POST', path: '/ecom/v1/payment-links', headers: { ...idempotent(), ...headers }, body }),
    400,
    'BAD_REQUEST',
  )
  assertRefused('/terminal/v1/terminals', await ask({ path: '/terminal/v1/terminals', headers }), 401, 'UNAUTHORIZED')
})

test('the offer of a WebSocket where there is none is passed over', async () => {
  for (const upgrade of [
    { connection: 'Upgrade', upgrade: 'websocket' },
    {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
    },
  ]) {
    assert.equal((await ask({ path: '/ecom/v1/payment-links', headers: upgrade })).status, 200)
    assertRefused('/reports/v1/nothing', await ask({ path: '/reports/v1/nothing', headers: upgrade }), 404, 'NOT_FOUND')
  }
})

const addressesWith = (settings: Record<string, string>) => {
  const { listensOn, ...addresses } = addressesOf(readConfig(settings))
  return { ...addresses, listensOn }
}

test('X0.addresses.defaults: everything lies below http://localhost:8080', () => {
  const { listensOn: _, local, listening, ...addresses } = addressesWith({})
  assert.deepEqual([local, listening], ['http://127.0.0.1:8080', '127.0.0.1:8080'])
  assert.deepEqual(addresses, {
    base: 'http://localhost:8080',
    terminal: 'http://localhost:8080/terminal',
    terminalWs: 'ws://localhost:8080/terminal',
    webhooks: 'http://localhost:8080/webhooks',
    qr: 'http://localhost:8080/qr',
    checkout: 'http://localhost:8080/pay',
    dashboard: 'http://localhost:8080/dashboard',
    sandbox: 'http://localhost:8080/sandbox',
  })
})

test('X0.addresses.settings: an address that was set is the one that answers and pages show, and the one that the service answers at', async (t) => {
  const its = await platform(t, {
    settings: {
      KAHA_BASE_URL: 'http://api.kaha.test',
      KAHA_CHECKOUT_URL: 'http://pay.kaha.test',
      KAHA_DASHBOARD_URL: 'http://board.kaha.test',
      KAHA_SANDBOX_URL: 'http://sandbox.kaha.test',
    },
  })
  const link = await its.link()
  assert.match(link.url, /^http:\/\/pay\.kaha\.test\/l\/[0-9A-Za-z]{22}$/)
  const at = (host: string, path: string) =>
    call(its.url, { path, headers: { host }, key: its.seed.partner.secret_key })
  assert.equal((await at('pay.kaha.test', new URL(link.url).pathname)).status, 200)
  assert.equal((await at('sandbox.kaha.test', '/clock')).status, 200)
  const board = await at('board.kaha.test', '/')
  assert.equal(board.status, 200)
  for (const [, path] of board.text.matchAll(/<link[^>]* href="(\/[^"]*)"/g))
    assert.equal((await at('board.kaha.test', path ?? '')).status, 200, path)
  assert.ok(board.text.includes('href="http://api.kaha.test/docs"'))
  const home = await at('api.kaha.test', '/')
  assert.ok(home.text.includes('http://api.kaha.test') && home.text.includes('http://board.kaha.test'))
  assert.equal((await at('api.kaha.test', '/ecom/v1/payment-links')).status, 200)
  // Nobody is let through a wrong door: the pages' host has none of the API.
  assert.equal((await at('pay.kaha.test', '/ecom/v1/payment-links')).status, 404)
  const others = {
    KAHA_TERMINAL_URL: 'https://t.test',
    KAHA_TERMINAL_WS_URL: 'wss://s.test',
    KAHA_QR_URL: 'https://q.test/x',
  }
  const { terminal, terminalWs, qr, webhooks } = addressesWith({ ...others, KAHA_WEBHOOKS_URL: 'https://w.test/' })
  assert.deepEqual(
    [terminal, terminalWs, qr, webhooks],
    ['https://t.test', 'wss://s.test', 'https://q.test/x', 'https://w.test'],
  )
})

test('[X0.versions.prefix, X0.versions.prefix.reporting] every path of areas A, B and C carries its version', () => {
  const prefixes = {
    webhooks: '/v1/',
    reporting: '/reports/v1/',
    ecommerce: '/ecom/v1/',
    terminals: '/v1/',
    qr: '/qr/',
    qr_webhooks: '/webhooks/',
    sandbox: '/sandbox/',
  }
  for (const { id, area, path } of operations) assert.ok(path.startsWith(prefixes[area]), id)
})

test('X0.ids.uuidv7: every uuid in any table is of version 7', async () => {
  await p.sdk.webhooks.createEndpoint({
    url: p.receiver.url,
    enabled_events: ['payment.succeeded', 'payment.declined'],
  })
  const { id } = await p.link()
  await p.pay({ linkId: id })
  await p.pay({ card: cards.declined })
  const columns = await p.kaha.db.run<{ place: string; name: string }>(
    statement(
      'test.uuidColumns',
      `select format('%I.%I', c.table_schema, c.table_name) as place, quote_ident(c.column_name) as name
         from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
        where c.data_type = 'uuid' and t.table_type = 'BASE TABLE' and t.table_schema not in ('pg_catalog', 'information_schema')`,
    ),
    [],
  )
  assert.ok(columns.length > 30)
  let seen = 0
  for (const { place, name } of columns) {
    const query = statement(
      `test.ids ${place}.${name}`,
      `select ${name}::text as id from ${place} where ${name} is not null`,
    )
    for (const row of await p.kaha.db.run<{ id: string }>(query, [])) {
      assert.match(row.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, `${place}.${name}`)
      seen += 1
    }
  }
  assert.ok(seen > 100)
})

/** Every text of an answer that stands under a name of a time. */
function timesIn(value: unknown, name = ''): string[] {
  if (typeof value === 'string') return /(_at|_from|_to)$|^now$/.test(name) ? [value] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([own, inner]) => timesIn(inner, Array.isArray(value) ? name : own))
}

test('X0.time.format: every time in every answer, and in a webhook, is RFC 3339 in UTC with milliseconds', async () => {
  const form = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/
  const expiring = { expires_at: '2040-01-02T03:04:05+08:00' }
  const link = await ask({
    method: 'POST',
    path: '/ecom/v1/payment-links',
    headers: idempotent(),
    body: linkFor(p.branch.reference_number, expiring),
  })
  assert.equal(link.json.expires_at, '2040-01-01T19:04:05.000Z')
  let seen = timesIn(link.json).length
  for (const operation of operations) {
    const answer = await ask({ ...(await rightCall(operation, subjects)), key: p.seed.partner.secret_key })
    for (const time of timesIn(answer.json)) {
      assert.match(time, form, `${operation.id}: ${time}`)
      seen += 1
    }
  }
  await p.pay()
  const times = p.receiver.received.flatMap(({ body }) => timesIn(JSON.parse(body)))
  assert.ok(times.length > 0 && seen > 10)
  for (const time of times) assert.match(time, form)
})

test('X0.time.format: a time that UTC cannot write in four digits of year is refused', async () => {
  for (const expires_at of ['9999-12-31T23:59:59-12:00', '0000-01-01T00:00:00+12:00']) {
    const path = '/ecom/v1/payment-links'
    const body = linkFor(p.branch.reference_number, { expires_at })
    assertRefused(path, await ask({ method: 'POST', path, headers: idempotent(), body }), 400, 'INVALID_EXPIRES_AT')
  }
})

test('X0.limits.amount: 999,999,999,999 minor units are taken, and one more is refused', async () => {
  const post = (path: string, body: unknown) => ask({ method: 'POST', path, headers: idempotent(), body })
  const most = 999_999_999_999
  const priced = (amount: number) =>
    linkFor(p.branch.reference_number, {
      amount,
      line_items: [{ sku: 'A', name: 'A', unit_price: amount, quantity: 1 }],
    })
  const intent = (amount: number) => ({
    amount,
    currency: 'PHP',
    merchant_branch_reference_number: p.branch.reference_number,
  })
  for (const [path, of] of [
    ['/ecom/v1/payment-links', priced] as const,
    ['/ecom/v1/payment-intents', intent] as const,
  ]) {
    const taken = await post(path, of(most))
    assert.deepEqual([taken.status, taken.json.amount], [201, most])
    assertRefused(path, await post(path, of(most + 1)), 400, 'INVALID_AMOUNT')
    assertRefused(path, await post(path, of(0)), 400, 'INVALID_AMOUNT')
  }
  const half = linkFor(p.branch.reference_number, {
    amount: most,
    line_items: [{ sku: 'A', name: 'A', unit_price: most, quantity: 2 }],
  })
  assertRefused('/ecom/v1/payment-links', await post('/ecom/v1/payment-links', half), 400, 'INVALID_AMOUNT')
})

test('X0.metadata.strings: metadata holds strings alone, wherever there is metadata', async () => {
  const reference = p.branch.reference_number
  const line = { sku: 'MUG', name: 'Mug', unit_price: 9800, quantity: 1 }
  const places: readonly (readonly [path: string, of: (metadata: unknown) => unknown])[] = [
    [
      '/v1/webhook_endpoints',
      (metadata) => ({ url: 'https://shop.example.com/m', enabled_events: ['payment.failed'], metadata }),
    ],
    ['/ecom/v1/payment-links', (metadata) => linkFor(reference, { metadata })],
    ['/ecom/v1/payment-links', (metadata) => linkFor(reference, { line_items: [{ ...line, metadata }] })],
    [
      '/ecom/v1/payment-intents',
      (metadata) => ({ amount: 1, currency: 'PHP', merchant_branch_reference_number: reference, metadata }),
    ],
  ]
  for (const [path, of] of places) {
    for (const value of [1, 1.5, true, null, {}, [], ['a']]) {
      const answer = await ask({ method: 'POST', path, headers: idempotent(), body: of({ value }) })
      assertRefused(path, answer, 400, 'INVALID_METADATA')
    }
    for (const metadata of ['a', 1, [], ['a']]) {
      const answer = await ask({ method: 'POST', path, headers: idempotent(), body: of(metadata) })
      assertRefused(path, answer, 400, 'INVALID_METADATA')
    }
  }
})

test('X0.keys.prefix.sandbox: keys of a sandbox begin with sk_test_', () => {
  const keys = [p.seed.partner, ...p.seed.merchants, ...p.seed.merchants.flatMap(({ branches }) => branches)]
  for (const { secret_key: issued } of keys) assert.match(issued, /^sk_test_[0-9A-Za-z]{24}$/)
})
