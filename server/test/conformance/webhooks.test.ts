import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventTypes, webhooksOperations } from '@kaha/contract'
import { isUuid } from '../../src/kernel/ids.ts'
import { cards, platform } from '../platform.ts'
import { assertRefused, call } from './call.ts'
import { longUrls } from './long-urls.ts'
import { everybody } from './people.ts'
import webhooksDocument from '../../../contract/openapi/webhooks.json' with { type: 'json' }

// Area A: endpoints and their secrets.

const p = await platform({ after })
const people = await everybody(p)
const key = p.merchant.secret_key
const path = '/v1/webhook_endpoints'

let made = 0
const fresh = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  url: `https://shop.example.com/hooks/${(made += 1)}`,
  enabled_events: ['payment.succeeded'],
  ...fields,
})
const create = (body: unknown, as = key) => call(p.url, { method: 'POST', path, key: as, body })
const retrieve = (id: string, as = key) => call(p.url, { path: `${path}/${id}`, key: as })

async function refuses(body: unknown, code: string): Promise<void> {
  const answer = await create(body)
  assert.equal(answer.json?.error?.code, code, `${JSON.stringify(body).slice(0, 200)}: ${answer.text}`)
  assertRefused(path, answer, 400, code)
}

test('A2.document.version: the description of area A is published as version 1.0.0', async () => {
  const published = await call(p.url, { path: '/docs/openapi/webhooks.json' })
  assert.equal(published.json.info.version, '1.0.0')
  // It names where this installation answers.
  assert.deepEqual({ ...published.json, servers: webhooksDocument.servers }, webhooksDocument)
})

const shown = [
  'A2.endpoint.id',
  'A2.endpoint.url',
  'A2.endpoint.description',
  'A2.endpoint.enabled-events',
  'A2.endpoint.status',
  'A2.endpoint.metadata',
  'A2.endpoint.created-at',
  'A2.endpoint.updated-at',
]
test(`[${shown.join(', ')}] an endpoint shows exactly what was given and what was made of it, alike when created, retrieved and listed`, async () => {
  const before = new Date().toISOString()
  const given = {
    url: 'https://Shop.example.com:8443/a%20b?x=1&y=é%20'.replace('é', '%C3%A9'),
    enabled_events: ['payment.expired', 'payment.succeeded', 'payment.failed', 'payment.declined'],
    description: 'Order service, ポスト',
    metadata: { team: 'orders', empty: '' },
  }
  const answer = await create(given)
  assert.equal(answer.status, 201)
  const { id, created_at: createdAt, updated_at: updatedAt, ...rest } = answer.json
  assert.deepEqual(rest, { ...given, status: 'ENABLED', disabled_reason: null, disabled_at: null })
  assert.ok(isUuid(id))
  assert.equal(createdAt, updatedAt)
  assert.ok(before <= createdAt && createdAt <= new Date().toISOString())
  assert.deepEqual((await retrieve(id)).json, answer.json)
  const list = await call(p.url, { path, key })
  assert.deepEqual(list.json.data[0], answer.json)
})

test('[A2.create.created, A2.create.enabled, A2.create.description-optional] url and enabled_events are enough: 201, ENABLED, description null, metadata empty', async () => {
  const answer = await create(fresh())
  assert.equal(answer.status, 201)
  const { status, description, metadata } = answer.json
  assert.deepEqual({ status, description, metadata }, { status: 'ENABLED', description: null, metadata: {} })
})

test('A2.create.description-null: a description that is null is refused, unlike metadata', async () => {
  await refuses(fresh({ description: null }), 'INVALID_DESCRIPTION')
})

test('[A2.create.no-secret, A2.retrieve.ok] neither a create, nor a retrieve, nor a list tells a signing secret', async () => {
  const answer = await create(fresh())
  const secret = (await call(p.url, { path: `${path}/${answer.json.id}/signing_secret`, key })).json.signing_secret
  const found = await retrieve(answer.json.id)
  assert.equal(found.status, 200)
  for (const { text } of [answer, found, await call(p.url, { path, key })]) {
    assert.ok(!text.includes(secret) && !text.includes('whsec_') && !text.includes('secret'))
  }
})

test('[A2.create.url-required, A2.create.events-required] a create without url or enabled_events is 400 BAD_REQUEST', async () => {
  await refuses({ enabled_events: ['payment.succeeded'] }, 'BAD_REQUEST')
  await refuses({ url: 'https://shop.example.com/x' }, 'BAD_REQUEST')
  await refuses({}, 'BAD_REQUEST')
})

