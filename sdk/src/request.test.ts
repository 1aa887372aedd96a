import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { importsOf, readFiles, scan } from '../../scripts/source.ts'
import { peer, refusal, type Act, type Peer } from '../test/peer.ts'
import { clientOf } from './client.ts'
import { createCheckout, createKaha, createTerminals, KahaConnectionError, KahaError } from './index.ts'
import { createOpen, createSend, type ConnectionOptions } from './request.ts'
import { pause } from './retry.ts'

const apiKey = 'sk_test_0123456789ABCDEFGHIJKLMN'
const id = '0198f5a2-6f10-7a44-8c57-1f0e6a2b9d01'
const intent = { amount: 100, currency: 'PHP' }
const confirmation = {
  client_secret: 'cs_very_secret',
  payment_method: {
    type: 'card',
    card: { number: '4242424242424242', exp_month: 12, exp_year: 2040, cvc: '987' },
  },
} as const

/** A client whose waits are told instead of waited. */
function stepped({ url }: Peer, options: Partial<ConnectionOptions> = {}) {
  const waits: number[] = []
  const tell = async (ms: number): Promise<void> => void waits.push(ms)
  return {
    waits,
    ...clientOf(
      createSend({ baseUrl: url, apiKey, ...options }, { random: () => 0, pause: tell }),
      createOpen({ baseUrl: url, apiKey }),
    ),
  }
}

const caught = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => assert.fail('nothing was thrown'),
    (error: unknown) => error,
  )

// Trying again.

const passing: readonly (readonly [what: string, act: Act, waitMs: number])[] = [
  ['a 429', refusal(429, 'RATE_LIMITED', { 'retry-after': '3' }), 3_000],
  ['a 503', refusal(503, 'UNAVAILABLE', { 'retry-after': '1' }), 1_000],
  ['a 503 without Retry-After', refusal(503, 'UNAVAILABLE'), 250],
  ["a proxy's 502", { status: 502, body: 'Bad Gateway' }, 250],
  ["a proxy's 504", { status: 504, body: 'Gateway Timeout' }, 250],
  ["a proxy's 520 of its own", { status: 520, body: '<html>Unknown error</html>' }, 250],
  ['a line that was cut', 'cut', 250],
  ['an answer that was cut', (response) => void response.writeHead(200).write('{"id"', () => response.destroy()), 250],
]

for (const [what, act, waitMs] of passing) {
  test(`after ${what} a GET is sent again`, async () => {
    await using server = await peer(act, { body: { id } })
    const { paymentIntents, waits } = stepped(server)
    assert.equal((await paymentIntents.retrieve(id)).id, id)
    assert.equal(server.arrived.length, 2)
    assert.deepEqual(waits, [waitMs])
  })

  test(`after ${what} a create is sent again with the same Idempotency-Key and the same body`, async () => {
    await using server = await peer(act, { status: 201, body: { id } })
    const { paymentIntents } = stepped(server)
    assert.equal((await paymentIntents.create(intent)).id, id)
    const [first, second] = server.arrived
    assert.match(String(first?.headers['idempotency-key']), /^[A-Za-z0-9._-]{8,64}$/)
    assert.equal(second?.headers['idempotency-key'], first?.headers['idempotency-key'])
    assert.equal(second?.body, first?.body)
  })

  test(`after ${what} a confirm, a registration, a change, a removal and a move of the clock are never sent again`, async () => {
    await using server = await peer(act)
    const { paymentIntents, paymentLinks, sandbox, webhooks, waits } = stepped(server, { maxRetries: 5 })
    await assert.rejects(paymentIntents.confirm(id, confirmation))
    await assert.rejects(createCheckout({ baseUrl: server.url }).confirm(id, confirmation))
    await assert.rejects(sandbox.advanceClock({ seconds: 1 }))
    await assert.rejects(webhooks.createEndpoint({ url: 'https://a.example', enabled_events: ['payment.failed'] }))
    await assert.rejects(webhooks.updateEndpoint(id, { disabled: true }))
    await assert.rejects(webhooks.deleteEndpoint(id))
    await assert.rejects(paymentLinks.update(id, { description: null }))
    assert.equal(server.arrived.length, 7)
    assert.deepEqual(waits, [])
  })
}

