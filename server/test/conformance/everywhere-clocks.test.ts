import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import tls from 'node:tls'
import { cardOf, cards, platform } from '../platform.ts'
import { receiverCertificate } from '../receiver-certificate.ts'
import { sql } from '../sql.ts'
import { result, shopOf } from '../till.ts'
import { until } from '../until.ts'
import { assertRefused, call } from './call.ts'
import { keyFor, linkFor } from './people.ts'

// Two clocks: what runs by business time, which a sandbox can advance, and what runs by system time, which nobody can.

const hour = 3_600
const soon = (p: { kaha: { clock: { now(): Date } } }, seconds: number) =>
  new Date(p.kaha.clock.now().getTime() + seconds * 1_000).toISOString()

const ownIntent = (p: Awaited<ReturnType<typeof platform>>, fields: object = {}) =>
  p.sdk.paymentIntents.create({
    amount: 500,
    currency: 'PHP',
    merchant_branch_reference_number: p.branch.reference_number,
    ...fields,
  })

/** Moves business time for everybody without running anything, as a moment does between two sweeps. */
async function moveSilently(p: Awaited<ReturnType<typeof platform>>, seconds: number): Promise<void> {
  await sql(p.kaha.db, 'update kernel.clock set offset_ms = offset_ms + $1, version = version + 1', [seconds * 1_000])
  await p.kaha.clock.refresh(p.kaha.db)
  p.kaha.bus.hint('clock')
}

test('[X0.clocks.business, X0.clocks.business.created-at] business time is real time plus the offset, and created_at is business time', async (t) => {
  const p = await platform(t)
  const created = async () =>
    Date.parse((await p.sdk.paymentLinks.create(linkFor(p.branch.reference_number))).created_at)
  const between = async (offsetSeconds: number) => {
    const before = Date.now() + offsetSeconds * 1_000
    const at = await created()
    // An advance rounds up to the next millisecond, and real time goes on while it runs.
    assert.ok(before <= at && at <= Date.now() + offsetSeconds * 1_000 + 60_000, `${at - before}`)
  }
  await between(0)
  await p.advance(10 * 24 * hour)
  const offset = p.kaha.clock.offsetMs
  assert.ok(offset >= 10 * 24 * hour * 1_000)
  await between(10 * 24 * hour)
  const endpoint = await p.sdk.webhooks.createEndpoint({ url: p.receiver.url, enabled_events: ['payment.succeeded'] })
  assert.ok(Date.parse(endpoint.created_at) >= Date.now() + 10 * 24 * hour * 1_000 - 60_000)
})

test('[X0.clocks.business.links, X0.clocks.business.intents, X0.clocks.exact] links and intents are expired at their very millisecond, before any sweeper has come by', async (t) => {
  // No worker: nobody sweeps.
  const p = await platform(t, { settings: { KAHA_ROLES: 'api' } })
  const at = soon(p, 600)
  const link = await p.link({ expires_at: at })
  const alone = await ownIntent(p, { expires_at: at })
  const through = await p.sdk.paymentIntents.create({ payment_link_id: link.id })
  const statuses = async () => [
    (await p.sdk.paymentLinks.retrieve(link.id)).status,
    (await p.sdk.paymentLinks.list()).data[0]?.status,
    (await p.sdk.paymentIntents.retrieve(alone.id)).status,
    (await p.sdk.paymentIntents.retrieve(through.id)).status,
  ]
  await moveSilently(p, 500)
  assert.deepEqual(await statuses(), ['ACTIVE', 'ACTIVE', 'ACTIVE', 'ACTIVE'])
  assert.equal((await p.sdk.paymentLinks.list({ status: ['EXPIRED'] })).data.length, 0)
  await moveSilently(p, 100)
  assert.deepEqual(await statuses(), ['EXPIRED', 'EXPIRED', 'EXPIRED', 'EXPIRED'])
  assert.equal((await p.sdk.paymentLinks.list({ status: ['EXPIRED'] })).data.length, 1)
  assert.equal((await p.sdk.paymentLinks.list({ status: ['ACTIVE'] })).data.length, 0)
  assert.equal((await p.sdk.paymentLinks.retrieve(link.id)).updated_at, at)
  assert.equal((await p.sdk.paymentIntents.retrieve(alone.id)).updated_at, at)
  for (const id of [alone.id, through.id]) {
    const confirm = p.sdk.paymentIntents.confirm(id, { payment_method: { type: 'card', card: cardOf() } })
    await assert.rejects(confirm, { status: 409, code: 'INVALID_STATE' })
  }
  await assert.rejects(p.sdk.paymentIntents.create({ payment_link_id: link.id }), {
    status: 422,
    code: 'INVALID_STATE',
  })
})

