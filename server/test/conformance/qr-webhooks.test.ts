import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  openapiDocuments,
  qrWebhookErrors,
  qrWebhookOperations,
  qrWebhookWireCodes,
  scopes,
  type QrWebhookCode,
} from '@kaha/contract'
import { isUuid } from '../../src/kernel/ids.ts'
import { sql } from '../sql.ts'
import { platform } from '../platform.ts'
import { call, type Answer, type Call } from './call.ts'
import { longUrls } from './long-urls.ts'
import { keyFor } from './people.ts'
import { basic } from './qr-account.ts'

// Area E: registering webhooks for encrypted notifications.

const p = await platform({ after })
const path = '/webhooks/v1/webhooks'
const [, neighbour] = p.seed.merchants
const [first, second] = p.merchant.branches
if (!neighbour || !first || !second) throw new Error('the seed has too few entities')
const merchant = { id: p.merchant.id, level: 'merchant' } as const

const ask = (request: Call, key: string = p.merchant.secret_key): Promise<Answer> =>
  call(p.url, { ...request, headers: { authorization: basic(key), ...request.headers } })

let made = 0
const newUrl = (): string => `https://shop.example.com/qrph/${(made += 1)}`
const right = (fields: Record<string, unknown> = {}) => ({
  webhookUrl: newUrl(),
  actions: ['QRPH_SUCCESS', 'QRPH_DECLINED'],
  status: 'ENABLED',
  ...fields,
})
const register = (fields: Record<string, unknown> = {}, headers: Record<string, string> = {}, key?: string) =>
  ask({ method: 'POST', path, headers, body: right(fields) }, key)
const registered = async (fields: Record<string, unknown> = {}, headers: Record<string, string> = {}, key?: string) => {
  const answer = await register(fields, headers, key)
  assert.equal(answer.status, 201, answer.text)
  return answer.json as {
    id: number
    webhookUrl: string
    actions: string[]
    status: string
    createdAt: string
    updatedAt: string
  }
}
const listed = async (key?: string): Promise<{ id: number }[]> => (await ask({ path }, key)).json.webhooks

function assertRefused(answer: Answer, code: QrWebhookCode): void {
  assert.equal(
    `${answer.status} ${answer.json?.code}`,
    `${qrWebhookErrors[code]} ${qrWebhookWireCodes[code]}`,
    answer.text,
  )
  assert.deepEqual(Object.keys(answer.json), ['code', 'error', 'referenceNumber'])
  assert.ok(isUuid(answer.json.referenceNumber))
}

test('E6.document.version-webhooks: the document of the encrypted webhooks is of version 1.9.0', () => {
  assert.equal((openapiDocuments().qr_webhooks.info as { version: string }).version, '1.9.0')
})

test('E6.ping.webhooks: ping is 200 Pong! as text, with and without a key', async () => {
  for (const headers of [{}, { authorization: basic(p.merchant.secret_key) }]) {
    const answer = await call(p.url, { path: '/webhooks/ping', headers })
    assert.deepEqual([answer.status, answer.text], [200, 'Pong!'])
  }
})