test('[A2.create.events-one, A2.create.events-distinct, A2.create.events-known, A2.types.four] enabled_events takes one to four of the four types, each once', async () => {
  const types = ['payment.succeeded', 'payment.declined', 'payment.failed', 'payment.expired']
  assert.deepEqual([...eventTypes], types)
  for (const events of [types, ...types.map((type) => [type])]) {
    assert.deepEqual((await create(fresh({ enabled_events: events }))).json.enabled_events, events)
  }
  await refuses(fresh({ enabled_events: [] }), 'INVALID_ENABLED_EVENTS')
  await refuses(fresh({ enabled_events: ['payment.failed', 'payment.failed'] }), 'INVALID_ENABLED_EVENTS')
  for (const unknown of [
    'payment.completed',
    'payment.*',
    '*',
    '',
    'PAYMENT.SUCCEEDED',
    ' payment.failed',
    'payment.refunded',
  ]) {
    await refuses(fresh({ enabled_events: ['payment.failed', unknown] }), 'INVALID_ENABLED_EVENTS')
  }
})

test('A2.create.metadata-null: metadata that is null or left out is an empty object', async () => {
  for (const body of [fresh(), fresh({ metadata: null }), fresh({ metadata: {} })]) {
    const answer = await create(body)
    assert.deepEqual(answer.json.metadata, {})
    assert.deepEqual((await retrieve(answer.json.id)).json.metadata, {})
  }
})

const filled = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, `value${at}`]))

test('[A2.metadata.keys, A2.metadata.key-length, A2.metadata.value-length] metadata takes 50 keys of 40 characters with values of 500, and no more', async () => {
  const most = [filled(50), { ['k'.repeat(40)]: 'v'.repeat(500) }, { ['🧾'.repeat(40)]: '🧾'.repeat(500) }]
  for (const metadata of most) {
    const answer = await create(fresh({ metadata }))
    assert.deepEqual([answer.status, answer.json.metadata], [201, metadata])
    assert.deepEqual((await retrieve(answer.json.id)).json.metadata, metadata)
  }
  for (const metadata of [filled(51), { ['k'.repeat(41)]: 'v' }, { k: 'v'.repeat(501) }, { k: '🧾'.repeat(501) }]) {
    await refuses(fresh({ metadata }), 'INVALID_METADATA')
  }
})

test("A2.endpoint.metadata: an endpoint's metadata is not sent with an event, and the payment's is not shown with the endpoint", async () => {
  const answer = await create(fresh({ url: p.receiver.url, metadata: { whose: 'the endpoint' } }))
  const intent = await p.sdk.paymentIntents.create({
    amount: 100,
    currency: 'PHP',
    merchant_branch_reference_number: p.branch.reference_number,
    metadata: { whose: 'the payment' },
  })
  await p.sdk.paymentIntents.confirm(intent.id, {
    payment_method: { type: 'card', card: { number: cards.approved, exp_month: 1, exp_year: 2050, cvc: '123' } },
  })
  await p.idle()
  const [received] = p.receiver.received
  assert.ok(received !== undefined && received.body.includes('the payment') && !received.body.includes('the endpoint'))
  assert.deepEqual((await retrieve(answer.json.id)).json.metadata, { whose: 'the endpoint' })
})

test('[A2.create.conflict, A2.create.conflict-other-entity] one entity has a url once; others may each have it too', async () => {
  const body = fresh({ url: 'https://shop.example.com/conflict' })
  const { merchant, branch, otherBranch, otherMerchant, partner, otherPartner } = people
  for (const one of [merchant, branch, otherBranch, otherMerchant, partner, otherPartner]) {
    assert.equal((await create(body, one.key)).status, 201)
    for (const again of [body, { ...body, enabled_events: ['payment.failed'], description: 'another' }]) {
      assertRefused(path, await create(again, one.key), 409, 'CONFLICT')
    }
  }
  for (const url of [
    'https://shop.example.com/Conflict',
    'https://shop.example.com/conflict/',
    'https://shop.example.com/conflict?',
  ]) {
    assert.equal((await create(fresh({ url }))).status, 201, url)
  }
})

test('[A2.create.conflict] a url is the same however it is spelled, and is shown as it was sent', async () => {
  const spelled = 'https://Spelled.Example.com:443/a/../hook'
  const first = await create(fresh({ url: spelled }))
  assert.deepEqual([first.status, first.json.url], [201, spelled])
  for (const url of [
    'https://spelled.example.com/hook',
    'HTTPS://SPELLED.example.com/./hook',
    spelled,
    'https://spelled.example.com/%68%6Fok',
  ])
    assertRefused(path, await create(fresh({ url })), 409, 'CONFLICT')
  // What is encoded because it must be says something else than what it stands for.
  assert.equal((await create(fresh({ url: 'https://spelled.example.com/hook%2fa' }))).status, 201)
  assertRefused(path, await create(fresh({ url: 'https://spelled.example.com/hook%2Fa' })), 409, 'CONFLICT')
  assert.equal((await create(fresh({ url: 'https://spelled.example.com/hook/a' }))).status, 201)
  assert.equal((await create(fresh({ url: 'https://spelled.example.com:8443/hook' }))).status, 201)
})