test('[X0.clocks.business.keys, X0.clocks.business.cards, X0.clocks.business.idempotency] keys and cards expire, and idempotency keys are forgotten, by business time', async (t) => {
  const p = await platform(t)
  const expiresAt = new Date(p.kaha.clock.now().getTime() + 25 * hour * 1_000)
  const { secretKey } = await keyFor(p, { id: p.merchant.id, level: 'merchant' }, { expiresAt })
  const idempotencyKey = 'order-77-first'
  const create = () => p.as(secretKey).paymentLinks.create(linkFor(p.branch.reference_number), { idempotencyKey })
  const first = await create()
  const now = p.kaha.clock.now()
  const card = { ...cardOf(), exp_month: now.getUTCMonth() + 1, exp_year: now.getUTCFullYear() }
  const pay = async () => {
    const { id } = await ownIntent(p, { expires_at: soon(p, 90 * 24 * hour) })
    return p.sdk.paymentIntents.confirm(id, { payment_method: { type: 'card', card } })
  }
  assert.equal((await pay()).status, 'SUCCEEDED')

  await p.advance(23 * hour)
  assert.equal((await create()).id, first.id)
  await p.advance(hour + 1)
  assert.notEqual((await create()).id, first.id)
  await p.advance(hour)
  await assert.rejects(create(), { status: 401 })
  await p.advance(32 * 24 * hour)
  await assert.rejects(pay(), { status: 400, code: 'INVALID_CARD' })
})

test('X0.clocks.business.retries: a retry falls due by business time', async (t) => {
  const p = await platform(t)
  await p.sdk.webhooks.createEndpoint({ url: p.receiver.url, enabled_events: ['payment.succeeded'] })
  p.receiver.answer = (_request, response) => void response.writeHead(500).end()
  await p.pay()
  await p.advance(6)
  assert.equal(p.receiver.received.length, 2)
  await p.advance(290)
  assert.equal(p.receiver.received.length, 2)
  await p.advance(90)
  assert.equal(p.receiver.received.length, 3)
})

test('[X0.clocks.system.webhook-timestamp, X0.clocks.system.log] webhook-timestamp and log lines carry system time, however far the clock was advanced', async (t) => {
  const p = await platform(t)
  await p.sdk.webhooks.createEndpoint({ url: p.receiver.url, enabled_events: ['payment.succeeded'] })
  await p.advance(400 * 24 * hour)
  const before = Date.now()
  const logged = p.logged.length
  await p.pay()
  const afterwards = Date.now()
  const timestamp = Number(p.receiver.received[0]?.headers['webhook-timestamp'])
  assert.ok(Math.floor(before / 1_000) <= timestamp && timestamp <= afterwards / 1_000)
  assert.ok(
    Date.parse(JSON.parse(p.receiver.received[0]?.body ?? '').created_at) > afterwards + 399 * 24 * hour * 1_000,
  )
  const lines = p.logged.slice(logged).map((line) => JSON.parse(line) as { time: string })
  assert.ok(lines.length > 0)
  for (const { time } of lines) assert.ok(before <= Date.parse(time) && Date.parse(time) <= Date.now())
})

test('X0.clocks.system.rate-limit: a bucket refills by system time, and no advance fills it', async (t) => {
  let wall = Date.now()
  const p = await platform(t, { settings: { KAHA_RATE_LIMIT: '1' }, choices: { wall: () => wall } })
  const { secretKey: key } = await keyFor(p, { id: p.merchant.id, level: 'merchant' })
  const ask = () => call(p.url, { path: '/ecom/v1/payment-links', key })
  for (let sent = 0; sent < 2; sent += 1) assert.equal((await ask()).status, 200)
  assertRefused('/ecom/v1/', await ask(), 429, 'RATE_LIMITED')
  await p.kaha.sandboxClock.advance(new Date(wall + 30 * 24 * hour * 1_000))
  assertRefused('/ecom/v1/', await ask(), 429, 'RATE_LIMITED')
  wall += 1_000
  assert.equal((await ask()).status, 200)
  assertRefused('/ecom/v1/', await ask(), 429, 'RATE_LIMITED')
})