test('a refusal that came before its signal ended the call is told as the refusal that it is', async () => {
  const ending = new AbortController()
  const fetch = () => {
    ending.abort(new Error('the shop closes'))
    const error = { code: 'INVALID_AMOUNT', message: 'amount: is too small.' }
    return Promise.resolve(Response.json({ error }, { status: 400 }))
  }
  const { paymentIntents } = createKaha({ baseUrl: 'http://127.0.0.1:9', apiKey, fetch })
  const error = await caught(paymentIntents.create(intent, { signal: ending.signal }))
  assert.ok(error instanceof KahaError && error.code === 'INVALID_AMOUNT')
})

test('a create whose first try still runs is asked about again until it has its answer', async () => {
  await using server = await peer('cut', refusal(409, 'IDEMPOTENCY_IN_PROGRESS'), { status: 201, body: { id } })
  assert.equal((await stepped(server).paymentIntents.create(intent)).id, id)
  assert.equal(new Set(server.arrived.map(({ headers }) => headers['idempotency-key'])).size, 1)
})

test('every other refusal is final', async () => {
  for (const status of [400, 401, 403, 404, 405, 409, 413, 415, 422, 500, 502, 504]) {
    await using server = await peer(refusal(status, 'SOME_CODE'))
    await assert.rejects(stepped(server).paymentIntents.create(intent), KahaError)
    assert.equal(server.arrived.length, 1, String(status))
  }
})

test('two tries follow the first by default, with growing waits, and the last failure is thrown', async () => {
  await using server = await peer('cut', refusal(503, 'UNAVAILABLE'), refusal(429, 'RATE_LIMITED'))
  const { paymentLinks, waits } = stepped(server)
  const error = await caught(paymentLinks.retrieve(id))
  assert.ok(error instanceof KahaError && error.code === 'RATE_LIMITED')
  assert.deepEqual(waits, [250, 500])
})

test('maxRetries of a call goes before that of the client, and 0 is never', async () => {
  await using server = await peer('cut')
  const { paymentLinks } = stepped(server, { maxRetries: 4 })
  await assert.rejects(paymentLinks.retrieve(id, { maxRetries: 0 }), KahaConnectionError)
  assert.equal(server.arrived.length, 1)
  await assert.rejects(paymentLinks.retrieve(id), KahaConnectionError)
  assert.equal(server.arrived.length, 6)
})

test('a Retry-After of more than a minute is for the caller to wait for', async () => {
  await using server = await peer(refusal(429, 'RATE_LIMITED', { 'retry-after': '61' }))
  const { paymentLinks, waits } = stepped(server)
  const error = await caught(paymentLinks.retrieve(id))
  assert.ok(error instanceof KahaError)
  assert.equal(error.retryAfterSeconds, 61)
  assert.deepEqual(waits, [])
})

test('a real client waits by itself', async () => {
  await using server = await peer(refusal(429, 'RATE_LIMITED', { 'retry-after': '0' }), { body: { id } })
  assert.equal((await createKaha({ baseUrl: server.url, apiKey }).paymentIntents.retrieve(id)).id, id)
})

test('two creates have two keys, and a key that is given is the one that is sent', async () => {
  await using server = await peer({ status: 201 })
  const { paymentIntents, paymentLinks } = stepped(server)
  await paymentIntents.create(intent)
  await paymentIntents.create(intent)
  await paymentLinks.create(
    { type: 'one_time', currency: 'PHP', amount: 1, line_items: [] },
    { idempotencyKey: 'order-1001' },
  )
  const keys = server.arrived.map(({ headers }) => headers['idempotency-key'])
  assert.equal(new Set(keys).size, 3)
  assert.equal(keys[2], 'order-1001')
})

// Errors.

