import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { qrOperations, qrWireCodes, type Operation } from '@kaha/contract'
import { sealToken, tokenKey } from '@kaha/qrph/token'
import { alteredTokens } from '../../../qrph/test/altered-tokens.ts'
import { sql } from '../sql.ts'
import { freshDatabase } from '../cluster.ts'
import { platform } from '../platform.ts'
import { startPostgresProxy } from '../postgres-proxy.ts'
import { until } from '../until.ts'
import { call, type Call } from './call.ts'
import { keyFor } from './people.ts'
import { assertQrRefused, basic, qrAccount, qrPath, type QrAnswer } from './qr-account.ts'

// Area E: what every operation of the QR service refuses alike, and how.

const p = await platform({ after })
const own = qrAccount(p)
const code = await own.made()
const operations: readonly Operation[] = Object.values(qrOperations)
const keyed = operations.filter(({ auth }) => auth === 'basic')
const plainly = async (request: Call, url = p.url): Promise<QrAnswer> => ({
  ...(await call(url, request)),
  plain: undefined,
})
const authorization = basic(p.merchant.secret_key)

/** A request of this operation that is right in everything but its key. */
async function rightCall({ id, method, path }: Operation, account = own): Promise<Call> {
  switch (id) {
    case 'createQrCode':
      return { method, path, body: await account.seal(account.request()) }
    case 'findQrCode':
      return { method, path: `${path}?merchantReferenceNumber=none` }
    case 'retrieveQrCode':
      return { method, path: path.replace('{id}', code.id) }
    default:
      return { method, path }
  }
}

test('E6.ping.qr: ping is 200 Pong! as text, with and without a key', async () => {
  for (const headers of [{}, { authorization }, { authorization: 'x' }]) {
    const answer = await call(p.url, { path: '/qr/ping', headers })
    assert.deepEqual([answer.status, answer.text], [200, 'Pong!'])
    assert.match(answer.headers['content-type'] ?? '', /^text\/plain/)
  }
  assertQrRefused(await plainly({ path: '/qr/ping?x=1' }), 'BAD_REQUEST')
})

test('every operation answers a right request with what the contract documents', async () => {
  for (const operation of operations) {
    const answer = await own.ask(await rightCall(operation))
    assert.ok(answer.status in operation.success || operation.id === 'findQrCode', `${operation.id}: ${answer.status}`)
    assert.match(String(answer.headers['x-correlation-id']), /^[0-9a-f-]{36}$/)
  }
})

test('E6.errors.form: an error is code, error and referenceNumber, and each has a reference number of its own', async () => {
  const answers = await Promise.all(Array.from({ length: 5 }, () => plainly({ path: qrPath })))
  for (const answer of answers) assertQrRefused(answer, 'NO_AUTHORIZATION')
  assert.equal(new Set(answers.map(({ json }) => json.referenceNumber)).size, 5)
  for (const wire of Object.values(qrWireCodes)) assert.match(wire, /^\d{8}$/)
})

test('E6.errors.route: a path that is no route is 404 with 20000010, plain, with or without a key', async () => {
  for (const path of [
    '/qr',
    '/qr/',
    '/qr/v1',
    '/qr/v1/pay',
    '/qr/v1/pay/qr/a/b',
    '/qr/v1/pay/qr/',
    '/qr/v1/pay//qr',
    '/qr/ping/x',
    '/qr/v2/pay/qr',
    '/qr/v1/pay/QR',
  ])
    for (const method of ['GET', 'POST', 'DELETE'])
      for (const headers of [{}, { authorization }])
        assertQrRefused(await plainly({ method, path, headers }), 'NOT_FOUND')
  for (const path of ['/qr/%', '/qr/v1/pay/qr/%zz'])
    assertQrRefused(await plainly({ path, headers: { authorization } }), 'BAD_REQUEST')
})

