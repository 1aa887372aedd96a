import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDeliveryRoom, type DeliveryRoom } from '../../test/delivery-room.ts'
import { eventually } from '../../test/faults/eventually.ts'
import { startReceiver } from '../../test/receiver.ts'
import { newId } from '../kernel/ids.ts'
import { createLog } from '../kernel/log.ts'
import { createMetrics } from '../kernel/metrics.ts'
import { startDispatcher } from './dispatcher.ts'
import { createFigures } from './figures.ts'
import { dispatchStore } from './store-dispatch.ts'

const leaseMs = 15_000

const statuses = async (room: DeliveryRoom) => (await room.events()).map(({ status }) => status)

test('A2.sent.descendants, A2.sent.subscribed: endpoints of the branch, its merchant and its partner get an event; no other does', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  const at = (path: string) => new URL(path, receiver.url).href
  const elsewhere = { ...room.branch, entityId: newId(room.clock.now()) }
  await room.endpoint(at('/branch'))
  await room.endpoint(at('/merchant'), room.merchant)
  await room.endpoint(at('/partner'), room.partner)
  await room.endpoint(at('/another-branch'), { ...elsewhere, branchId: elsewhere.entityId })
  await room.delivery.destinations.create(room.branch, {
    dialect: 'signed',
    url: at('/another-type'),
    types: ['payment.declined', 'payment.failed'],
    description: null,
    metadata: {},
  })
  room.work()
  await room.happen()
  await room.sandboxClock.idle()
  assert.deepEqual(receiver.received.map(({ path }) => path).toSorted(), ['/branch', '/merchant', '/partner'])
  assert.deepEqual(await statuses(room), ['DELIVERED'])
})

test('an event goes to endpoints of its own kind alone, though another kind has a type of the same name', async () => {
  await using room = await startDeliveryRoom()
  const types = ['payment.failed']
  const made = new Map<string, string>()
  for (const dialect of ['signed', 'terminal', 'encrypted'] as const) {
    const input = { dialect, url: `http://127.0.0.1:9/${dialect}`, types, description: null, metadata: {} }
    made.set((await room.delivery.destinations.create(room.branch, input)).id, dialect)
  }
  for (const dialect of ['signed', 'terminal'] as const) {
    const [event] = await room.happen(1, { dialect, type: 'payment.failed' })
    await dispatchStore.dispatchDue(room.workDb, 10)
    const queued = await room.query<{ destination_id: string }>(
      'select destination_id from delivery.queue where event_id = $1',
      [event?.id],
    )
    assert.deepEqual(
      queued.map((row) => made.get(row.destination_id)),
      [dialect],
    )
  }
})

test('A2.events.state.submitting-not-subscribed: an event that no endpoint takes is NOT_SUBSCRIBED, and stays so when one comes later', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  room.work()
  const [event] = await room.happen()
  await room.sandboxClock.idle()
  await room.endpoint(receiver.url)
  await room.sandboxClock.advanceBy(3_600_000)
  assert.deepEqual(receiver.received, [])
  const [shown] = await room.events()
  assert.deepEqual(
    [shown?.id, shown?.status, shown?.attempt_count, shown?.next_attempt_at, shown?.delivered_at],
    [event?.id, 'NOT_SUBSCRIBED', 0, null, null],
  )
})

test('A2.events.state.pending-taken, A2.events.state.submitting-queued: an event is PENDING until a dispatcher takes it, then SUBMITTING, then SUBMITTED', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint('http://127.0.0.1:9/hook')
  await room.happen()
  assert.deepEqual(await statuses(room), ['PENDING'])
  const events = await dispatchStore.claim(room.workDb, 10, leaseMs)
  assert.deepEqual(await statuses(room), ['SUBMITTING'])
  assert.equal((await dispatchStore.dispatchClaimed(room.workDb, events)).queued, 1)
  assert.deepEqual(await statuses(room), ['SUBMITTED'])
  const [shown] = await room.events()
  assert.ok(shown?.next_attempt_at && shown.next_attempt_at <= room.clock.now())
})

test('A2.events.state.submitting-lease: the event of a dispatcher that died is taken over when its lease has run out, and the late one can do nothing more', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  await room.happen()
  const late = await dispatchStore.claim(room.workDb, 10, 0)
  const owner = await dispatchStore.claim(room.workDb, 10, leaseMs)
  assert.deepEqual(await dispatchStore.claim(room.workDb, 10, leaseMs), [])
  assert.equal((await dispatchStore.dispatchDue(room.workDb, 10)).lags.length, 0)
  assert.equal(owner[0]?.fence, (late[0]?.fence ?? 0) + 1)
  assert.equal((await dispatchStore.dispatchClaimed(room.workDb, late)).queued, 0)
  assert.deepEqual(await statuses(room), ['SUBMITTING'])
  assert.deepEqual(await room.query('select * from delivery.queue'), [])

  // The control: it is the fence that stopped it.
  const renamed = late.map((event) => ({ ...event, fence: event.fence + 1 }))
  assert.equal((await dispatchStore.dispatchClaimed(room.workDb, renamed)).queued, 1)
  room.work()
  await room.sandboxClock.idle()
  assert.equal(receiver.received.length, 1)
})

