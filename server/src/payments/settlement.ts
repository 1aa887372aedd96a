import type { Db } from '../kernel/db.ts'
import { settlementStore as store } from './store-settlement.ts'

const rowsMaxDefault = 2_000

/**
 * Settles what was captured before each 00:00 in Asia/Manila: a batch a day, made in steps of a bounded size and shown once it is
 * closed. A turn does one step of the batch that is due and resolves to ms until the next. Safe in several processes: a step holds
 * the batch's row.
 */
export function createSettlement({
  db,
  rowsMax = rowsMaxDefault,
}: {
  db: Db
  rowsMax?: number
}): () => Promise<number> {
  const step = () =>
    db.tx(async (tx) => {
      const batch = await store.openBatch(tx)
      if (batch === undefined) return false
      // One step may leave rows that a refund of this moment holds; an empty one shows that none is left.
      if ((await store.settleRows(tx, batch, rowsMax)) === 0) await store.closeBatch(tx, batch)
      return true
    })
  return async () => ((await step()) ? 0 : store.nextSettlement(db))
}
