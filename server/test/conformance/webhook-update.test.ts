import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { WebhookEndpoint } from '@kaha/sdk'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { assertRefused, call } from './call.ts'
import { everybody, keyFor } from './people.ts'
import { basic } from './qr-account.ts'

// Area A: endpoints are changed and deleted. What that means for deliveries stands in webhook-pause.test.ts.

const p = await platform({ after })
const people = await everybody(p)
const key = p.merchant.secret_key
const path = '/v1/webhook_endpoints'
const nobodys = '01a1fcef-9ed7-78da-86e8-e01924f01831'

let made = 0
const freshUrl = () => `https://shop.example.com/updates/${(made += 1)}`
const created = (fields: object = {}, as = key) =>
  p.as(as).webhooks.createEndpoint({
    url: freshUrl(),
    enabled_events: ['payment.succeeded', 'payment.failed'],
    description: 'Order service',
    metadata: { team: 'orders' },
    ...fields,
  })
const retrieve = (id: string) => p.sdk.webhooks.retrieveEndpoint(id)
const update = (id: string, body: unknown, as = key) =>
  call(p.url, { method: 'PATCH', path: `${path}/${id}`, key: as, body })
const remove = (id: string, as = key) => call(p.url, { method: 'DELETE', path: `${path}/${id}`, key: as })

/** The update is refused and leaves the endpoint as it was. */
async function refuses(body: unknown, code: string, status = 400): Promise<void> {
  const endpoint = await created()
  assertRefused(path, await update(endpoint.id, body), status, code)
  assert.deepEqual(await retrieve(endpoint.id), endpoint)
}

/** The update is taken, and the whole endpoint is as before but for these fields and updated_at. */
async function changes(endpoint: WebhookEndpoint, body: object, fields: Partial<WebhookEndpoint>): Promise<void> {
  const answer = await update(endpoint.id, body)
  assert.equal(answer.status, 200, answer.text)
  const { updated_at: updatedAt, ...rest } = answer.json
  const { updated_at: _before, ...before } = endpoint
  assert.deepEqual(rest, { ...before, ...fields })
  assert.deepEqual(await retrieve(endpoint.id), { ...rest, updated_at: updatedAt })
}

test('[A2.update.ok, A2.update.only-supplied] an update changes the fields that it names, alone or together, and answers 200 with the whole endpoint', async () => {
  const fields: Partial<WebhookEndpoint> = {
    url: freshUrl(),
    enabled_events: ['payment.expired'],
    description: 'Invoices',
    metadata: { owner: 'billing', empty: '' },
  }
  for (const [name, value] of Object.entries(fields)) {
    const url = name === 'url' ? { url: freshUrl() } : undefined
    await changes(await created(), url ?? { [name]: value }, url ?? { [name]: value })
  }
  await changes(await created(), fields, fields)
})

test('A2.update.updated-at: an update moves updated_at and nothing else of time, and one that names nothing moves nothing', async () => {
  const endpoint = await created()
  await p.advance(60)
  const { updated_at: updatedAt, created_at: createdAt } = (await update(endpoint.id, { description: 'Later' })).json
  assert.equal(createdAt, endpoint.created_at)
  assert.ok(Date.parse(updatedAt) >= Date.parse(endpoint.updated_at) + 60_000, updatedAt)
  await p.advance(60)
  for (const body of [{}, { description: null }, { metadata: null }, { description: null, metadata: null }]) {
    const answer = await update(endpoint.id, body)
    assert.deepEqual([answer.status, answer.json.updated_at, answer.json.description], [200, updatedAt, 'Later'])
  }
  assert.equal((await update(nobodys, {})).status, 404)
})

test('A2.update.body-required: an update without a body, or with one that is no object, is 400 BAD_REQUEST', async () => {
  const { id } = await created()
  assertRefused(path, await call(p.url, { method: 'PATCH', path: `${path}/${id}`, key }), 400, 'BAD_REQUEST')
  const empty = { method: 'PATCH', path: `${path}/${id}`, key, bytes: '' }
  assertRefused(path, await call(p.url, empty), 400, 'BAD_REQUEST')
  for (const body of [null, [], 'x', 5, true]) await refuses(body, 'BAD_REQUEST')
})

test('A2.update.url: a new url obeys the rules of create, and is shown as it was given', async () => {
  const longest = 'https://shop.example.com/'.padEnd(2048, 'b')
  for (const url of ['https://Shop.example.com:8443/a%20b?x=1', 'http://localhost:3000/hook', longest]) {
    await changes(await created(), { url }, { url })
  }
  const wrong = [
    'http://shop.example.com/hook',
    'https://user:password@shop.example.com/',
    'https://shop.example.com/#a',
    'shop.example.com',
    `${longest}b`,
    null,
    5,
  ]
  for (const url of wrong) await refuses({ url }, 'INVALID_URL')
  for (const url of ['', '   ']) await refuses({ url }, 'BAD_REQUEST')
})

