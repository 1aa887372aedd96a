import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { registerHooks } from 'node:module'
import { after, test } from 'node:test'
import { sandboxOperations, scopes } from '@kaha/contract'
import { readConfig } from '../../src/config.ts'
import {
  createBranch,
  createMerchant,
  createPartner,
  issueActivationCode,
  issueEncryptionKey,
  issueKey,
} from '../../src/identity/issue.ts'
import type { Level } from '../../src/identity/principal.ts'
import { createLog } from '../../src/kernel/log.ts'
import { freshDatabase } from '../cluster.ts'
import { sql } from '../sql.ts'
import { until } from '../until.ts'
import { assertRefused, call, type Call } from './call.ts'
import { assertQrRefused, basic, qrAccount } from './qr-account.ts'

// A live installation: what it does not have, and what it does not do.

// What is imported above loads nothing of the platform but its kernel; the platform itself is watched while it loads.
const loaded: string[] = []
registerHooks({
  load(url, context, next) {
    loaded.push(url)
    return next(url, context)
  },
})
const { startKaha } = await import('../../src/app.ts')

const held = new AsyncDisposableStack()
after(() => held.disposeAsync())
const { target } = held.use(await freshDatabase())
const masterKey = randomBytes(32)
const settings = {
  KAHA_MODE: 'live',
  KAHA_PORT: '0',
  KAHA_MASTER_KEY: masterKey.toString('base64'),
  KAHA_BASE_URL: 'https://api.example.com',
  KAHA_RATE_LIMIT: '0',
}
const kaha = held.use(await startKaha({ config: readConfig(settings), target, masterKey, log: createLog('silent') }))

const at = kaha.clock.now()
const partner = await createPartner(kaha.db, 'A partner', at)
const merchant = await createMerchant(kaha.db, partner.id, 'A merchant', at)
const branch = await createBranch(kaha.db, merchant, 'A branch', 'BRANCH-1', at)
const keyOf = async (entityId: string, level: Level, keyPrefix: 'sk_live_' | 'sk_test_' = 'sk_live_') =>
  (await issueKey(kaha.db, { keyring: kaha.keyring, keyPrefix }, { entityId, level, scopes }, at)).secretKey
const partnerKey = await keyOf(partner.id, 'partner')
const key = await keyOf(branch.id, 'branch')
const ask = (request: Call) => call(kaha.localUrl, { key, ...request })
const post = (path: string, body: unknown) =>
  ask({ method: 'POST', path, headers: { 'idempotency-key': randomUUID() }, body })

const link = {
  type: 'one_time',
  currency: 'PHP',
  amount: 100,
  line_items: [{ sku: 'A', name: 'A', unit_price: 100, quantity: 1 }],
}

test('S7.live.absent: a live installation answers 404 to every sandbox operation, and loads nothing that simulates', async () => {
  for (const { method, path } of Object.values(sandboxOperations)) {
    for (const host of ['localhost', 'api.example.com']) {
      const request = { method, path, headers: { host }, ...(method === 'GET' ? {} : { body: { seconds: 1 } }) }
      for (const one of [partnerKey, key]) {
        const answer = await ask({ ...request, key: one })
        assert.equal(`${answer.status} ${answer.json.error.code}`, '404 NOT_FOUND', answer.text)
      }
    }
  }
  for (const path of [
    '/sandbox',
    '/sandbox/bank',
    '/sandbox/inbox/x',
    '/sandbox/reset',
    `/sandbox/inbox/${merchant.id}`,
  ]) {
    for (const method of ['GET', 'POST', 'DELETE']) assert.equal((await ask({ method, path })).status, 404)
  }
  const simulating = /\/payments\/connectors\/simulator|\/sandbox\//
  assert.deepEqual(
    loaded.filter((url) => simulating.test(url)),
    [],
  )
  assert.ok(loaded.some((url) => url.includes('/payments/connectors/none')))
})