test('[A2.create.conflict] of twenty creates of one url at once, one is taken', async () => {
  const body = fresh({ url: 'https://shop.example.com/race' })
  const answers = await Promise.all(Array.from({ length: 20 }, () => create(body)))
  assert.equal(answers.filter(({ status }) => status === 201).length, 1)
  assert.equal(answers.filter(({ status }) => status === 409).length, 19)
})

test('[A2.create.limit] an entity has at most 500 endpoints, also when many are made at once; a disabled one takes up a place, a deleted one makes room', async () => {
  const { otherPartnersBranch: branch, otherPartnersMerchant: above } = people
  const createSome = (count: number) => Promise.all(Array.from({ length: count }, () => create(fresh(), branch.key)))
  const answers = [...(await createSome(252)), ...(await createSome(252))]
  const ids = answers.flatMap(({ status, json }) => (status === 201 ? [String(json.id)] : []))
  assert.equal(ids.length, 500)
  for (const answer of answers) if (answer.status !== 201) assertRefused(path, answer, 409, 'CONFLICT')

  const ask = (method: string, id = '', body?: unknown) =>
    call(p.url, { method, path: `${path}/${id}`, key: branch.key, body })
  assert.equal((await ask('PATCH', ids[0], { disabled: true })).status, 200)
  const refused = await create(fresh(), branch.key)
  assertRefused(path, refused, 409, 'CONFLICT')
  assert.equal(refused.json.error.message, 'This entity has 500 endpoints, as many as it may; delete one first.')

  assert.equal((await create(fresh(), above.key)).status, 201)
  assert.equal((await ask('DELETE', ids[1])).status, 200)
  assert.equal((await create(fresh(), branch.key)).status, 201)
  assertRefused(path, await create(fresh(), branch.key), 409, 'CONFLICT')
})

test('[A2.url.https, A2.url.user-information, A2.url.fragment] a url is https, without user information and without a fragment', async () => {
  const wrong = [
    'http://shop.example.com/hook',
    'ftp://shop.example.com/hook',
    'ws://shop.example.com/hook',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:text/plain,x',
    'https://user@shop.example.com/',
    'https://user:password@shop.example.com/',
    'https://shop.example.com/#a',
    'https://shop.example.com/?a#',
    '//shop.example.com/hook',
    'shop.example.com',
    'https:///hook',
  ]
  for (const url of wrong) await refuses(fresh({ url }), 'INVALID_URL')
})

test('[A2.url.https, A2.url.user-information, A2.url.fragment] the refusal of a url says which rule it breaks', async () => {
  const says = [
    ['http://shop.example.com/', 'url: must use https; http is for localhost and loopback addresses alone.'],
    ['https://user@shop.example.com/', 'url: must not carry user information.'],
    ['https://@shop.example.com/', 'url: must not carry user information.'],
    ['https://shop.example.com/#a', 'url: must not carry a fragment.'],
    ['https:///shop', 'url: must be an absolute address.'],
    ['https://shop..example.com/', 'url: must name a host that can exist.'],
    ['https://shop.example.com:0/', 'url: must name a port that can be reached.'],
  ]
  for (const [url, message] of says) assert.equal((await create(fresh({ url }))).json.error.message, message)
})

test('A2.url.length: a url of 2,048 characters is taken, and one more is refused', async () => {
  const of = (length: number) => 'https://shop.example.com/'.padEnd(length, 'a')
  assert.equal((await create(fresh({ url: of(2048) }))).json.url, of(2048))
  await refuses(fresh({ url: of(2049) }), 'INVALID_URL')
})

test('[A2.url.length, A2.create.conflict] a url is taken up to that length, and once, also where it is sent far longer than it was given', async () => {
  for (const url of longUrls()) {
    const { status, json } = await create(fresh({ url }))
    assert.deepEqual([status, json.url], [201, url])
    assertRefused(path, await create(fresh({ url })), 409, 'CONFLICT')
    const other = (await create(fresh())).json.id
    const change = (to: string) => call(p.url, { method: 'PATCH', path: `${path}/${other}`, key, body: { url: to } })
    assertRefused(path, await change(url), 409, 'CONFLICT')
    assert.equal((await change(url.replace('shop', 'othr'))).status, 200)
  }
})