test('A2.update.events: enabled_events replaces the whole set, with at least one type and none twice', async () => {
  await changes(
    await created(),
    { enabled_events: ['payment.declined', 'payment.succeeded'] },
    { enabled_events: ['payment.declined', 'payment.succeeded'] },
  )
  const wrong = [[], ['payment.failed', 'payment.failed'], ['payment.refunded'], ['*'], 'payment.failed', null]
  for (const events of wrong) await refuses({ enabled_events: events }, 'INVALID_ENABLED_EVENTS')
})

test('[A2.update.description, A2.update.description-null] a new description has at most 255 code points and is not blank; null leaves the old one', async () => {
  for (const description of ['a'.repeat(255), '🧾'.repeat(255), '  kept as it is ']) {
    await changes(await created(), { description }, { description })
  }
  for (const description of ['', ' \t', '\u00a0']) await refuses({ description }, 'BAD_REQUEST')
  for (const description of ['a'.repeat(256), '🧾'.repeat(256), 5])
    await refuses({ description }, 'INVALID_DESCRIPTION')
  const url = freshUrl()
  await changes(await created(), { url, description: null }, { url })
  await changes(await created(), { description: 'The first' }, { description: 'The first' })
})

test('[A2.update.metadata, A2.update.metadata-null] new metadata replaces the whole object within the limits of create; null leaves the old', async () => {
  const filled = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`key${at}`, `value${at}`]))
  for (const metadata of [{}, filled, { ['k'.repeat(40)]: 'v'.repeat(500) }]) {
    await changes(await created(), { metadata }, { metadata })
  }
  const wrong = [{ ...filled, more: '' }, { ['k'.repeat(41)]: '' }, { k: 'v'.repeat(501) }, { k: 1 }, { k: null }, []]
  for (const metadata of wrong) await refuses({ metadata }, 'INVALID_METADATA')
  const url = freshUrl()
  await changes(await created(), { url, metadata: null }, { url })
})

test('[A2.update.disabled-true, A2.update.disabled-false] disabled true makes an endpoint DISABLED and false ENABLED again, however often it is said, and beside any other field', async () => {
  const endpoint = await created()
  const paused = { disabled_reason: null, disabled_at: null, status: 'DISABLED' as const }
  for (let time = 0; time < 2; time += 1) await changes(endpoint, { disabled: true }, paused)
  await changes({ ...endpoint, ...paused }, { description: 'Still paused' }, { description: 'Still paused' })
  const described = { ...endpoint, description: 'Still paused' }
  for (let time = 0; time < 2; time += 1) await changes(described, { disabled: false }, { status: 'ENABLED' })
  const url = freshUrl()
  await changes(described, { disabled: true, url }, { status: 'DISABLED', url })
})

test('A2.update.disabled-invalid: disabled that is no boolean is 400 INVALID_DISABLED', async () => {
  for (const disabled of [null, 'true', 'false', '', 0, 1, [], {}]) await refuses({ disabled }, 'INVALID_DISABLED')
})

test('[A2.update.unknown-property, A2.update.status.400] any other property is 400 BAD_REQUEST, those that an endpoint shows included', async () => {
  const { enabled_events: _events, url: _url, description: _label, metadata: _metadata, ...shown } = await created()
  const others = { ...shown, colour: 'red', enabled: true, deleted_at: null, signing_secret: 'whsec_x' }
  for (const [name, value] of Object.entries(others)) {
    await refuses({ [name]: value }, 'BAD_REQUEST')
    await refuses({ description: 'and that', [name]: value }, 'BAD_REQUEST')
  }
  assert.ok('status' in others && 'disabled_reason' in others)
})

