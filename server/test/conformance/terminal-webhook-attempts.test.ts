import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../sql.ts'
import { endpointsPath, hooked, paid, readWebhook } from '../terminal-webhooks.ts'
import { shopOf } from '../till.ts'

// Area D: how often a webhook is tried, and who gets it.

test('D5.webhook.signature: a receiver that fails is tried ten times on the schedule of area A, with the same bytes and id, each signed anew', async (t) => {
  const p = await hooked(t, { choices: { delivery: { random: () => 0 } } })
  const terminal = await p.shop.connect()
  const { secret } = await p.made()
  p.receiver.answer = (_request, response) => void response.writeHead(500).end()
  await paid(p, terminal)
  const waits = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
  for (const [index, seconds] of waits.entries()) {
    assert.equal(p.webhooks().length, index + 1)
    const [next] = await sql<{ run_at: Date }>(p.kaha.db, 'select run_at from delivery.queue')
    const [last] = await sql<{ started_at: Date }>(
      p.kaha.db,
      'select started_at from delivery.attempts order by started_at desc limit 1',
    )
    assert.ok(next && last)
    assert.equal(next.run_at.getTime() - last.started_at.getTime(), seconds * 1_000)
    await p.kaha.sandboxClock.advance(next.run_at)
  }
  assert.deepEqual(await sql(p.kaha.db, 'select 1 from delivery.queue'), [])
  assert.equal(p.webhooks().length, 10)
  assert.equal(new Set(p.webhooks().map(({ body }) => body)).size, 1)
  assert.equal(new Set(p.webhooks().map((one) => readWebhook(one, secret).eventId)).size, 1)
})

test('[D5.webhook.signature, D5.webhook.status] any 2xx acknowledges, and an endpoint that answers 410 is disabled until it is made active again', async (t) => {
  const p = await hooked(t)
  const terminal = await p.shop.connect()
  const { endpointId } = await p.made()
  p.receiver.answer = (_request, response) => void response.writeHead(299).end()
  await paid(p, terminal)
  await p.advance(86_400)
  assert.equal(p.webhooks().length, 1)
  p.receiver.answer = (_request, response) => void response.writeHead(410).end()
  await paid(p, terminal)
  const read = async () => (await p.ask('GET', `${endpointsPath}/${endpointId}`)).json.status
  assert.equal(await read(), 'disabled')
  await paid(p, terminal)
  assert.equal(p.webhooks().length, 2)
  p.receiver.answer = (_request, response) => void response.writeHead(200).end()
  await p.update(endpointId, { status: 'active' })
  await paid(p, terminal)
  assert.equal(p.webhooks().length, 3)
})

test('[D5.webhook.always-sent, D5.webhook.events, D5.webhook.one] each endpoint of the group gets the events that it asked for once, and nobody else gets any', async (t) => {
  const p = await hooked(t)
  const { receiver } = p
  const [, neighbour] = p.seed.merchants
  assert.ok(neighbour !== undefined)
  const theirs = shopOf(p, neighbour)
  t.after(() => theirs[Symbol.asyncDispose]())
  const all = await p.made({ url: `${receiver.url}/all` })
  const same = await p.made({ url: `${receiver.url}/all` })
  await p.made({ url: `${receiver.url}/failed`, events: ['payment.failed'] })
  await p.made({ url: `${receiver.url}/theirs` }, theirs.desktop)
  // A payment of area A's endpoints of the same merchant is none of area D's, and the other way round.
  await p.sdk.webhooks.createEndpoint({ url: `${receiver.url}/online`, enabled_events: ['payment.failed'] })
  const terminal = await p.shop.connect()
  await paid(p, terminal, {}, { status: 'FAILED', errorCode: 'DECLINED' })
  await paid(p, terminal)
  await p.pay()
  const paths = p.webhooks().map(({ path }) => path)
  assert.deepEqual(paths.toSorted(), ['/hook/all', '/hook/all', '/hook/all', '/hook/all', '/hook/failed'])
  const toAll = p.webhooks().filter(({ path }) => path === '/hook/all')
  const opens = (secret: string) =>
    toAll.filter((one) => {
      try {
        return readWebhook(one, secret) !== undefined
      } catch {
        return false
      }
    }).length
  assert.deepEqual([opens(all.secret), opens(same.secret)], [2, 2])
})
