import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type http from 'node:http'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { test } from 'node:test'
import { heldBytes } from '../../test/held-bytes.ts'
import { closed, outcome, rawReceiver, receiver, way } from '../../test/egress-receivers.ts'
import { until } from '../../test/until.ts'

test('the receiver gets the exact bytes and headers, and is asked not to compress', async (t) => {
  const { url, received } = await receiver(t)
  const { send } = way(t)
  const body = '{"name":"Mañana ₱ 🎏"}'
  const headers = { 'content-type': 'application/json', 'webhook-id': 'evt_7', 'webhook-signature': 'v1,a v1,b' }
  assert.equal(outcome(await send(url, { headers, body })), '200')
  const [request] = received
  assert.equal(request?.body, body)
  for (const [name, value] of Object.entries(headers)) assert.equal(request?.headers[name], value)
  assert.equal(request?.headers['user-agent'], 'Kaha')
  assert.equal(request?.headers['accept-encoding'], 'identity')
  assert.equal(request?.headers['content-length'], String(Buffer.byteLength(body)))
})

test('an answer of any status is an answer, with its text and with the time that it asks for', async (t) => {
  for (const status of [200, 204, 301, 302, 307, 308, 400, 410, 429, 500, 503]) {
    const { url, received } = await receiver(t, (response) =>
      response
        .writeHead(status, { location: 'http://127.0.0.1:1/', 'Retry-After': '30' })
        .end(status === 204 ? '' : 'why'),
    )
    const result = await way(t).send(url)
    assert.ok(result.ok)
    const { retryAfter, body, truncated } = result.answer
    assert.deepEqual([result.answer.status, body, truncated], [status, status === 204 ? '' : 'why', false])
    assert.equal(retryAfter, '30')
    assert.equal(received.length, 1)
  }
})

test('what a receiver answers cannot act on a terminal or break the database', async (t) => {
  const { url } = await receiver(t, (response) => response.end(Buffer.from('a\0b\x1b[31mc\t\r\nd\xff\x9b€', 'latin1')))
  const result = await way(t).send(url)
  assert.ok(result.ok)
  assert.equal(result.answer.body, 'a\ufffdb\ufffd[31mc\t\r\nd\ufffd\ufffd\ufffd')
})

test('one connection carries one request after the other', async (t) => {
  const { url, sockets, received } = await receiver(t)
  const { send } = way(t)
  for (let n = 0; n < 5; n++) assert.equal(outcome(await send(url)), '200')
  assert.deepEqual([sockets.length, received.length], [1, 5])
})

test('an origin has never more connections than allowed, and everybody gets a turn', async (t) => {
  const { url, sockets, received } = await receiver(t, (response) => setImmediate(() => response.end()))
  const { send } = way(t, { connectionsPerOriginMax: 3 })
  const results = await Promise.all(Array.from({ length: 20 }, () => send(url)))
  assert.deepEqual(new Set(results.map(outcome)), new Set(['200']))
  assert.deepEqual([sockets.length, received.length], [3, 20])
})

test('a receiver that hangs up after each answer is served all the same', async (t) => {
  const { url, received } = await receiver(t, (response) => response.writeHead(200, { connection: 'close' }).end())
  const { send } = way(t, { connectionsPerOriginMax: 3 })
  const results = await Promise.all(Array.from({ length: 20 }, () => send(url)))
  assert.deepEqual(new Set(results.map(outcome)), new Set(['200']))
  assert.equal(received.length, 20)
})

test('who gets no connection before the deadline is told that it was our side, and the receiver hears nothing', async (t) => {
  const { url, received } = await receiver(t, (response, nth) => nth > 1 && response.end())
  const { send } = way(t, { connectionsPerOriginMax: 1 })
  const stop = new AbortController()
  const hanging = send(url, { signal: stop.signal })
  assert.equal(outcome(await send(url, { deadlineMs: 200 })), 'timeout ours')
  const waiting = send(url)
  stop.abort()
  assert.equal(outcome(await hanging), 'reset ours')
  assert.equal(outcome(await waiting), '200')
  assert.equal(received.length, 2)
})

