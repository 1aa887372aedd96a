import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import pg from 'pg'
import { connectionConfig } from '../../src/kernel/db.ts'
import { cardOf, cards, platform, type PlatformOptions } from '../platform.ts'
import { sql } from '../sql.ts'
import { until } from '../until.ts'

// The states of an event, each move seen through the list of events.

const everyType = ['payment.succeeded', 'payment.declined', 'payment.failed', 'payment.expired'] as const

async function eventful(t: TestContext, options: PlatformOptions = {}) {
  const p = await platform(t, options)
  const branch = p.as(p.branch.secret_key)
  return {
    ...p,
    endpoint: (path = '') =>
      p.sdk.webhooks.createEndpoint({ url: `${p.receiver.url}${path}`, enabled_events: [...everyType] }),
    /** Pays without waiting for anything. */
    async payment(card: string = cards.approved) {
      const intent = await branch.paymentIntents.create({ amount: 100, currency: 'PHP' })
      await branch.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card: cardOf(card) } })
      return intent.id
    },
    /** The event of a payment. */
    async event(intentId: string) {
      const { data } = await branch.webhooks.listEvents()
      const found = data.find((one) => one.payment_intent_id === intentId)
      assert.ok(found !== undefined)
      return found
    },
    sql: (text: string) => sql(p.kaha.db, text),
  }
}

const apiOnly = { settings: { KAHA_ROLES: 'api' } }

test('[A2.events.state.pending-taken, A2.events.state.submitting-queued, A2.event.status] PENDING until a dispatcher takes it, SUBMITTING in its hands, SUBMITTED once the deliveries are queued', async (t) => {
  const p = await eventful(t, apiOnly)
  await p.endpoint()
  const held: ServerResponse[] = []
  p.receiver.answer = (_request, response) => void held.push(response)
  const paid = await p.payment()
  assert.equal((await p.event(paid)).status, 'PENDING')

  // A dispatcher that cannot queue in passing takes the event into its hands; there it waits for us.
  const client = new pg.Client(connectionConfig(p.target))
  await client.connect()
  await client.query('begin')
  await client.query('select pg_advisory_xact_lock(4711)')
  await p.sql(`
    create function public.hold() returns trigger language plpgsql as $$
    begin
      if old.status = 'PENDING' then raise exception 'planted'; end if;
      perform pg_advisory_xact_lock(4711);
      return old;
    end $$`)
  await p.sql('create trigger hold before delete on delivery.outbox for each row execute function public.hold()')
  await p.another({ KAHA_ROLES: 'worker' })
  await until('a dispatcher', async () => (await p.event(paid)).status === 'SUBMITTING')
  assert.equal(p.receiver.received.length, 0)
  await client.query('commit')
  await client.end()

  await until('a delivery', () => held.length > 0)
  const queued = await p.event(paid)
  assert.deepEqual([queued.status, queued.attempt_count, queued.delivered_at], ['SUBMITTED', 0, null])
  for (const response of held) response.writeHead(200).end()
  await p.idle()
  assert.equal((await p.event(paid)).status, 'DELIVERED')
  assert.equal(p.receiver.received.length, 1)
})

test('A2.events.state.submitting-not-subscribed: where no ENABLED endpoint takes the type, the event is NOT_SUBSCRIBED and listed', async (t) => {
  const p = await eventful(t)
  const status = async () => {
    const paid = await p.payment()
    await p.idle()
    return (await p.event(paid)).status
  }
  assert.equal(await status(), 'NOT_SUBSCRIBED')
  await p.sdk.webhooks.createEndpoint({ url: `${p.receiver.url}?declined`, enabled_events: ['payment.declined'] })
  assert.equal(await status(), 'NOT_SUBSCRIBED')
  const { id } = await p.endpoint('?all')
  await p.sql(`with d as (update delivery.destinations set state = 'DISABLED' where id = '${id}')
    update delivery.lanes set state = 'PAUSED' where destination_id = '${id}'`)
  assert.equal(await status(), 'NOT_SUBSCRIBED')
  assert.equal(p.receiver.received.length, 0)
  await p.endpoint('?another')
  assert.equal(await status(), 'DELIVERED')
})

