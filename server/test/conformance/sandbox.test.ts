import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, test } from 'node:test'
import { cards, platform, type Platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { until } from '../until.ts'
import { assertRefused, call, type Call } from './call.ts'

// What only a sandbox has: its clock. Its cards stand in sandbox-cards.test.ts.

const p = await platform({ after })
const key = p.seed.partner.secret_key
const clockPath = '/sandbox/clock'
const advancePath = '/sandbox/clock/advance'
const ask = (request: Call) => call(p.url, { key, ...request })
const advance = (body: unknown, url = p.url, as = key) =>
  call(url, { method: 'POST', path: advancePath, key: as, body })

test("[S7.access.partner-key] the partner's key drives the sandbox, whatever its scopes, and no other key does", async () => {
  assert.equal((await ask({ path: clockPath })).status, 200)
  assert.equal((await advance({ seconds: 0 })).status, 200)
  for (const other of [p.merchant.secret_key, p.branch.secret_key]) {
    assertRefused(clockPath, await ask({ path: clockPath, key: other }), 403, 'FORBIDDEN')
    assertRefused(advancePath, await advance({ seconds: 1 }, p.url, other), 403, 'FORBIDDEN')
  }
  assertRefused(clockPath, await call(p.url, { path: clockPath }), 401, 'UNAUTHORIZED')
})

test('S7.access.json: a form, as a web page can send one, moves nothing', async () => {
  const before = p.kaha.clock.offsetMs
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
    const request = { method: 'POST', path: advancePath, headers: { 'content-type': type }, bytes: '{"seconds":60}' }
    assertRefused(advancePath, await ask(request), 415, 'UNSUPPORTED_MEDIA_TYPE')
  }
  assert.equal(p.kaha.clock.offsetMs, before)
})

test('S7.access.host: the controls answer to the names of this machine alone, so that no name elsewhere can be led here', async () => {
  const { port } = new URL(p.url)
  for (const host of ['localhost', '127.0.0.1', '[::1]', `localhost:${port}`, `127.0.0.1:${port}`, 'LOCALHOST']) {
    assert.equal((await ask({ path: clockPath, headers: { host } })).status, 200, host)
  }
  const wrong = [
    'evil.example',
    `evil.example:${port}`,
    'localhost.evil.example',
    '127.0.0.1.nip.io',
    'localhost@evil.example',
    '0.0.0.0',
    '192.168.1.5',
  ]
  for (const host of wrong) {
    assertRefused(clockPath, await ask({ path: clockPath, headers: { host } }), 421, 'MISDIRECTED_REQUEST')
    const request = { method: 'POST', path: advancePath, headers: { host }, body: { seconds: 1 } }
    assertRefused(advancePath, await ask(request), 421, 'MISDIRECTED_REQUEST')
  }
  // Of a request line that has the whole address the host there counts.
  const whole = (host: string) => ask({ path: `http://${host}${clockPath}`, headers: { host: 'localhost' } })
  assert.equal((await whole(`localhost:${port}`)).status, 200)
  assertRefused(clockPath, await whole('evil.example'), 421, 'MISDIRECTED_REQUEST')
})

test('S7.access.host: a sandbox with a name of its own answers there, with the port of its scheme or without, in capitals or not', async (t) => {
  const its = await platform(t, { settings: { KAHA_BASE_URL: 'https://sandbox.kaha.test' } })
  const statusAt = async (host: string) =>
    (await call(its.url, { path: clockPath, key: its.seed.partner.secret_key, headers: { host } })).status
  for (const host of ['sandbox.kaha.test', 'sandbox.kaha.test:443', 'Sandbox.Kaha.Test'])
    assert.equal(await statusAt(host), 200, host)
  for (const host of ['sandbox.kaha.test:80', 'kaha.test']) assert.equal(await statusAt(host), 421, host)
})

test('whoever comes by another name is told which names the sandbox answers to, and what changes that', async () => {
  const headers = { host: 'office-pc.example:8080' }
  const own = new RegExp(`localhost[^]* ${new URL(p.kaha.addresses.sandbox).host}[^]*KAHA_SANDBOX_URL[^]*KAHA_BASE_URL`)
  assert.match((await ask({ path: clockPath, headers })).json.error.message, own)
  for (const [lang, title] of [
    ['en', 'The bank app has another address'],
    ['fil', 'Iba ang address ng bank app'],
  ] as const) {
    const page = await call(p.url, { path: `/sandbox/bank?lang=${lang}`, headers })
    assert.equal(page.status, 421)
    assert.match(page.text, own)
    assert.match(page.text, new RegExp(`<h1>${title}</h1>`))
  }
})

