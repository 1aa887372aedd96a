import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { scopes, scopesOf, type Operation } from '@kaha/contract'
import { statement } from '../../src/kernel/db.ts'
import { freshDatabase } from '../cluster.ts'
import { platform } from '../platform.ts'
import { startPostgresProxy } from '../postgres-proxy.ts'
import { until } from '../until.ts'
import { areaOf, assertEnvelope, assertRefused, call, catalogues, type Call } from './call.ts'
import { operations, rightCall, subjectsOf } from './operations.ts'
import { keyFor } from './people.ts'

// Statuses that are common to an area, over all operations of the contract.

const p = await platform({ after })
const subjects = await subjectsOf(p)
const partnerKey = p.seed.partner.secret_key
const ask = (request: Call) => call(p.url, request)
// Some expect none, and look at one that comes.
const withBody = operations.filter(({ method }) => method !== 'GET')
const sending = async (operation: Operation): Promise<Call> => ({
  body: {},
  ...(await rightCall(operation, subjects)),
})
const scoped = operations.filter((operation) => scopesOf(operation).length > 0)

test('[X0.json.answers, X0.correlation.header, X0.correlation.header.reporting] every operation answers a right request with its success, a JSON body and a correlation id', async () => {
  for (const operation of operations) {
    const answer = await ask({ ...(await rightCall(operation, subjects)), key: partnerKey })
    assert.ok(answer.status in operation.success, `${operation.id}: ${answer.status} ${answer.text}`)
    assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
    assert.match(String(answer.headers['x-correlation-id']), /^[0-9a-f-]{36}$/)
  }
})

test('[I1.header.missing, A2.errors.unauthorized, B3.errors.unauthorized, B3.errors.envelope, X0.correlation.body] no operation answers a request without a key', async () => {
  for (const operation of operations) {
    const request = await rightCall(operation, subjects)
    assertRefused(request.path, await ask(request), 401, 'UNAUTHORIZED')
  }
})

test('[I1.header.unknown] no operation answers a key that was never issued, or has one character changed', async () => {
  const changed = partnerKey.slice(0, -1) + (partnerKey.endsWith('a') ? 'b' : 'a')
  for (const operation of operations) {
    for (const key of ['sk_test_000000000000000000000000', changed, partnerKey.toUpperCase(), ` ${partnerKey}x`, 'x']) {
      const request = await rightCall(operation, subjects)
      assertRefused(request.path, await ask({ ...request, key }), 401, 'UNAUTHORIZED')
    }
  }
})

test('[I1.scopes.missing, I1.scopes.missing.reporting] each scoped operation needs each of its scopes and no other', async () => {
  const merchant = { id: p.merchant.id, level: 'merchant' } as const
  for (const operation of scoped) {
    for (const missing of scopesOf(operation)) {
      const without = await keyFor(p, merchant, { scopes: scopes.filter((scope) => scope !== missing) })
      const request = await rightCall(operation, subjects)
      assertRefused(request.path, await ask({ ...request, key: without.secretKey }), 403, 'FORBIDDEN')
    }
    const only = await keyFor(p, merchant, { scopes: scopesOf(operation) })
    const answer = await ask({ ...(await rightCall(operation, subjects)), key: only.secretKey })
    assert.ok(answer.status in operation.success, `${operation.id}: ${answer.status} ${answer.text}`)
  }
})

test("[S7.access.partner-key] the sandbox's operations refuse the keys of merchants and branches", async () => {
  for (const operation of operations.filter(({ auth }) => auth === 'partner_key')) {
    for (const key of [p.merchant.secret_key, p.branch.secret_key]) {
      const request = await rightCall(operation, subjects)
      assertRefused(request.path, await ask({ ...request, key }), 403, 'FORBIDDEN')
    }
  }
})

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

// A collection with a slash too many, and whatever else has an id that is empty.
const emptyIds = new Set(
  operations.filter(({ path }) => path.includes('{')).map(({ path }) => path.replaceAll(/\{\w+\}/g, '')),
)

