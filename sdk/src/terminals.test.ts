import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { peer, refusal, type Peer } from '../test/peer.ts'
import {
  createTerminals,
  KahaConnectionError,
  KahaError,
  verifyTerminalWebhook,
  WebhookVerificationError,
} from './index.ts'
import { pause } from './retry.ts'

interface Case {
  readonly api_secret: string
  readonly method: string
  readonly path: string
  readonly timestamp: string
  readonly body: string
  readonly signature: string
}
const vectors = JSON.parse(
  readFileSync(new URL('../../server/test/vectors/terminal-signatures.json', import.meta.url), 'utf8'),
) as { readonly cases: readonly Case[] }

test('requests carry the signatures of the vectors', async () => {
  const byPath = (method: string, path: string) =>
    vectors.cases.find((one) => one.method === method && one.path === path)
  const list = byPath('GET', '/v1/terminals')
  const read = byPath('GET', '/v1/transactions/0198f5a2-7c1e-7d3a-9b1f-2a6f0c9d4e11')
  assert.ok(list !== undefined && read !== undefined)
  for (const { api_secret: apiSecret, timestamp, signature, path } of [list, read]) {
    await using server = await peer({})
    const terminals = createTerminals({
      baseUrl: server.url,
      apiKey: 'tk_x',
      apiSecret,
      now: () => new Date(timestamp),
    })
    if (path.endsWith('/terminals')) await terminals.list()
    else await terminals.retrieve(path.slice(path.lastIndexOf('/') + 1))
    const [sent] = server.arrived
    assert.equal(sent?.headers['x-signature'], signature)
    assert.equal(sent.headers['x-timestamp'], timestamp)
  }
})

test('a list is signed by its path alone, whatever it asks for', async () => {
  await using server = await peer(page([], null))
  const now = () => new Date('2026-01-15T10:30:00.000Z')
  const terminals = createTerminals({ baseUrl: server.url, apiKey: 'tk_x', apiSecret: 's', now })
  await terminals.listTransactions()
  await terminals.listTransactions({ status: ['COMPLETED'] })
  const [all, some] = server.arrived
  assert.equal(some?.url, `${all?.url}?status=COMPLETED`)
  assert.equal(some.headers['x-signature'], all?.headers['x-signature'])
})

/** A client whose waits are told instead of waited. */
function stepped({ url }: Peer) {
  const waits: number[] = []
  const tell = async (ms: number): Promise<void> => void waits.push(ms)
  const options = { baseUrl: url, apiKey: 'tk_x', apiSecret: 's' }
  return { waits, terminals: createTerminals(options, { random: () => 0, pause: tell }) }
}

const sale = { amount: '150.00', currency: 'PHP', paymentMethod: 'CARD' } as const

test('a payment whose line is lost is asked for again under the same transactionId, and signed anew', async () => {
  await using server = await peer('cut', { body: { status: 'SUCCESS' } })
  let ms = 0
  const now = () => new Date((ms += 1))
  const terminals = createTerminals({ baseUrl: `${server.url}/terminal`, apiKey: 'tk_x', apiSecret: 's', now })
  assert.deepEqual(await terminals.pay('T 1', sale), { status: 'SUCCESS' })
  const [first, second] = server.arrived
  assert.equal(first?.url, '/terminal/v1/terminals/T%201/payments')
  assert.equal(first.body, second?.body)
  assert.match(first.body, /"transactionId":"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"/)
  assert.notEqual(first.headers['x-signature'], second?.headers['x-signature'])
})

test('a payment is asked for again where a proxy finds no platform, and where that is away or has too much to do', async () => {
  for (const status of [500, 502, 503, 504, 520, 522, 524, 530]) {
    await using server = await peer({ status, body: 'a page' }, { body: { status: 'SUCCESS' } })
    const { terminals, waits } = stepped(server)
    assert.deepEqual(await terminals.pay('T', sale), { status: 'SUCCESS' })
    assert.deepEqual(waits, [250])
    assert.equal(server.arrived[0]?.body, server.arrived[1]?.body)
  }
  await using server = await peer(refusal(503, 'UNAVAILABLE'), refusal(429, 'RATE_LIMITED', { 'retry-after': '2' }), {
    body: { status: 'SUCCESS' },
  })
  const { terminals, waits } = stepped(server)
  assert.deepEqual(await terminals.pay('T', sale), { status: 'SUCCESS' })
  assert.deepEqual(waits, [250, 2_000])
})