test('[A2.update.status.401, A2.update.status.403, A2.update.status.404] an update is 401 without a valid key, 403 without webhooks.write or on an endpoint of another entity, and 404 where there is none', async () => {
  const { id } = await created()
  const body = { description: 'Changed by a stranger' }
  const withoutKey = await call(p.url, { method: 'PATCH', path: `${path}/${id}`, body })
  assertRefused(path, withoutKey, 401, 'UNAUTHORIZED')
  assertRefused(path, await update(id, body, 'sk_test_000000000000000000000000'), 401, 'UNAUTHORIZED')
  const reader = await keyFor(p, { id: p.merchant.id, level: 'merchant' }, { scopes: ['webhooks.read'] })
  assertRefused(path, await update(id, body, reader.secretKey), 403, 'FORBIDDEN')
  for (const stranger of [people.otherMerchant, people.branch, people.otherPartner]) {
    for (const change of [body, {}, { disabled: true }]) {
      assertRefused(path, await update(id, change, stranger.key), 403, 'FORBIDDEN')
    }
  }
  assertRefused(path, await update(nobodys, body), 404, 'NOT_FOUND')
  assertRefused(path, await update('x', body), 400, 'INVALID_ID')
  assert.equal((await retrieve(id)).description, 'Order service')
  assert.equal((await update(id, body, people.partner.key)).status, 200)
})

test('A2.update.status.409: a url that another live endpoint of the same entity has is 409 CONFLICT, and nothing of the update happens', async () => {
  const [one, other] = [await created(), await created()]
  const wish = { url: other.url, description: 'Both', disabled: true }
  assertRefused(path, await update(one.id, wish), 409, 'CONFLICT')
  assert.deepEqual(await retrieve(one.id), one)
  await changes(one, { url: one.url }, {})
  const elsewhere = await created({}, people.branch.key)
  assert.equal((await update(elsewhere.id, { url: one.url })).status, 200)
  assert.equal((await update(one.id, { url: freshUrl() })).status, 200)
  assert.equal((await update(other.id, { url: one.url })).status, 200)
})

