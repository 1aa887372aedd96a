import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import { signed } from '../../src/delivery/dialects.ts'
import type { Lookup } from '../../src/delivery/egress.ts'
import { statement } from '../../src/kernel/db.ts'
import { platform, type PlatformOptions } from '../platform.ts'
import { startReceiver, type Received } from '../receiver.ts'
import { until } from '../until.ts'
import { assertRefused, call } from './call.ts'

// Attempts: when they are made, what counts as one, and how each kind of answer is judged.

/** A platform with one endpoint for successes, without jitter unless told. */
async function delivering(t: TestContext, options: PlatformOptions = {}) {
  const { choices, ...rest } = options
  const p = await platform(t, { ...rest, choices: { ...choices, delivery: { random: () => 0, ...choices?.delivery } } })
  await p.sdk.webhooks.createEndpoint({ url: p.receiver.url, enabled_events: ['payment.succeeded'] })
  const branch = p.as(p.branch.secret_key)
  const event = async () => {
    const [only, ...others] = (await branch.webhooks.listEvents()).data
    assert.ok(only !== undefined)
    assert.deepEqual(others, [])
    return only
  }
  const attempts = () =>
    p.kaha.db.run<{
      number: number
      started_at: Date
      status: number | null
      error_class: string | null
      owner: string | null
    }>(
      statement(
        'test.attempts',
        'select number, started_at, status, error_class, owner from delivery.attempts order by started_at, number',
      ),
      [],
    )
  return { ...p, event, attempts }
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
/** As completions write it: now, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h after the one before. */
const waits = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]

const failing = (_request: Received, response: ServerResponse) => void response.writeHead(500).end()

test('[A2.attempts.schedule, A2.events.state.submitted-exhausted, X0.clocks.business.retries] ten attempts, each at its time after the one before, and then no more', async (t) => {
  const p = await delivering(t)
  p.receiver.answer = failing
  await p.pay()
  for (const [made, wait] of waits.entries()) {
    const { status, attempt_count: count, next_attempt_at: next } = await p.event()
    assert.deepEqual([status, count], ['SUBMITTED', made + 1])
    const last = (await p.attempts()).at(-1)
    assert.equal(Date.parse(next ?? '') - (last?.started_at.getTime() ?? 0), wait, `wait after attempt ${made + 1}`)
    await p.kaha.sandboxClock.advance(new Date(next ?? ''))
    assert.equal(p.receiver.received.length, made + 2)
  }
  const { status, attempt_count: count, next_attempt_at: next, delivered_at: delivered } = await p.event()
  assert.deepEqual([status, count, next, delivered], ['EXHAUSTED', 10, null, null])
  await p.advance(20 * 86_400)
  assert.equal(p.receiver.received.length, 10)
  assert.deepEqual(
    (await p.attempts()).map(({ number }) => number),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  )
  const starts = (await p.attempts()).map(({ started_at: at }) => at.getTime())
  for (const [index, wait] of waits.entries()) assert.ok((starts[index + 1] ?? 0) - (starts[index] ?? 0) >= wait)
})

test('A2.attempts.jitter: each wait is longer by up to 20 percent, and never shorter than the schedule', async (t) => {
  for (const [random, factor] of [
    [() => 0, 1],
    [() => 0.5, 1.1],
    [() => 0.999999, 1.2],
  ] as const) {
    const p = await delivering(t, { choices: { delivery: { random } } })
    p.receiver.answer = failing
    await p.pay()
    for (const wait of waits.slice(0, 2)) {
      const next = Date.parse((await p.event()).next_attempt_at ?? '')
      const waited = next - ((await p.attempts()).at(-1)?.started_at.getTime() ?? 0)
      assert.ok(waited >= wait && waited <= wait * 1.2)
      assert.ok(Math.abs(waited - wait * factor) <= 1, `${waited} for ${wait} × ${factor}`)
      await p.kaha.sandboxClock.advance(new Date(next))
    }
  }
})

