import type { Db } from '../src/kernel/db.ts'
import { sql } from './sql.ts'

/** Keeps whoever wants the lock that this statement takes waiting, until what it resolves to is called. */
export async function heldLock(db: Db, statement: string): Promise<() => Promise<void>> {
  const [began, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const over = db.tx(async (tx) => {
    await sql(tx, statement)
    began.resolve()
    await release.promise
  })
  await began.promise
  return async () => {
    release.resolve()
    await over
  }
}