test("S7.errors.envelope: errors of the sandbox come in area C's envelope, with details where a field is to blame", async () => {
  const answer = await advance({ seconds: -1 })
  assertRefused(advancePath, answer, 400, 'INVALID_SECONDS')
  assert.deepEqual(answer.json.error.details, { field: 'seconds', rule: 'minimum' })
  assert.deepEqual(Object.keys((await call(p.url, { path: clockPath })).json.error), [
    'code',
    'message',
    'correlation_id',
  ])
})

test('S7.clock.read: the clock tells business time and how far it is ahead', async (t) => {
  const its = await platform(t)
  const read = async () => (await call(its.url, { path: clockPath, key: its.seed.partner.secret_key })).json
  const before = Date.now()
  const first = await read()
  assert.deepEqual(Object.keys(first), ['now', 'offset_seconds'])
  assert.equal(first.offset_seconds, 0)
  assert.ok(before <= Date.parse(first.now) && Date.parse(first.now) <= Date.now())
  await its.advance(3_600)
  const later = await read()
  assert.ok(later.offset_seconds >= 3_600 && later.offset_seconds < 3_660)
  assert.ok(Date.parse(later.now) >= before + 3_600_000)
})

test('[S7.clock.advance-seconds, S7.clock.advance-to] the clock goes forward by seconds, or to a time, and the answer shows where it is', async () => {
  const from = Date.parse((await ask({ path: clockPath })).json.now)
  const moved = await advance({ seconds: 90 })
  assert.equal(moved.status, 200)
  assert.ok(Date.parse(moved.json.now) >= from + 90_000)
  const to = new Date(Date.parse(moved.json.now) + 86_400_000).toISOString()
  const there = await advance({ to })
  assert.equal(there.status, 200)
  assert.ok(there.json.now >= to)
  const inManila = `${new Date(Date.parse(there.json.now) + 3_600_000 + 8 * 3_600_000).toISOString().slice(0, -1)}+08:00`
  assert.equal((await advance({ to: inManila })).status, 200)
})

test('an advance needs seconds or a time, and not both', async () => {
  const to = new Date(p.kaha.clock.now().getTime() + 1_000_000).toISOString()
  for (const body of [{}, { seconds: 1, to }]) assertRefused(advancePath, await advance(body), 400, 'BAD_REQUEST')
  for (const seconds of [315_619_201, 1.5, '5', null])
    assertRefused(advancePath, await advance({ seconds }), 400, 'INVALID_SECONDS')
  for (const wrong of ['tomorrow', '2026-02-30T00:00:00Z', null, 5])
    assertRefused(advancePath, await advance({ to: wrong }), 400, 'INVALID_TO')
})

test('S7.clock.never-back: a time that has passed is refused, and nothing that two processes do at once moves the clock back', async (t) => {
  const its = await platform(t)
  const other = await its.another()
  const partner = its.seed.partner.secret_key
  await its.advance(3_600)
  const at = its.kaha.clock.now().getTime()
  for (const ms of [1, 1_000, 3_600_000, 1e11]) {
    const past = { to: new Date(at - ms).toISOString() }
    assertRefused(advancePath, await advance(past, its.url, partner), 400, 'INVALID_TO')
  }
  assert.ok(its.kaha.clock.now().getTime() >= at)

  const [far, near] = [new Date(at + 7_200_000), new Date(at + 3_600_000)]
  const seen: number[] = []
  const watching = new AbortController()
  const watch = (async () => {
    while (!watching.signal.aborted) {
      const [row] = await sql<{ offset_ms: bigint }>(its.kaha.db, 'select offset_ms from kernel.clock')
      seen.push(Number(row?.offset_ms))
    }
  })()
  await Promise.all([
    its.kaha.sandboxClock.advance(far),
    other.sandboxClock.advance(near),
    its.kaha.sandboxClock.advance(near).catch(() => {}),
  ])
  watching.abort()
  await watch
  assert.deepEqual(
    seen,
    seen.toSorted((one, another) => one - another),
  )
  assert.ok(its.kaha.clock.now() >= far)
})