test('a payment that a process which stops leaves PENDING is asked for again, and with webhookMode that is its answer', async () => {
  await using server = await peer({ body: { status: 'PENDING' } }, 'cut', { body: { status: 'SUCCESS' } })
  const { terminals, waits } = stepped(server)
  assert.deepEqual(await terminals.pay('T', sale), { status: 'SUCCESS' })
  assert.deepEqual(waits, [250, 500])
  assert.equal(server.arrived[0]?.body, server.arrived[2]?.body)
  await using pending = await peer({ body: { status: 'PENDING' } })
  const asked = stepped(pending)
  const toldByWebhook = await asked.terminals.pay('T', { ...sale, webhookMode: true })
  assert.deepEqual([toldByWebhook, asked.waits], [{ status: 'PENDING' }, []])
  // What goes on for longer is told as it stands.
  const goesOn = await asked.terminals.pay('T', sale)
  assert.deepEqual([goesOn, asked.waits], [{ status: 'PENDING' }, [250, 500, 1_000, 2_000]])
})

test('a payment whose transactionId is given as undefined keeps one of its own through every repeat', async () => {
  await using server = await peer('cut', { body: { status: 'SUCCESS' } })
  const terminals = createTerminals({ baseUrl: server.url, apiKey: 'tk_x', apiSecret: 's' })
  await terminals.pay('T', { ...sale, ...({ transactionId: undefined } as object) })
  const [first, second] = server.arrived
  assert.ok(first?.body.includes('"transactionId":"'))
  assert.equal(first?.body, second?.body)
})

test('a refusal is told with its code, and is not tried again', async () => {
  for (const [status, code] of [
    [504, 'TIMEOUT'],
    [502, 'TERMINAL_CONNECTION_ERROR'],
    [503, 'TERMINAL_OFFLINE'],
    [409, 'PAYMENT_IN_PROGRESS'],
  ] as const) {
    await using server = await peer(refusal(status, code))
    const terminals = createTerminals({ baseUrl: server.url, apiKey: 'tk_x', apiSecret: 's' })
    await assert.rejects(terminals.pay('T', sale), (error) => error instanceof KahaError && error.code === code)
    assert.equal(server.arrived.length, 1)
  }
})

test('a payment whose time is over for the built-in fetch is a TIMEOUT, and is not tried again', async () => {
  for (const code of ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']) {
    let tries = 0
    const fetch = async (): Promise<Response> => {
      tries += 1
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('too late'), { code }) })
    }
    const options = { baseUrl: 'http://x', apiKey: 'tk_x', apiSecret: 's', fetch, timeoutMs: Infinity }
    const isTimeout = (error: unknown) => error instanceof KahaConnectionError && error.reason === 'TIMEOUT'
    await assert.rejects(createTerminals(options).pay('T', sale, { maxRetries: 1 }), isTimeout)
    assert.equal(tries, 1)
  }
})

const thrownBy = (promise: Promise<unknown>): Promise<{ readonly transactionId?: unknown }> =>
  promise.then(
    () => assert.fail('nothing was thrown'),
    (error: unknown) => (assert.ok(error instanceof KahaError || error instanceof KahaConnectionError), error),
  )

test('a line that stays lost is told as such with the transactionId, after four repeats that come later each time', async () => {
  await using server = await peer('cut')
  const { terminals, waits } = stepped(server)
  const failure = await thrownBy(terminals.pay('T', sale))
  assert.ok(failure instanceof KahaConnectionError)
  assert.equal(server.arrived.length, 5)
  assert.deepEqual(waits, [250, 500, 1_000, 2_000])
  for (const { body } of server.arrived)
    assert.equal((JSON.parse(body) as { transactionId: unknown }).transactionId, failure.transactionId)
  await thrownBy(terminals.pay('T', sale, { maxRetries: 0 }))
  assert.equal(server.arrived.length, 6)
})

