import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { operation } from '@kaha/contract'
import Type from 'typebox'
import { heldBytes } from '../../../test/held-bytes.ts'
import { until } from '../../../test/until.ts'
import { createClock } from '../clock.ts'
import { createLog } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { mountArea, route, type Area } from './area.ts'
import { readForms } from './page-room.ts'
import { createHttp, portOf } from './server.ts'

const bodyBytesMax = 64 * 1024

const Text = Type.Object({ text: Type.String() }, { additionalProperties: false })
const about = { area: 'webhooks', summary: '', description: '', auth: 'key', errors: [] } as const
const success = { 200: { description: '', schema: Text } } as const
const put = operation({ ...about, id: 'put', method: 'POST', path: '/things', body: Text, success })
const get = operation({ ...about, id: 'get', method: 'GET', path: '/things', success })

/** A server with an area that signs, whose caller is let in when `door` opens, and a page with a form. */
async function listening(t: TestContext, door: Promise<void> = Promise.resolve()) {
  const edge = { log: createLog('silent', { write: () => {} }), metrics: createMetrics() }
  const options = {
    clock: createClock(),
    trustProxy: false,
    prefixOfHost: new Map(),
    takesSockets: () => false,
  } as const
  const http = createHttp({ ...edge, ...options })
  const sockets: Socket[] = []
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    await http.close()
  })
  http.server.on('connection', (socket) => sockets.push(socket))
  const verified: Buffer[] = []
  const area: Area<string> = {
    name: 'things',
    prefix: '/things',
    bodyBytesMax,
    statuses: { BAD_REQUEST: 400, PAYLOAD_TOO_LARGE: 413 },
    envelope: ({ code }) => ({ code }),
    authenticate: async () => door.then(() => 'somebody'),
    verify: (_request, _principal, body) => void verified.push(body),
  }
  const [putThing, getThing] = [
    route<typeof put, string>(put, async ({ body }) => ({ status: 200, body })),
    route<typeof get, string>(get, async () => ({ status: 200, body: { text: '' } })),
  ]
  await mountArea(http, area, [putThing, getThing], edge)
  await http.register(async (room) => {
    readForms(room, bodyBytesMax)
    room.post('/form', async ({ body }) => (body as URLSearchParams).get('text'))
  })
  await http.listen({ port: 0, host: '127.0.0.1' })
  return { port: portOf(http), sockets, verified }
}

const headOf = (line: string, type: string) =>
  `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`
const json = 'application/json'
const form = 'application/x-www-form-urlencoded'
const chunkOf = (piece: string) => `${piece.length.toString(16)}\r\n${piece}\r\n`

const senders: readonly (readonly [who: string, line: string, type: string, door?: Promise<void>])[] = [
  ['of JSON', 'POST /things', json],
  ['of JSON whose key is still looked up', 'POST /things', json, new Promise(() => {})],
  ['of a body with a GET, which is signed', 'GET /things', json],
  ['of a form', 'POST /form', form],
]
for (const [who, line, type, door] of senders)
  test(`a sender ${who} takes the memory of its bytes, however many pieces they come in`, async (t) => {
    const { port, sockets } = await listening(t, door)
    const [senderCount, pieces] = [20, 16_000]
    const bytes = headOf(line, type) + chunkOf('x').repeat(pieces)
    const before = heldBytes()
    for (let nth = 0; nth < senderCount; nth++) {
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes)).on('error', () => {})
    }
    const arrived = () => sockets.filter(({ bytesRead }) => bytesRead === bytes.length).length
    await until('all pieces', () => arrived() === senderCount)
    const held = heldBytes() - before
    assert.ok(held < 8 * 2 ** 20, `${Math.round(held / 2 ** 20)} MiB are held of ${senderCount * pieces} bytes`)
  })

test('a body is the same whatever pieces it comes in, up to the largest that is read', async (t) => {
  const { port, verified } = await listening(t)
  const answered = async (line: string, type: string, body: string, sizes: readonly number[]) => {
    let chunks = ''
    for (let at = 0, nth = 0; at < body.length; nth++) {
      const size = sizes[nth % sizes.length] ?? 1
      chunks += chunkOf(body.slice(at, at + size))
      at += size
    }
    const socket = connect(port, '127.0.0.1', () => socket.write(`${headOf(line, type)}${chunks}0\r\n\r\n`))
    const [head = '', answer = ''] = (await buffer(socket)).toString().split('\r\n\r\n')
    return [Number(head.split(' ')[1]), answer]
  }
  const text = Array.from({ length: bodyBytesMax }, (_, at) => String.fromCharCode(97 + (at % 26))).join('')
  const whole = JSON.stringify({ text: text.slice(0, bodyBytesMax - JSON.stringify({ text: '' }).length) })
  const inForm = `text=${text}`.slice(0, bodyBytesMax)
  for (const sizes of [[bodyBytesMax], [1], [1, 2, 3, 5, 8, 5_000], [40_000, 1], [1_024]]) {
    assert.deepEqual(await answered('POST /things', json, whole, sizes), [200, whole])
    assert.deepEqual(await answered('POST /form', form, inForm, sizes), [200, inForm.slice('text='.length)])
    assert.equal((await answered('GET /things', json, whole, sizes))[0], 200)
    assert.equal(verified.at(-1)?.toString(), whole)
    for (const line of ['POST /things', 'GET /things'])
      assert.deepEqual(await answered(line, json, `${whole} `, sizes), [413, '{"code":"PAYLOAD_TOO_LARGE"}'])
  }
})
