import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allEvents, endpointsPath, hooked, readWebhook } from '../terminal-webhooks.ts'
import { shopOf } from '../till.ts'
import { assertRefused, type Answer } from './call.ts'

// Area D: the five operations of terminal webhooks.

const path = `/terminal${endpointsPath}`
const refused = (answer: Answer, status: number, code: string) => assertRefused(path, answer, status, code)

test('[D5.webhook.create, D5.webhook.fields, D5.webhook.secret-once, D5.webhook.secret-form, D5.webhook.ids, D5.webhook.status, D5.webhook.retrieve, D5.webhook.list, D5.webhook.events] an endpoint is made with its secret, and found without it', async (t) => {
  const { made, ask, receiver } = await hooked(t)
  const metadata = { team: 'orders', deep: { list: [1, 'two', null] } }
  const { secret, ...shown } = await made({ description: 'Orders', metadata })
  const { endpointId, createdAt, updatedAt, ...rest } = shown
  assert.deepEqual(rest, {
    url: receiver.url,
    events: allEvents,
    description: 'Orders',
    status: 'active',
    metadata,
  })
  assert.match(endpointId, /^wh_[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.deepEqual([typeof createdAt, updatedAt], ['string', createdAt])
  const bare = await made({ events: ['payment.timeout'] })
  assert.deepEqual(
    Object.keys(bare).toSorted(),
    ['createdAt', 'endpointId', 'events', 'secret', 'status', 'updatedAt', 'url'].toSorted(),
  )
  const retrieved = await ask('GET', `${endpointsPath}/${endpointId}`)
  assert.deepEqual([retrieved.status, retrieved.json], [200, shown])
  const list = await ask('GET', endpointsPath)
  const { endpoints, count, timestamp } = list.json
  assert.deepEqual([list.status, count, endpoints[1]], [200, 2, shown])
  assert.equal(endpoints[0].endpointId, bare.endpointId)
  assert.match(timestamp, /Z$/)
  for (const { text } of [retrieved, list]) assert.ok(!text.includes('whsec_'))
})

test('[D5.webhook.update, D5.webhook.status, D5.webhook.secret-once] a PUT changes what it names and nothing else', async (t) => {
  const { made, update, receiver } = await hooked(t)
  const { secret: _, updatedAt: _at, ...before } = await made({ description: 'One', metadata: { a: 1 } })
  const changes = [
    { status: 'disabled' },
    { events: ['payment.failed'] },
    { description: 'Two' },
    { metadata: { b: [2] } },
    { url: `${receiver.url}/new` },
    { status: 'active' },
    {},
  ]
  let now: Record<string, unknown> = before
  for (const change of changes) {
    now = { ...now, ...change }
    const answer = await update(before.endpointId, { ...change, clerk: 'Ana' })
    const { updatedAt: _later, ...shown } = answer.json
    assert.deepEqual([answer.status, shown], [200, now])
  }
})

test('[D5.webhook.update, D5.webhook.fields] a description is replaced by another and removed by null, and stays where it is left out', async (t) => {
  const { made, update, ask } = await hooked(t)
  const { endpointId } = await made({ description: 'Orders' })
  for (const [change, description] of [
    [{ description: 'Orders and refunds' }, 'Orders and refunds'],
    [{ status: 'disabled' }, 'Orders and refunds'],
    [{ description: null }, undefined],
    [{ description: null, status: 'active' }, undefined],
    [{ description: 'Orders' }, 'Orders'],
  ] as const) {
    const changed = await update(endpointId, change)
    assert.deepEqual([changed.status, changed.json.description], [200, description], changed.text)
    assert.deepEqual((await ask('GET', `${endpointsPath}/${endpointId}`)).json, changed.json)
  }
})

test('metadata is kept as deep as a body may be nested, and deeper it is refused at the cost of nobody else', async (t) => {
  const { made, ask, receiver } = await hooked(t)
  const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}1${']'.repeat(levels)}`)
  // Two levels are the body's and the metadata's own.
  const deepest = { deep: nested(98) }
  const { endpointId } = await made({ metadata: deepest })
  assert.deepEqual((await ask('GET', `${endpointsPath}/${endpointId}`)).json.metadata, deepest)
  for (const levels of [99, 2_000]) {
    const body = { url: receiver.url, events: allEvents, metadata: { deep: nested(levels) } }
    const answer = await ask('POST', endpointsPath, body)
    refused(answer, 400, 'INVALID_REQUEST')
    assert.match(answer.text, /nested deeper than 100 levels/)
  }
  for (let other = 0; other < 4; other += 1) await made()
})

test('[D5.webhook.delete, X0.input.unknown-property.terminals] a deleted endpoint is 204 without a body, and gone for every operation', async (t) => {
  const { made, ask, update, shop, webhooks } = await hooked(t)
  const { endpointId } = await made()
  const one = `${endpointsPath}/${endpointId}`
  const deleted = await ask('DELETE', one, { why: 'x' })
  assert.deepEqual([deleted.status, deleted.text], [204, ''])
  refused(await ask('GET', one), 404, 'NOT_FOUND')
  refused(await update(endpointId, { status: 'active' }), 404, 'NOT_FOUND')
  refused(await ask('DELETE', one), 404, 'NOT_FOUND')
  assert.equal((await ask('GET', endpointsPath)).json.count, 0)
  refused(await shop.pay({ webhookMode: true }), 400, 'NO_WEBHOOK_ENDPOINTS')
  assert.equal(webhooks().length, 0)
})

test('[D5.webhook.ping, D5.webhook.ids] a create and a change of url send a signed ping first, other changes none', async (t) => {
  const { made, update, pings, receiver } = await hooked(t)
  const { endpointId, secret } = await made()
  const readPing = (index: number) => {
    const ping = pings()[index]
    assert.ok(ping !== undefined)
    const { eventId, timestamp, ...rest } = readWebhook(ping, secret)
    assert.deepEqual(rest, { eventType: 'ping' })
    assert.match(eventId, /^evt_[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
    assert.match(timestamp, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
    return ping.path
  }
  assert.equal(readPing(0), '/hook')
  await update(endpointId, { url: `${receiver.url}/new` })
  assert.equal(readPing(1), '/hook/new')
  await update(endpointId, { url: `${receiver.url}/new`, events: ['payment.failed'], status: 'disabled' })
  assert.equal(pings().length, 2)
})

test('[D5.webhook.events, D5.webhook.fields] what is missing or of the wrong kind is 400 and names the field', async (t) => {
  const { create, made, update, ask, pings } = await hooked(t)
  const { endpointId } = await made()
  const wrong: Record<string, unknown>[] = [
    { url: undefined },
    { url: 1 },
    { url: 'no url' },
    { url: `https://shop.example.com/${'x'.repeat(2_048)}` },
    { events: undefined },
    { events: [] },
    { events: ['payment.completed', 'payment.completed'] },
    { events: ['payment.succeeded'] },
    { events: 'payment.completed' },
    { description: 'x'.repeat(256) },
    { description: ' ' },
    { metadata: 'text' },
    { metadata: [] },
  ]
  for (const fields of wrong) {
    const [field = ''] = Object.keys(fields)
    const answer = await create(fields)
    refused(answer, 400, 'INVALID_REQUEST')
    assert.equal(answer.json.error.details.field.split('.')[0], field)
    if (fields[field] !== undefined) refused(await update(endpointId, fields), 400, 'INVALID_REQUEST')
  }
  refused(await update(endpointId, { status: 'paused' }), 400, 'INVALID_REQUEST')
  for (const name of ['x', 'wh_1', endpointId.toLowerCase(), `evt_${endpointId.slice(3)}`])
    refused(await ask('GET', `${endpointsPath}/${name}`), 400, 'INVALID_REQUEST')
  assert.equal(pings().length, 1)
})