test('a payment that could not be read back is not begun: an id of dots alone is a way up in a path', async () => {
  await using server = await peer({ body: { status: 'SUCCESS' } })
  const terminals = createTerminals({ baseUrl: server.url, apiKey: 'tk_x', apiSecret: 's' })
  for (const transactionId of ['.', '..', ''])
    await assert.rejects(terminals.pay('T', { ...sale, transactionId }), TypeError)
  assert.deepEqual(server.arrived, [])
})

test('whatever a call about a payment throws tells its transactionId', async () => {
  await using server = await peer(refusal(503, 'UNAVAILABLE'), 'cut', { status: 404, body: 'a page' })
  const terminals = createTerminals({ baseUrl: server.url, apiKey: 'tk_x', apiSecret: 's' })
  for (const transactionId of ['ORDER-1', 'ORDER-2', 'ORDER-3']) {
    const paying = terminals.pay('T', { ...sale, transactionId }, { maxRetries: 0 })
    assert.equal((await thrownBy(paying)).transactionId, transactionId)
  }
  assert.equal((await thrownBy(terminals.void('ORDER-4'))).transactionId, 'ORDER-4')
  assert.equal((await thrownBy(terminals.list())).transactionId, undefined)
})

test('a signal ends the wait before the next repeat', async () => {
  await using server = await peer('cut')
  const controller = new AbortController()
  const leave = (ms: number, signal: AbortSignal | undefined): Promise<void> => {
    const waiting = pause(ms, signal)
    controller.abort(new Error('enough'))
    return waiting
  }
  const options = { baseUrl: server.url, apiKey: 'tk_x', apiSecret: 's' }
  const terminals = createTerminals(options, { random: () => 0, pause: leave })
  const paying = terminals.pay('T', { ...sale, transactionId: 'ORDER-1' }, { signal: controller.signal })
  await assert.rejects(paying, /^Error: enough$/)
  assert.equal(server.arrived.length, 1)
})

test('a payment that its signal ends once it was sent tells the transactionId that was made for it, and has the reason as its cause', async () => {
  const reason = new Error('the shopper left')
  /** What is thrown where the signal ends it while it waits for the answer, or in the pause after that. */
  const left = async (
    act: 'hang' | 'cut' | { readonly body: object },
    body: typeof sale & { transactionId?: string },
  ) => {
    const leaving = new AbortController()
    const leave = () => leaving.abort(reason)
    await using server = await peer(act === 'hang' ? leave : act)
    const pauseAndLeave = (ms: number, signal: AbortSignal | undefined): Promise<void> => {
      const waiting = pause(ms, signal)
      leave()
      return waiting
    }
    const options = { baseUrl: server.url, apiKey: 'tk_x', apiSecret: 's' }
    const { pay } = createTerminals(options, { random: () => 0, pause: pauseAndLeave })
    const thrown = await pay('T', body, { signal: leaving.signal }).catch((error: unknown) => error)
    const sent = server.arrived.map((one) => (JSON.parse(one.body) as { transactionId: unknown }).transactionId)
    return { thrown, sent }
  }
  for (const act of ['hang', 'cut', { body: { status: 'PENDING' } }] as const) {
    const { thrown, sent } = await left(act, sale)
    assert.ok(thrown instanceof KahaConnectionError)
    assert.deepEqual(
      [thrown.operation, thrown.reason, [thrown.transactionId], thrown.idempotencyKey, thrown.cause],
      ['createTerminalPayment', 'ABORTED', sent, undefined, reason],
    )
    const named = await left(act, { ...sale, transactionId: 'ORDER-1' })
    assert.equal(named.thrown, reason, 'whoever gave the transactionId has it')
  }
  await using server = await peer({ body: { status: 'SUCCESS' } })
  const paying = stepped(server).terminals.pay('T', sale, { signal: AbortSignal.abort(reason) })
  await assert.rejects(paying, (error) => error === reason, 'nothing was sent')
  assert.equal(server.arrived.length, 0)
})