test("[X0.routes.unknown, X0.routes.unknown.reporting, B3.errors.not-found] a path that is no route is 404 in its area's envelope, whatever the method, with or without a key", async () => {
  const paths = ['/v1', '/v1/', '/v1/none', '/v1/webhook_endpoint', '/v1/webhook_events/a/b', '/ecom/v1/none']
  const others = [
    '/reports/v1',
    '/reports/v1/none',
    '/reports/v1/transactions/a/b',
    '/ecom/v1',
    '/ecom/v1/payment-links/a/b/c',
    ...emptyIds,
    '/sandbox/none',
    '/sandbox/clock/none',
    '/sandbox',
  ]
  for (const path of [...paths, ...others]) {
    for (const method of methods) {
      for (const more of [{}, { key: partnerKey }, { bytes: 'no JSON', headers: { 'content-type': 'text/plain' } }]) {
        const answer = await ask({ method, path, ...more })
        if (method === 'HEAD') assert.equal(answer.status, 404, path)
        else assertRefused(path, answer, 404, 'NOT_FOUND')
      }
    }
  }
})

test('[X0.routes.method, B3.errors.method] a known path takes its own methods alone, and says which in Allow', async () => {
  const byPath = new Map<string, Set<string>>()
  for (const { path, method, auth } of operations) {
    const known = byPath.get(path) ?? new Set<string>()
    byPath.set(path, known.add(method))
    // A browser asks before a page of another origin may send.
    if (auth === 'key_or_client_secret') known.add('OPTIONS')
    if (method === 'GET') known.add('HEAD')
  }
  for (const [pattern, known] of byPath) {
    const path = pattern.replace(/\{\w+\}/, subjects.linkId)
    for (const method of [...methods, 'TRACE', 'PROPFIND'].filter((one) => !known.has(one))) {
      const answer = await ask({ method, path, key: partnerKey })
      assert.equal(answer.status, 405, `${method} ${path}: ${answer.status} ${answer.text}`)
      const allow = String(answer.headers.allow).split(/, */).toSorted()
      assert.deepEqual(allow, [...known].toSorted(), path)
      if (method !== 'HEAD') assertRefused(path, answer, 405, 'METHOD_NOT_ALLOWED')
    }
  }
})

test('so do the pages and files around the operations', async () => {
  const inbox = `/sandbox/inbox/${p.merchant.id}`
  const paths: readonly (readonly [path: string, allow: string])[] = [
    ...[
      '/',
      '/dashboard',
      '/dashboard/',
      '/docs',
      '/docs/',
      '/docs/webhooks',
      '/docs/openapi/qr.json',
      '/docs/asyncapi/terminals.json',
      '/healthz',
      '/readyz',
    ].map((path) => [path, 'GET, HEAD'] as const),
    ['/metrics?name=x', 'GET, HEAD'],
    ['/sandbox/bank', 'GET, HEAD, POST'],
    ['/sandbox/bank?code=x', 'GET, HEAD, POST'],
    [inbox, 'POST'],
  ]
  for (const [path, allow] of paths) {
    for (const method of methods.filter((one) => !allow.split(', ').includes(one))) {
      const answer = await ask({ method, path, bytes: method === 'HEAD' ? '' : 'a=1' })
      assert.deepEqual([answer.status, answer.headers.allow], [405, allow], `${method} ${path}`)
      if (method !== 'HEAD') assert.equal(answer.json.error.code, 'METHOD_NOT_ALLOWED')
    }
  }
  for (const path of [
    '/docs//',
    '/docs/none',
    '/docs/openapi/',
    '/healthz/x',
    '/sandbox/bank/x',
    `${inbox}/x`,
    '/none',
  ])
    for (const method of ['GET', 'DELETE']) assert.equal((await ask({ method, path })).status, 404, `${method} ${path}`)
})

test('whoever writes a slash behind the address of a page is led to the page', async () => {
  for (const page of ['/docs', '/docs/webhooks', '/dashboard']) {
    const answer = await ask({ path: `${page}/` })
    assert.equal(answer.status, 308)
    const to = new URL(String(answer.headers.location), `${p.url}${page}/`)
    assert.equal(to.href, `${p.url}${page}`)
    assert.equal((await ask({ path: to.pathname })).status, 200)
  }
})

