import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import { isAway, isLockedOut, type Db } from '../kernel/db.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import { onceIn } from '../kernel/pace.ts'
import { partitionStore as store } from './store-partitions.ts'

const hour = 60 * 60 * 1_000
const day = 24 * hour

export interface RetentionOptions {
  readonly attemptsMs: number
  /** Of events and their deliveries. */
  readonly eventsMs: number
}

export const retentionDefaults: RetentionOptions = { attemptsMs: 30 * day, eventsMs: 90 * day }

const behindMs = 7 * day
const aheadMs = 35 * day
const queueRowsMax = 5_000

/** Makes the partitions that hold what happens around a time: the week before it and five after. */
export async function ensurePartitions(db: Db, around: Date): Promise<void> {
  await store.ensure(db, new Date(around.getTime() - behindMs), new Date(around.getTime() + aheadMs))
}

interface Parts {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
}

/** Now, and then once a day of business time, by every process: partitions ahead are made, for a payment needs one where no worker runs, too. */
export async function keepPartitions({ db, bus, clock, log }: Parts): Promise<AsyncDisposable> {
  const keep = (around: number) => ensurePartitions(db, new Date(around))
  const keptAt = clock.now().getTime()
  await keep(keptAt)
  return startLoop(
    'delivery.partitions',
    { log, bus, wokenBy: ['clock'] },
    onceIn(day, clock, keep, { doneAt: keptAt }),
  )
}

/** Once an hour of business time, by a worker: partitions whose time is up are dropped whole. */
export function startRetention(
  { db, bus, clock, log }: Parts,
  { attemptsMs, eventsMs }: RetentionOptions,
): AsyncDisposable {
  let keptSince = Infinity

  const drop = async (now: number): Promise<void> => {
    const eventsEnd = new Date(now - eventsMs)
    // Events first, and what is known of them only when they are gone: one without its deliveries would be taken for one that nobody got.
    const dropped: string[] = []
    try {
      dropped.push(...(await store.drop(db, 'events', eventsEnd)))
      while (!(await store.dropOldOpen(db, eventsEnd, queueRowsMax)));
      dropped.push(...(await store.drop(db, 'deliveries', eventsEnd)))
      dropped.push(...(await store.drop(db, 'unsubscribed', eventsEnd)))
      dropped.push(...(await store.drop(db, 'attempts', new Date(now - attemptsMs))))
      keptSince = Infinity
    } catch (error) {
      // A reader in the way is waited for a second at most; then the next hour is early enough.
      if (!isLockedOut(error)) throw error
      keptSince = Math.min(keptSince, now)
      if (now - keptSince < day)
        log.info('a reader, such as a backup, keeps what is old from being dropped; it is tried again in an hour')
      else
        log.warn(
          'what is old could not be dropped for a day, and the database grows: find the session that reads it in pg_stat_activity, and end it',
        )
    }
    if (dropped.length > 0) log.info({ dropped }, 'retention dropped what was kept for long enough')
  }

  // Whatever else is in the way is there in a moment too, and each try holds up who writes.
  const turn = onceIn(hour, clock, drop, { isRepeated: isAway })
  return startLoop('delivery.retention', { log, bus, wokenBy: ['clock'] }, turn)
}
