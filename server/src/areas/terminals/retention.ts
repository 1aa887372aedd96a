import type { Bus } from '../../kernel/bus.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../../kernel/db.ts'
import type { Log } from '../../kernel/log.ts'
import { startLoop } from '../../kernel/loop.ts'
import { onceIn } from '../../kernel/pace.ts'
import { retentionDays } from './machine.ts'
import { retentionStore } from './store-retention.ts'
import type { TransactionRow } from './store-transactions.ts'

const hour = 3_600_000
const day = 24 * hour
const retentionMs = { http: retentionDays.http * day, socket: retentionDays.socket * day }
const rowsAtOnceMax = 1_000

/** Whether a payment is gone from this API. Its id stays taken. */
export const isPastRetention = (row: Pick<TransactionRow, 'ended_at' | 'way'>, now: Date): boolean =>
  row.ended_at !== null && now.getTime() >= row.ended_at.getTime() + retentionMs[row.way]

/**
 * Once an hour of business time rows past their retention are dropped; those that need a person stay until they are settled. What was settled and
 * has no payment goes as long after that as a payment of HTTP.
 */
export function startRetention({
  db,
  bus,
  clock,
  log,
}: {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
}): AsyncDisposable {
  const drop = async (now: number): Promise<void> => {
    let dropped = 0
    for (const way of ['http', 'socket'] as const) {
      const before = new Date(now - retentionMs[way])
      for (let some = rowsAtOnceMax; some === rowsAtOnceMax; dropped += some)
        some = await retentionStore.drop(db, way, before, rowsAtOnceMax)
    }
    const settledBy = new Date(now - retentionMs.http)
    while ((await retentionStore.dropUnmatched(db, settledBy, rowsAtOnceMax)) === rowsAtOnceMax);
    if (dropped > 0) log.info({ dropped }, 'retention dropped terminal payments that were kept for long enough')
  }

  return startLoop('terminals.retention', { log, bus, wokenBy: ['clock'] }, onceIn(hour, clock, drop))
}
