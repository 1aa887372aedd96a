import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/cluster.ts'
import { sql } from '../../../test/sql.ts'
import { createDb, statement, type Queries } from '../../kernel/db.ts'
import { newId } from '../../kernel/ids.ts'
import { takingStore as store, type Offered } from './store-taking.ts'

const readStatement = statement(
  'test.readRows',
  `select relname as name, seq_tup_read::integer as walked from pg_stat_xact_user_tables where schemaname = 'terminals' order by relname`,
)

/** The rows of walks through all of a table, since the connection last told the statistics. */
const rowsWalked = async (tx: Queries) =>
  new Map((await tx.run<{ name: string; walked: number }>(readStatement, [])).map(({ name, walked }) => [name, walked]))

test('however many payments and signatures there have come to be, taking one walks through none of them', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, connectionsMax: 1, onError: () => {} })
  const [groupId, keyId] = [randomUUID(), randomUUID()]
  await sql(
    db,
    `insert into terminals.terminals (id, group_id, partner_id, merchant_id, branch_id, key_id, device_id, connection_id, status, connected_at, last_activity_at)
     select gen_random_uuid(), '${groupId}', gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'pos-' || n,
            gen_random_uuid(), 'online', now(), now() from generate_series(1, 700) n`,
  )
  // The plans are made while no payment is there, and kept.
  await sql(db, 'analyze')
  const offer = (index: number): Offered => {
    const at = new Date()
    const id = newId(at)
    const isChosen = index % 2 === 0
    return {
      wanted: {
        id,
        group_id: groupId,
        transaction_id: id,
        addressed: `pos-${index}`,
        partner_id: randomUUID(),
        merchant_id: randomUUID(),
        key_id: keyId,
        way: 'http',
        webhook_mode: false,
        request_hash: createHash('sha256').update(id).digest(),
        request: '{}',
        amount: 15_000n,
        currency: 'PHP',
        payment_method: 'CARD_PRESENT',
        created_at: at,
        wait_at: at,
      },
      terminal_id: null,
      is_chosen: isChosen,
      here: null,
      reach_at: at,
      signature: isChosen ? null : randomBytes(32),
      signed_until: isChosen ? null : new Date(at.getTime() + 300_000),
    }
  }
  const take = async (tx: Queries, from: number, count: number) => {
    const offered = Array.from({ length: count }, (_, index) => offer(from + index))
    const { looked } = await store.take(tx, offered, new Date(0))
    assert.deepEqual(
      looked.map((found) => found?.is_added),
      offered.map(() => true),
    )
  }
  for (let from = 1; from <= 600; from += 20) await take(db, from, 20)
  assert.equal((await sql(db, 'select from terminals.used_signatures')).length, 300)
  for (const [from, count] of [
    [601, 1],
    [602, 20],
  ] as const)
    await db.tx(async (tx) => {
      const before = await rowsWalked(tx)
      await take(tx, from, count)
      for (const [name, walked] of await rowsWalked(tx)) assert.equal(walked - (before.get(name) ?? 0), 0, name)
    })
})
