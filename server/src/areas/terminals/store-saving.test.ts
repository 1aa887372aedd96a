import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/cluster.ts'
import { eventually } from '../../../test/faults/eventually.ts'
import { sql } from '../../../test/sql.ts'
import { createDb, type Db, type Queries } from '../../kernel/db.ts'
import { newCourse } from './course.ts'
import { StaleRow, transactionStore as store, type TransactionRow } from './store-transactions.ts'

const [groupId, keyId] = [randomUUID(), randomUUID()]

/** Stores so many payments as they begin. */
const begin = (db: Db, count: number) =>
  sql<{ id: string }>(
    db,
    `insert into terminals.transactions (id, group_id, transaction_id, partner_id, merchant_id, branch_id, terminal_id, addressed, key_id, way,
       webhook_mode, request_hash, request, amount, currency, payment_method, state, created_at, updated_at)
     select n.id, '${groupId}', n.id::text, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'pos', '${keyId}', 'http',
            false, '', '{}', 100, 'PHP', 'CASH', 'PENDING', now(), now() from (select gen_random_uuid() as id from generate_series(1, ${count})) n
     returning id`,
  ).then((rows) =>
    store.readAll(
      db,
      rows.map(({ id }) => ({ id, groupId })),
    ),
  )

const save = (on: Queries, rows: readonly TransactionRow[]) => {
  const at = new Date()
  const saves = rows.map((before) => {
    const course = { ...before, state: 'COMPLETED' as const, outcome: 'SUCCESS' as const, outcome_at: at, ended_at: at }
    return { before, heldBy: null, course: { ...course, updated_at: at }, report: 'CAPTURED' }
  })
  return store.saveAll(on, saves, null)
}

const walked = async (db: Db): Promise<number> => {
  await sql(db, 'select pg_stat_force_next_flush()')
  const read = `select seq_tup_read::integer as rows from pg_stat_user_tables where schemaname = 'terminals' and relname = 'transactions'`
  return (await sql<{ rows: number }>(db, read))[0]?.rows ?? Number.NaN
}

test('however many payments there have come to be, saving one walks through none of them', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, connectionsMax: 1, onError: () => {} })
  // The plans are made while hardly any payment is there, and kept.
  await sql(db, 'analyze')
  for (const row of await begin(db, 10)) await save(db, [row])
  const rows = await begin(db, 600)
  const before = await walked(db)
  await save(db, rows.slice(0, 20))
  for (const row of rows.slice(20, 30)) await save(db, [row])
  assert.equal((await walked(db)) - before, 0)
})

test('a payment that another changes while it is waited for is not saved over that', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, onError: () => {} })
  const [row] = await begin(db, 1)
  assert.ok(row)
  let saving: Promise<unknown> | undefined
  await db.tx(async (tx) => {
    await save(tx, [row])
    saving = save(db, [row]).catch((error: unknown) => error)
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await eventually(async () => (await sql(db, waiting))[0], { waitMsMax: 5_000, pollMs: 5 })
  })
  assert.ok((await saving) instanceof StaleRow)
  assert.equal((await store.readAll(db, [{ id: row.id, groupId }]))[0]?.version, 1)
})

test('whatever may change of a payment is saved', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, onError: () => {} })
  const [{ body } = { body: '' }] = await sql<{ body: string }>(
    db,
    `select prosrc as body from pg_proc where oid = 'terminals.save_transactions'::regproc`,
  )
  const names = Object.keys(newCourse)
  assert.deepEqual(
    names.filter((name) => !new RegExp(String.raw`\b${name} = g\.${name}[, ]`).test(body)),
    [],
  )
})
