import { statement, type Db, type Statement } from '../kernel/db.ts'

// The tables of work are empty most of the time, and that is when PostgreSQL makes and keeps its plans: it finds that reading all of such a
// table is cheapest, and goes on reading all of it when a million rows are there (seen: a settlement of 500 in 6 s). So the statements on them
// leave it no choice. Scans are off while they are planned. Rows are looked up by key in a lateral subquery, one by one, in the order
// in which they are to be locked; changed by an upsert on the key of a row that is held, or by `= any (array (…))`; never by a join.
const scansOff = statement(
  'delivery.scansOff',
  `select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true),
          set_config('plan_cache_mode', 'force_generic_plan', true)`,
)

/** Runs one statement on the tables of work, by index whatever the planner believes of their size. */
export function byIndex<Row extends object = Record<string, never>>(
  db: Db,
  query: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  return db.tx(async (tx) => {
    await tx.run(scansOff, [])
    return tx.run<Row>(query, values)
  })
}