test('an error answer becomes a KahaError with everything that it says', async () => {
  const details = { field: 'amount', rule: 'minimum' }
  const error = { code: 'INVALID_AMOUNT', message: 'amount: is too small.', correlation_id: 'c-1', details }
  await using server = await peer({ status: 400, headers: { 'retry-after': '7' }, body: { error } })
  const thrown = await caught(stepped(server).paymentIntents.create(intent))
  assert.ok(thrown instanceof KahaError && thrown instanceof Error)
  const { name, status, code, message, correlationId, operation, retryAfterSeconds } = thrown
  assert.deepEqual(
    { name, status, code, message, correlationId, operation, retryAfterSeconds, details: thrown.details },
    {
      name: 'KahaError',
      status: 400,
      code: 'INVALID_AMOUNT',
      message: 'amount: is too small.',
      correlationId: 'c-1',
      operation: 'createPaymentIntent',
      retryAfterSeconds: 7,
      details,
    },
  )
})

test('a create that failed tells its Idempotency-Key, so that the caller can repeat it and does nothing twice', async () => {
  for (const act of ['cut', refusal(503, 'UNAVAILABLE'), refusal(500, 'INTERNAL_ERROR')] as const) {
    await using server = await peer(act, { status: 201, body: { id } })
    const { paymentIntents } = stepped(server, { maxRetries: 0 })
    const thrown = await caught(paymentIntents.create(intent))
    assert.ok(thrown instanceof KahaError || thrown instanceof KahaConnectionError)
    const { idempotencyKey } = thrown
    assert.ok(idempotencyKey !== undefined)
    await paymentIntents.create(intent, { idempotencyKey })
    assert.deepEqual([...new Set(server.arrived.map(({ headers }) => headers['idempotency-key']))], [idempotencyKey])
  }
  await using server = await peer('cut', refusal(400, 'INVALID_AMOUNT'), 'cut')
  const { paymentIntents } = stepped(server, { maxRetries: 0 })
  const named = await caught(paymentIntents.create(intent, { idempotencyKey: 'order-1001' }))
  assert.ok(named instanceof KahaConnectionError && named.idempotencyKey === 'order-1001')
  const refused = await caught(paymentIntents.create(intent, { idempotencyKey: 'order-1002' }))
  assert.ok(refused instanceof KahaError && refused.idempotencyKey === 'order-1002')
  const confirm = await caught(paymentIntents.confirm(id, confirmation))
  assert.ok(confirm instanceof KahaConnectionError && confirm.idempotencyKey === undefined)
})

test('an error of area A has no details', async () => {
  await using server = await peer(refusal(409, 'CONFLICT'))
  const thrown = await caught(stepped(server).webhooks.retrieveEndpoint(id))
  assert.ok(thrown instanceof KahaError)
  assert.deepEqual([thrown.code, thrown.details], ['CONFLICT', undefined])
})

const strange: readonly (readonly [what: string, status: number, body: unknown])[] = [
  ["a proxy's page", 502, '<html>Bad gateway</html>'],
  ['an empty error', 500, ''],
  ['an error that is a text', 400, { error: 'no' }],
  ['an error without a message', 400, { error: { code: 'X' } }],
  ['a success that is no JSON', 200, 'OK'],
  ['a success without a body', 200, ''],
  ['null', 403, 'null'],
  ['a success that is null', 200, 'null'],
  ['a success that is a list', 200, '[1]'],
  ['a success that is a text', 200, '"hi"'],
  ['a success without anything to tell', 204, ''],
]
for (const [what, status, body] of strange) {
  test(`${what} is an UNEXPECTED_ANSWER with its status and the correlation id of its header`, async () => {
    await using server = await peer({ status, body, headers: { 'x-correlation-id': 'c-2' } })
    const thrown = await caught(stepped(server).paymentIntents.retrieve(id))
    assert.ok(thrown instanceof KahaError)
    assert.deepEqual([thrown.status, thrown.code, thrown.correlationId], [status, 'UNEXPECTED_ANSWER', 'c-2'])
  })
}

test('a redirect is not followed: the key goes nowhere else', async () => {
  await using other = await peer({ body: { id } })
  await using server = await peer({ status: 307, headers: { location: `${other.url}/elsewhere` } })
  const thrown = await caught(stepped(server).paymentIntents.retrieve(id))
  assert.ok(thrown instanceof KahaError)
  assert.deepEqual([thrown.status, thrown.code], [307, 'UNEXPECTED_ANSWER'])
  assert.equal(other.arrived.length, 0)
})