test('the operations of webhooks go where the contract says', async () => {
  await using server = await peer({}, {}, {}, {}, { status: 204, body: '' })
  const { webhooks } = createTerminals({ baseUrl: server.url, apiKey: 'tk_x', apiSecret: 's' })
  const url = 'https://shop.example.com/terminals'
  await webhooks.create({ url, events: ['payment.completed'] })
  await webhooks.list()
  await webhooks.retrieve('wh_1')
  await webhooks.update('wh_1', { status: 'disabled' })
  assert.equal(await webhooks.delete('wh_1'), undefined)
  assert.deepEqual(
    server.arrived.map(({ method, url: path, body }) => [method, path, body]),
    [
      ['POST', '/v1/webhooks/endpoints', JSON.stringify({ url, events: ['payment.completed'] })],
      ['GET', '/v1/webhooks/endpoints', ''],
      ['GET', '/v1/webhooks/endpoints/wh_1', ''],
      ['PUT', '/v1/webhooks/endpoints/wh_1', '{"status":"disabled"}'],
      ['DELETE', '/v1/webhooks/endpoints/wh_1', ''],
    ],
  )
})

test('a webhook of a terminal and the ping of its URL are verified, and what is neither is refused', () => {
  const secret = 'whsec_Elt3C0NPjI92xSY1bnYl7BEceyIb1azDjZa4XrMmcRQ='
  const eventId = 'evt_01KEZZ6Q60F8S7XQ8M4T2B5C9D'
  const seconds = 1_768_473_000
  const deliver = (event: unknown, over: Record<string, string> = {}) => {
    const payload = JSON.stringify(event)
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
    const signature = createHmac('sha256', key).update(`${eventId}.${seconds}.${payload}`).digest('base64')
    const headers = {
      'webhook-id': eventId,
      'webhook-timestamp': String(seconds),
      'webhook-signature': `v1,${signature}`,
      ...over,
    }
    return verifyTerminalWebhook({ payload, headers, secret, now: new Date(seconds * 1_000) })
  }
  const completed = { eventType: 'payment.completed', eventId, data: { transactionId: 'ORDER-1' } }
  assert.deepEqual(deliver(completed), completed)
  const ping = { eventType: 'ping', eventId, timestamp: '2026-01-15T10:30:00.000Z' }
  assert.deepEqual(deliver(ping), ping)
  const refused = [
    () => deliver({ eventType: 'payment.completed', eventId }),
    () => deliver({ id: eventId, type: 'payment.succeeded', data: {} }),
    () => deliver(completed, { 'webhook-signature': 'v1,AAAA' }),
  ]
  for (const one of refused) assert.throws(one, WebhookVerificationError)
})

const page = (names: readonly string[], nextCursor: string | null) => ({
  body: { transactions: names.map((transactionId) => ({ transactionId })), count: names.length, nextCursor },
})

test('iterating over the payments of a group gives those of every page, with the same filters on each', async () => {
  await using server = await peer(page(['a', 'b'], 'c+1'), page([], 'c/2'), page(['c'], null))
  const names: string[] = []
  for await (const one of stepped(server).terminals.listAllTransactions({ status: ['COMPLETED'], pageSize: 2 }))
    names.push(one.transactionId)
  assert.deepEqual(names, ['a', 'b', 'c'])
  assert.deepEqual(
    server.arrived.map(({ url }) => Object.fromEntries(new URL(url, server.url).searchParams)),
    [
      { status: 'COMPLETED', pageSize: '2' },
      { status: 'COMPLETED', pageSize: '2', cursor: 'c+1' },
      { status: 'COMPLETED', pageSize: '2', cursor: 'c/2' },
    ],
  )
})

test('a list of payments that never ends, or is none, is an error', async () => {
  await using server = await peer(page(['a'], 'same'), page(['b'], 'same'), { body: { nextCursor: null } })
  const read = async (): Promise<void> => {
    for await (const one of stepped(server).terminals.listAllTransactions()) assert.ok(one)
  }
  await assert.rejects(read(), /same cursor twice/)
  await assert.rejects(read(), { code: 'UNEXPECTED_ANSWER', operation: 'listTerminalTransactions' })
})