test('E6.simulate.live: a live installation that has a bank answers 404 with 20000010 to a simulation', async (t) => {
  const { target: ownTarget, ...database } = await freshDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const config = readConfig({ ...settings, KAHA_QR_BIC: 'BANKPHMMXXX' })
  const withBank = await startKaha({ config, target: ownTarget, masterKey, log: createLog('silent') })
  t.after(() => withBank[Symbol.asyncDispose]())
  const request = { path: '/webhooks/v1/webhooks/qrph/simulate', method: 'POST', body: { useCase: 'SUCCESS' } }
  const answer = await call(withBank.localUrl, request)
  assert.deepEqual([answer.status, answer.json.code], [404, '20000010'], answer.text)
  assert.equal((await call(withBank.localUrl, { path: '/webhooks/v1/webhooks' })).status, 401)
})

test('E6.simulate.live: a live installation without a bank has nothing of area E, and says so as the area does', async () => {
  for (const [method, path] of [
    ['POST', '/webhooks/v1/webhooks/qrph/simulate'],
    ['GET', '/webhooks/v1/webhooks'],
    ['POST', '/qr/v1/pay/qr'],
    ['GET', '/qr/ping'],
  ] as const) {
    const answer = await ask({ method, path, ...(method === 'GET' ? {} : { body: {} }) })
    assert.deepEqual([answer.status, answer.json.code], [404, '20000010'], answer.text)
  }
})

test('E6.create.live: a live installation that has a bank makes no code, and says so: nobody would hear of the money; and tells none at this machine', async (t) => {
  const config = readConfig({ ...settings, KAHA_QR_BIC: 'BANKPHMMXXX' })
  const withBank = await startKaha({ config, target, masterKey, log: createLog('silent') })
  t.after(() => withBank[Symbol.asyncDispose]())
  const issue = { keyring: withBank.keyring, keyPrefix: 'sk_live_' } as const
  const account = qrAccount({
    url: withBank.localUrl,
    merchant: { secret_key: key, encryption_key: await issueEncryptionKey(withBank.db, issue, merchant.id, at) },
    branch: { activation_code: await issueActivationCode(withBank.db, branch.id, at) },
  })
  assertQrRefused(await account.create(), 'UNAVAILABLE')
  assertQrRefused(await account.find('ORDER-1'), 'CODE_NOT_FOUND')
  const registered = await call(withBank.localUrl, {
    method: 'POST',
    path: '/webhooks/v1/webhooks',
    headers: { authorization: basic(key) },
    body: { webhookUrl: 'http://localhost:9/hook', actions: ['QRPH_SUCCESS'], status: 'ENABLED' },
  })
  assert.deepEqual([registered.status, registered.json.code], [400, '20000002'], registered.text)
  assert.deepEqual(await sql(withBank.db, 'select from qr.codes'), [])
  const { note } = (await call(withBank.localUrl, { path: '/readyz' })).json
  assert.match(note, /card payments are refused; no bank tells what is paid: QR Ph codes are refused$/)
})

test('a live installation shows payers no QR Ph code, with a bank either: nobody would hear of their money', async (t) => {
  const config = readConfig({ ...settings, KAHA_QR_BIC: 'BANKPHMMXXX' })
  const withBank = await startKaha({ config, target, masterKey, log: createLog('silent') })
  t.after(() => withBank[Symbol.asyncDispose]())
  const { json: intent } = await post('/ecom/v1/payment-intents', { amount: 10_000, currency: 'PHP' })
  const body = { payment_method: { type: 'qrph' } }
  const path = `/ecom/v1/payment-intents/${intent.id}/confirm`
  const answer = await call(withBank.localUrl, { method: 'POST', path, key, body })
  assertRefused(path, answer, 400, 'INVALID_PAYMENT_METHOD')
  const page = await fetch(withBank.localUrl + new URL(intent.checkout_url).pathname)
  assert.equal(page.status, 200)
  assert.doesNotMatch(await page.text(), /QR Ph/)
})