test('beyond the bound on idle connections the oldest is closed', async (t) => {
  const [first, second] = [await receiver(t), await receiver(t)]
  const { send } = way(t, { connectionsIdleMax: 1 })
  await send(first.url)
  await send(second.url)
  await closed(first.sockets)
  await send(second.url)
  await send(first.url)
  assert.deepEqual([first.sockets.length, second.sockets.length], [2, 1])
})

test('a connection that has grown old is not used again, so that a name that moved is followed', async (t) => {
  const { url, sockets } = await receiver(t)
  const { send } = way(t, { connectionAgeMsMax: 0 })
  await send(url)
  await send(url)
  assert.equal(sockets.length, 2)
})

test('an endless answer counts, is cut at 16 KiB and its connection closed', async (t) => {
  const { url, sockets } = await receiver(t, (response) => {
    const pour = () => {
      while (response.write('x'.repeat(1_000)));
      response.once('drain', pour)
    }
    pour()
  })
  const result = await way(t).send(url)
  assert.ok(result.ok)
  const { status, body, truncated } = result.answer
  assert.deepEqual([status, body, truncated], [200, 'x'.repeat(16_384), true])
  await closed(sockets)
})

test('an answer of exactly 16 KiB is whole, and one byte more is not', async (t) => {
  for (const [bytes, truncated] of [
    [16_384, false],
    [16_385, true],
    [60_000, true],
  ] as const) {
    const { url } = await receiver(t, (response) => response.end('x'.repeat(bytes)))
    const result = await way(t).send(url)
    assert.ok(result.ok)
    assert.deepEqual([result.answer.body.length, result.answer.truncated], [16_384, truncated])
  }
})

test('an answer in pieces takes the memory of its bytes while it comes, however many pieces there are', async (t) => {
  const pieces = 16_000
  const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
  const answer = head + '1\r\nx\r\n'.repeat(pieces)
  const { url, sockets } = await rawReceiver(t, (socket) => socket.write(answer))
  const { send } = way(t)
  const dialled: Socket[] = []
  const note = (message: unknown) => void dialled.push((message as { socket: Socket }).socket)
  subscribe('net.client.socket', note)
  t.after(() => unsubscribe('net.client.socket', note))
  const before = heldBytes()
  const sending = Array.from({ length: 20 }, () => send(url))
  await until('all pieces', () => dialled.filter(({ bytesRead }) => bytesRead === answer.length).length === 20)
  const held = heldBytes() - before
  assert.ok(held < 8 * 2 ** 20, `${Math.round(held / 2 ** 20)} MiB are held of ${20 * pieces} bytes`)
  for (const socket of sockets) socket.write('0\r\n\r\n')
  for (const result of await Promise.all(sending)) assert.equal(result.ok && result.answer.body, 'x'.repeat(pieces))
})

test('a compressed bomb stays compressed', async (t) => {
  const bomb = gzipSync(Buffer.alloc(10_000_000))
  const { url } = await receiver(t, (response) => response.setHeader('content-encoding', 'gzip').end(bomb))
  const result = await way(t).send(url)
  assert.ok(result.ok)
  assert.equal(result.answer.truncated, false)
  // The first three bytes of gzip, none of which is text.
  assert.ok(result.answer.body.startsWith('\ufffd\ufffd\ufffd'))
  assert.ok(result.answer.body.length <= bomb.length)
})

/** Often enough to keep any idle timer from running out. */
function drip(response: http.ServerResponse, write: () => void): void {
  const timer = setInterval(write, 20)
  response.on('close', () => clearInterval(timer))
}

test('whatever a receiver is slow with, the attempt ends at the deadline', async (t) => {
  const answers: Record<string, (response: http.ServerResponse) => void> = {
    'no answer': () => {},
    'no body': (response) => response.writeHead(200).flushHeaders(),
    'a body byte by byte': (response) => drip(response, () => response.write('x')),
    'a head byte by byte': (response) => {
      response.socket?.write('HTTP/1.1 200 OK\r\nx: ')
      drip(response, () => response.socket?.write('x'))
    },
    'hints without end': (response) => drip(response, () => response.writeEarlyHints({ link: '</a>; rel=preload' })),
  }
  for (const [name, answer] of Object.entries(answers)) {
    const { url, sockets } = await receiver(t, answer)
    assert.equal(outcome(await way(t, { deadlineMs: 200 }).send(url)), 'timeout destination', name)
    await closed(sockets)
  }
})