test('A2.attempts.success: every status from 200 to 299 is a success at once', async (t) => {
  const p = await delivering(t)
  for (const status of [200, 201, 202, 204, 206, 226, 299]) {
    p.receiver.answer = (_request, response) =>
      void response.writeHead(status).end(status === 204 ? undefined : 'a body')
    await p.pay()
  }
  const { data } = await p.as(p.branch.secret_key).webhooks.listEvents()
  assert.deepEqual(
    data.map(({ status, attempt_count: count }) => [status, count]),
    Array.from({ length: 7 }, () => ['DELIVERED', 1]),
  )
})

test('[A2.attempts.redirect, A2.attempts.success] every other status is a failure, and a redirect is not followed', async (t) => {
  const p = await delivering(t)
  const elsewhere = await startReceiver()
  t.after(() => elsewhere[Symbol.asyncDispose]())
  const statuses = [300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 409, 429, 500, 502, 503, 504]
  for (const status of statuses) {
    p.receiver.answer = (_request, response) => void response.writeHead(status, { location: elsewhere.url }).end()
    await p.pay()
  }
  assert.equal(elsewhere.received.length, 0)
  const { data } = await p.as(p.branch.secret_key).webhooks.listEvents({ page_size: 50 })
  assert.deepEqual(new Set(data.map(({ status }) => status)), new Set(['SUBMITTED']))
  assert.deepEqual(
    (await p.attempts()).map(({ status }) => status),
    statuses,
  )
})

const slow: Readonly<Record<string, (request: Received, response: ServerResponse) => void>> = {
  'says nothing': () => {},
  'sends its head and no end': (_request, response) => void response.writeHead(200).write('a'),
  'sends a body that never ends': (_request, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('a'), 5)
    response.on('close', () => clearInterval(timer))
  },
}
for (const [what, answer] of Object.entries(slow)) {
  test(`[A2.attempts.deadline, S7.clock.idle] an attempt at a receiver that ${what} has failed at the deadline, and is tried again`, async (t) => {
    const p = await delivering(t, { choices: { delivery: { deadlineMs: 250 } } })
    p.receiver.answer = answer
    await p.pay()
    const { status, attempt_count: count } = await p.event()
    assert.deepEqual([status, count], ['SUBMITTED', 1])
    assert.equal((await p.attempts())[0]?.error_class, 'timeout')
    p.receiver.answer = (_request, response) => void response.writeHead(200).end()
    await p.advance(5)
    // A good answer, too, comes after the deadline where the machine stands still for that long; hardly twice.
    if ((await p.event()).status === 'SUBMITTED') await p.advance(300)
    assert.equal((await p.event()).status, 'DELIVERED')
  })
}

test('A2.attempts.deadline: the deadline is 15 seconds', () => {
  assert.equal(signed.deadlineMs, 15_000)
})

test('[A2.attempts.success] an answer that is cut off, or is no HTTP, or is larger than anybody needs, does no harm', async (t) => {
  const p = await delivering(t)
  const answers: readonly ((request: Received, response: ServerResponse) => void)[] = [
    (_request, response) => void response.socket?.destroy(),
    (_request, response) => void response.socket?.end('hello\r\n\r\n'),
    (_request, response) =>
      void response.writeHead(200, { 'content-length': '10' }).write('a', () => response.socket?.destroy()),
    (_request, response) => void response.writeHead(200).end('a'.repeat(5_000_000)),
    (_request, response) => void response.writeHead(200).end(Buffer.from([0, 255, 0, 27, 91, 50, 74])),
  ]
  for (const answer of answers) {
    p.receiver.answer = answer
    await p.pay()
  }
  const { data } = await p.as(p.branch.secret_key).webhooks.listEvents()
  assert.deepEqual(data.map(({ status }) => status).toReversed(), [
    'SUBMITTED',
    'SUBMITTED',
    'SUBMITTED',
    'DELIVERED',
    'DELIVERED',
  ])
})