test('A2.update.status.409: a url is the same however it is spelled', async () => {
  const [one, other] = [await created(), await created()]
  const spelled = ({ url }: typeof one) => url.replace('https://', 'HTTPS://').replace(/(?<=\/\/[^/]+)\//, ':443/')
  assertRefused(path, await update(one.id, { url: spelled(other) }), 409, 'CONFLICT')
  assert.notEqual(spelled(one), one.url)
  await changes(one, { url: spelled(one) }, { url: spelled(one) })
  assertRefused(path, await update(other.id, { url: one.url }), 409, 'CONFLICT')
})

test('A2.update.status.409: of ten endpoints that want one url at once, one gets it', async () => {
  const endpoints = await Promise.all(Array.from({ length: 10 }, () => created()))
  const url = freshUrl()
  const answers = await Promise.all(endpoints.map(({ id }) => update(id, { url })))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assert.equal(answers.filter(({ status }) => status === 409).length, 9)
})

test('updates of one endpoint that come at once all happen, each with its own fields', async () => {
  const { id } = await created()
  const [url, description, metadata] = [freshUrl(), 'One of many', { of: 'many' }]
  const bodies = [{ url }, { description }, { metadata }, { enabled_events: ['payment.expired'] }, { disabled: true }]
  const answers = await Promise.all([...bodies, ...bodies].map((body) => update(id, body)))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  const { url: itsUrl, description: its, metadata: itsMetadata, enabled_events: events, status } = await retrieve(id)
  const found = { url: itsUrl, description: its, metadata: itsMetadata, events, status }
  assert.deepEqual(found, { url, description, metadata, events: ['payment.expired'], status: 'DISABLED' })
})

test('A2.update.status.413: an update with more than 64 KiB is 413, whatever is in it', async () => {
  const { id } = await created()
  const bytes = `{"description":"x"${' '.repeat(64 * 1024)}}`
  const answer = await call(p.url, { method: 'PATCH', path: `${path}/${id}`, key, bytes })
  assertRefused(path, answer, 413, 'PAYLOAD_TOO_LARGE')
})

test('A2.update.status.500: an update that fails for a defect of ours is 500, tells nothing of it, and happened not at all', async (t) => {
  const broken = await platform(t)
  const endpoint = await broken.sdk.webhooks.createEndpoint({ url: freshUrl(), enabled_events: ['payment.failed'] })
  await sql(
    broken.kaha.db,
    `create function public.break() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$`,
  )
  await sql(broken.kaha.db, 'create trigger break before update on delivery.lanes execute function public.break()')
  const body = { description: 'Never', disabled: true }
  const request = { method: 'PATCH', path: `${path}/${endpoint.id}`, key: broken.merchant.secret_key, body }
  const answer = await call(broken.url, request)
  assertRefused(path, answer, 500, 'INTERNAL_ERROR')
  assert.doesNotMatch(answer.text, /planted|lanes|update/)
  assert.deepEqual(await broken.sdk.webhooks.retrieveEndpoint(endpoint.id), endpoint)
})

test('[A2.delete.ok, A2.list.deleted, A2.delete.retrieve, A2.delete.update, A2.delete.again] a deleted endpoint is answered with its id, and found by nothing any more', async () => {
  const { id } = await created()
  const other = await created()
  const answer = await remove(id.toUpperCase())
  assert.deepEqual([answer.status, answer.json], [200, { id, deleted: true }])

  assertRefused(path, await remove(id), 404, 'NOT_FOUND')
  assertRefused(path, await update(id, { disabled: false }), 404, 'NOT_FOUND')
  assertRefused(path, await update(id, {}), 404, 'NOT_FOUND')
  assertRefused(path, await call(p.url, { path: `${path}/${id}`, key }), 404, 'NOT_FOUND')
  assertRefused(path, await call(p.url, { path: `${path}/${id}/signing_secret`, key }), 404, 'NOT_FOUND')
  const rotation = { method: 'POST', path: `${path}/${id}/signing_secret/rotate`, key, body: {} }
  assertRefused(path, await call(p.url, rotation), 404, 'NOT_FOUND')
  // To a stranger it is gone as well.
  assertRefused(path, await remove(id, people.otherPartner.key), 404, 'NOT_FOUND')
  const listed = (await p.sdk.webhooks.listEndpoints({ page_size: 100 })).data.map((one) => one.id)
  assert.ok(!listed.includes(id) && listed.includes(other.id))
})

test('of twenty deletions of one endpoint at once, one deletes it', async () => {
  const { id } = await created()
  const answers = await Promise.all(Array.from({ length: 20 }, () => remove(id)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assert.equal(answers.filter(({ status }) => status === 404).length, 19)
})

test('a deletion takes no foreign endpoint, and none without webhooks.write', async () => {
  const { id } = await created()
  assertRefused(path, await remove(nobodys), 404, 'NOT_FOUND')
  assertRefused(path, await remove('x'), 400, 'INVALID_ID')
  assertRefused(path, await remove(id, people.otherMerchant.key), 403, 'FORBIDDEN')
  const reader = await keyFor(p, { id: p.merchant.id, level: 'merchant' }, { scopes: ['webhooks.read'] })
  assertRefused(path, await remove(id, reader.secretKey), 403, 'FORBIDDEN')
  assert.equal((await retrieve(id)).status, 'ENABLED')
})

test('[A2.update.status.404] a webhook of the QR service is no endpoint of area A: it is neither found nor changed nor deleted', async () => {
  const headers = { authorization: basic(key) }
  const body = { webhookUrl: freshUrl(), actions: ['QRPH_SUCCESS'], status: 'ENABLED' }
  const registered = await call(p.url, { method: 'POST', path: '/webhooks/v1/webhooks', headers, body })
  assert.equal(registered.status, 201, registered.text)
  const standing = () =>
    sql<{ id: string }>(p.kaha.db, `select * from delivery.destinations where dialect = 'encrypted'`)
  const [webhook, ...none] = await standing()
  assert.ok(webhook && none.length === 0)
  const { id } = webhook
  assertRefused(path, await call(p.url, { path: `${path}/${id}`, key }), 404, 'NOT_FOUND')
  assertRefused(path, await call(p.url, { path: `${path}/${id}/signing_secret`, key }), 404, 'NOT_FOUND')
  assertRefused(path, await update(id, { disabled: true }), 404, 'NOT_FOUND')
  assertRefused(path, await remove(id), 404, 'NOT_FOUND')
  assert.deepEqual(await standing(), [webhook])
})

test('A2.delete.retained: the row of a deleted endpoint is kept, DISABLED and with the time of its deletion', async () => {
  const endpoint = await created()
  await p.advance(60)
  const { now } = await p.as(people.partner.key).sandbox.readClock()
  await remove(endpoint.id)
  const [row] = await sql<{ state: string; deleted_at: Date; url: string; created_at: Date }>(
    p.kaha.db,
    'select state, deleted_at, url, created_at from delivery.destinations where id = $1',
    [endpoint.id],
  )
  assert.ok(row !== undefined)
  const { state, url, created_at: createdAt, deleted_at: deletedAt } = row
  assert.deepEqual([state, url, createdAt.toISOString()], ['DISABLED', endpoint.url, endpoint.created_at])
  assert.ok(deletedAt.toISOString() >= now)
})

test('A2.create.conflict-deleted: the url of a deleted endpoint may be used again, by a create and by an update', async () => {
  const [one, other, third] = [await created(), await created(), await created()]
  await remove(one.id)
  await remove(other.id)
  const again = await created({ url: one.url })
  assert.notEqual(again.id, one.id)
  await changes(third, { url: other.url }, { url: other.url })
  assertRefused(path, await update(third.id, { url: one.url }), 409, 'CONFLICT')
})