test('advances by seconds that two processes make at once add up', async (t) => {
  const its = await platform(t)
  const other = await its.another()
  const from = its.kaha.clock.offsetMs
  await Promise.all([
    its.kaha.sandboxClock.advanceBy(60_000),
    other.sandboxClock.advanceBy(120_000),
    its.kaha.sandboxClock.advanceBy(240_000),
  ])
  const [row] = await sql<{ offset_ms: bigint }>(its.kaha.db, 'select offset_ms from kernel.clock')
  assert.equal(Number(row?.offset_ms) - from, 420_000)
})

test('one advance goes ten years at most', async () => {
  const inYears = (years: number) => new Date(Date.now() + years * 365.25 * 86_400_000).toISOString()
  assertRefused(advancePath, await advance({ to: inYears(11) }), 400, 'INVALID_TO')
  assertRefused(advancePath, await advance({ to: '9998-12-31T00:00:00Z' }), 400, 'INVALID_TO')
  assertRefused(advancePath, await advance({ seconds: 315_619_201 }), 400, 'INVALID_SECONDS')
})

test('one advance goes ten whole years, whose leap days are three at most', async (t) => {
  const its = await platform(t)
  await leap(its, new Date('2106-06-01T00:00:00Z'))
  const there = await advance({ to: '2116-06-01T00:00:00Z' }, its.url, its.seed.partner.secret_key)
  assert.equal(there.status, 200, there.text)
  await leap(its, new Date('2126-06-01T00:00:00Z'))
  const far = await advance({ seconds: 315_619_200 }, its.url, its.seed.partner.secret_key)
  assert.equal(far.status, 200, far.text)
  assert.match(far.json.now, /^2136-06-01T/)
})

/** Sets the clock to where eight hundred advances lead. */
async function leap({ kaha: { db, clock, delivery } }: Platform, to: Date): Promise<void> {
  await delivery.ensurePartitions(to)
  await sql(db, 'update kernel.clock set offset_ms = $1, version = version + 1', [to.getTime() - Date.now()])
  await clock.refresh(db)
}

test('the clock goes as far as times can be written, everything still works there, and it goes no further', async (t) => {
  const its = await platform(t)
  const partner = its.seed.partner.secret_key
  await leap(its, new Date('9998-12-30T00:00:00Z'))
  for (const to of ['9999-01-01T00:00:00.001Z', '9999-12-31T23:59:59Z']) {
    assertRefused(advancePath, await advance({ to }, its.url, partner), 400, 'INVALID_TO')
  }
  assertRefused(advancePath, await advance({ seconds: 315_576_000 }, its.url, partner), 400, 'INVALID_SECONDS')
  const there = await advance({ to: '9998-12-31T00:00:00Z' }, its.url, partner)
  assert.equal(there.status, 200, there.text)
  assert.match(there.json.now, /^9998-12-31T00:0\d:\d\d\.\d{3}Z$/)
  await its.sdk.webhooks.createEndpoint({ url: its.receiver.url, enabled_events: ['payment.expired'] })
  const link = await its.link()
  assert.equal((await advance({ seconds: 86_000 }, its.url, partner)).status, 200)
  assert.equal((await its.sdk.paymentLinks.retrieve(link.id)).status, 'ACTIVE')
  assert.match((await its.sdk.paymentLinks.retrieve(link.id)).expires_at, /^9999-01-01T/)
  await leap(its, new Date('9999-01-01T00:00:00Z'))
  assertRefused(advancePath, await advance({ seconds: 1 }, its.url, partner), 400, 'INVALID_SECONDS')
  const still = await advance({ seconds: 0 }, its.url, partner)
  assert.equal(still.status, 200, still.text)
})

