import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test, type TestContext } from 'node:test'
import { operation } from '@kaha/contract'
import Type from 'typebox'
import { call, type Call } from '../../../test/conformance/call.ts'
import { createClock } from '../clock.ts'
import { Fault } from '../fault.ts'
import { createLog } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { mountArea, route, type Area } from './area.ts'
import { createHttp, portOf } from './server.ts'

// The edge of an area of its own making, over a real socket: what any area gets without doing anything for it.

const Closed = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Object(properties, { additionalProperties: false })

const makeThing = operation({
  id: 'makeThing',
  area: 'webhooks',
  method: 'POST',
  path: '/things/{id}',
  summary: '',
  description: '',
  auth: 'key',
  params: Closed({ id: Type.String() }),
  query: Closed({ loud: Type.Optional(Type.Integer()) }),
  body: Closed({ size: Type.Integer({ minimum: 1 }) }),
  success: { 201: { description: '', schema: Closed({ id: Type.String(), size: Type.Integer() }) } },
  errors: [],
})

type Handle = Parameters<typeof route<typeof makeThing, string>>[1]

async function edge(t: TestContext, handle: Handle, changes: Partial<Area<string>> = {}) {
  const lines: string[] = []
  const metrics = createMetrics()
  const log = createLog('info', { write: (line: string) => void lines.push(line) })
  const http = createHttp({
    log,
    metrics,
    clock: createClock(),
    trustProxy: false,
    prefixOfHost: new Map([['things.test', '/things']]),
    takesSockets: () => true,
  })
  t.after(() => http.close())
  const area: Area<string> = {
    name: 'things',
    prefix: '/things',
    bodyBytesMax: 100,
    statuses: {
      BAD_REQUEST: 400,
      INVALID_SIZE: 400,
      UNAUTHORIZED: 401,
      NOT_FOUND: 404,
      METHOD_NOT_ALLOWED: 405,
      PAYLOAD_TOO_LARGE: 413,
      UNSUPPORTED_MEDIA_TYPE: 415,
      BUSY: 409,
      UNAVAILABLE: 503,
    },
    wireCodes: { BUSY: 'CONFLICT' },
    envelope: ({ code, message, field, rule, correlationId }) => ({
      oops: { code, message, field, rule, correlationId },
    }),
    authenticate: async () => 'somebody',
    ...changes,
  }
  await mountArea(http, area, [route<typeof makeThing, string>(makeThing, handle)], { log, metrics })
  await http.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${portOf(http)}`
  const send = (more: Partial<Call> = {}) =>
    call(url, { method: 'POST', path: '/things/a', body: { size: 1 }, ...more })
  const logged = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  return { send, logged, lines, metrics, port: portOf(http) }
}

const made: Handle = async ({ params, body }) => ({ status: 201, body: { id: params.id, size: body.size } })

test('a handler gets who calls and what was sent, once both are right', async (t) => {
  let got: unknown
  const { send } = await edge(t, async (one) => {
    const { principal, params, query, body, correlationId } = one
    got = {
      principal,
      params: { ...params },
      query: { ...query },
      body,
      header: one.header('x-note'),
      correlationId,
    }
    return made(one)
  })
  const answer = await send({ path: '/things/a%20b?loud=3', headers: { 'x-note': 'hello' } })
  assert.deepEqual([answer.status, answer.json], [201, { id: 'a b', size: 1 }])
  const correlationId = answer.headers['x-correlation-id']
  assert.deepEqual(got, {
    principal: 'somebody',
    params: { id: 'a b' },
    query: { loud: 3 },
    body: { size: 1 },
    header: 'hello',
    correlationId,
  })
})

test('a field that is not in the schema of the answer never leaves', async (t) => {
  const { send } = await edge(t, async (one) => {
    const { body } = await made(one)
    return { status: 201, body: { ...body, signing_secret: 'whsec_planted', note: null } as typeof body }
  })
  assert.deepEqual((await send()).json, { id: 'a', size: 1 })
})

test('nobody comes in before the door has let them: not the body, not the handler', async (t) => {
  let reached = 0
  const count: Handle = async (one) => {
    reached += 1
    return made(one)
  }
  const { send } = await edge(t, count, {
    authenticate: async () => {
      throw new Fault('UNAUTHORIZED', 'No.')
    },
  })
  for (const more of [
    {},
    { bytes: '{' },
    { bytes: 'x'.repeat(200) },
    { headers: { 'content-type': 'text/plain' } },
    { path: '/things/a?x=1' },
  ]) {
    const answer = await send(more)
    assert.deepEqual([answer.status, answer.json.oops.code], [401, 'UNAUTHORIZED'])
  }
  assert.equal(reached, 0)
})

test("a Fault comes out in the area's envelope, with the status and the wire's name of its code, and its Retry-After", async (t) => {
  const { send } = await edge(t, async () => {
    throw new Fault('BUSY', 'Somebody else has it.', { field: 'id', rule: 'free', retryAfterSeconds: 7 })
  })
  const answer = await send()
  assert.equal(answer.status, 409)
  assert.equal(answer.headers['retry-after'], '7')
  const { correlationId, ...rest } = answer.json.oops
  assert.deepEqual(rest, { code: 'CONFLICT', message: 'Somebody else has it.', field: 'id', rule: 'free' })
  assert.equal(correlationId, answer.headers['x-correlation-id'])
})

const defects: readonly (readonly [what: string, thrown: unknown])[] = [
  ['an error', new Error('the secret is 42')],
  ['a text', 'the secret is 42'],
  ['nothing', undefined],
  ['a code that the area does not know', new Fault('SECRET_42', 'the secret is 42')],
  ['an error that says that it is of the caller', Object.assign(new Error('the secret is 42'), { statusCode: 503 })],
]
for (const [what, thrown] of defects) {
  test(`${what} that is thrown is a 500 that tells nothing, and a line in the log`, async (t) => {
    const { send, logged, metrics } = await edge(t, async () => {
      throw thrown
    })
    const answer = await send()
    assert.deepEqual([answer.status, answer.json.oops.code], [500, 'INTERNAL_ERROR'])
    assert.doesNotMatch(answer.text, /42\b.*secret|secret is/i)
    const told = logged().find(({ level }) => level === 50)
    assert.equal(told?.['correlation_id'], answer.headers['x-correlation-id'])
    assert.match(await metrics.registry.metrics(), /kaha_unexpected_errors_total\{where="makeThing"\} 1/)
  })
}

test('every request is one line and one measurement, by operation and pattern, never by address', async (t) => {
  const { send, logged, lines, metrics } = await edge(t, made)
  await send()
  await send({ body: { size: 0 } })
  await send({ method: 'GET', path: '/things/secret-token' })
  await send({ path: '/elsewhere/secret-token?x=secret-token' })
  const requests = logged().filter(({ msg }) => msg === 'request')
  const seen = requests.map(({ operation: one, method, path, status }) => [one, method, path, status])
  assert.deepEqual(seen, [
    ['makeThing', 'POST', '/things/:id', 201],
    ['makeThing', 'POST', '/things/:id', 400],
    ['none', 'GET', null, 405],
    ['none', 'POST', null, 404],
  ])
  assert.ok(!lines.join('').includes('secret-token'))
  const text = await metrics.registry.metrics()
  assert.match(text, /kaha_http_requests_total\{operation="makeThing",status="201"\} 1/)
  assert.match(text, /kaha_http_request_seconds_count\{operation="makeThing"\} 2/)
})

test('a path is one and the same in all its spellings, with a method that it takes and with one that it does not', async (t) => {
  const { send } = await edge(t, made)
  for (const path of [
    '/things/b',
    '/thin%67s/b',
    '/%74hings/%62',
    '/things/b%2Fc%3F',
    '/things/%2562',
    '/things/%0A',
  ]) {
    const where = `${path}?loud=3`
    assert.equal((await send({ path: where })).status, 201, path)
    for (const method of ['DELETE', 'PROPFIND']) {
      const refused = await send({ method, path: where })
      assert.deepEqual([refused.status, refused.headers['allow']], [405, 'POST'], path)
    }
  }
  for (const path of ['/things%2Fb', '/thin%2567s/b', '/things/b/c', '/things/', '/things', '/x/things/b', '/thingsXb'])
    for (const method of ['POST', 'DELETE', 'PROPFIND']) assert.equal((await send({ method, path })).status, 404, path)
})

test('NUL in a path, which no column can hold, is refused before the handler', async (t) => {
  const { send } = await edge(t, made)
  const answer = await send({ path: '/things/a%00b' })
  assert.deepEqual([answer.status, answer.json.oops.code], [400, 'BAD_REQUEST'])
})

test('a host name of its own leads to the area by bare paths', async (t) => {
  const { send } = await edge(t, made)
  assert.equal((await send({ path: '/b', headers: { host: 'things.test' } })).json.id, 'b')
  assert.equal((await send({ path: '/b', headers: { host: 'THINGS.test' } })).json.id, 'b')
  assert.equal((await send({ path: '/b', headers: { host: 'other.test' } })).status, 404)
})

test('a request line with the whole address is for the host that it names, whatever the header says', async (t) => {
  const { send } = await edge(t, made)
  const other = { host: 'other.test' }
  for (const path of ['http://things.test/b', 'HTTP://THINGS.test/b?loud=3', 'https://things.test/b'])
    for (const headers of [{ host: 'things.test' }, other])
      assert.equal((await send({ path, headers })).json.id, 'b', path)
  assert.equal((await send({ path: 'http://other.test/things/b', headers: { host: 'things.test' } })).json.id, 'b')
  assert.equal((await send({ path: 'http://other.test/b', headers: { host: 'things.test' } })).status, 404)
  for (const path of ['http://things.test', 'http://things.test?loud=3', 'http://things.test/'])
    assert.equal((await send({ path, headers: other })).status, 404, path)
  assert.equal((await send({ path: 'http://things.test/b', method: 'PUT' })).status, 405)
  assert.equal((await send({ path: 'http://things.test/b/c' })).json.oops.code, 'NOT_FOUND')
})

test('a correlation id is ours, whatever the caller sends', async (t) => {
  const { send } = await edge(t, made)
  const headers = { 'x-correlation-id': 'mine', 'request-id': 'mine', 'x-request-id': 'mine' }
  const [one, other] = [await send({ headers }), await send({ headers })]
  assert.match(String(one.headers['x-correlation-id']), /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  assert.notEqual(one.headers['x-correlation-id'], other.headers['x-correlation-id'])
})

test('who sends more than is read hears so while he sends, and his connection lives on', async (t) => {
  const { port } = await edge(t, made)
  const half = 'x'.repeat(500_000)
  const sendings = {
    'a body of a known length': ['Content-Length: 1000000\r\n\r\n', half, half],
    'a body in chunks': ['Transfer-Encoding: chunked\r\n\r\n', `7a120\r\n${half}\r\n`, `7a120\r\n${half}\r\n0\r\n\r\n`],
  }
  for (const [what, [length, first, rest]] of Object.entries(sendings)) {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1')
    const answers = socket.iterator()
    const head = `POST /things/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${length}`
    socket.write(head + first)
    const refused = String((await answers.next()).value)
    assert.match(refused, /^HTTP\/1\.1 413 .*PAYLOAD_TOO_LARGE/s, what)
    assert.doesNotMatch(refused, /^connection: close/im, what)
    socket.write(`${rest}GET /things/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    assert.match(String((await answers.next()).value), /^HTTP\/1\.1 405 /, what)
    socket.destroy()
  }
})
