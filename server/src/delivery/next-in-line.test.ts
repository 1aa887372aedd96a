import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import {
  openOf,
  slowDown,
  slowed,
  startDeliveryRoom,
  type DeliveryRoom,
  type OpenDelivery,
} from '../../test/delivery-room.ts'
import { eventually } from '../../test/faults/eventually.ts'
import { freshDatabase } from '../../test/cluster.ts'
import { startPostgresProxy } from '../../test/postgres-proxy.ts'
import { startReceiver } from '../../test/receiver.ts'
import { dispatchStore } from './store-dispatch.ts'

const nothing = { url: null, types: null, description: null, metadata: null, disabled: null }

test('what is next in line for a destination goes back to the queue when the destination is paused, and out when it is open again', async () => {
  await using room = await startDeliveryRoom({ flyingMax: 2 })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  const waiting: (() => void)[] = []
  receiver.answer = (_request, response) => void waiting.push(() => response.writeHead(200).end())
  room.work()
  await room.happen(10)
  await eventually(async () => waiting.length === 2 && (await openOf(room)).every(({ leased }) => leased))

  await room.query(`update delivery.lanes set state = 'PAUSED', version = version + 1`)
  room.bus.hint('destinations')
  for (const answer of waiting) answer()
  await eventually(async () => (await openOf(room)).length === 8)
  assert.equal(receiver.received.length, 2)
  const left = await openOf(room)
  assert.ok(left.every(({ leased, attempt_no }) => !leased && attempt_no === 0))

  receiver.answer = (_request, response) => void response.writeHead(200).end()
  await room.query(`update delivery.lanes set state = 'OPEN', look_at = kernel.now(), version = version + 1`)
  room.bus.hint('deliveries')
  await room.sandboxClock.idle()
  assert.ok((await room.events()).every(({ status }) => status === 'DELIVERED'))
})

/** Those in the hands that took them first, in flight or next in line. */
const firstInHand = async (room: DeliveryRoom) => (await openOf(room)).filter(({ handed }) => handed)

const nobodys = 'http://127.0.0.1:9/'

const changes: readonly [string, (room: DeliveryRoom, id: string) => Promise<unknown>][] = [
  ['is paused', (room, id) => room.delivery.destinations.change(room.branch, id, { ...nothing, disabled: true })],
  ['gets another URL', (room, id) => room.delivery.destinations.change(room.branch, id, { ...nothing, url: nobodys })],
  ['is deleted', (room, id) => room.delivery.destinations.delete(room.branch, id)],
  ['gets another secret', (room, id) => room.delivery.destinations.rotateSecret(room.branch, id, 0)],
]

for (const [what, change] of changes) {
  test(`what is next in line for a destination is no longer when that ${what}, its id written in capitals`, async () => {
    await using room = await startDeliveryRoom({ flyingMax: 1 })
    await using receiver = await startReceiver()
    const waiting: (() => void)[] = []
    receiver.answer = (_request, response) => void waiting.push(() => response.writeHead(200).end())
    const { id } = await room.endpoint(receiver.url)
    room.work()
    await room.happen(5)
    await eventually(async () => waiting.length === 1 && (await firstInHand(room)).length === 5)

    assert.ok(await change(room, id.toUpperCase()))
    await eventually(async () => (await firstInHand(room)).length === 1)
    waiting[0]?.()
  })
}

test('a change of one destination leaves what is next in line for the others where it is', async () => {
  await using room = await startDeliveryRoom({ flyingMax: 1 })
  await using receiver = await startReceiver()
  await using other = await startReceiver()
  receiver.answer = () => {}
  other.answer = () => {}
  const changed = await room.endpoint(receiver.url)
  const left = await room.endpoint(other.url)
  room.work()
  await room.happen(5)
  const linesOf = async (id: string) => (await openOf(room)).filter((delivery) => delivery.destination_id === id)
  const inHand = async (id: string) => (await linesOf(id)).filter(({ leased }) => leased).length
  // What is still on its way into a worker's hands while it is changed is given back whole.
  await eventually(() => receiver.received.length === 1 && other.received.length === 1)
  await eventually(async () => (await inHand(changed.id)) === 5 && (await inHand(left.id)) === 5)
  const before = await linesOf(left.id)

  const url = `${receiver.url}/elsewhere`
  await room.delivery.destinations.change(room.branch, changed.id, { ...nothing, disabled: true })
  await eventually(async () => (await inHand(changed.id)) === 1)
  await room.delivery.destinations.change(room.branch, changed.id, { ...nothing, url, disabled: false })
  await eventually(async () => (await inHand(changed.id)) === 5)
  assert.deepEqual(await linesOf(left.id), before)

  // Nobody is named after an outage.
  room.bus.hint('destinations')
  await eventually(
    async () => (await linesOf(left.id)).filter(({ held_by: by }, at) => by !== before[at]?.held_by).length === 4,
  )
})

test('no more attempts go to one origin than it has connections for, and its destinations take turns', async () => {
  await using room = await startDeliveryRoom({ flyingMax: 2, flyingPerOriginMax: 2 })
  await using receiver = await startReceiver()
  const waiting: (() => void)[] = []
  receiver.answer = (_request, response) => void waiting.push(() => response.writeHead(200).end())
  for (const path of ['/a', '/b', '/c']) await room.endpoint(new URL(path, receiver.url).href)
  room.work()
  await room.happen(4)
  await eventually(async () => waiting.length === 2 && (await openOf(room)).every(({ handed }) => handed))
  for (let answered = 0; answered < 10; answered += 1) {
    waiting[answered]?.()
    await eventually(() => waiting.length === answered + 3)
    assert.equal(receiver.received.length, answered + 3)
  }
  for (const answer of waiting.slice(10)) answer()
  await room.sandboxClock.idle()
  assert.deepEqual(await room.statuses(), { DELIVERED: 4 })
  // By the order in which they came first.
  const paths = [...new Set(receiver.received.map(({ path }) => path))]
  const order = receiver.received.map(({ path }) => paths.indexOf(path))
  assert.deepEqual(order, [0, 0, 0, 1, 2, 0, 1, 2, 1, 2, 1, 2])
})

