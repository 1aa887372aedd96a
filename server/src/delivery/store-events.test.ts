import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { startDeliveryRoom } from '../../test/delivery-room.ts'
import { sql } from '../../test/sql.ts'
import { levels, type Level, type Principal } from '../identity/principal.ts'
import { createDb, type Db } from '../kernel/db.ts'
import { largestId, newId, smallestId } from '../kernel/ids.ts'
import { dispatchStore } from './store-dispatch.ts'
import { eventStore, type EventFilter } from './store-events.ts'
import { byIndex } from './store-plan.ts'

const eventsCount = 20_000
const everything = { type: null, statuses: null, from: smallestId, before: largestId, rowsMax: 21 }

/** How much of the table of events the database has read so far: rows, and blocks of its indexes. */
async function readOf(db: Db) {
  await sql(db, 'select pg_stat_force_next_flush()')
  const [read] = await sql<{ rows: number; blocks: number }>(
    db,
    `select (select sum(t.idx_tup_fetch + t.seq_tup_read) from pg_stat_user_tables t where t.relname like 'events%')::integer as rows,
            (select sum(i.idx_blks_hit + i.idx_blks_read) from pg_statio_user_indexes i where i.relname like 'events%')::integer as blocks`,
  )
  if (read === undefined) throw new Error('nothing is told of the tables')
  return read
}

test('however many events its merchant has, a page is read where it stands', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, connectionsMax: 1, settings: byIndex, onError: () => {} })
  const at = new Date()
  const [partnerId, merchantId, branchId, emptyId] = [newId(at), newId(at), newId(at), newId(at)]
  await sql(db, 'select delivery.ensure_partitions($1::timestamptz, $1::timestamptz + interval $$1 day$$)', [at])
  const ids = await sql<{ id: string }>(
    db,
    `with event as (
       insert into delivery.events (id, dialect, type, partner_id, merchant_id, branch_id, body, created_at)
       select (substr($1::text, 1, 24) || lpad(to_hex(n), 12, '0'))::uuid, 'signed', 'payment.succeeded', $2, $3, $4, '{}', $5
         from generate_series(1, $6) n returning id
     )
     insert into delivery.unsubscribed (event_id, at) select e.id, $5 from event e returning event_id as id`,
    [newId(at), partnerId, merchantId, branchId, at, eventsCount],
  )
  await sql(db, 'vacuum (analyze) delivery.events')
  const entityIds: Readonly<Record<Level, string>> = { partner: partnerId, merchant: merchantId, branch: branchId }
  const page = async (level: Level, filter: Partial<EventFilter>) => {
    const entityId = level === 'branch' ? (filter.branchId ?? branchId) : entityIds[level]
    const key: Principal = {
      level,
      entityId,
      merchantId,
      branchId: null,
      keyId: newId(at),
      partnerId,
      scopes: new Set(),
    }
    const before = await readOf(db)
    const { rows } = await eventStore.list(db, key, { branchId, ...everything, ...filter })
    const after = await readOf(db)
    return { found: rows.length, rows: after.rows - before.rows, blocks: after.blocks - before.blocks }
  }

  for (const level of levels) {
    const empty = await page(level, { branchId: emptyId })
    assert.deepEqual([empty.found, empty.rows], [0, 0], level)
    const newest = await page(level, {})
    assert.equal(newest.found, 21, level)
    assert.equal(newest.rows, 0, `${level}: rows were read for what the index tells`)
    const middle = await page(level, { before: ids[eventsCount / 2]?.id ?? '' })
    assert.equal(middle.found, 21, level)
    assert.ok(middle.blocks <= 20, `${level}: ${middle.blocks} blocks of the index were read for 21 rows in its middle`)
    const rare = await page(level, { type: 'payment.expired' })
    assert.equal(rare.found, 0, level)
    assert.equal(rare.rows, 0, `${level}: rows were read of the 1,000 that are looked at`)
  }
})

test('however many hands have come and gone since the last vacuum, a page passes what is left of them once', async () => {
  await using room = await startDeliveryRoom()
  const { id } = await room.endpoint('http://127.0.0.1:9/hook')
  await sql(room.db, 'alter table delivery.hands set (autovacuum_enabled = false)')
  await room.happen(200)
  await dispatchStore.dispatchDue(room.workDb, 200)
  await sql(
    room.db,
    `insert into delivery.hands (destination_id, event_ids, dispatched_at, lease_until)
     select $1, array[gen_random_uuid()], kernel.now(), clock_timestamp() from generate_series(1, 5000)`,
    [id],
  )
  await sql(room.db, 'delete from delivery.hands')
  const blocksFor = async (rowsMax: number) => {
    const before = await blocksOfHands(room.workDb)
    const { rows } = await eventStore.list(room.workDb, room.branch, {
      branchId: room.branch.entityId,
      ...everything,
      rowsMax,
    })
    assert.equal(rows.length, rowsMax)
    assert.ok(rows.every(({ status }) => status === 'SUBMITTED'))
    return (await blocksOfHands(room.workDb)) - before
  }
  const [first, one, many] = [await blocksFor(1), await blocksFor(1), await blocksFor(200)]
  assert.ok(first > 20, `the first page read ${first} blocks of 5,000 hands that are gone`)
  assert.ok(many <= one, `a page of 200 read ${many} blocks, one of a single event ${one}`)
})

async function blocksOfHands(db: Db): Promise<number> {
  await sql(db, 'select pg_stat_force_next_flush()')
  const [read] = await sql<{ blocks: number }>(
    db,
    `select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::integer as blocks
       from pg_statio_user_tables where relid = 'delivery.hands'::regclass`,
  )
  return read?.blocks ?? Number.NaN
}