test('what goes wrong on our side is told by its cause in the log', async (t) => {
  const lookup: Lookup = (_hostname, _options, callback) =>
    callback(Object.assign(new Error('too many open files'), { code: 'EMFILE' }), [])
  const p = await platform(t, { choices: { lookup } })
  const { id } = await p.sdk.webhooks.createEndpoint({
    url: 'https://shop.example.com/hook',
    enabled_events: ['payment.succeeded'],
  })
  await p.sdk.webhooks.testEndpoint(id, { type: 'payment.succeeded' })
  const told = () => p.logged.find((line) => line.includes('an attempt failed on our side'))
  await until('the log', () => told() !== undefined)
  assert.match(told() ?? '', /EMFILE/)
})

test('A2.attempts.ours: what goes wrong on our side spends no attempt, and the delivery is made afterwards', async (t) => {
  const p = await delivering(t)
  const swap = statement(
    'test.swap',
    'update delivery.secrets set sealed = set_byte(sealed, 20, 255 - get_byte(sealed, 20))',
  )
  await p.kaha.db.run(swap, [])
  await p.pay()
  const waiting = await p.event()
  assert.deepEqual([waiting.status, waiting.attempt_count, p.receiver.received.length], ['SUBMITTED', 0, 0])
  assert.ok(waiting.next_attempt_at !== null)
  await p.advance(600)
  assert.equal((await p.event()).attempt_count, 0)
  await p.kaha.db.run(swap, [])
  await p.advance(600)
  const done = await p.event()
  assert.deepEqual([done.status, done.attempt_count, p.receiver.received.length], ['DELIVERED', 1, 1])
  assert.equal((await p.attempts()).length, 1)
})

const literals = [
  'https://127.0.0.1/',
  'https://localhost/',
  'https://LOCALHOST./',
  'https://a.localhost/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0177.0.0.1/',
  'https://127.1/',
  'https://0/',
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://192.168.1.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://168.63.129.16/',
  'https://100.64.0.1/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://[::1]/',
  'https://[::]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[fc00::1]/',
  'https://[fe80::1]/',
  'https://[2001:db8::1]/',
]

test('A2.url.public: where only public targets are allowed, no address that is not public is taken, however it is spelled', async (t) => {
  const p = await platform(t, { settings: { KAHA_WEBHOOK_TARGETS: 'public' } })
  const path = '/v1/webhook_endpoints'
  const create = (url: string) =>
    call(p.url, {
      method: 'POST',
      path,
      key: p.merchant.secret_key,
      body: { url, enabled_events: ['payment.succeeded'] },
    })
  for (const url of literals) {
    const refused = await create(url)
    assertRefused(path, refused, 400, 'INVALID_URL')
    assert.equal(refused.json.error.message, 'url: must lead to a public address.')
  }
  assertRefused(path, await create(p.receiver.url), 400, 'INVALID_URL')
  for (const url of ['https://93.184.215.14/', 'https://shop.example.com/', 'https://[2606:4700::1111]/']) {
    assert.equal((await create(url)).status, 201, url)
  }
})

test('A2.url.public: a name that leads to an address that is not public is never dialled', async (t) => {
  const receiver = await startReceiver()
  t.after(() => receiver[Symbol.asyncDispose]())
  const { port } = new URL(receiver.url)
  // Control: the same name is dialled where any target is allowed, and fails for want of TLS.
  for (const [targets, outcome] of [
    ['public', 'refused_target'],
    ['any', 'tls'],
  ] as const) {
    const asked: string[] = []
    const lookup: Lookup = (hostname, _options, callback) => {
      asked.push(hostname)
      process.nextTick(callback, null, [{ address: '127.0.0.1', family: 4 }])
    }
    const p = await platform(t, { settings: { KAHA_WEBHOOK_TARGETS: targets }, choices: { lookup } })
    const url = `https://inside.example.com:${port}/`
    await p.sdk.webhooks.createEndpoint({ url, enabled_events: ['payment.succeeded'] })
    await p.pay()
    const classes = statement('test.classes', 'select error_class from delivery.attempts')
    assert.deepEqual(await p.kaha.db.run(classes, []), [{ error_class: outcome }])
    assert.deepEqual(asked, ['inside.example.com'])
  }
  assert.equal(receiver.received.length, 0)
})