test('what is next in line behind an attempt that fails goes back to the queue, with nothing spent', async () => {
  await using room = await startDeliveryRoom({ flyingMax: 1, random: () => 0 })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  receiver.answer = (_request, response) => void response.writeHead(500).end()
  room.work()
  await room.happen(6)
  await room.sandboxClock.idle()
  assert.equal(receiver.received.length, 6)
  assert.deepEqual(
    (await openOf(room)).map(({ attempt_no }) => attempt_no),
    [1, 1, 1, 1, 1, 1],
  )
})

test('what is next in line goes back to the queue when its destination is paused while no hint of other processes arrives', async () => {
  await using database = await freshDatabase()
  await using line = await startPostgresProxy(database.target)
  await using room = await startDeliveryRoom({ flyingMax: 1, target: database.target, hearsThrough: line.target })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  const waiting: (() => void)[] = []
  receiver.answer = (_request, response) => void waiting.push(() => response.writeHead(200).end())
  room.work()
  await room.happen(5)
  await eventually(async () => waiting.length === 1 && (await openOf(room)).every(({ leased }) => leased))

  line.becomes('closed')
  await eventually(() => !room.bus.connected)
  await room.query(`update delivery.lanes set state = 'PAUSED', version = version + 1`)
  await eventually(async () => (await openOf(room)).filter(({ leased }) => !leased).length === 4)
  waiting[0]?.()
  await eventually(async () => (await openOf(room)).length === 4)
  assert.equal(receiver.received.length, 1)
})

for (const [what, change] of changes) {
  test(`nothing begins of what a claim takes while its destination ${what}: it goes back to the queue`, async () => {
    await using room = await startDeliveryRoom({ flyingMax: 2 })
    await using receiver = await startReceiver()
    receiver.answer = () => {}
    const { id } = await room.endpoint(receiver.url)
    const { secret } = await room.delivery.destinations.signingSecret(id)
    await slowDown(room, 'before update on delivery.queue')
    // More than one claim takes, so that it does not hold the lane.
    await room.happen(300)
    await dispatchStore.dispatchDue(room.workDb, 300)
    room.work()
    await eventually(async () => (await room.query(slowed)).length > 0)
    await change(room, id)
    assert.equal(receiver.received.length, 0)

    const isLookedAtAnew = ({ leased, held_by: by }: OpenDelivery) =>
      !by.endsWith(' 0') && !(leased && by.endsWith(' 1'))
    await eventually(async () => {
      const open = await openOf(room)
      return open.length < 300 || open.some(isLookedAtAnew) || receiver.received.length > 0
    })
    // All it may get is signed with the secret that it has now.
    for (const { body, headers } of receiver.received) {
      assert.throws(() => new Webhook(secret).verify(body, headers as Record<string, string>))
    }
  })
}

test('nothing begins of what a dispatch hands over while its destination changes: it goes out by the queue', async () => {
  let laneRead = () => {}
  const ran = (name: string) => {
    if (name === 'delivery.readLanes') laneRead()
  }
  await using room = await startDeliveryRoom({ ran })
  await using receiver = await startReceiver()
  const { id } = await room.endpoint(receiver.url)
  const inHands: number[] = []
  const noteInHands = async () => void inHands.push((await firstInHand(room)).length)
  receiver.answer = (_request, response) => void noteInHands().finally(() => response.writeHead(200).end())
  laneRead = () => room.bus.say('destinations', [id])
  room.work()
  await room.happen(3)
  await room.sandboxClock.idle()
  assert.deepEqual(inHands, [0, 0, 0])
  assert.deepEqual(await room.statuses(), { DELIVERED: 3 })
})

for (const [taken, change, when] of [
  ['claimed', 'update', 'when (new.lease_until is null)'],
  ['handed over', 'insert', ''],
] as const) {
  test(`what was ${taken} and cannot be given back is found when its lease has run out, and its worker goes on`, async () => {
    await using room = await startDeliveryRoom({ flyingMax: 1, leaseMs: 900 })
    await using receiver = await startReceiver()
    await room.endpoint(receiver.url)
    const waiting: (() => void)[] = []
    receiver.answer = (_request, response) => void waiting.push(() => response.writeHead(200).end())
    await room.happen(3)
    if (taken === 'claimed') await dispatchStore.dispatchDue(room.workDb, 3)
    room.work()
    await eventually(async () => waiting.length === 1 && (await openOf(room)).every(({ leased }) => leased))
    assert.ok((await openOf(room)).every(({ handed }) => handed === (taken === 'handed over')))
    await room.query('create sequence delivery.refusals')
    await room.query(`
      create function delivery.refuse() returns trigger language plpgsql as $$
      begin
        perform nextval('delivery.refusals');
        raise exception 'planted';
      end $$`)
    await room.query(
      `create trigger refuse before ${change} on delivery.queue for each row ${when} execute function delivery.refuse()`,
    )
    room.bus.hint('destinations')
    await eventually(async () => (await room.query('select from delivery.refusals where is_called')).length === 1)
    await room.query('drop trigger refuse on delivery.queue')
    receiver.answer = (_request, response) => void response.writeHead(200).end()
    waiting[0]?.()
    await room.sandboxClock.idle()
    assert.equal(receiver.received.length, 3)
    assert.deepEqual(await room.statuses(), { DELIVERED: 3 })
  })
}
