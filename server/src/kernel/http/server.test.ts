import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { until } from '../../../test/until.ts'
import { createClock } from '../clock.ts'
import { createLog } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createHttp, portOf, type HttpOptions } from './server.ts'

const requestMsMax = 500
const trickleMs = 50

async function listening(t: TestContext, options: Partial<HttpOptions> = {}, slow = async () => 'done') {
  const http = createHttp({
    log: createLog('silent', { write: () => {} }),
    metrics: createMetrics(),
    clock: createClock(),
    trustProxy: false,
    prefixOfHost: new Map(),
    takesSockets: () => true,
    ...options,
  })
  t.after(() => http.close())
  http.post('/', async () => 'done')
  http.post('/slow', slow)
  http.get('/endless', (_request, reply) => reply.send(endless()))
  await http.listen({ port: 0, host: '127.0.0.1' })
  return http
}

/** A server of which an answer is given when the test says so. */
async function answering(t: TestContext, options: Partial<HttpOptions> = {}) {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const http = await listening(t, options, async () => {
    asked.resolve()
    await answer.promise
    return 'done'
  })
  return { http, asked: asked.promise, answer: answer.resolve }
}

/** A server that wants a request to be there within half a second, and what it sends to somebody who never comes to an end. */
async function slowly(t: TestContext) {
  const http = await listening(t, { requestMsMax })
  return (first: string, then: string): Promise<string> =>
    new Promise((resolve) => {
      let got = ''
      // At once: what is written before the line is there goes out in this order.
      const socket = connect(portOf(http), '127.0.0.1')
      socket.write(first)
      const trickle = setInterval(() => socket.write(then), trickleMs)
      socket.on('data', (chunk: Buffer) => (got += chunk.toString()))
      socket.on('error', () => {})
      socket.on('close', () => {
        clearInterval(trickle)
        resolve(got)
      })
    })
}

const line = 'POST / HTTP/1.1\r\nHost: localhost\r\n'
const json = `${line}Content-Type: application/json\r\n`