test('A2.url.loopback: a sandbox takes http on this machine, and on this machine alone', async () => {
  for (const host of ['localhost', '127.0.0.1', '127.0.0.2', '[::1]', '[::ffff:127.0.0.1]'])
    assert.equal((await create(fresh({ url: `http://${host}:3000/hook` }))).status, 201, host)
  for (const url of ['http://10.0.0.1/', 'http://localhost.example.com/', 'http://[::2]/'])
    await refuses(fresh({ url }), 'INVALID_URL')
})

test('[A2.description.blank, A2.description.length] a description is not blank, and has at most 255 code points', async () => {
  for (const description of ['', ' ', '\t\r\n', '\u00a0\u2003\ufeff'])
    await refuses(fresh({ description }), 'BAD_REQUEST')
  for (const character of ['a', 'é', '🧾']) {
    const most = character.repeat(255)
    assert.equal((await create(fresh({ description: most }))).json.description, most)
    await refuses(fresh({ description: `${most}${character}` }), 'INVALID_DESCRIPTION')
  }
  assert.equal((await create(fresh({ description: '  kept as it is ' }))).json.description, '  kept as it is ')
})

test('[A2.retrieve.unknown, A2.retrieve.malformed] an id of no endpoint is 404, and a text that is no uuid is 400', async () => {
  const nobody = '01a1fcef-9ed7-78da-86e8-e01924f01831'
  for (const suffix of ['', '/signing_secret']) {
    assertRefused(path, await call(p.url, { path: `${path}/${nobody}${suffix}`, key }), 404, 'NOT_FOUND')
    assertRefused(path, await call(p.url, { path: `${path}/nobody${suffix}`, key }), 400, 'INVALID_ID')
  }
})

test('[A2.secret.read, A2.secret.previous-none, A2.secret.no-store, A2.secret.form] the signing secret is read by an operation of its own, and never cached', async () => {
  const { id, created_at } = (await create(fresh())).json
  const answer = await call(p.url, { path: `${path}/${id}/signing_secret`, key })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['cache-control'], 'no-store')
  const { signing_secret: secret, ...rest } = answer.json
  assert.deepEqual(rest, { endpoint_id: id, created_at, previous_expires_at: null })
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(Buffer.from(secret.slice('whsec_'.length), 'base64').length, 32)
  const again = await call(p.url, { path: `${path}/${id}/signing_secret`, key })
  assert.deepEqual(again.json, answer.json)
  const other = (await create(fresh())).json.id
  assert.notEqual((await call(p.url, { path: `${path}/${other}/signing_secret`, key })).json.signing_secret, secret)
})

test('[A2.errors.envelope, A2.errors.unauthorized, A2.errors.malformed-json, A2.errors.unknown-property, A2.errors.field] every refusal of area A has code, message and correlation_id, and nothing else', async () => {
  const post = (bytes: string) => call(p.url, { method: 'POST', path, key, bytes })
  const refusals = [
    [await call(p.url, { path }), 401, 'UNAUTHORIZED'],
    [await post('{'), 400, 'BAD_REQUEST'],
    [await create(fresh({ colour: 'red' })), 400, 'BAD_REQUEST'],
    [await create(fresh({ url: 'x' })), 400, 'INVALID_URL'],
    [await create(fresh({ description: 5 })), 400, 'INVALID_DESCRIPTION'],
    [await create(fresh({ enabled_events: 'payment.failed' })), 400, 'INVALID_ENABLED_EVENTS'],
    [await create(fresh({ metadata: [] })), 400, 'INVALID_METADATA'],
    [await retrieve('x'), 400, 'INVALID_ID'],
    [await retrieve('01a1fcef-9ed7-78da-86e8-e01924f01831'), 404, 'NOT_FOUND'],
  ] as const
  for (const [answer, status, code] of refusals) {
    assertRefused(path, answer, status, code)
    assert.deepEqual(Object.keys(answer.json.error), ['code', 'message', 'correlation_id'])
  }
})

test('a success has exactly the properties of its schema', async () => {
  const { id } = (await create(fresh())).json
  const answers = [
    [webhooksOperations.retrieveWebhookEndpoint, await retrieve(id)],
    [webhooksOperations.retrieveSigningSecret, await call(p.url, { path: `${path}/${id}/signing_secret`, key })],
  ] as const
  for (const [operation, answer] of answers) {
    assert.deepEqual(Object.keys(answer.json), Object.keys(operation.success[200].schema.properties))
  }
})