test('[D5.webhook.role, D5.errors.group-mismatch, I1.foreign.terminals] terminals take no part, and the endpoints of a group are nobody else’s', async (t) => {
  const p = await hooked(t)
  const { endpointId } = await p.made()
  const other = p.seed.merchants[1]
  assert.ok(other !== undefined)
  const strangers = [
    { keys: p.shop.first, label: 'a terminal' },
    { keys: shopOf(p, other).desktop, label: 'another group' },
  ]
  const one = `${endpointsPath}/${endpointId}`
  for (const { keys } of strangers) {
    refused(await p.ask('GET', one, undefined, keys), 403, 'GROUP_MISMATCH')
    refused(await p.update(endpointId, { status: 'disabled' }, keys), 403, 'GROUP_MISMATCH')
    refused(await p.ask('DELETE', one, undefined, keys), 403, 'GROUP_MISMATCH')
  }
  refused(await p.ask('GET', endpointsPath, undefined, p.shop.first), 403, 'GROUP_MISMATCH')
  refused(await p.create({}, p.shop.first), 403, 'GROUP_MISMATCH')
  const theirs = await p.ask('GET', endpointsPath, undefined, shopOf(p, other).desktop)
  assert.deepEqual([theirs.status, theirs.json.count], [200, 0])
  assert.equal((await p.ask('GET', one)).json.status, 'active')
  // Endpoints of other areas are none here.
  const { data } = await p.sdk.webhooks.listEndpoints()
  assert.ok(!data.some(({ url }) => url === p.receiver.url))
})