test('[X0.clocks.system.leases, X0.clocks.system.deadlines] an advance takes no work from its owner and ends no call, however long it is', async (t) => {
  const p = await platform(t)
  const other = await p.another({ KAHA_ROLES: 'worker' })
  const held: ServerResponse[] = []
  await p.sdk.webhooks.createEndpoint({ url: `${p.receiver.url}?slow`, enabled_events: ['payment.succeeded'] })
  await p.sdk.webhooks.createEndpoint({ url: `${p.receiver.url}?quick`, enabled_events: ['payment.declined'] })
  p.receiver.answer = ({ path }, response) =>
    void (path.endsWith('slow') ? held.push(response) : response.writeHead(200).end())
  const confirm = async (card: string) => {
    const { id } = await ownIntent(p)
    await p.sdk.paymentIntents.confirm(id, { payment_method: { type: 'card', card: cardOf(card) } })
    return id
  }
  await confirm(cards.approved)
  await until('the slow attempt', () => held.length === 1)

  await moveSilently(p, hour)
  // Both processes look for work again after the move, as this delivery shows.
  await confirm(cards.declined)
  other.bus.hint('deliveries')
  await until('the quick attempt', () => p.receiver.received.some(({ path }) => path.endsWith('quick')))
  assert.equal(held.length, 1)
  for (const response of held) response.writeHead(200).end()
  await p.idle()
  const { data } = await p.as(p.branch.secret_key).webhooks.listEvents({ type: 'payment.succeeded' })
  assert.deepEqual(
    data.map(({ status, attempt_count: count }) => [status, count]),
    [['DELIVERED', 1]],
  )
  assert.equal(held.length, 1)
})

async function httpsReceiver(t: TestContext) {
  let reached = 0
  const server = https.createServer(receiverCertificate, (_request, response) => {
    reached += 1
    response.writeHead(200).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}/hook`,
    get reached() {
      return reached
    },
  }
}

test('X0.clocks.system.tls: a certificate that is valid today serves in a sandbox whose business time is long past its end', async (t) => {
  const own = tls.getCACertificates('default')
  t.after(() => tls.setDefaultCACertificates(own))
  const receiver = await httpsReceiver(t)
  const statusAfterPaying = async () => {
    const p = await platform(t)
    // One step goes ten years at most.
    for (let year = 2030; year < 2120; year += 9) await p.kaha.sandboxClock.advance(new Date(`${year}-06-01T00:00:00Z`))
    await p.kaha.sandboxClock.advance(new Date('2120-06-01T00:00:00Z'))
    await p.sdk.webhooks.createEndpoint({ url: receiver.url, enabled_events: ['payment.succeeded'] })
    const { id } = await ownIntent(p)
    const card = { ...cardOf(), exp_year: 2140 }
    await p.sdk.paymentIntents.confirm(id, { payment_method: { type: 'card', card } })
    await p.idle()
    const [event] = (await p.as(p.branch.secret_key).webhooks.listEvents()).data
    assert.match(event?.created_at ?? '', /^2120-06-01T/)
    return event?.status
  }
  // Control: certificates are judged at all.
  assert.equal(await statusAfterPaying(), 'SUBMITTED')
  tls.setDefaultCACertificates([...own, receiverCertificate.cert])
  assert.equal(await statusAfterPaying(), 'DELIVERED')
  assert.equal(receiver.reached, 1)
})

test('a system clock that is set back sets back no time of a payment that began before', async (t) => {
  let wall = Date.now()
  const p = await platform(t, { choices: { wall: () => wall } })
  const shop = shopOf(p)
  t.after(() => shop[Symbol.asyncDispose]())
  const terminal = await shop.connect()
  const { id } = await p.pay()
  const paying = shop.pay()
  const { transactionId } = await terminal.next('payment')
  const updated = async () => {
    const rows = await sql<{ updated_at: Date }>(
      p.kaha.db,
      `select updated_at from payments.transactions where card_last_four is not null`,
    )
    return rows[0]?.updated_at
  }
  const before = await updated()
  wall -= hour * 1_000
  await p.sdk.refunds.create({ payment_intent_id: id, amount: 1 })
  assert.deepEqual(await updated(), before)
  terminal.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  const times = 'select created_at, updated_at, ended_at from terminals.transactions'
  const [row] = await sql<{ created_at: Date; updated_at: Date; ended_at: Date }>(p.kaha.db, times)
  assert.deepEqual([row?.updated_at, row?.ended_at], [row?.created_at, row?.created_at])
})