test('a HEAD request gets the headers of a GET and no body', async () => {
  const operation = operations.find(({ id }) => id === 'listPaymentLinks')
  const answer = await ask({ method: 'HEAD', path: operation?.path ?? '', key: partnerKey })
  assert.deepEqual([answer.status, answer.text], [200, ''])
})

const kib = 1024
const bodyBytesMax = {
  webhooks: 64 * kib,
  reporting: 64 * kib,
  ecommerce: 256 * kib,
  terminals: 256 * kib,
  qr: 64 * kib,
  qr_webhooks: 64 * kib,
  sandbox: 64 * kib,
} as const

/** A JSON object of exactly so many bytes; white space is part of the body and not of the value. */
const padded = (value: unknown, bytes: number): string => {
  const text = JSON.stringify(value)
  return `${text.slice(0, -1)}${' '.repeat(bytes - Buffer.byteLength(text))}}`
}

test('[X0.limits.body.webhooks, X0.limits.body.ecommerce] a body of exactly the largest size is read, and one byte more is 413', async () => {
  for (const operation of withBody) {
    const request = await sending(operation)
    const most = operation.bodyBytesMax ?? bodyBytesMax[areaOf(request.path)]
    const { body, ...rest } = request
    const read = await ask({ ...rest, key: partnerKey, bytes: padded(body, most) })
    assert.ok(read.status in operation.success, `${operation.id}: ${read.status} ${read.text}`)
    const over = { ...rest, key: partnerKey, bytes: padded(body, most + 1) }
    assertRefused(request.path, await ask(over), 413, 'PAYLOAD_TOO_LARGE')
    const unannounced = { ...over, headers: { ...rest.headers, 'content-length': [], 'transfer-encoding': 'chunked' } }
    assertRefused(request.path, await ask(unannounced), 413, 'PAYLOAD_TOO_LARGE')
  }
})

test('[X0.limits.content-type, S7.access.json] a body that is not declared as JSON is 415, and a charset is no hindrance', async () => {
  const wrong = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/json', 'x']
  for (const operation of withBody) {
    for (const type of [...wrong, 'application/jsonx', 'application/json-patch+json', '']) {
      const request = await sending(operation)
      const headers = { ...request.headers, 'content-type': type }
      const answer = await ask({ ...request, headers, key: partnerKey })
      assertRefused(request.path, answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
    }
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset=UTF-8']) {
      const request = await sending(operation)
      const answer = await ask({ ...request, headers: { ...request.headers, 'content-type': type }, key: partnerKey })
      assert.ok(answer.status in operation.success, `${operation.id} as ${type}: ${answer.status} ${answer.text}`)
    }
    const as = async (encoding: string) => {
      const request = await sending(operation)
      return ask({ ...request, headers: { ...request.headers, 'content-encoding': encoding }, key: partnerKey })
    }
    assertRefused(operation.path, await as('gzip'), 415, 'UNSUPPORTED_MEDIA_TYPE')
    // Codings are named in any case (RFC 9110, 8.4.1).
    const plain = await as('Identity')
    assert.ok(plain.status in operation.success, `${operation.id}: ${plain.status} ${plain.text}`)
  }
})

test('X0.limits.content-type: a request without a body may name any type and encoding, for client libraries name those of a form', async () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': 'gzip' }
  const bare = operations.filter(({ body, bodyOptional }) => body === undefined || bodyOptional === true)
  for (const operation of bare) {
    for (const length of [{}, { 'content-length': '0' }]) {
      const { body: _, ...request } = await rightCall(operation, subjects)
      const headers = { ...request.headers, ...form, ...length }
      const answer = await ask({ ...request, headers, key: partnerKey })
      assert.ok(answer.status in operation.success, `${operation.id}: ${answer.status} ${answer.text}`)
    }
  }
})