test('a handshake or a look-up that hangs ends at the deadline, too', async (t) => {
  const silent = await rawReceiver(t, () => {})
  const { send } = way(t, { deadlineMs: 200, lookup: () => {} })
  assert.equal(outcome(await send(silent.url.replace('http', 'https'))), 'timeout destination')
  assert.equal(outcome(await send('https://example.com/')), 'timeout path')
  await closed(silent.sockets)
})

test('a request that a fresh connection lost is a failure, and is sent no second time', async (t) => {
  const lost = await rawReceiver(t, (socket) => socket.destroy())
  assert.equal(outcome(await way(t).send(lost.url)), 'reset destination')
  const cut = await rawReceiver(t, (socket) => socket.resetAndDestroy())
  assert.equal(outcome(await way(t).send(cut.url)), 'reset destination')
  assert.deepEqual([lost.requests(), cut.requests()], [1, 1])

  // The second request waits for the first one's connection, and finds that it has to be made anew.
  const closing = await rawReceiver(t, (socket, nth) => {
    if (nth === 1) socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    else socket.destroy()
  })
  const { send } = way(t, { connectionsPerOriginMax: 1 })
  const results = await Promise.all([send(closing.url), send(closing.url)])
  assert.deepEqual(results.map(outcome), ['200', 'reset destination'])
  assert.equal(closing.requests(), 2)
})

test('a request that a used connection lost before any answer is sent once more, the same, on a fresh connection', async (t) => {
  const { url, received, sockets } = await receiver(t, (response, nth) =>
    nth === 2 ? response.socket?.destroy() : response.end(),
  )
  const { send } = way(t)
  await send(url)
  assert.equal(outcome(await send(url, { headers: { 'webhook-id': 'evt_2' }, body: '{"n":2}' })), '200')
  assert.deepEqual(
    received.map(({ id, body }) => [id, body]),
    [
      ['evt_1', '{}'],
      ['evt_2', '{"n":2}'],
      ['evt_2', '{"n":2}'],
    ],
  )
  assert.equal(sockets.length, 2)
})

test('a request that is lost on the fresh connection as well is a failure', async (t) => {
  const { url, received } = await receiver(t, (response, nth) =>
    nth >= 2 ? response.socket?.destroy() : response.end(),
  )
  const { send } = way(t, { connectionsPerOriginMax: 1 })
  await send(url)
  assert.equal(outcome(await send(url)), 'reset destination')
  assert.equal(received.length, 3)
})