test('A2.events.state.submitted-delivered: SUBMITTED until every targeted endpoint has acknowledged, then DELIVERED', async (t) => {
  const p = await eventful(t)
  await p.endpoint('?willing')
  await p.endpoint('?hesitant')
  let refusals = 0
  p.receiver.answer = ({ path }, response) => {
    if (path.endsWith('hesitant') && refusals < 2) refusals += 1
    else return void response.writeHead(200).end()
    response.writeHead(503).end()
  }
  const paid = await p.payment()
  await p.idle()
  const half = await p.event(paid)
  assert.deepEqual([half.status, half.attempt_count, half.delivered_at], ['SUBMITTED', 2, null])
  await p.advance(6)
  assert.equal((await p.event(paid)).status, 'SUBMITTED')
  await p.advance(360)
  const whole = await p.event(paid)
  assert.deepEqual([whole.status, whole.attempt_count], ['DELIVERED', 4])
  assert.equal(p.receiver.received.filter(({ path }) => path.endsWith('willing')).length, 1)
})

test('A2.events.state.submitted-exhausted: EXHAUSTED once nothing is open and one endpoint has used up its attempts, whatever the others did', async (t) => {
  const p = await eventful(t)
  await p.endpoint('?willing')
  await p.endpoint('?never')
  p.receiver.answer = ({ path }, response) => void response.writeHead(path.endsWith('never') ? 500 : 200).end()
  const paid = await p.payment()
  await p.idle()
  assert.equal((await p.event(paid)).status, 'SUBMITTED')
  await p.advance(95 * 3_600)
  const event = await p.event(paid)
  assert.deepEqual([event.status, event.attempt_count, event.next_attempt_at], ['EXHAUSTED', 11, null])
})

test('A2.events.state.submitting-lease: what a dispatcher left behind is left alone during its lease, and taken over after it', async (t) => {
  const p = await eventful(t, apiOnly)
  await p.endpoint()
  const left = await p.payment()
  await p.sql(
    `update delivery.outbox set status = 'SUBMITTING', fence = fence + 1, lease_until = clock_timestamp() + interval '1 hour'`,
  )
  const worker = await p.another({ KAHA_ROLES: 'worker' })
  // Business time is no matter of leases.
  await p.sql('update kernel.clock set offset_ms = offset_ms + 3600000, version = version + 1')
  worker.bus.hint('clock')
  const other = await p.payment()
  worker.bus.hint('events')
  await until('the other event', async () => (await p.event(other)).status === 'DELIVERED')
  assert.equal((await p.event(left)).status, 'SUBMITTING')

  await p.sql('update delivery.outbox set lease_until = clock_timestamp()')
  worker.bus.hint('events')
  await until('the event that was left behind', async () => (await p.event(left)).status === 'DELIVERED')
  assert.equal(p.receiver.received.length, 2)
})

test('[A2.events.state.submitting-failed, A2.events.state.submit-failed-retried] what cannot be queued for a cause of ours waits as SUBMIT_FAILED, spends no attempt, holds up no other, and goes out later', async (t) => {
  const p = await eventful(t)
  await p.endpoint()
  await p.sql(`create function public.refuse() returns trigger language plpgsql as $$ begin
    if old.type = 'payment.declined' then raise 'no room'; end if;
    return old; end $$`)
  await p.sql('create trigger refuse before delete on delivery.outbox for each row execute function public.refuse()')
  const [declined, approved] = [await p.payment(cards.declined), await p.payment()]
  await until('the other event', async () => (await p.event(approved)).status === 'DELIVERED')
  await until('the failure', async () => (await p.event(declined)).status === 'SUBMIT_FAILED')
  const failed = await p.event(declined)
  assert.equal(failed.attempt_count, 0)
  assert.ok(failed.next_attempt_at !== null && failed.next_attempt_at > failed.created_at)

  await p.sql('drop trigger refuse on delivery.outbox')
  await p.advance(600)
  const done = await p.event(declined)
  assert.deepEqual([done.status, done.attempt_count], ['DELIVERED', 1])
  assert.ok(p.logged.some((line) => line.includes('could not be dispatched') && line.includes(done.id)))
})