// Deadlines and signals.

test('a call without an answer within timeoutMs ends, also in the middle of an answer', async () => {
  for (const act of ['hang', (response) => void response.writeHead(200).write('{')] satisfies Act[]) {
    await using server = await peer(act)
    const { paymentIntents } = stepped(server, { maxRetries: 1 })
    const thrown = await caught(paymentIntents.retrieve(id, { timeoutMs: 250 }))
    assert.ok(thrown instanceof KahaConnectionError)
    assert.equal(thrown.reason, 'TIMEOUT')
    assert.equal(server.arrived.length, 2, 'a GET is tried again')
  }
})

test('timeoutMs of a call goes before that of the client, and both before that of an operation that waits', async (t) => {
  const limits: number[] = []
  t.mock.method(AbortSignal, 'timeout', (ms: number) => (limits.push(ms), new AbortController().signal))
  const fetch = async () => Response.json({ id })
  const waits = async (client: { timeoutMs?: number }, call: object) => {
    const { webhooks, sandbox } = createKaha({ baseUrl: 'http://x', apiKey, fetch, ...client })
    const terminals = createTerminals({ baseUrl: 'http://x', apiKey, apiSecret: 's', fetch, ...client })
    limits.length = 0
    await terminals.pay('T', { amount: '1.00', currency: 'PHP', paymentMethod: 'CARD' }, call)
    await terminals.void('ORDER-1', {}, call)
    await terminals.webhooks.create({ url: 'https://a.example', events: ['payment.completed'] }, call)
    await terminals.webhooks.update('wh_1', { status: 'active' }, call)
    await webhooks.recoverEndpoint(id, { date_from: '2026-01-15T00:00:00Z' }, call)
    await sandbox.advanceClock({ seconds: 1 }, call)
    return [...limits]
  }
  const own = [100_000, 40_000, 30_000, 30_000, 120_000, 150_000]
  assert.deepEqual(await waits({}, {}), own)
  assert.deepEqual(await waits({}, { timeoutMs: undefined }), own)
  assert.deepEqual([...new Set(await waits({ timeoutMs: 300 }, {}))], [300])
  assert.deepEqual([...new Set(await waits({ timeoutMs: 300 }, { timeoutMs: undefined }))], [300])
  assert.deepEqual([...new Set(await waits({ timeoutMs: 300 }, { timeoutMs: 7 }))], [7])
})

test('a timeoutMs that no timer can hold is no limit, and no timer keeps what the call held', async (t) => {
  const timers = t.mock.method(AbortSignal, 'timeout')
  await using server = await peer({ body: { id }, headers: { 'content-type': 'text/csv' } })
  for (const timeoutMs of [Infinity, 5e9, 2 ** 31, 60_000.5]) {
    const { paymentIntents, reports } = createKaha({ baseUrl: server.url, apiKey, timeoutMs, maxRetries: 0 })
    assert.equal((await paymentIntents.retrieve(id)).id, id)
    assert.ok((await new Response(await reports.exportTransactions()).text()).includes(id))
  }
  assert.deepEqual(
    timers.mock.calls.map(({ arguments: [ms] }) => ms),
    [60_001],
  )
})

test('a timeoutMs or maxRetries that is no number from 0 on is refused by its name before anything is sent', async () => {
  await using server = await peer('cut')
  const { paymentIntents, reports } = stepped(server)
  const { pay } = createTerminals({ baseUrl: server.url, apiKey, apiSecret: 's' })
  for (const name of ['timeoutMs', 'maxRetries']) {
    for (const wrong of [NaN, -1]) {
      const refused = { name: 'RangeError', message: new RegExp(name) }
      await assert.rejects(paymentIntents.retrieve(id, { [name]: wrong }), refused)
      await assert.rejects(
        pay('T', { amount: '1.00', currency: 'PHP', paymentMethod: 'CARD' }, { [name]: wrong }),
        refused,
      )
    }
  }
  await assert.rejects(reports.exportTransactions({}, { timeoutMs: NaN }), RangeError)
  assert.equal(server.arrived.length, 0)
})

