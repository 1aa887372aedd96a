import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { reportingOperations } from '@kaha/contract'
import { identityStore } from '../../src/identity/store.ts'
import { statement, type DbTarget } from '../../src/kernel/db.ts'
import { sha256 } from '../../src/kernel/seal.ts'
import { platform, type Platform } from '../platform.ts'
import { until } from '../until.ts'
import { assertRefused, call } from './call.ts'
import { operations, rightCall, subjectsOf } from './operations.ts'
import { keyFor } from './people.ts'

const p = await platform({ after })
const subjects = await subjectsOf(p)
const merchant = { id: p.merchant.id, level: 'merchant' } as const
const branch = { id: p.branch.id, level: 'branch' } as const

/** One operation of each area that takes keys, with this key. */
const each = async (key: string, url = p.url) => ({
  webhooks: await call(url, { path: '/v1/webhook_endpoints', key }),
  reporting: await call(url, { path: '/reports/v1/branches', key }),
  ecommerce: await call(url, { path: '/ecom/v1/payment-links', key }),
})

async function accepted(key: string, url?: string): Promise<void> {
  const { webhooks, reporting, ecommerce } = await each(key, url)
  assert.deepEqual([webhooks.status, reporting.status, ecommerce.status], [200, 200, 200])
}

async function refused(key: string, status: number, code: string, url?: string): Promise<void> {
  const { webhooks, reporting, ecommerce } = await each(key, url)
  assertRefused('/v1/', webhooks, status, code)
  assertRefused('/reports/v1/', reporting, status, code)
  assertRefused('/ecom/v1/', ecommerce, status, code)
}

/** Another process hears of a change a moment later. */
const untilStatus = (key: string, status: number, url?: string) =>
  until(`${status} for the key`, async () => (await each(key, url)).webhooks.status === status)

test('[I1.header.key, I1.header.key.reporting, I1.key-state.active] areas A, B and C take the key as it was issued, in X-API-Key and nowhere else', async () => {
  const { secretKey: key } = await keyFor(p, merchant)
  await accepted(key)
  for (const name of ['X-Api-Key', 'x-api-key', 'X-API-KEY']) {
    assert.equal((await call(p.url, { path: '/ecom/v1/payment-links', headers: { [name]: key } })).status, 200)
  }
  const basic = Buffer.from(`${key}:`).toString('base64')
  const elsewhere = [
    { path: '/ecom/v1/payment-links', headers: { authorization: `Bearer ${key}` } },
    { path: '/ecom/v1/payment-links', headers: { authorization: `Basic ${basic}` } },
    { path: '/ecom/v1/payment-links', headers: { cookie: `x-api-key=${key}` } },
    { path: '/ecom/v1/payment-links', headers: { 'x-api-key': [key, key] } },
    { path: `/ecom/v1/payment-links?x-api-key=${key}` },
  ]
  for (const request of elsewhere) {
    assertRefused(request.path, await call(p.url, request), 401, 'UNAUTHORIZED')
  }
})

test('[I1.key.form] a secret key is its prefix and 24 base62 characters, 32 ASCII characters in all', async () => {
  const keys = await Promise.all(Array.from({ length: 50 }, () => keyFor(p, branch)))
  for (const { secretKey } of keys) {
    assert.match(secretKey, /^sk_test_[0-9A-Za-z]{24}$/)
    assert.equal(Buffer.byteLength(secretKey), 32)
  }
  assert.equal(new Set(keys.map(({ secretKey }) => secretKey)).size, 50)
})

test('[I1.key.stored-hash] a key is found by its SHA-256, and the key itself is in no column of its row', async () => {
  const { id, secretKey } = await keyFor(p, merchant)
  const found = await identityStore.findKey(p.kaha.db, sha256(secretKey))
  assert.equal(found?.id, id)
  const [row] = await p.kaha.db.run<{ text: string }>(
    statement('test.keyRow', 'select k::text as text from identity.keys k where id = $1'),
    [id],
  )
  assert.ok(row !== undefined && !row.text.includes(secretKey) && !row.text.includes(secretKey.slice(8)))
  assert.ok(!row.text.includes(Buffer.from(secretKey).toString('hex')))
  assert.ok(row.text.includes(sha256(secretKey).toString('hex')))
})