test('a request that does not come to its end in time is told so, wherever it stops', async (t) => {
  const send = await slowly(t)
  const answers = await Promise.all([
    send('', ''),
    send('POST / HT', ''),
    send(line, 'X-More: x\r\n'),
    send(`${json}Content-Length: 1000\r\n\r\n`, ' '),
    send(`${json}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'),
  ])
  for (const answer of answers) {
    assert.match(answer, /^HTTP\/1\.1 408 /)
    assert.match(answer, /The request did not come to its end in time; send it again\./)
  }
})

test('whoever sends on what was refused as too large is answered once, on a line that he may use again, and cut off when his time is over', async (t) => {
  const send = await slowly(t)
  const answer = await send(`${json}Content-Length: 2000000\r\n\r\n`, ' ')
  // There is no area here that would tell it as 413.
  assert.match(answer, /^HTTP\/1\.1 404 /)
  assert.doesNotMatch(answer, /^connection: close/im)
  assert.equal(answer.match(/^HTTP\/1\.1 /gm)?.length, 1)
})

const half = 'POST / HTTP/1.1\r\nHo'

for (const [what, behind] of [
  ['a byte too many', ' '],
  ['a request that is none', 'POST / HTTP/1.1\r\nno header\r\n\r\n'],
  ['a request that never comes to its end', half],
  ['a request whose body is none', `${json}Transfer-Encoding: chunked\r\n\r\nx`],
] as const)
  test(`a request with ${what} behind it gets its own answer and no other, however late`, async (t) => {
    const { http, asked, answer } = await answering(t, { requestMsMax })
    const refused = Promise.withResolvers<void>()
    http.server.on('clientError', () => refused.resolve())
    const socket = connect(portOf(http), '127.0.0.1')
    t.after(() => socket.destroy())
    let got = ''
    socket.on('data', (chunk: Buffer) => (got += chunk.toString()))
    const closed = once(socket, 'close')
    socket.write(`POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n${behind}`)
    await Promise.all([asked, refused.promise])
    // Once more: it is still no answer.
    socket.write(behind)
    await setImmediate()
    answer()
    await closed
    assert.match(got, /^HTTP\/1\.1 200 OK\r\n/)
    assert.match(got, /\r\nconnection: close\r\n/i)
    assert.match(got, /\r\n\r\ndone$/)
  })

const upgrade = `GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`

for (const [what, behind] of [
  ['one that is answered at once and what is no request', 'GET /none HTTP/1.1\r\nHost: localhost\r\n\r\nnone\r\n\r\n'],
  ['one that is answered at once and whose body is none', `${json.replace('/', '/none')}Content-Length: 9\r\n\r\n{} `],
  ['the handshake of a socket', upgrade],
] as const)
  test(`a request with ${what} behind it gets its own answer first`, async (t) => {
    const { http, asked, answer } = await answering(t, { requestMsMax })
    http.server.on('upgrade', (_request, taken) => taken.end('HTTP/1.1 401 Unauthorized\r\n\r\n'))
    const socket = connect(portOf(http), '127.0.0.1')
    t.after(() => socket.destroy())
    let got = ''
    socket.on('data', (chunk: Buffer) => (got += chunk.toString()))
    const closed = once(socket, 'close')
    socket.write(`POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n${behind}`)
    await asked
    // Time for whatever would be said too early: a request has half a second to come to its end.
    await sleep(2 * requestMsMax)
    answer()
    await until('its answer', () => got.includes('done'))
    socket.end()
    await closed
    const answers = got.split(/(?=HTTP\/1\.1 )/)
    assert.match(answers[0] ?? '', /^HTTP\/1\.1 200 OK\r\n.*\r\n\r\ndone$/s)
    assert.match(answers[1] ?? 'HTTP/1.1 404 none', /^HTTP\/1\.1 404 /)
  })

test('connections on which nothing was asked are closed with the server, and not the one beside them that waits for an answer', async (t) => {
  const { http, asked, answer } = await answering(t)
  const silent = connect(portOf(http), '127.0.0.1')
  const asking = connect(portOf(http), '127.0.0.1')
  t.after(() => [silent, asking].forEach((socket) => socket.destroy()))
  const silence = once(silent.resume(), 'close')
  const answered = buffer(asking)
  asking.write('POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n')
  await asked
  await until('both connections', async () => (await connectionsOf(http)) === 2)
  const closed = http.close()
  await silence
  answer()
  assert.match((await answered).toString(), /^HTTP\/1\.1 200 OK\r\n/)
  await closed
})

test('a request that comes to its end while the server closes is answered as any other', async (t) => {
  const http = await listening(t)
  const socket = connect(portOf(http), '127.0.0.1')
  t.after(() => socket.destroy())
  let got = ''
  socket.on('data', (chunk: Buffer) => (got += chunk.toString()))
  const arrived = once(http.server, 'connection')
  socket.write(line)
  const [there] = (await arrived) as [Socket]
  await until('the first half', () => there.bytesRead > 0)
  const closed = http.close()
  await until('the close', () => !http.server.listening)
  socket.write('\r\n')
  await Promise.all([once(socket, 'close'), closed])
  assert.match(got, /^HTTP\/1\.1 200 OK\r\n/)
  assert.match(got, /\r\nx-correlation-id: /)
  assert.match(got, /\r\nconnection: close\r\n/i)
})

test('who keeps a connection to a server that is to close is told so with an answer, and is not cut off', async (t) => {
  const http = await listening(t, { leaveMs: 300 })
  const port = portOf(http)
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const ask = async () => {
    const asked = request({ agent, host: '127.0.0.1', port, method: 'POST' }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    await buffer(answer)
    return { status: answer.statusCode, connection: answer.headers.connection, reused: asked.reusedSocket }
  }
  assert.deepEqual(await ask(), { status: 200, connection: 'keep-alive', reused: false })
  const closed = http.close()
  await until('leaving', () => http.leaving.is)
  assert.deepEqual(await ask(), { status: 200, connection: 'close', reused: true })
  assert.deepEqual(await ask(), { status: 200, connection: 'close', reused: false })
  await closed
  await assert.rejects(ask(), { code: 'ECONNREFUSED' })
})

test('whoever takes an answer without an end does not keep the server from closing', { timeout: 20_000 }, async (t) => {
  const http = await listening(t)
  const socket = connect(portOf(http), '127.0.0.1').on('error', () => {})
  t.after(() => socket.destroy())
  socket.write('GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(socket, 'data')
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const closed = http.close()
  while (http.server.listening) {
    t.mock.timers.tick(1)
    await setImmediate()
  }
  assert.equal(socket.closed, false, 'what is under way has time to end')
  t.mock.timers.tick(3_000)
  await Promise.all([once(socket, 'close'), closed])
})

test('a request whose connection is closed before its answer is whole is one line and one measurement, too', async (t) => {
  const lines: string[] = []
  const metrics = createMetrics()
  const http = createHttp({
    log: createLog('info', { write: (text: string) => void lines.push(text) }),
    metrics,
    clock: createClock(),
    trustProxy: false,
    prefixOfHost: new Map(),
    takesSockets: () => true,
  })
  t.after(() => http.close())
  const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  http.post('/slow', async () => {
    asked.resolve()
    await left.promise
    return 'done'
  })
  http.get('/endless', (_request, reply) => reply.send(endless()))
  await http.listen({ port: 0, host: '127.0.0.1' })
  const leaves = async (head: string, when: (socket: Socket) => Promise<unknown>) => {
    const socket = connect(portOf(http), '127.0.0.1')
    socket.write(`${head} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n`)
    await when(socket)
    socket.destroy()
  }
  await leaves('POST /slow', () => asked.promise)
  await leaves('GET /endless', (socket) => once(socket, 'data'))
  await until('both lines', () => lines.length === 2)
  left.resolve()
  const seen = lines.map((text) => JSON.parse(text) as Record<string, unknown>)
  assert.deepEqual(
    seen.map(({ method, path, status, cut }) => [method, path, status, cut]),
    [
      ['POST', '/slow', null, true],
      ['GET', '/endless', 200, true],
    ],
  )
  assert.match(await metrics.registry.metrics(), /kaha_http_requests_total\{operation="none",status="cut"\} 2/)
})

for (const [bytes, cause, words] of [
  [
    'CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n',
    'CONNECT',
    /CONNECT is for proxies, and this is none\./,
  ],
  ['hello\r\n\r\n', 'HPE_INVALID_METHOD', /These bytes are no HTTP\/1\.1 request\./],
] as const)
  test(`${bytes.slice(0, 7)} asks for nothing here: it is refused, and is one line and one measurement, too, whose name the answer has`, async (t) => {
    const lines: string[] = []
    const metrics = createMetrics()
    const log = createLog('info', { write: (text: string) => void lines.push(text) })
    const http = await listening(t, { log, metrics })
    const socket = connect(portOf(http), '127.0.0.1', () => socket.end(bytes))
    const answer = (await buffer(socket)).toString()
    assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/)
    assert.match(answer, words)
    await until('the line', () => lines.length === 1)
    const { operation, status, cause: told, correlation_id: id } = JSON.parse(lines[0] ?? '') as Record<string, unknown>
    assert.deepEqual([operation, status, told], ['none', 400, cause])
    assert.ok(answer.includes(`\r\nx-correlation-id: ${String(id)}\r\n`))
    assert.match(await metrics.registry.metrics(), /kaha_http_requests_total\{operation="none",status="400"\} 1/)
  })

const connectionsOf = (http: FastifyInstance) => promisify(http.server.getConnections.bind(http.server))()

/** An answer that begins and has no end. */
function endless(): Readable {
  const answer = new Readable({ read: () => {} })
  answer.push('begun')
  return answer
}

test('a server that takes no terminals holds ten thousand connections at once at most', async (t) => {
  const { server } = await listening(t)
  assert.equal(server.maxConnections, 10_000)
})