test('a request whose answer had begun is never repeated', async (t) => {
  const { url, requests } = await rawReceiver(t, (socket, nth) => {
    if (nth === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    else socket.end('HTTP/1.1 2')
  })
  const { send } = way(t)
  assert.equal(outcome(await send(url)), '200')
  assert.equal(outcome(await send(url)), 'reset destination')
  assert.equal(requests(), 2)
})

test('a receiver that closes idle connections costs nobody an attempt', async (t) => {
  const { url, received, server } = await receiver(t)
  const { send } = way(t)
  for (let n = 0; n < 20; n++) {
    assert.equal(outcome(await send(url)), '200')
    server.closeIdleConnections()
  }
  assert.equal(received.length, 20)
})

test('what is not a proper answer has its own class', async (t) => {
  const answers: [bytes: string, expected: string][] = [
    ['HTTP/1.0 200 OK\r\n\r\nuntil the end', '200'],
    ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n', '200'],
    ['HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n', '201'],
    ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n', '200'],
    ['HTTP/1.1 100 Continue\r\n\r\n', 'reset destination'],
    ['HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort', 'reset destination'],
    ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab', 'reset destination'],
    ['HTTP/1.1 200 OK\r\ncontent-le', 'reset destination'],
    ['', 'reset destination'],
    ['SSH-2.0-OpenSSH_9.6\r\n', 'protocol destination'],
    ['<html>', 'protocol destination'],
    [`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 'protocol destination'],
    [`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}\r\n`, 'protocol destination'],
    ['HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n', 'protocol destination'],
    ['HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', 'protocol destination'],
    ['HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\nab', 'protocol destination'],
    ['HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n', 'protocol destination'],
  ]
  for (const [bytes, expected] of answers) {
    const { url } = await rawReceiver(t, bytes)
    assert.equal(outcome(await way(t, { deadlineMs: 2_000 }).send(url)), expected, JSON.stringify(bytes.slice(0, 80)))
  }
})

test('an answer that nobody asked for is not taken for the answer to the next request', async (t) => {
  const { url, sockets } = await rawReceiver(t, (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 500 Planted\r\ncontent-length: 0\r\n\r\n'),
  )
  const { send } = way(t)
  for (let n = 0; n < 3; n++) assert.equal(outcome(await send(url)), '200')
  assert.equal(sockets.size, 3)
})

test('a port where nobody listens is the destination', async (t) => {
  const { url, server } = await receiver(t)
  server.close()
  await once(server, 'close')
  assert.equal(outcome(await way(t).send(url)), 'connect destination')
})

test('a request that cannot be written is our fault, and nothing is sent', async (t) => {
  const { url, received } = await receiver(t)
  const { send } = way(t)
  assert.equal(outcome(await send(url, { headers: { 'x-a': 'b\r\nx-c: d' } })), 'protocol ours')
  assert.equal(outcome(await send(url, { headers: { 'x a': 'b' } })), 'protocol ours')
  assert.equal(outcome(await send(url)), '200')
  assert.equal(received.length, 1)
})

test('a stop ends what is under way or about to start, and says that it was ours', async (t) => {
  const { url, received, sockets } = await receiver(t, () => stop.abort())
  const stop = new AbortController()
  const { send } = way(t)
  assert.equal(outcome(await send(url, { signal: stop.signal })), 'reset ours')
  assert.equal(outcome(await send(url, { signal: stop.signal })), 'reset ours')
  await closed(sockets)
  assert.equal(received.length, 1)
})

test('closing ends everything: under way, waiting, resolving, connecting, idle, and later', async (t) => {
  const hanging = await receiver(t, () => arrived.resolve())
  const arrived = Promise.withResolvers<void>()
  const silent = await rawReceiver(t, () => {})
  const answering = await receiver(t)
  const { send, ...out } = way(t, { connectionsPerOriginMax: 1, lookup: () => {} })
  await send(answering.url)
  const open = [hanging.url, hanging.url, 'http://example.com/', silent.url.replace('http', 'https')].map((url) =>
    send(url),
  )
  await arrived.promise
  await out[Symbol.asyncDispose]()
  for (const result of await Promise.all(open)) assert.equal(outcome(result), 'reset ours')
  assert.equal(outcome(await send(answering.url)), 'reset ours')
  await closed([...hanging.sockets, ...answering.sockets])
  assert.deepEqual([hanging.received.length, answering.received.length], [1, 1])
})

test('among receivers of every temper each attempt gets one result in time, and the next one a good connection', async (t) => {
  const tempers: ((response: http.ServerResponse) => void)[] = [
    (response) => response.end('fine'),
    (response) => response.socket?.destroy(),
    (response) => response.writeHead(200, { connection: 'close' }).end(),
    () => {},
    (response) => response.end('x'.repeat(50_000)),
    (response) => response.socket?.end('HTTP/1.1 nonsense\r\n\r\n'),
    (response) => response.writeHead(500).end(),
  ]
  const wild = await receiver(t, (response, nth) => tempers[nth % tempers.length]?.(response))
  const tame = await receiver(t)
  const { send, ...out } = way(t, { connectionsPerOriginMax: 20, deadlineMs: 500 })
  const results = await Promise.all(Array.from({ length: 300 }, () => send(wild.url).then(outcome)))
  const possible = ['200', '500', 'reset destination', 'protocol destination', 'timeout destination', 'timeout ours']
  assert.deepEqual(
    results.filter((result) => !possible.includes(result)),
    [],
  )
  assert.equal(outcome(await send(tame.url)), '200')
  await out[Symbol.asyncDispose]()
  await closed([...wild.sockets, ...tame.sockets])
})
