import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Lookup } from '../../src/delivery/egress.ts'
import { endpointsPath, hooked } from '../terminal-webhooks.ts'
import { assertRefused, type Answer } from './call.ts'

// Area D: which URLs become terminal webhooks, and how many.

const path = `/terminal${endpointsPath}`
const refused = (answer: Answer, status: number, code: string) => assertRefused(path, answer, status, code)

test('[D5.webhook.ping-failed, D5.webhook.https] a URL that is not taken is one and the same 400, whatever the cause, and nothing is made or changed', async (t) => {
  const deadline = { delivery: { deadlineMs: 1_000 } }
  const { create, made, update, ask, receiver } = await hooked(t, { choices: deadline })
  const { endpointId } = await made()
  const { hostname } = new URL(receiver.url)
  receiver.answer = ({ path: at }, response) => {
    if (at === '/hook/hangs') return
    if (at === '/hook/breaks') return void response.destroy()
    response.writeHead(at === '/hook/moved' ? 302 : 500, { location: receiver.url }).end('inside')
  }
  const urls = [
    ...['fails', 'moved', 'hangs', 'breaks'].map((way) => `${receiver.url}/${way}`),
    `http://${hostname}:9/`,
    `https://${hostname}:9/`,
    'https://nobody.invalid/',
    'http://shop.example.com/hook',
    'ftp://shop.example.com/hook',
    `${receiver.url}#part`,
    receiver.url.replace('//', '//user:secret@'),
  ]
  const messages = new Set<string>()
  for (const url of urls) {
    for (const answer of [await create({ url }), await update(endpointId, { url, status: 'disabled' })]) {
      refused(answer, 400, 'INVALID_REQUEST')
      messages.add(JSON.stringify(answer.json.error))
    }
  }
  assert.equal(messages.size, 1, [...messages].join('\n'))
  const { endpoints } = (await ask('GET', endpointsPath)).json
  assert.deepEqual(
    endpoints.map(({ url, status }: Record<string, string>) => [url, status]),
    [[receiver.url, 'active']],
  )
})

test('D5.webhook.ping-failed: where webhooks go to public addresses alone, a URL that leads elsewhere is that same 400, by number and by name, and nothing is sent', async (t) => {
  const asked: string[] = []
  const lookup: Lookup = (hostname, _options, callback) => {
    asked.push(hostname)
    callback(null, [{ address: '127.0.0.1', family: 4 }])
  }
  const guarded = { settings: { KAHA_WEBHOOK_TARGETS: 'public' }, choices: { lookup } }
  const { create, pings, receiver } = await hooked(t, guarded)
  const { port } = new URL(receiver.url)
  const messages = new Set<string>()
  const hosts = [`https://127.0.0.1:${port}`, `https://localhost:${port}`, 'https://169.254.169.254', 'https://[::1]']
  for (const url of [receiver.url, ...hosts, `https://inside.example.com:${port}/`]) {
    const answer = await create({ url })
    refused(answer, 400, 'INVALID_REQUEST')
    messages.add(JSON.stringify(answer.json.error))
  }
  assert.equal(messages.size, 1)
  assert.deepEqual(asked, ['inside.example.com'])
  assert.equal(pings().length, 0)
})

test('[D5.webhook.limit] a group has at most 16 endpoints, also when many are made at once, and a deleted one makes room', async (t) => {
  const { create, ask, pings } = await hooked(t)
  const first = await Promise.all(Array.from({ length: 4 }, () => create()))
  const more = []
  for (let round = 0; round < 4; round += 1) more.push(...(await Promise.all([create(), create(), create(), create()])))
  const statuses = [...first, ...more].map(({ status }) => status)
  assert.deepEqual(
    [statuses.filter((one) => one === 201).length, statuses.filter((one) => one === 409).length],
    [16, 4],
  )
  const before = pings().length
  refused(await create(), 409, 'ENDPOINT_LIMIT_REACHED')
  assert.equal(pings().length, before)
  assert.equal((await ask('DELETE', `${endpointsPath}/${first[0]?.json.endpointId}`)).status, 204)
  assert.equal((await create()).status, 201)
  refused(await create(), 409, 'ENDPOINT_LIMIT_REACHED')
})

test('a group that tries many URLs at once is 429 for those over four, until one has answered', async (t) => {
  const { create, receiver } = await hooked(t)
  const held: (() => void)[] = []
  const arrived = Promise.withResolvers<void>()
  receiver.answer = (_request, response) => {
    held.push(() => response.writeHead(204).end())
    if (held.length === 4) arrived.resolve()
  }
  const four = Array.from({ length: 4 }, () => create())
  await arrived.promise
  const over = await create()
  refused(over, 429, 'RATE_LIMITED')
  assert.equal(over.headers['retry-after'], '1')
  for (const release of held) release()
  for (const answer of await Promise.all(four)) assert.equal(answer.status, 201)
  receiver.answer = (_request, response) => void response.writeHead(204).end()
  assert.equal((await create()).status, 201)
})