test('[E6.webhook.create, E6.webhook.fields, E6.webhook.id] registering is 201 with the whole webhook and its integer id', async () => {
  const input = right({ actions: ['QRPH_DECLINED'] })
  const { status, json } = await ask({ method: 'POST', path, body: input })
  assert.equal(status, 201)
  const { id, createdAt, updatedAt, ...rest } = json
  assert.deepEqual(rest, input)
  assert.ok(Number.isSafeInteger(id) && id > 0)
  assert.equal(createdAt, updatedAt)
  assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

test('E6.webhook.list: listing is 200 with the webhooks of the account, the newest first', async () => {
  const one = await registered()
  const two = await registered()
  const { status, json } = await ask({ path })
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(json), ['webhooks'])
  assert.deepEqual(json.webhooks.slice(0, 2), [two, one])
})

test('E6.webhook.update: any of webhookUrl, actions and status is changed alone, and the answer is the whole webhook', async () => {
  const before = await registered()
  const put = (body: unknown) => ask({ method: 'PUT', path: `${path}/${before.id}`, body })
  for (const change of [
    { status: 'DISABLED' },
    { actions: ['QRPH_SUCCESS'] },
    { webhookUrl: newUrl() },
    { status: 'ENABLED' },
  ]) {
    const earlier = (await listed()).find(({ id }) => id === before.id)
    const { status, json } = await put(change)
    assert.equal(status, 200)
    const { updatedAt: _, ...rest } = { ...earlier, ...change } as Record<string, unknown>
    const { updatedAt: __, ...now } = json
    assert.deepEqual(now, rest)
  }
  const { json } = await put({})
  assert.equal(json.status, 'ENABLED')
})

test('E6.webhook.delete: deleting is 204 without a body, and the webhook is gone for good', async () => {
  const { id, webhookUrl } = await registered()
  const answer = await ask({ method: 'DELETE', path: `${path}/${id}` })
  assert.deepEqual([answer.status, answer.text], [204, ''])
  assertRefused(await ask({ method: 'DELETE', path: `${path}/${id}` }), 'WEBHOOK_NOT_FOUND')
  assertRefused(await ask({ method: 'PUT', path: `${path}/${id}`, body: { status: 'ENABLED' } }), 'WEBHOOK_NOT_FOUND')
  assert.ok(!(await listed()).some((one) => one.id === id))
  await registered({ webhookUrl })
})

test('of several deletions at once one is 204, and the others find nothing, as they do one after the other', async () => {
  const { id } = await registered()
  const answers = await Promise.all(Array.from({ length: 6 }, () => ask({ method: 'DELETE', path: `${path}/${id}` })))
  const [deleted, ...others] = answers.toSorted((one, other) => one.status - other.status)
  assert.equal(deleted?.status, 204)
  for (const other of others) assertRefused(other, 'WEBHOOK_NOT_FOUND')
})

test('[E6.webhook.url, E6.webhook.actions, E6.webhook.status, E6.webhook.invalid] a field that is missing, unknown or of the wrong form is 400 with 20000002', async () => {
  const target = await registered()
  const wrong: Record<string, readonly unknown[]> = {
    webhookUrl: [
      '',
      'x',
      'http://shop.example.com/x',
      'ftp://shop.example.com',
      'https://a:b@shop.example.com/',
      'https://shop.example.com/#x',
      null,
      1,
    ],
    actions: [[], ['QRPH_PAID'], ['QRPH_SUCCESS', 'QRPH_SUCCESS'], 'QRPH_SUCCESS', ['qrph_success'], null, {}],
    status: ['', 'enabled', 'PAUSED', null, true],
    unknown: ['x'],
    id: [1],
  }
  for (const [field, values] of Object.entries(wrong)) {
    for (const value of values) {
      assertRefused(await register({ [field]: value }), 'BAD_REQUEST')
      assertRefused(await ask({ method: 'PUT', path: `${path}/${target.id}`, body: { [field]: value } }), 'BAD_REQUEST')
    }
  }
  for (const field of ['webhookUrl', 'actions', 'status'])
    assertRefused(await register({ [field]: undefined }), 'BAD_REQUEST')
  for (const id of ['x', '0', '-1', '1.5', '01', '9'.repeat(30)])
    assertRefused(await ask({ method: 'DELETE', path: `${path}/${id}` }), 'BAD_REQUEST')
  assertRefused(await ask({ path: `${path}?page_size=1` }), 'BAD_REQUEST')
  await registered({ webhookUrl: 'http://127.0.0.1:9/here' })
})

test('E6.webhook.unknown: an id that the account does not have is 404 with 20000004, plain, that of another account too', async () => {
  const foreign = await registered({}, {}, neighbour.secret_key)
  for (const id of [foreign.id, 999_999_999]) {
    assertRefused(await ask({ method: 'DELETE', path: `${path}/${id}` }), 'WEBHOOK_NOT_FOUND')
    assertRefused(await ask({ method: 'PUT', path: `${path}/${id}`, body: {} }), 'WEBHOOK_NOT_FOUND')
  }
  assert.ok(!(await listed()).some(({ id }) => id === foreign.id))
  assert.deepEqual(
    (await listed(neighbour.secret_key)).map(({ id }) => id),
    [foreign.id],
  )
})

test('E6.webhook.duplicate: a URL that the account has is 409 with 20000003, whichever branch it is for, and also when another is changed to it', async () => {
  const { webhookUrl } = await registered()
  assertRefused(await register({ webhookUrl }), 'URL_REGISTERED')
  assertRefused(await register({ webhookUrl }, { 'activation-code': first.activation_code }), 'URL_REGISTERED')
  assertRefused(await register({ webhookUrl }, {}, first.secret_key), 'URL_REGISTERED')
  const { origin, pathname } = new URL(webhookUrl)
  assertRefused(await register({ webhookUrl: `${origin.toUpperCase()}/x/..${pathname}` }), 'URL_REGISTERED')
  const other = await registered({}, { 'activation-code': second.activation_code })
  assertRefused(await ask({ method: 'PUT', path: `${path}/${other.id}`, body: { webhookUrl } }), 'URL_REGISTERED')
  await registered({ webhookUrl }, {}, neighbour.secret_key)
  const [same] = [newUrl()]
  const all = await Promise.all(Array.from({ length: 6 }, () => register({ webhookUrl: same })))
  assert.equal(all.filter(({ status }) => status === 201).length, 1)
})

test('[E6.webhook.url, E6.webhook.duplicate] a URL of up to 2,048 characters is taken, and once, also where it is sent far longer than it was given', async () => {
  for (const webhookUrl of longUrls()) {
    assert.equal((await registered({ webhookUrl })).webhookUrl, webhookUrl)
    assertRefused(await register({ webhookUrl }), 'URL_REGISTERED')
    const other = await registered()
    const put = (to: string) => ask({ method: 'PUT', path: `${path}/${other.id}`, body: { webhookUrl: to } })
    assertRefused(await put(webhookUrl), 'URL_REGISTERED')
    assert.equal((await put(webhookUrl.replace('shop', 'othr'))).status, 200)
  }
})

test('an activation code that is none of the account is 400, and a branch sees the webhooks of its own alone', async () => {
  const [theirs] = neighbour.branches
  for (const code of ['x', '0000-0000-0000-0000', theirs?.activation_code ?? ''])
    assertRefused(await register({}, { 'activation-code': code }), 'BAD_REQUEST')
  assertRefused(await register({}, { 'activation-code': second.activation_code }, first.secret_key), 'BAD_REQUEST')
  const whole = await registered()
  const narrow = await registered({}, { 'activation-code': first.activation_code })
  const own = await registered({}, {}, first.secret_key)
  const seen = (await listed(first.secret_key)).map(({ id }) => id)
  assert.ok(seen.includes(narrow.id) && seen.includes(own.id) && !seen.includes(whole.id))
  assertRefused(await ask({ method: 'DELETE', path: `${path}/${whole.id}` }, first.secret_key), 'WEBHOOK_NOT_FOUND')
})

test('[E6.auth.basic-webhooks, I1.scopes.qr-webhooks-write] every operation takes a key with qr_webhooks.write by HTTP Basic, and no other', async () => {
  const { secretKey } = await keyFor(p, merchant, { scopes: ['qr_webhooks.write'] })
  const { id } = await registered({}, {}, secretKey)
  assert.equal((await ask({ path }, secretKey)).status, 200)
  assert.equal((await ask({ method: 'PUT', path: `${path}/${id}`, body: {} }, secretKey)).status, 200)
  const { secretKey: without } = await keyFor(p, merchant, {
    scopes: scopes.filter((one) => one !== 'qr_webhooks.write'),
  })
  for (const { method, path: pattern, auth } of Object.values(qrWebhookOperations)) {
    if (auth === 'none') continue
    const request = {
      method,
      path: pattern.replace('{id}', String(id)),
      ...(method === 'POST' || method === 'PUT' ? { body: right() } : {}),
    }
    assertRefused(await ask(request, without), 'INSUFFICIENT_PERMISSIONS')
    assertRefused(await ask(request, p.seed.partner.secret_key), 'UNAUTHORIZED_ACTION')
    assertRefused(await ask(request, 'x'), 'INVALID_API_KEY')
    const unknown = await call(p.url, request)
    assertRefused(unknown, 'NO_AUTHORIZATION')
    assert.equal(unknown.headers['www-authenticate'], 'Basic realm="Kaha", charset="UTF-8"')
  }
  assert.equal((await ask({ method: 'DELETE', path: `${path}/${id}` }, secretKey)).status, 204)
})

test('[E6.errors.route-webhooks, E6.errors.method-webhooks] a path that is none is 404 with 20000010, and a wrong method 405 with 20000011 and Allow', async () => {
  for (const none of ['/webhooks', '/webhooks/v1', '/webhooks/v1/webhook', '/webhooks/v1/webhooks/1/2'])
    assertRefused(await ask({ path: none }), 'NOT_FOUND')
  const wrong = await ask({ method: 'PATCH', path })
  assertRefused(wrong, 'METHOD_NOT_ALLOWED')
  assert.equal(wrong.headers.allow, 'POST, GET, HEAD')
})

test('[E6.errors.body-webhooks, E6.errors.content-type-webhooks] too large a body is 413 with 20000012, and one that is not JSON 415 with 20000013', async () => {
  const text = JSON.stringify(right())
  const padded = (bytes: number) => `${text.slice(0, -1)}${' '.repeat(bytes - text.length)}}`
  assert.equal((await ask({ method: 'POST', path, bytes: padded(65_536) })).status, 201)
  assertRefused(await ask({ method: 'POST', path, bytes: padded(65_537) }), 'PAYLOAD_TOO_LARGE')
  assertRefused(
    await ask({ method: 'POST', path, body: right(), headers: { 'content-type': 'text/plain' } }),
    'UNSUPPORTED_MEDIA_TYPE',
  )
  // Also where none is expected.
  const one = { method: 'DELETE', path: `${path}/1` }
  assertRefused(await ask({ ...one, bytes: padded(65_537) }), 'PAYLOAD_TOO_LARGE')
  assertRefused(await ask({ ...one, bytes: 'x', headers: { 'content-type': 'text/plain' } }), 'UNSUPPORTED_MEDIA_TYPE')
})

test('[E6.errors.rate-webhooks] too many requests of a key are 429 with 20000014 and Retry-After', async (t) => {
  const frozen = Date.now()
  const limited = await platform(t, { settings: { KAHA_RATE_LIMIT: '1' }, choices: { wall: () => frozen } })
  const headers = { authorization: basic(limited.merchant.secret_key) }
  for (let sent = 0; sent < 2; sent += 1) assert.equal((await call(limited.url, { path, headers })).status, 200)
  const answer = await call(limited.url, { path, headers })
  assertRefused(answer, 'RATE_LIMITED')
  assert.equal(answer.headers['retry-after'], '1')
})

test('[E6.errors.internal-webhooks] a defect of ours is 500 with 50000000 and tells nothing of its cause', async (t) => {
  const broken = await platform(t)
  await sql(broken.kaha.db, 'alter view delivery.registered_destinations rename to lost_view')
  const answer = await call(broken.url, { path, headers: { authorization: basic(broken.merchant.secret_key) } })
  assertRefused(answer, 'INTERNAL_ERROR')
  assert.doesNotMatch(answer.text, /lost|delivery|relation|select/i)
})

test('X0.addresses.own-host.webhooks: on a host name of its own the service answers without its prefix', async (t) => {
  const other = await platform(t, { settings: { KAHA_WEBHOOKS_URL: 'http://hooks.test' } })
  const headers = { host: 'hooks.test', authorization: basic(other.merchant.secret_key) }
  assert.equal((await call(other.url, { path: '/ping', headers })).text, 'Pong!')
  assert.deepEqual((await call(other.url, { path: '/v1/webhooks', headers })).json, { webhooks: [] })
})