test('a live process that stops says first that it is not ready, and still answers', async () => {
  const stopping = await startKaha({ config: readConfig(settings), target, masterKey, log: createLog('silent') })
  assert.equal((await call(stopping.localUrl, { path: '/readyz' })).status, 200)
  const stopped = stopping[Symbol.asyncDispose]()
  const told = async () => (await call(stopping.localUrl, { path: '/readyz' })).json as { ready: boolean }
  await until('the word of it', async () => !(await told()).ready)
  const { status, json } = await call(stopping.localUrl, { path: '/readyz' })
  assert.deepEqual([status, json.ready, json.database], [503, false, true])
  assert.equal((await call(stopping.localUrl, { path: '/ecom/v1/payment-links', key })).status, 200)
  await stopped
})

test('X0.clocks.business: a live installation has no offset, and nothing in it can make one', async () => {
  assert.equal(kaha.clock.offsetMs, 0)
  const before = new Date().toISOString()
  const made = await post('/ecom/v1/payment-links', link)
  assert.equal(made.status, 201, made.text)
  assert.ok(before <= made.json.created_at && made.json.created_at <= new Date().toISOString())
})

test('X0.keys.prefix.live: keys of a live installation begin with sk_live_, and a test key is none', async () => {
  for (const one of [partnerKey, key]) assert.match(one, /^sk_live_[0-9A-Za-z]{24}$/)
  assert.equal((await ask({ path: '/ecom/v1/payment-links' })).status, 200)
  const testKey = await keyOf(branch.id, 'branch', 'sk_test_')
  for (const path of ['/ecom/v1/payment-links', '/v1/webhook_endpoints']) {
    assertRefused(path, await ask({ path, key: testKey }), 401, 'UNAUTHORIZED')
  }
})

test('card payments are refused, FAILED with PROCESSOR_UNAVAILABLE, while no processor is connected; test cards are cards like any other', async () => {
  for (const number of ['4242424242424242', '4000000000000002', '5200000000000197', '6011000990139424']) {
    const intent = await post('/ecom/v1/payment-intents', { amount: 100, currency: 'PHP' })
    const card = { number, exp_month: 12, exp_year: 2050, cvc: '123' }
    const paid = await post(`/ecom/v1/payment-intents/${intent.json.id}/confirm`, {
      payment_method: { type: 'card', card },
    })
    assert.equal(paid.status, 200, paid.text)
    assert.deepEqual([paid.json.status, paid.json.failure_category], ['FAILED', 'PROCESSOR_UNAVAILABLE'])
    assert.equal(paid.json.receipt, undefined)
  }
  assert.deepEqual(await sql(kaha.db, 'select from sandbox.authorizations'), [])
  const ready = await call(kaha.localUrl, { path: '/readyz' })
  assert.match(ready.json.note, /no card connector/)
})

test('A2.url.loopback: a live installation refuses http and every address of this machine', async () => {
  const create = (url: string) => post('/v1/webhook_endpoints', { url, enabled_events: ['payment.failed'] })
  const wrong = [
    'http://localhost/hook',
    'http://127.0.0.1:3000/',
    'http://[::1]/',
    'http://127.0.0.2/',
    'http://[::ffff:127.0.0.1]/',
    'https://127.0.0.1/',
    'https://127.0.0.2/',
    'https://[::ffff:127.0.0.1]/',
    'https://localhost/',
  ]
  for (const url of wrong) assertRefused('/v1/', await create(url), 400, 'INVALID_URL')
  assert.equal((await create('https://shop.example.com/hook')).status, 201)
  const redirect_urls = { success: 'http://localhost:3000/thanks' }
  const made = await post('/ecom/v1/payment-links', { ...link, redirect_urls })
  assertRefused('/ecom/v1/', made, 400, 'INVALID_REDIRECT_URLS')
})

test('live mode does not start without its own master key and an https address', () => {
  const without =
    (name: keyof typeof settings, value = '') =>
    () =>
      readConfig({ ...settings, [name]: value })
  assert.throws(without('KAHA_MASTER_KEY'), /KAHA_MASTER_KEY is required in live mode/)
  assert.throws(without('KAHA_BASE_URL'), /KAHA_BASE_URL is required in live mode/)
  assert.throws(without('KAHA_BASE_URL', 'http://api.example.com'), /KAHA_BASE_URL must begin with https/)
  assert.throws(() => readConfig({ ...settings, KAHA_WEBHOOK_TARGETS: 'any' }), /live mode does not allow/)
})