test('a signal ends a call at once with its own reason, and nothing is tried again', async () => {
  const controller = new AbortController()
  const reason = new Error('the shopper left')
  await using server = await peer(() => controller.abort(reason))
  assert.equal(await caught(stepped(server).paymentIntents.retrieve(id, { signal: controller.signal })), reason)
  assert.equal(server.arrived.length, 1)
})

test('a signal that was given before sends nothing', async () => {
  await using server = await peer({})
  const signal = AbortSignal.abort(new Error('too late'))
  await assert.rejects(stepped(server).paymentIntents.retrieve(id, { signal }), /too late/)
  assert.equal(server.arrived.length, 0)
})

test('a signal ends the wait before the next try', async () => {
  const controller = new AbortController()
  await using server = await peer(refusal(503, 'UNAVAILABLE', { 'retry-after': '50' }))
  const leave = (ms: number, signal: AbortSignal | undefined): Promise<void> => {
    const waiting = pause(ms, signal)
    controller.abort(new Error('enough'))
    return waiting
  }
  const { paymentIntents } = clientOf(
    createSend({ baseUrl: server.url, apiKey }, { random: () => 0, pause: leave }),
    createOpen({ baseUrl: server.url, apiKey }),
  )
  await assert.rejects(paymentIntents.retrieve(id, { signal: controller.signal }), /enough/)
  assert.equal(server.arrived.length, 1)
})

// Secrets.

test('no secret shows when a client or an error is printed', async () => {
  await using server = await peer(refusal(401, 'UNAUTHORIZED'), 'cut', { status: 502, body: 'x' })
  const kaha = createKaha({ baseUrl: server.url, apiKey, maxRetries: 0 })
  const printed = [inspect(kaha, { depth: 9, showHidden: true, getters: true }), JSON.stringify(kaha)]
  for (let i = 0; i < 3; i++) {
    const error = await caught(kaha.paymentIntents.confirm(id, confirmation))
    printed.push(inspect(error, { depth: 9, showHidden: true }), String(error), JSON.stringify(error))
  }
  assert.equal(server.arrived[0]?.headers['x-api-key'], apiKey)
  for (const text of printed) {
    for (const secret of [apiKey, '4242424242424242', '987', 'cs_very_secret']) assert.ok(!text.includes(secret), text)
  }
})

test('a key or an address that cannot be used is refused without being repeated', () => {
  const wrong = [
    { apiKey: `${apiKey}\n` },
    { apiKey: `${apiKey} ` },
    { apiKey: '' },
    { apiKey: `${apiKey}ñ` },
    { baseUrl: 'https://user:hunter2@pay.example.com' },
    { baseUrl: 'pay.example.com/hunter2' },
    { baseUrl: 'ftp://hunter2.example.com' },
    { baseUrl: 'https://pay.example.com?key=hunter2' },
    { baseUrl: 'https://pay.example.com#hunter2' },
  ]
  for (const one of wrong) {
    assert.throws(
      () => createKaha({ baseUrl: 'https://pay.example.com', apiKey, ...one }),
      (error) => error instanceof TypeError && !/sk_test|hunter2/.test(inspect(error)),
      JSON.stringify(one),
    )
  }
})

test("a payer's page can be bundled for a browser: nothing of Node is behind it, nor behind the client", () => {
  const seen = new Set<string>()
  const visit = (path: string): void => {
    if (seen.has(path)) return
    seen.add(path)
    for (const [, text] of readFiles([path])) {
      for (const specifier of importsOf(scan(text))) {
        assert.ok(!/^(?:node:|ws$)/.test(specifier), `${path} imports ${specifier}`)
        const [folder, name] = specifier === '@kaha/contract' ? ['contract/src', 'index.ts'] : ['', specifier]
        if (folder) visit(`${folder}/${name}`)
        else if (specifier.startsWith('./')) visit(`${path.slice(0, path.lastIndexOf('/'))}/${specifier.slice(2)}`)
      }
    }
  }
  visit('sdk/src/checkout.ts')
  visit('sdk/src/client.ts')
  assert.ok(seen.has('sdk/src/request.ts') && seen.has('contract/src/webhooks.ts'))
})
