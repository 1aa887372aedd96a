import assert from 'node:assert/strict'
import { test } from 'node:test'
import { targetOf } from '../../test/cluster.ts'
import { eventually } from '../../test/faults/eventually.ts'
import { startDeliveryRoom, type DeliveryRoom } from '../../test/delivery-room.ts'
import { startReceiver } from '../../test/receiver.ts'

const seconds = (count: number) => count * 1_000
const days = (count: number) => seconds(count * 86_400)

const queue = (room: DeliveryRoom) =>
  room.query<{ attempt_no: number; setback_count: number; leased: boolean; waits: number }>(
    `select attempt_no, setback_count, lease_until is not null as leased,
            round(extract(epoch from run_at - kernel.now()))::integer as waits from delivery.queue order by id`,
  )

test('a result that cannot be stored holds up no other, and its attempt is repeated and counted once', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  const [poison, ...others] = await room.happen(40)
  const allow = await room.refuse('insert', 'delivery.attempts', poison?.id)
  room.work()
  await room.sandboxClock.idle()
  assert.deepEqual(await room.statuses(), { SUBMITTED: 1, DELIVERED: others.length })
  assert.deepEqual(await queue(room), [{ attempt_no: 0, setback_count: 1, leased: false, waits: 1 }])
  assert.match(await room.metrics.registry.metrics(), /^kaha_delivery_results_unstored_total 1$/m)
  // Ever later: at least this long after the time at which it was due before.
  const dueAt = async () => (await room.query<{ run_at: Date }>('select run_at from delivery.queue'))[0]?.run_at
  for (const waitSeconds of [2, 4, 8]) {
    const dueBefore = await dueAt()
    await room.sandboxClock.advanceBy(seconds(waitSeconds / 2))
    assert.ok(Number(await dueAt()) - Number(dueBefore) >= seconds(waitSeconds))
  }
  assert.equal(receiver.received.length, 40 + 3)
  await allow()
  await room.sandboxClock.advanceBy(seconds(10))
  assert.deepEqual(await room.statuses(), { DELIVERED: 40 })
  assert.equal((await room.events()).find(({ id }) => id === poison?.id)?.attempt_count, 1)
})

test('a delivery whose end is known already, against all expectation, is repeated once and not for ever', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  const { id } = await room.endpoint(receiver.url)
  const [event] = await room.happen()
  await room.query(
    `insert into delivery.deliveries (event_id, destination_id, state, attempt_count, dispatched_at, ended_at)
     values ($1, $2, 'CLOSED', 0, kernel.now(), kernel.now())`,
    [event?.id, id],
  )
  room.work()
  await room.sandboxClock.idle()
  assert.deepEqual(await queue(room), [{ attempt_no: 0, setback_count: 1, leased: false, waits: 1 }])
  await room.sandboxClock.advanceBy(days(5))
  assert.deepEqual(await room.statuses(), { DELIVERED: 1 })
  assert.equal(receiver.received.length, 2)
})

test('nor for ever one that had waited for a retry', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  const { id } = await room.endpoint(receiver.url)
  receiver.answer = (_request, response) => void response.writeHead(500).end()
  room.work()
  const [event] = await room.happen()
  await room.sandboxClock.idle()
  assert.deepEqual(
    (await queue(room)).map(({ attempt_no }) => attempt_no),
    [1],
  )
  await room.query(
    `insert into delivery.deliveries (event_id, destination_id, state, attempt_count, dispatched_at, ended_at)
     values ($1, $2, 'CLOSED', 0, kernel.now(), kernel.now())`,
    [event?.id, id],
  )
  receiver.answer = (_request, response) => void response.writeHead(200).end()
  await room.sandboxClock.advanceBy(seconds(60))
  assert.deepEqual(await room.statuses(), { DELIVERED: 1 })
  assert.equal(receiver.received.length, 3)
})

test('a result that comes when another worker has taken the delivery over is counted, and not stored', async () => {
  await using room = await startDeliveryRoom({ random: () => 0 })
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  // By one that died of it.
  const takenOver = `with other as (update delivery.queue set fence = fence + 1, lease_until = clock_timestamp())
    update delivery.lanes set look_at = kernel.now()`
  receiver.answer = (_request, response) => {
    if (receiver.received.length === 1) response.writeHead(500).end()
    else if (receiver.received.length > 2) response.writeHead(204).end()
    else void room.query(takenOver).then(() => response.writeHead(500).end())
  }
  const lost = async () => /^kaha_delivery_results_lost_total (\d+)$/m.exec(await room.metrics.registry.metrics())?.[1]
  room.work()
  await room.happen()
  await room.sandboxClock.idle()
  assert.equal(await lost(), '0')
  const advancing = room.sandboxClock.advanceBy(seconds(60))
  await eventually(async () => (await lost()) === '1')
  // The other one, which looks at once what is left over.
  room.work()
  await advancing
  assert.deepEqual(await room.statuses(), { DELIVERED: 1 })
  assert.equal(receiver.received.length, 3)
  const attempts = await room.query<{ status: number }>('select status from delivery.attempts order by number')
  assert.deepEqual(attempts, [{ status: 500 }, { status: 204 }])
  assert.equal(await lost(), '1')
})

test('a result that comes while the database is away is stored when it is back, and the attempt is not repeated', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  const waiting: (() => void)[] = []
  receiver.answer = (_request, response) => void waiting.push(() => response.writeHead(200).end())
  room.work()
  await room.happen(20)
  await eventually(() => waiting.length === 20)
  await withoutDatabase(room, async () => {
    for (const answer of waiting) answer()
    await eventually(async () => (await room.db.run({ name: '', text: 'select 1' }, []).catch(() => null)) === null)
  })
  await eventually(async () => (await room.statuses().catch(() => ({ DELIVERED: 0 })))['DELIVERED'] === 20)
  assert.equal(receiver.received.length, 20)

  // And the loops go on.
  receiver.answer = (_request, response) => void response.writeHead(200).end()
  await room.happen(3)
  await eventually(async () => (await room.statuses())['DELIVERED'] === 23)
})

/** Cuts every connection to the room's database and lets no new one in, as long as `work` takes. */
async function withoutDatabase(room: DeliveryRoom, work: () => Promise<void>): Promise<void> {
  const { default: pg } = await import('pg')
  const { connectionConfig } = await import('../kernel/db.ts')
  const [row] = await room.query<{ name: string }>('select current_database() as name')
  const name = row?.name ?? ''
  const admin = new pg.Client(connectionConfig(targetOf(room.target, 'postgres')))
  await admin.connect()
  try {
    await admin.query(`alter database ${name} allow_connections false`)
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    await work()
  } finally {
    await admin.query(`alter database ${name} allow_connections true`)
    await admin.end()
  }
}