const urlOf = (target: DbTarget): string =>
  'url' in target
    ? target.url
    : `postgres://${target.user}@localhost/${target.database}?host=${encodeURIComponent(target.socketDir)}`

/** The command line, beside the running platform. */
async function kaha({ target, masterKey }: Platform, ...args: string[]): Promise<string> {
  const env = {
    PATH: process.env['PATH'],
    KAHA_DATABASE_URL: urlOf(target),
    KAHA_MASTER_KEY: masterKey.toString('base64'),
  }
  const main = join(import.meta.dirname, '../../src/main.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args], { env })
  return stdout
}

test('[I1.key.issued-by-operator, I1.key.shown-once] the command line issues a key that works and shows it that once; no operation makes or shows one', async () => {
  const issued = JSON.parse(
    await kaha(
      p,
      'keys',
      'issue',
      '--entity',
      p.branch.id,
      '--scopes',
      'payment_links.read,webhooks.read,reports.read',
      '--json',
    ),
  )
  await accepted(issued.secret_key)
  const listing = await kaha(p, 'keys', 'list', '--json')
  const mine = (JSON.parse(listing) as { id: string; last_four: string }[]).find(({ id }) => id === issued.id)
  assert.equal(mine?.last_four, issued.secret_key.slice(-4))
  assert.doesNotMatch(listing + (await kaha(p, 'keys', 'list')), /sk_(test|live)_/)

  for (const { path } of operations) assert.doesNotMatch(path, /key/)
  for (const operation of operations) {
    const answer = await call(p.url, { ...(await rightCall(operation, subjects)), key: p.seed.partner.secret_key })
    assert.doesNotMatch(answer.text, /sk_(test|live)_/)
  }

  await kaha(p, 'keys', 'suspend', issued.id)
  await untilStatus(issued.secret_key, 401)
  await refused(issued.secret_key, 401, 'UNAUTHORIZED')
  await kaha(p, 'keys', 'resume', issued.id)
  await untilStatus(issued.secret_key, 200)
  await accepted(issued.secret_key)
  await kaha(p, 'keys', 'revoke', issued.id)
  await untilStatus(issued.secret_key, 401)
  await refused(issued.secret_key, 401, 'UNAUTHORIZED')
  await assert.rejects(kaha(p, 'keys', 'resume', issued.id), /is SUSPENDED/)
})

const setState = async (id: string, state: string) => {
  const all = ['ACTIVE', 'EXPIRED', 'REVOKED', 'SUSPENDED', 'DELETED']
  assert.ok(await identityStore.setKeyState(p.kaha.db, id, state, all, p.kaha.clock.now()))
  p.kaha.bus.hint('keys')
}

const keyStates = [
  ['I1.key-state.expired', 'EXPIRED'],
  ['I1.key-state.revoked', 'REVOKED'],
  ['I1.key-state.suspended', 'SUSPENDED'],
  ['I1.key-state.deleted', 'DELETED'],
] as const
for (const [rule, state] of keyStates) {
  test(`[I1.state.at-once, I1.key-state.reporting] ${rule}: a key that is ${state} is 401 from the next request on, and an ACTIVE one is not`, async () => {
    const { id, secretKey } = await keyFor(p, branch)
    await accepted(secretKey)
    await setState(id, state)
    await refused(secretKey, 401, 'UNAUTHORIZED')
    await setState(id, 'ACTIVE')
    await accepted(secretKey)
  })
}

const setAccount = async (id: string, state: string) => {
  await p.kaha.db.run(statement('test.account', 'update identity.entities set state = $2 where id = $1'), [id, state])
  p.kaha.bus.hint('keys')
}

const accountStates = [
  ['I1.account-state.inactive', 'INACTIVE'],
  ['I1.account-state.locked', 'LOCKED'],
] as const
for (const [rule, state] of accountStates) {
  test(`[I1.account-state.reporting] ${rule}: a key is 403 while its account, or one above it, is ${state}`, async () => {
    const other = p.seed.merchants[1]
    assert.ok(other !== undefined)
    for (const id of [p.branch.id, p.merchant.id, p.seed.partner.id]) {
      await setAccount(id, state)
      await refused(p.branch.secret_key, 403, 'FORBIDDEN')
      if (id === p.seed.partner.id) await refused(other.secret_key, 403, 'FORBIDDEN')
      else await accepted(other.secret_key)
      // What happens to a branch is no matter of its merchant.
      if (id === p.branch.id) await accepted(p.merchant.secret_key)
      await setAccount(id, 'ACTIVE')
      await accepted(p.branch.secret_key)
    }
  })
}

test('I1.key-state.expired: a key with an end is refused from that moment of business time on, and not before', async (t) => {
  const its = await platform(t)
  const expiresAt = new Date(its.kaha.clock.now().getTime() + 3_600_000)
  const { secretKey } = await keyFor(its, { id: its.merchant.id, level: 'merchant' }, { expiresAt })
  await accepted(secretKey, its.url)
  await its.advance(3_000)
  await accepted(secretKey, its.url)
  await its.kaha.sandboxClock.advance(expiresAt)
  await refused(secretKey, 401, 'UNAUTHORIZED', its.url)
  await accepted(its.merchant.secret_key, its.url)
})

test('I1.state.at-once: a key that is revoked in one process is refused by another, hint or no hint', async (t) => {
  const its = await platform(t)
  let ahead = 0
  const other = await its.another({}, { wall: () => Date.now() + ahead })
  const { id, secretKey } = await keyFor(its, { id: its.branch.id, level: 'branch' })
  await accepted(secretKey, other.localUrl)
  const states = ['ACTIVE', 'REVOKED']
  await identityStore.setKeyState(its.kaha.db, id, 'REVOKED', states, its.kaha.clock.now())
  its.kaha.bus.hint('keys')
  await untilStatus(secretKey, 401, other.localUrl)
  await refused(secretKey, 401, 'UNAUTHORIZED', other.localUrl)

  await identityStore.setKeyState(its.kaha.db, id, 'ACTIVE', states, its.kaha.clock.now())
  ahead = 1_000
  await accepted(secretKey, other.localUrl)
  // Nobody says a word this time: what is remembered is forgotten after a second.
  await identityStore.setKeyState(its.kaha.db, id, 'REVOKED', states, its.kaha.clock.now())
  ahead = 2_000
  await refused(secretKey, 401, 'UNAUTHORIZED', other.localUrl)
})

const scopeRules = [
  ['I1.scopes.webhooks-read.endpoints', 'webhooks.read', ['listWebhookEndpoints', 'retrieveWebhookEndpoint']],
  ['I1.scopes.webhooks-read.events', 'webhooks.read', ['listWebhookEvents']],
  ['I1.scopes.webhooks-read.event', 'webhooks.read', ['retrieveWebhookEvent']],
  ['I1.scopes.webhooks-write.create', 'webhooks.write', ['createWebhookEndpoint']],
  ['I1.scopes.webhooks-write.update', 'webhooks.write', ['updateWebhookEndpoint']],
  ['I1.scopes.webhooks-write.delete', 'webhooks.write', ['deleteWebhookEndpoint']],
  ['I1.scopes.webhooks-write.resend', 'webhooks.write', ['resendWebhookEvent']],
  ['I1.scopes.webhooks-write.recover', 'webhooks.write', ['recoverWebhookEndpoint']],
  ['I1.scopes.webhooks-write.test', 'webhooks.write', ['testWebhookEndpoint']],
  ['I1.scopes.webhooks-secret.read', 'webhooks.secret', ['retrieveSigningSecret']],
  ['I1.scopes.reports-read', 'reports.read', Object.keys(reportingOperations)],
  ['I1.scopes.payment-links-create', 'payment_links.create', ['createPaymentLink']],
  ['I1.scopes.payment-links-read', 'payment_links.read', ['retrievePaymentLink', 'listPaymentLinks']],
  ['I1.scopes.payment-links-update', 'payment_links.update', ['updatePaymentLink']],
  ['I1.scopes.payment-links-cancel', 'payment_links.cancel', ['cancelPaymentLink']],
  ['I1.scopes.payment-intents-create', 'payment_intents.create', ['createPaymentIntent']],
  ['I1.scopes.payment-intents-read', 'payment_intents.read', ['retrievePaymentIntent']],
  ['I1.scopes.payment-intents-confirm', 'payment_intents.confirm', ['confirmPaymentIntent']],
  ['I1.scopes.refunds-create', 'refunds.create', ['createRefund']],
  ['I1.scopes.refunds-read', 'refunds.read', ['retrieveRefund']],
  ['I1.scopes.payment-intents-cancel', 'payment_intents.cancel', ['cancelPaymentIntent']],
] as const
for (const [rule, scope, allowed] of scopeRules) {
  test(`${rule}: ${scope} alone lets a key do ${allowed.join(' and ')}, and nothing of another scope`, async () => {
    const { secretKey: key } = await keyFor(p, merchant, { scopes: [scope] })
    const ofScope = scopeRules.filter(([, one]) => one === scope).flatMap(([, , ids]) => [...ids] as string[])
    for (const operation of operations) {
      const request = await rightCall(operation, subjects)
      const answer = await call(p.url, { ...request, key })
      if (ofScope.includes(operation.id))
        assert.ok(answer.status in operation.success, `${operation.id}: ${answer.text}`)
      else assertRefused(request.path, answer, 403, 'FORBIDDEN')
    }
    for (const id of allowed) assert.equal(operations.find((one) => one.id === id)?.scope, scope)
  })
}

test('I1.scopes.webhooks-secret.rotate: a signing secret is rotated by a key with webhooks.secret and webhooks.write, and by none with one of them', async () => {
  const rotate = operations.find(({ id }) => id === 'rotateSigningSecret')
  assert.ok(rotate !== undefined)
  const needed = ['webhooks.secret', 'webhooks.write']
  assert.deepEqual(rotate.scope, needed)
  const request = await rightCall(rotate, subjects)
  const rotated = async (scopes: readonly string[]) =>
    call(p.url, { ...request, key: (await keyFor(p, merchant, { scopes })).secretKey })
  for (const scope of needed) assertRefused(request.path, await rotated([scope]), 403, 'FORBIDDEN')
  assert.equal((await rotated(needed)).status, 200)
})

test('[I1.scopes.payment-intents-confirm] a client_secret confirms its intent without any key or scope', async () => {
  const { id, client_secret } = await p.sdk.paymentIntents.create({
    amount: 100,
    currency: 'PHP',
    merchant_branch_reference_number: p.branch.reference_number,
  })
  const confirm = operations.find((one) => one.id === 'confirmPaymentIntent')
  assert.ok(confirm !== undefined)
  const { method = 'POST', body } = await rightCall(confirm, subjects)
  const path = `/ecom/v1/payment-intents/${id}/confirm`
  const wrong = { ...(body as object), client_secret: `${client_secret}x` }
  assertRefused(path, await call(p.url, { method, path, body: wrong }), 401, 'UNAUTHORIZED')
  const answer = await call(p.url, { method, path, body: { ...(body as object), client_secret } })
  assert.deepEqual([answer.status, answer.json.status], [200, 'DECLINED'])
})