test('[X0.rate.answer, B3.errors.rate] every operation answers 429 with Retry-After to a key that is over its rate', async (t) => {
  const frozen = Date.now()
  const limited = await platform(t, { settings: { KAHA_RATE_LIMIT: '1' }, choices: { wall: () => frozen } })
  for (const operation of operations) {
    const { secretKey: key } = await keyFor(limited, { id: limited.seed.partner.id, level: 'partner' })
    const request = { ...(await rightCall(operation, subjects)), key }
    for (let sent = 0; sent < 2; sent += 1) assert.notEqual((await call(limited.url, request)).status, 429)
    const answer = await call(limited.url, request)
    assertRefused(request.path, answer, 429, 'RATE_LIMITED')
    assert.equal(answer.headers['retry-after'], '1')
  }
})

test('[A2.errors.internal, B3.errors.internal] a defect of ours is 500 in every operation, and tells nothing of its cause', async (t) => {
  const broken = await platform(t)
  await broken.kaha.db.run(statement('test.break', 'alter table identity.keys rename to lost_table_of_keys'), [])
  for (const operation of operations) {
    // Never seen before, so that it is looked up.
    const key = `sk_test_${operation.id.padEnd(24, '0').slice(0, 24)}`
    const request = { ...(await rightCall(operation, subjects)), key }
    const answer = await call(broken.url, request)
    assertRefused(request.path, answer, 500, 'INTERNAL_ERROR')
    assert.doesNotMatch(answer.text, /identity|keys|lost|\brelation|select|sql|\.ts|node_modules/i)
    assert.ok(
      broken.logged.some(
        (line) => line.includes(String(answer.headers['x-correlation-id'])) && line.includes('identity.keys'),
      ),
    )
  }
})

test('every operation answers 503 with Retry-After while the database is away, and serves when it is back', async (t) => {
  const database = await freshDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const proxy = await startPostgresProxy(database.target)
  const away = await platform(t, { database: proxy.target })
  t.after(() => proxy[Symbol.asyncDispose]())
  const its = await subjectsOf(away)
  const key = away.seed.partner.secret_key
  // Made before: some need the database.
  const requests = new Map<Operation, Call>()
  for (const operation of operations) requests.set(operation, { ...(await rightCall(operation, its)), key })
  for (const behaviour of ['closed', 'passes'] as const) {
    proxy.becomes(behaviour)
    if (behaviour === 'passes') {
      await until('readiness', async () => (await call(away.url, { path: '/readyz' })).status === 200)
    }
    for (const [operation, request] of requests) {
      if (behaviour === 'closed') {
        const answer = await call(away.url, request)
        // Nothing of this one stands in the database, and a key is remembered for a second.
        if (operation.id === 'readSandboxClock' && answer.status === 200) continue
        assertRefused(request.path, answer, 503, 'UNAVAILABLE')
        assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/)
      } else {
        const answer = await call(away.url, request)
        assert.ok(answer.status in operation.success, `${operation.id}: ${answer.status} ${answer.text}`)
      }
    }
  }
})

test('every code of an area has a status of its own kind, and every operation names codes of its area alone', () => {
  for (const { id, area, errors } of operations) {
    for (const code of errors) assert.ok(code in catalogues[area], `${id} names ${code}`)
  }
  for (const [area, statuses] of Object.entries(catalogues)) {
    for (const [code, status] of Object.entries(statuses)) {
      assert.ok(status >= 400 && status < 600 && /^[A-Z_]+$/.test(code))
      // Area E has names of its own.
      if (!area.startsWith('qr') && code.startsWith('INVALID_') && status !== 400)
        assert.match(code, /^INVALID_(STATE|SIGNATURE|TRANSACTION_STATE)$/)
    }
  }
})

test('the envelope is checked by what it must not hold as well', async () => {
  const answer = await ask({ path: '/v1/webhook_endpoints' })
  assert.equal(assertEnvelope('webhooks', answer), 'UNAUTHORIZED')
  const leaking = { ...answer, json: { error: { ...answer.json.error, stack: 'at …' } } }
  assert.throws(() => assertEnvelope('webhooks', leaking))
  assert.throws(() => assertEnvelope('webhooks', { ...answer, status: 400 }))
})