test('S7.clock.in-order: an advance runs every timer on the way, each at its own time, in order', async (t) => {
  const its = await platform(t, { choices: { delivery: { random: () => 0 } } })
  await its.sdk.webhooks.createEndpoint({
    url: its.receiver.url,
    enabled_events: ['payment.succeeded', 'payment.expired'],
  })
  const from = its.kaha.clock.now().getTime()
  const at = (seconds: number) => new Date(from + seconds * 1_000).toISOString()
  // A payment whose deliveries fail twice (retries after 5 s and 5 min more), between links that expire.
  const expiries = [40, 10, 400, 3_000, 200]
  for (const seconds of expiries) await its.link({ expires_at: at(seconds), order_reference: `expires ${seconds}` })
  let failures = 0
  its.receiver.answer = ({ body }, response) => {
    const refuse = body.includes('payment.succeeded') && (failures += 1) < 3
    response.writeHead(refuse ? 500 : 200).end()
  }
  await its.pay()
  await its.advance(7_200)
  const story = its.receiver.received.map(({ body }) => {
    const { type, data } = JSON.parse(body) as { type: string; data: { order_reference?: string } }
    return data.order_reference ?? type
  })
  assert.deepEqual(story, [
    'payment.succeeded',
    'payment.succeeded',
    'expires 10',
    'expires 40',
    'expires 200',
    'payment.succeeded',
    'expires 400',
    'expires 3000',
  ])
  // Each happened at its own time, and not when the advance had come to its end.
  const { data } = await its.as(its.branch.secret_key).webhooks.listEvents({ type: 'payment.expired' })
  const times = data.map(({ created_at: created }) => Math.round((Date.parse(created) - from) / 1_000)).toReversed()
  for (const [index, seconds] of expiries.toSorted((one, other) => one - other).entries()) {
    const told = times[index] ?? 0
    assert.ok(told >= seconds && told < seconds + 60, `${told} for ${seconds}`)
  }
})

test('S7.clock.idle: an advance does not answer while a call is in flight', async (t) => {
  const its = await platform(t)
  await its.sdk.webhooks.createEndpoint({ url: its.receiver.url, enabled_events: ['payment.succeeded'] })
  const held: ServerResponse[] = []
  its.receiver.answer = (_request, response) => void held.push(response)
  const order: string[] = []
  const paid = its.pay({ card: cards.approved })
  await until('the delivery', () => held.length === 1)
  const moved = advance({ seconds: 0 }, its.url, its.seed.partner.secret_key).then(() =>
    order.push('the advance answered'),
  )
  // Other requests are answered meanwhile, those after the advance too.
  for (let sent = 0; sent < 5; sent += 1) {
    assert.equal((await call(its.url, { path: clockPath, key: its.seed.partner.secret_key })).status, 200)
  }
  order.push('the receiver answers')
  for (const response of held) response.writeHead(200).end()
  await Promise.all([moved, paid])
  assert.deepEqual(order, ['the receiver answers', 'the advance answered'])
  const { data } = await its.as(its.branch.secret_key).webhooks.listEvents()
  assert.equal(data[0]?.status, 'DELIVERED')
})

test('an advance past what is due says soon that no worker answers, and goes on once there is one', async (t) => {
  const its = await platform(t, { settings: { KAHA_ROLES: 'api' } })
  const partner = its.seed.partner.secret_key
  await its.link({ expires_at: new Date(its.kaha.clock.now().getTime() + 60_000).toISOString() })
  const told = await advance({ seconds: 90 }, its.url, partner)
  assertRefused(advancePath, told, 503, 'UNAVAILABLE')
  const says =
    /no worker answers: start a process whose KAHA_ROLES name worker\. To go on where it stopped, send (\{"to":.*\})\.$/
  const [, rest = ''] = says.exec(told.json.error.message) ?? assert.fail(told.text)
  assert.ok(its.kaha.clock.offsetMs > 0, 'a part of the way is gone')
  await its.another({ KAHA_ROLES: 'worker' })
  const gone = await advance(JSON.parse(rest), its.url, partner)
  assert.equal(gone.status, 200, gone.text)
  assert.ok(gone.json.offset_seconds >= 60 && gone.json.offset_seconds <= 90, `ahead by ${gone.json.offset_seconds} s`)
})

test('an advance waits for what a worker has in hand, however long that takes', async (t) => {
  const its = await platform(t, { settings: { KAHA_ROLES: 'api' } })
  await its.another({ KAHA_ROLES: 'worker' }, { delivery: { deadlineMs: 12_000 } })
  await its.sdk.webhooks.createEndpoint({ url: its.receiver.url, enabled_events: ['payment.expired'] })
  // The first attempt's own deadline ends it, later than a worker that is not there is told of.
  let attempts = 0
  its.receiver.answer = (_request, response) => void ((attempts += 1) > 1 && response.writeHead(200).end())
  await its.link({ expires_at: new Date(its.kaha.clock.now().getTime() + 60_000).toISOString() })
  assert.equal((await advance({ seconds: 61 }, its.url, its.seed.partner.secret_key)).status, 200)
  assert.ok(attempts > 0)
})