test('[E6.errors.method, X0.routes.method.qr] a wrong method is 405 with 20000011, and Allow names the right ones', async () => {
  const allowed: Readonly<Record<string, string>> = {
    [qrPath]: 'GET, HEAD, POST',
    [`${qrPath}/${code.id}`]: 'GET, HEAD',
    '/qr/ping': 'GET, HEAD',
  }
  for (const [path, allow] of Object.entries(allowed)) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter((one) => !allow.includes(one))) {
      const answer = await plainly({ method, path, headers: { authorization } })
      assertQrRefused(answer, 'METHOD_NOT_ALLOWED')
      assert.equal(String(answer.headers.allow).split(', ').toSorted().join(', '), allow)
    }
  }
})

const kib = 1024
const padded = (value: unknown, bytes: number): string => {
  const text = JSON.stringify(value)
  return `${text.slice(0, -1)}${' '.repeat(bytes - Buffer.byteLength(text))}}`
}

test('[E6.errors.body, X0.limits.body.qr] a body of 64 KiB is read, and one byte more is 413 with 20000012', async () => {
  const send = async (bytes: number, headers: Record<string, string> = {}) =>
    own.ask({ method: 'POST', path: qrPath, headers, bytes: padded(await own.seal(own.request()), bytes) })
  assert.equal((await send(64 * kib)).status, 200)
  assertQrRefused(await send(64 * kib + 1), 'PAYLOAD_TOO_LARGE')
})

test('E6.errors.content-type: a body that is not declared as JSON, or is packed, is 415 with 20000013', async () => {
  const body = await own.seal(own.request())
  for (const type of [
    'text/plain',
    'application/jose',
    'application/x-www-form-urlencoded',
    'application/jsonx',
    'x',
    '',
  ])
    assertQrRefused(
      await own.ask({ method: 'POST', path: qrPath, body, headers: { 'content-type': type } }),
      'UNSUPPORTED_MEDIA_TYPE',
    )
  assertQrRefused(
    await own.ask({ method: 'POST', path: qrPath, body, headers: { 'content-encoding': 'gzip' } }),
    'UNSUPPORTED_MEDIA_TYPE',
  )
  assert.equal(
    (
      await own.ask({
        method: 'POST',
        path: qrPath,
        body,
        headers: { 'content-type': 'application/json; charset=utf-8' },
      })
    ).status,
    200,
  )
})

test('[E6.errors.invalid-request, X0.input.unknown-property.qr] a body that is no object with a Token alone is 400 with 20000002, plain', async () => {
  const { Token } = await own.seal(own.request())
  const bodies: unknown[] = [
    {},
    [],
    'x',
    1,
    null,
    { token: Token },
    { Token: 1 },
    { Token: null },
    { Token, more: 1 },
    { Token: [Token] },
  ]
  for (const body of bodies) assertQrRefused(await own.ask({ method: 'POST', path: qrPath, body }), 'BAD_REQUEST')
  for (const bytes of ['', '{', 'x', '{"Token":"\\ud83d"}', Buffer.from([0xff])])
    assertQrRefused(await own.ask({ method: 'POST', path: qrPath, bytes }), 'BAD_REQUEST')
  assertQrRefused(await own.ask({ method: 'POST', path: `${qrPath}?x=1`, body: { Token } }), 'BAD_REQUEST')
})

test('E6.token.refused: whatever is wrong with a token, the answer is 400 with 20000009, plain, with one text', async () => {
  const key = await tokenKey(p.merchant.encryption_key)
  const other = await tokenKey('f3Kq9ZtB7mXw2LrN8vYc5HsD1jPe6UaG')
  const inside = own.request()
  const tokens = [
    '',
    'x',
    '....',
    'a.b.c.d.e',
    await sealToken(other, inside),
    await sealToken(key, [inside]),
    ...(await alteredTokens(await sealToken(key, inside), 1_000, 7)),
  ]
  const texts = new Set<string>()
  for (const Token of tokens) {
    const answer = await own.ask({ method: 'POST', path: qrPath, body: { Token } })
    // What JSON cannot carry never gets to be a token.
    if (answer.json?.code === qrWireCodes.BAD_REQUEST && (!Token.isWellFormed() || Token.includes('\0'))) continue
    assertQrRefused(answer, 'TOKEN_REFUSED')
    texts.add(answer.json.error)
  }
  assert.equal(texts.size, 1)
  assert.ok(!p.logged.some((line) => line.includes('"level":50')))
})

