import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { isUuid } from '../../src/kernel/ids.ts'
import { platform } from '../platform.ts'
import { areaOf, assertEnvelope, assertRefused, call, type Answer, type Call } from './call.ts'
import { operations, rightCall, subjectsOf } from './operations.ts'
import { idempotent } from './people.ts'

// Bytes that no client library would send, and random ones: an error in the area's envelope, never a 5xx, never a hang.

const p = await platform({ after })
const subjects = await subjectsOf(p)
const key = p.seed.partner.secret_key
const ask = (request: Call) => call(p.url, { key, ...request })
const withBody = operations.filter(({ body }) => body !== undefined)
const seed = Date.now() & 0x7fffffff

const kib = 1024
const nested = (open: string, close: string, depth: number, inside = '') =>
  open.repeat(depth) + inside + close.repeat(depth)

const noJson: readonly (readonly [what: string, bytes: string | Buffer])[] = [
  ['an unfinished object', '{"url":'],
  ['two values', '{}{}'],
  ['a comma too many', '{"url":"x",}'],
  ['single quotes', "{'url':'x'}"],
  ['a comment', '{/* x */}'],
  ['a bare word', 'undefined'],
  ['NaN', '{"amount":NaN}'],
  ['a number with a leading zero', '{"amount":01}'],
  ['a hexadecimal number', '{"amount":0x10}'],
  ['a line break in a text', '{"url":"a\nb"}'],
  ['a raw NUL in a text', '{"url":"a\0b"}'],
  ['only space', ' \n\t '],
  ['a byte order mark alone', Buffer.from([0xef, 0xbb, 0xbf])],
  ['UTF-16', Buffer.from('{"url":"x"}', 'utf16le')],
  ['a lone continuation byte', Buffer.from([0x7b, 0x22, 0x80, 0x22, 0x3a, 0x31, 0x7d])],
  ['an overlong slash', Buffer.concat([Buffer.from('{"url":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])],
  [
    'a surrogate in UTF-8',
    Buffer.concat([Buffer.from('{"url":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
  ],
  [
    'a code point beyond the last',
    Buffer.concat([Buffer.from('"'), Buffer.from([0xf4, 0x90, 0x80, 0x80]), Buffer.from('"')]),
  ],
  ['random bytes', Buffer.from(Array.from({ length: 1_000 }, (_, at) => (at * 7919) % 256))],
  ['brackets that never close', '['.repeat(60 * kib)],
]

test('A2.errors.malformed-json: a body that is no JSON in UTF-8 is 400 BAD_REQUEST, whatever it is instead', async () => {
  for (const operation of withBody) {
    for (const [what, bytes] of noJson) {
      const { path, method = 'POST' } = await rightCall(operation, subjects)
      const answer = await ask({ method, path, headers: idempotent(), bytes })
      assert.equal(answer.json?.error?.code, 'BAD_REQUEST', `${operation.id}, ${what}: ${answer.text}`)
      assertRefused(path, answer, 400, 'BAD_REQUEST')
    }
  }
})

test('a key that stands twice is refused, at any depth and however it is written, so that none of its values is dropped in silence', async () => {
  for (const operation of withBody) {
    const { body, path, method = 'POST' } = await rightCall(operation, subjects)
    const json = JSON.stringify(body)
    const [[name, value] = ['a', 1]] = Object.entries(body as object)
    const member = `"${name}":${JSON.stringify(value)}`
    const escaped = member.replace(/(?<=^")./, (first) => `\\u00${first.charCodeAt(0).toString(16)}`)
    const bodies = [member, escaped].map((one) => (json === '{}' ? `{${one},${member}}` : `{${one},${json.slice(1)}`))
    for (const bytes of [...bodies, `${json.slice(0, -1)}${json === '{}' ? '' : ','}"x":[{"y":1,"y":1}]}`]) {
      const answer = await ask({ method, path, headers: idempotent(), bytes })
      assertRefused(path, answer, 400, 'BAD_REQUEST')
      assert.equal(
        answer.json.message ?? answer.json.error.message,
        'An object of the body has a key twice; send it once.',
      )
    }
  }
})

const unkeepable: readonly (readonly [what: string, json: string])[] = [
  ['NUL', '"a\\u0000b"'],
  ['half of a surrogate pair', '"\\ud83d"'],
  ['the other half', '"x\\uDE00"'],
  ['halves in the wrong order', '"\\ude00\\ud83d"'],
]

test('text that could not be kept as it was sent is refused, as a value and as a key, at any depth', async () => {
  for (const operation of withBody) {
    const { body, path, method = 'POST' } = await rightCall(operation, subjects)
    for (const [what, json] of unkeepable) {
      const inMetadata = `${JSON.stringify(body).slice(0, -1)},"metadata":{"note":${json}}}`
      const asKey = `${JSON.stringify(body).slice(0, -1)},"metadata":{${json}:"x"}}`
      for (const bytes of [inMetadata, asKey, `[[[{"a":[${json}]}]]]`, json]) {
        const answer = await ask({ method, path, headers: idempotent(), bytes })
        assert.equal(answer.json?.error?.code, 'BAD_REQUEST', `${operation.id}, ${what}: ${answer.text}`)
      }
    }
  }
})

test("a key that reaches into an object's prototype is refused, however it is spelled, and reaches nothing", async () => {
  const spelled = ['__proto__', '\\u005f_proto__', '__\\u0070roto__', '\\u005F\\u005fproto\\u005f\\u005F']
  for (const operation of withBody) {
    const { body, path, method = 'POST' } = await rightCall(operation, subjects)
    for (const name of spelled) {
      for (const value of ['{"polluted":"yes"}', '"x"', 'null', '[]']) {
        const inside = `${JSON.stringify(body).slice(0, -1)},"${name}":${value}}`
        const below = `${JSON.stringify(body).slice(0, -1)},"metadata":{"${name}":${value}}}`
        for (const bytes of [inside, below]) {
          const answer = await ask({ method, path, headers: idempotent(), bytes })
          assert.equal(answer.json?.error?.code, 'BAD_REQUEST', `${operation.id}, ${bytes}: ${answer.text}`)
        }
      }
    }
  }
  assert.ok(!('polluted' in {}))
})

test('keys that every object has are ordinary keys in metadata', async () => {
  const metadata = {
    constructor: 'a',
    toString: 'b',
    hasOwnProperty: 'c',
    valueOf: 'd',
    prototype: 'e',
    length: 'f',
    '': 'g',
  }
  const path = '/v1/webhook_endpoints'
  const body = { url: 'https://shop.example.com/proto', enabled_events: ['payment.failed'], metadata }
  const made = await ask({ method: 'POST', path, body })
  assert.equal(made.status, 201, made.text)
  const found = await ask({ path: `${path}/${made.json.id}` })
  for (const answer of [made, found]) assert.deepEqual({ ...answer.json.metadata }, metadata)
})

test('text of every kind that JSON can carry comes back as it was sent', async () => {
  const description =
    '\u0001\u001f "\\/\b\f\n\r\t \u007f\u0085\u2028\u2029\ufeff\ufffe\uffff é ﬁ 漢字 ကခ 👩‍👩‍👧 𝒳 \u202e </script>'
  const path = '/v1/webhook_endpoints'
  const body = {
    url: 'https://shop.example.com/text',
    enabled_events: ['payment.failed'],
    description,
    metadata: { [description.slice(0, 20)]: description },
  }
  const made = await ask({ method: 'POST', path, body })
  assert.equal(made.status, 201, made.text)
  const found = await ask({ path: `${path}/${made.json.id}` })
  assert.equal(found.json.description, description)
  assert.deepEqual(found.json.metadata, body.metadata)
})

test('a body that is nested deeper than any program likes is an error like any other', async () => {
  for (const operation of withBody) {
    const { path, method = 'POST' } = await rightCall(operation, subjects)
    const depth = areaOf(path) === 'ecommerce' ? 120 * kib : 30 * kib
    const bodies = [
      nested('[', ']', depth),
      nested('[', ']', depth, '"\\u0000"'),
      nested('{"a":', '}', depth / 4, '1'),
      nested('{"__proto__":', '}', depth / 14, '1'),
      `{"metadata":${nested('[', ']', depth)},"url":"\\u0041"}`,
    ]
    for (const bytes of bodies) {
      const answer = await ask({ method, path, headers: idempotent(), bytes })
      assert.equal(answer.status, 400, `${operation.id} ${bytes.slice(0, 30)}: ${answer.status} ${answer.text}`)
      assertEnvelope(areaOf(path), answer)
    }
  }
})

test('a very wide body is an error like any other', async () => {
  const wide = [
    JSON.stringify(Array.from({ length: 30_000 }, () => 0)),
    `{${Array.from({ length: 5_000 }, (_, at) => `"k${at}":"\\u0041"`).join(',')}}`,
    JSON.stringify({
      enabled_events: Array.from({ length: 3_000 }, () => 'payment.succeeded'),
      url: 'https://a.example',
    }),
    JSON.stringify({
      line_items: Array.from({ length: 5_000 }, () => ({})),
      currency: 'PHP',
      amount: 1,
      type: 'one_time',
    }),
  ]
  for (const operation of withBody) {
    const { path, method = 'POST' } = await rightCall(operation, subjects)
    for (const bytes of wide) {
      const answer = await ask({ method, path, headers: idempotent(), bytes })
      assert.ok([400, 413].includes(answer.status), `${operation.id}: ${answer.status} ${answer.text}`)
      assertEnvelope(areaOf(path), answer)
    }
  }
})

test('a number that JSON can write and no amount can be is refused; the same amount written otherwise is the same', async () => {
  const path = '/ecom/v1/payment-intents'
  const withAmount = (amount: string) => ({
    method: 'POST',
    path,
    headers: idempotent(),
    bytes: `{"amount":${amount},"currency":"PHP","merchant_branch_reference_number":"${p.branch.reference_number}"}`,
  })
  for (const amount of [
    '1e400',
    '-1e400',
    '1e-400',
    '0.1',
    '1.5',
    '-1',
    '-0',
    '0',
    '9007199254740993',
    '1e12',
    '100.00000001',
    '9799.99999999999999999',
  ]) {
    assertRefused(path, await ask(withAmount(amount)), 400, 'INVALID_AMOUNT')
  }
  for (const amount of ['9800', '98e2', '9800.0', '0.98E+4']) {
    const answer = await ask(withAmount(amount))
    assert.deepEqual([answer.status, answer.json.amount], [201, 9800], amount)
  }
})

/** Everything that the server sends back for some bytes, until it closes the connection or has answered. */
function raw(bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(p.url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let got = ''
    const end = () => {
      socket.destroy()
      resolve(got)
    }
    socket.setTimeout(20_000, () => socket.destroy(new Error(`no answer to ${String(bytes).slice(0, 80)}`)))
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString('latin1')
      if (/\r\n\r\n[\s\S]/.test(got) || /^HTTP\/1\.1 \d+ [\s\S]*\r\n\r\n$/.test(got)) end()
    })
    socket.on('close', end)
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? end() : reject(error)))
    socket.end(bytes)
  })
}

test('bytes that are no HTTP request get a 400 or a closed line, and never a 5xx', async () => {
  const line = (first: string, rest = '') => `${first}\r\nhost: localhost\r\n${rest}\r\n`
  const tries = [
    'hello\r\n\r\n',
    '\0\0\0\0',
    line('GET /v1/webhook_endpoints HTTP/9.9'),
    line('GET  /v1/webhook_endpoints HTTP/1.1'),
    line('GET /v1/\0 HTTP/1.1'),
    line('GET /v1/caf\u00e9 HTTP/1.1'),
    line('G\u00c9T /v1/none HTTP/1.1'),
    line('GET /v1/none HTTP/1.1', 'x-api-key: a\0b\r\n'),
    line('GET /v1/none HTTP/1.1', `x-api-key: ${'a'.repeat(20_000)}\r\n`),
    line(`GET /v1/${'a'.repeat(40_000)} HTTP/1.1`),
    line('POST /v1/webhook_endpoints HTTP/1.1', 'content-length: -1\r\n'),
    line('POST /v1/webhook_endpoints HTTP/1.1', 'content-length: 5\r\ncontent-length: 6\r\n'),
    line('POST /v1/webhook_endpoints HTTP/1.1', 'content-length: 5\r\ntransfer-encoding: chunked\r\n'),
    line('POST /v1/webhook_endpoints HTTP/1.1', 'transfer-encoding: chunked\r\n') + 'zz\r\n',
    'GET /v1/webhook_endpoints HTTP/1.1\r\n\r\n',
    line('GET http://elsewhere.example/v1/webhook_endpoints HTTP/1.1'),
    line('GET //v1/webhook_endpoints HTTP/1.1'),
    line('GET /v1/../../etc/passwd HTTP/1.1'),
    line('OPTIONS * HTTP/1.1'),
    line('CONNECT example.com:443 HTTP/1.1'),
  ]
  for (const bytes of tries) {
    const answer = await raw(Buffer.from(bytes, 'latin1'))
    assert.match(answer, /^(HTTP\/1\.1 4\d\d |$)/, `${JSON.stringify(bytes.slice(0, 60))}: ${answer.slice(0, 200)}`)
  }
})

test('[X0.correlation.header] what is no HTTP request is told in the envelope of areas A to C, with its correlation id and the way out', async () => {
  const line = 'GET /v1/webhook_endpoints HTTP/1.1\r\nhost: localhost\r\n'
  const tries = [
    ['hello\r\n\r\n', 400, 'no HTTP/1.1 request'],
    [`${line}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`, 400, 'no HTTP/1.1 request'],
    [`${line}x-api-key: ${'a'.repeat(20_000)}\r\n\r\n`, 431, 'larger than 16 KiB'],
  ] as const
  for (const [bytes, status, cause] of tries) {
    const answer = await raw(bytes)
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    assert.ok(head.startsWith(`HTTP/1.1 ${status} `), answer)
    const { error, ...rest } = JSON.parse(body)
    assert.deepEqual([error.code, rest], ['BAD_REQUEST', {}])
    assert.ok(error.message.includes(cause), error.message)
    assert.ok(isUuid(error.correlation_id))
    assert.match(head, new RegExp(`^x-correlation-id: ${error.correlation_id}$`, 'm'))
    assert.ok(p.logged.some((text) => text.includes(error.correlation_id)))
  }
})

test('a request without Host, or with two, is told so in the envelope of its area', async () => {
  const paths = [
    '/v1/webhook_endpoints',
    '/reports/v1/branches',
    '/ecom/v1/none',
    '/terminal/v1/terminals',
    '/qr/ping',
    '/',
  ]
  for (const path of paths) {
    for (const hosts of [
      '',
      'Host: localhost\r\nhost: localhost\r\n',
      'Host: localhost\r\nHost: elsewhere.example\r\n',
    ]) {
      const answer = await raw(`GET ${path} HTTP/1.1\r\n${hosts}connection: close\r\n\r\n`)
      const [head = '', body = '{}'] = answer.split('\r\n\r\n')
      assert.ok(head.startsWith('HTTP/1.1 400 '), `${path} ${hosts} ${answer}`)
      const { error, ...rest } = JSON.parse(body)
      if (path.startsWith('/qr/')) assert.equal(rest.code, '20000002')
      else assert.equal(error.code, path.startsWith('/terminal/') ? 'INVALID_REQUEST' : 'BAD_REQUEST')
      assert.match(body, /Send the header Host, and send it once\./)
    }
  }
  assert.match(await raw('GET /healthz HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /)
})

test('an expectation of which nothing is known is ignored, and the request answered as any other', async () => {
  const path = '/v1/webhook_endpoints'
  const headers = { expect: '200-ok' }
  assertRefused(path, await call(p.url, { path, headers }), 401, 'UNAUTHORIZED')
  assert.equal((await ask({ path, headers })).status, 200)
})

const fine = (answer: Answer, path: string): boolean => {
  if (answer.status < 300) return true
  assertEnvelope(areaOf(path), answer)
  return answer.status < 500
}

test('no random JSON body, query, id or header is a defect of ours', async (t) => {
  t.diagnostic(`seed ${seed}`)
  const operation = fc.constantFrom(...operations)
  const bodies = fc.oneof(
    fc.json({ maxDepth: 4 }),
    fc.string({ unit: 'binary' }),
    fc.record({ body: fc.object({ maxDepth: 3 }) }).map(({ body }) => JSON.stringify(body)),
  )
  const mixed = fc.record({ at: fc.nat(10), value: fc.jsonValue({ maxDepth: 2 }) })
  const request = fc.record({
    operation,
    body: bodies,
    mixed,
    query: fc.option(fc.webQueryParameters()),
    id: fc.option(fc.webSegment()),
    idempotencyKey: fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
      maxLength: 70,
    }),
    own: fc.boolean(),
  })
  const property = fc.asyncProperty(
    request,
    async ({ operation: one, body, mixed: change, query, id, idempotencyKey, own }) => {
      const right = await rightCall(one, subjects)
      const path =
        (id === null ? right.path : one.path.replace('{id}', id)) +
        (query === null ? '' : `${right.path.includes('?') ? '&' : '?'}${query}`)
      // Half of them are right bodies with one value replaced, which come further.
      const names = Object.keys(right.body ?? {})
      const name = names[change.at % Math.max(1, names.length)] ?? 'x'
      const bytes =
        own && right.body !== undefined && one.id !== 'advanceSandboxClock'
          ? JSON.stringify({ ...(right.body as object), [name]: change.value })
          : body
      const headers = { 'idempotency-key': idempotencyKey }
      const method = right.method ?? 'GET'
      assert.ok(fine(await ask({ method, path, headers, ...(method === 'GET' ? {} : { bytes }) }), path))
    },
  )
  await fc.assert(property, { seed, numRuns: 1_500 })
})

test('the server serves as before after all of that', async () => {
  for (const operation of operations) {
    const answer = await ask(await rightCall(operation, subjects))
    // A random payment may have used the intent up.
    if (operation.id === 'confirmPaymentIntent' && answer.status === 409) continue
    assert.ok(answer.status in operation.success, `${operation.id}: ${answer.status} ${answer.text}`)
  }
  assert.deepEqual(
    p.logged.filter((line) => line.includes('a request failed for a cause of ours')),
    [],
  )
})