test('A2.events.state.submitting-failed, A2.events.state.submit-failed-retried: an event that cannot be queued is SUBMIT_FAILED and tried again, and holds up no other', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  const [poison, ...others] = await room.happen(50)
  const allow = await room.refuse('delete', 'delivery.outbox', poison?.id)
  room.work()
  await room.sandboxClock.idle()
  assert.equal(receiver.received.length, others.length)
  const shown = async () => (await room.events()).find(({ id }) => id === poison?.id)
  assert.equal((await shown())?.status, 'SUBMIT_FAILED')
  assert.ok((await shown())?.next_attempt_at)
  assert.match(await room.metrics.registry.metrics(), /kaha_delivery_dispatch_failures_total [1-9]/)

  await allow()
  await room.sandboxClock.advanceBy(10_000)
  assert.deepEqual([(await shown())?.status, (await shown())?.attempt_count], ['DELIVERED', 1])
  assert.equal(receiver.received.length, others.length + 1)
})

test('a lane that is being closed takes no more work, though its destination still seemed enabled', async () => {
  await using room = await startDeliveryRoom()
  await room.endpoint('http://127.0.0.1:9/hook')
  await room.query(`update delivery.lanes set state = 'CLOSING', version = version + 1`)
  await room.happen()
  const events = await dispatchStore.claim(room.workDb, 10, leaseMs)
  assert.equal((await dispatchStore.dispatchClaimed(room.workDb, events)).queued, 0)
  assert.deepEqual(await statuses(room), ['NOT_SUBSCRIBED'])
})

test('dispatchers that work at once dispatch each event once', async () => {
  await using room = await startDeliveryRoom()
  for (const path of ['a', 'b', 'c']) await room.endpoint(`http://127.0.0.1:9/${path}`)
  await room.happen(300)
  const dispatcher = async (apart: boolean): Promise<number> => {
    let queued = 0
    for (;;) {
      const events = apart ? await dispatchStore.claim(room.workDb, 20, leaseMs) : []
      const done = apart
        ? await dispatchStore.dispatchClaimed(room.workDb, events)
        : await dispatchStore.dispatchDue(room.workDb, 20)
      if (done.lags.length === 0) return queued
      queued += done.queued
    }
  }
  const queued = await Promise.all([dispatcher(false), dispatcher(true), dispatcher(false)])
  assert.equal(
    queued.reduce((sum, count) => sum + count, 0),
    900,
  )
  const [found] = await room.query<{ rows: number }>('select count(*)::integer as rows from delivery.queue')
  assert.equal(found?.rows, 900)
})

test('events that come one after another are dispatched together', async () => {
  await using room = await startDeliveryRoom({ dispatchRestMs: 2_000 })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  room.work()
  const count = 8
  for (let event = 0; event < count; event += 1) {
    await room.happen()
    // Longer than a dispatch takes, and all of them shorter than the rest.
    for (let look = 0; look < 40; look += 1) await room.query('select')
  }
  await room.sandboxClock.idle()
  assert.equal(receiver.received.length, count)
  const [found] = await room.query<{ dispatches: number }>(
    'select count(distinct dispatched_at)::integer as dispatches from delivery.deliveries',
  )
  assert.ok((found?.dispatches ?? count) <= count / 2, `${found?.dispatches} dispatches`)
})

/** Dispatches alone, with nobody to hand anything to. */
const dispatcher = (room: DeliveryRoom) =>
  startDispatcher({
    db: room.workDb,
    bus: room.bus,
    log: createLog('silent'),
    figures: createFigures({ metrics: createMetrics(), db: room.workDb, inFlight: () => 0 }),
    sender: {
      async hand(dispatch) {
        await dispatch({ rowsMax: 0, full: [], busy: [], quickRoom: 0, leaseMs }, { worth: 0, missing: 1 })
      },
      freed() {},
    },
    options: { leaseMs, restMs: 10, random: () => 0 },
  })

/** What a statement meets that changes more rows of a table than that. */
async function whereMore(room: DeliveryRoom, than: number, change: string, happens: string): Promise<void> {
  await room.query(`
    create function delivery.meet() returns trigger language plpgsql as $$
    begin
      if (select count(*) from changed) > ${than} then ${happens}; end if;
      return null;
    end $$`)
  await room.query(`
    create trigger meet after ${change} table as changed for each statement execute function delivery.meet()`)
}

const isDispatched = (room: DeliveryRoom) => async () =>
  (await room.query('select from delivery.outbox limit 1')).length === 0

test('more events than can be dispatched at once, for they go to many endpoints, are dispatched a few at a time', async () => {
  await using room = await startDeliveryRoom()
  for (let each = 0; each < 10; each += 1) await room.endpoint(`http://127.0.0.1:9/${each}`)
  const cancels = `raise exception 'canceled' using errcode = 'query_canceled'`
  await whereMore(room, 1_000, 'insert on delivery.queue referencing new', cancels)
  await room.happen(300)
  await using _ = dispatcher(room)
  await eventually(isDispatched(room))
  assert.equal((await room.query('select from delivery.queue')).length, 3_000)
})

test('events that go to many endpoints are dispatched so many at a time that no dispatch takes long', async () => {
  await using room = await startDeliveryRoom()
  for (let each = 0; each < 25; each += 1) await room.endpoint(`http://127.0.0.1:9/${each}`)
  await room.happen(1_000)
  await using _ = dispatcher(room)
  await eventually(isDispatched(room))
  const made = await room.query<{ deliveries: number }>(
    'select count(*)::integer as deliveries from delivery.queue group by dispatched_at order by dispatched_at',
  )
  assert.deepEqual(
    made.map(({ deliveries }) => deliveries),
    [12_500, 10_000, 2_500],
  )
})

test('of many events a worker sends the first while the others are dispatched', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  await whereMore(room, 64, 'delete on delivery.outbox referencing old', 'perform pg_sleep(1)')
  await room.happen(300)
  room.work()
  await eventually(() => receiver.received.length >= 64)
  assert.equal(await isDispatched(room)(), false)
  await room.sandboxClock.idle()
  assert.equal(receiver.received.length, 300)
})