test('[E6.errors.encrypted, X0.limits.body.qr] a Token is opened however long it is, as long as its body is one that is read', async () => {
  const sealed = (characters: number) => own.seal({ ...own.request(), note: 'x'.repeat(characters) })
  const longest = await sealed(48_830)
  const bytes = Buffer.byteLength(JSON.stringify(longest))
  assert.ok(bytes > 64 * kib - 100 && bytes <= 64 * kib, `${bytes}`)
  for (const body of [longest, await sealed(20_000)])
    assertQrRefused(await own.ask({ method: 'POST', path: qrPath, body }), 'INVALID_REQUEST')
})

test('E6.errors.encrypted: once a Token was opened a refusal is a Token with 422, and before that it is plain', async () => {
  const opened = await own.create({ currency: 'USD' })
  assert.equal(opened.status, 422)
  assert.deepEqual(Object.keys(opened.json), ['Token'])
  assertQrRefused(opened, 'UNSUPPORTED_CURRENCY')
  const unopened = await own.ask({ method: 'POST', path: qrPath, body: { Token: 'x' } })
  assert.equal(unopened.plain, undefined)
})

test('E6.errors.rate: too many requests of a key are 429 with 20000014 and Retry-After, plain', async (t) => {
  const frozen = Date.now()
  const limited = await platform(t, { settings: { KAHA_RATE_LIMIT: '1' }, choices: { wall: () => frozen } })
  for (const operation of keyed) {
    const { secretKey } = await keyFor(limited, { id: limited.merchant.id, level: 'merchant' })
    const request = {
      ...(await rightCall(operation, qrAccount(limited))),
      headers: { authorization: basic(secretKey) },
    }
    for (let sent = 0; sent < 2; sent += 1) assert.notEqual((await call(limited.url, request)).status, 429)
    const answer = await plainly(request, limited.url)
    assertQrRefused(answer, 'RATE_LIMITED')
    assert.equal(answer.headers['retry-after'], '1')
  }
})

test('E6.errors.internal: a defect of ours is 500 with 50000000, plain, and tells nothing of its cause', async (t) => {
  const broken = await platform(t)
  await sql(broken.kaha.db, 'alter table qr.codes rename to lost_table_of_codes')
  const account = qrAccount(broken)
  for (const operation of keyed) {
    const answer = await account.ask(await rightCall(operation, account))
    assertQrRefused(answer, 'INTERNAL_ERROR')
    assert.doesNotMatch(answer.text, /codes|lost|relation|select|sql|\.ts/i)
  }
})

test('every operation answers 503 with Retry-After while the database is away, and serves when it is back', async (t) => {
  const database = await freshDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const proxy = await startPostgresProxy(database.target)
  const away = await platform(t, { database: proxy.target })
  t.after(() => proxy[Symbol.asyncDispose]())
  const account = qrAccount(away)
  await account.made()
  proxy.becomes('closed')
  for (const operation of keyed) {
    const answer = await account.ask(await rightCall(operation, account))
    assertQrRefused(answer, 'UNAVAILABLE')
    assert.ok(Number(answer.headers['retry-after']) >= 1)
  }
  proxy.becomes('passes')
  await until('the way back', async () => (await account.create()).status === 200)
})

test('no log line holds a key, a token or what was in one', async () => {
  const { id, qrText } = await own.made({ merchantReferenceNumber: 'SECRET-REFERENCE-1' })
  await own.find('SECRET-REFERENCE-1')
  const lines = p.logged.join('\n')
  for (const secret of [
    p.merchant.secret_key,
    p.merchant.encryption_key,
    'SECRET-REFERENCE-1',
    qrText,
    'eyJhbGciOiJBMjU2S1ci',
  ])
    assert.ok(!lines.includes(secret), secret)
  assert.ok(id)
})
