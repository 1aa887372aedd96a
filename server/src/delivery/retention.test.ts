import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { startDeliveryRoom, type DeliveryRoom } from '../../test/delivery-room.ts'
import { eventually } from '../../test/faults/eventually.ts'
import { cardOf, platform } from '../../test/platform.ts'
import { startReceiver } from '../../test/receiver.ts'
import { createDb, statement } from '../kernel/db.ts'
import { largestId, smallestId } from '../kernel/ids.ts'
import { createLog } from '../kernel/log.ts'
import { countLoops } from '../kernel/loop.ts'
import { ensurePartitions, retentionDefaults, startRetention } from './retention.ts'
import { dispatchStore } from './store-dispatch.ts'
import { partitionStore } from './store-partitions.ts'

const day = 24 * 60 * 60 * 1_000

const count = async (room: DeliveryRoom, table: string) =>
  (await room.query<{ rows: number }>(`select count(*)::integer as rows from delivery.${table}`))[0]?.rows

const untilEmpty = (room: DeliveryRoom, table: string) => eventually(async () => (await count(room, table)) === 0)

const partitions = async (room: DeliveryRoom, table: string) =>
  (
    await room.query<{ name: string }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::regclass order by 1`,
      [`delivery.${table}`],
    )
  ).map(({ name }) => name)

test('attempts are kept for 30 days and events for 90, in business time, and whole partitions are dropped', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  room.work()
  await room.happen(3)
  await room.happen(1, { type: 'payment.failed' })
  await room.sandboxClock.idle()
  const counts = async () => [
    await count(room, 'events'),
    await count(room, 'unsubscribed'),
    await count(room, 'deliveries'),
    await count(room, 'attempts'),
  ]

  await room.sandboxClock.advanceBy(29 * day)
  await room.happen(1)
  await room.sandboxClock.idle()
  assert.deepEqual(await counts(), [5, 1, 4, 4])
  assert.ok((await partitions(room, 'attempts')).length > 0)

  // A week is dropped when all of it is old enough.
  await room.sandboxClock.advanceBy(38 * day)
  await untilEmpty(room, 'attempts')
  assert.deepEqual(await counts(), [5, 1, 4, 0])
  assert.equal((await room.events()).length, 5)

  await room.sandboxClock.advanceBy(60 * day)
  await eventually(async () => (await counts()).every((rows) => rows === 0))

  await room.happen(1)
  await room.sandboxClock.idle()
  assert.deepEqual(await counts(), [1, 0, 1, 1])
})

test('A2.pause.retention: what waits before a paused destination waits until retention ends, and no longer', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  const { id } = await room.endpoint(receiver.url)
  receiver.answer = (_request, response) => response.writeHead(500).end()
  room.work()
  await room.happen(2)
  await room.sandboxClock.idle()
  await room.query(`update delivery.lanes set state = 'PAUSED', version = version + 1 where destination_id = $1`, [id])
  await room.sandboxClock.advanceBy(60 * day)
  assert.equal(await count(room, 'queue'), 2)
  await room.sandboxClock.advanceBy(40 * day)
  await untilEmpty(room, 'events')
  await untilEmpty(room, 'queue')
  assert.equal(await count(room, 'outbox'), 0)
})

test('the weeks to come have their partitions, and making them again makes none', async () => {
  await using room = await startDeliveryRoom()
  const before = await partitions(room, 'events')
  assert.ok(before.length >= 6)
  await room.delivery.ensurePartitions(room.clock.now())
  assert.deepEqual(await partitions(room, 'events'), before)
  await Promise.all(
    [1, 2, 3].map(() => room.delivery.ensurePartitions(new Date(room.clock.now().getTime() + 70 * day))),
  )
  const after = await partitions(room, 'events')
  assert.ok(after.length > before.length)
  assert.equal(new Set(after).size, after.length)
  for (const table of ['unsubscribed', 'deliveries', 'attempts']) {
    assert.deepEqual(
      (await partitions(room, table)).map((name) => name.slice(-7)),
      after.map((name) => name.slice(-7)),
    )
  }
})

test('a process without a worker has made its partitions before it answers', async (t) => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, onError: () => {} })
  const all = statement(
    'test.partitions',
    `select inhrelid from pg_inherits where inhparent = 'delivery.events'::regclass`,
  )
  for (const table of ['events', 'deliveries', 'unsubscribed', 'attempts'] as const)
    await partitionStore.drop(db, table, new Date(Date.now() + 365 * day))
  assert.equal((await db.run(all, [])).length, 0)
  await platform(t, { database: database.target, settings: { KAHA_ROLES: 'api' } })
  assert.ok((await db.run(all, [])).length >= 6)
})

test('a process without a worker goes on making its partitions, so that a payment finds one however long ago it was started', async (t) => {
  const p = await platform(t, { settings: { KAHA_ROLES: 'api' } })
  const { db, clock, bus } = p.kaha
  const isAhead = statement(
    'test.isAhead',
    `select from pg_class where relname = to_char(kernel.now() at time zone 'UTC' + interval '28 days', '"events_"IYYY"w"IW')`,
  )
  for (const days of [50, 80]) {
    await db.run(statement('', 'select kernel.raise_clock_offset($1)'), [days * day])
    await clock.refresh(db)
    bus.hint('clock')
    await eventually(async () => (await db.run(isAhead, [])).length === 1)
    const { id } = await p.sdk.paymentIntents.create({
      amount: 100,
      currency: 'PHP',
      merchant_branch_reference_number: p.branch.reference_number,
    })
    const paid = await p.sdk.paymentIntents.confirm(id, { payment_method: { type: 'card', card: cardOf() } })
    assert.equal(paid.status, 'SUCCEEDED')
  }
})

test('weeks follow each other without a gap where the server keeps a summer time', async () => {
  await using database = await freshDatabase()
  const { target } = database
  await using room = await startDeliveryRoom({ target })
  const [row] = await room.query<{ name: string }>('select current_database() as name')
  await room.query(`alter database ${row?.name} set timezone = 'America/New_York'`)
  await using db = createDb({ target, onError: () => {} })
  const from = Date.UTC(2030, 0, 7)
  for (let week = 0; week < 53; week += 1) await ensurePartitions(db, new Date(from + week * 7 * day))
  const bounds = await room.query<{ text: string }>(`
    select pg_get_expr(c.relpartbound, c.oid) as text from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'delivery.attempts'::regclass and c.relname > 'attempts_2030w01' order by c.relname`)
  const weeks = bounds.map(({ text }) => text.match(/\d{4}-[^']+/g)?.map((time) => Date.parse(`${time}00`)) ?? [])
  assert.ok(weeks.length >= 53)
  for (const [index, week] of weeks.entries()) {
    const starts = from + index * 7 * day
    assert.deepEqual(week, [starts, starts + 7 * day])
  }
})

test('what is queued of an event that retention has dropped holds up nobody: not its endpoint, and no other', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  await room.endpoint(receiver.url)
  await room.endpoint(new URL('/other', receiver.url).href)
  const [dropped, ...others] = await room.happen(4)
  await dispatchStore.dispatchDue(room.workDb, 4)
  await room.query('delete from delivery.events where id = $1', [dropped?.id])
  room.work()
  await eventually(async () => (await room.events()).every(({ status }) => status === 'DELIVERED'))
  assert.equal(receiver.received.length, 2 * others.length)
})

// Of whoever would drop a table, in this database alone.
const waiting = `select from pg_locks l join pg_database d on d.oid = l.database
  where l.mode = 'AccessExclusiveLock' and not l.granted and d.datname = current_database()`

test('while a reader keeps old events from being dropped, what became of them is kept as well', async () => {
  await using room = await startDeliveryRoom()
  await using receiver = await startReceiver()
  await using reader = createDb({ target: room.target, onError: () => {} })
  const endpoint = await room.endpoint(receiver.url)
  const worker = room.work()
  const [event] = await room.happen(1)
  await room.sandboxClock.idle()
  await worker[Symbol.asyncDispose]()
  await room.sandboxClock.advanceBy(100 * day)

  await reader.tx(async (tx) => {
    await tx.run({ name: '', text: 'select from delivery.events' }, [])
    await using _ = room.work()
    await eventually(async () => (await room.query(waiting)).length > 0)
    await eventually(async () => (await room.query(waiting)).length === 0)
  })
  assert.deepEqual(
    (await room.events()).map(({ id, status }) => [id, status]),
    [[event?.id, 'DELIVERED']],
  )
  const branches = [room.branch.entityId]
  const ever = { from: smallestId, before: largestId }
  assert.equal(await room.delivery.events.recover(endpoint, ever, async () => branches.splice(0)), 0)
})

test('a reader of old events, such as a backup, is told of and is no failure of a turn, and what it kept goes an hour later', async () => {
  await using room = await startDeliveryRoom()
  await using reader = createDb({ target: room.target, onError: () => {} })
  const logged: string[] = []
  const into = new Writable({
    write(chunk: Buffer, _encoding, done) {
      logged.push(chunk.toString())
      done()
    },
  })
  const log = countLoops(createLog('info', into), room.metrics)
  await room.sandboxClock.advanceBy(100 * day)
  const old = (await partitions(room, 'events'))[0] ?? ''

  await using retaining = new AsyncDisposableStack()
  await reader.tx(async (tx) => {
    await tx.run({ name: '', text: 'select from delivery.events' }, [])
    retaining.use(startRetention({ ...room, log }, retentionDefaults))
    await eventually(() => logged.length > 0)
    await room.sandboxClock.advanceBy(day)
    await eventually(() => logged.length > 1)
  })
  assert.match(logged[0] ?? '', /a reader, such as a backup, keeps what is old/)
  assert.match(logged[1] ?? '', /"level":40,.*could not be dropped for a day/)
  assert.match(await room.metrics.text(), /^kaha_loop_failures_total\{loop="delivery\.retention"\} 0$/m)
  assert.ok((await partitions(room, 'events')).includes(old))

  await room.sandboxClock.advanceBy(day / 24)
  await eventually(async () => !(await partitions(room, 'events')).includes(old))
})
