import type { Bus } from './bus.ts'
import { statement, type Queries } from './db.ts'
import type { Log } from './log.ts'
import { startLoop } from './loop.ts'

/**
 * Business time is system time plus an offset that only grows. System time comes in as `wall`, so that a test can step it.
 * The one truth is the row in the database; a process follows it by hints and by reading it again every second.
 */
export interface Clock {
  /** Business time: `created_at`, expiry, schedules, ids. */
  now(): Date
  /** System time in ms: signatures, rate limits, leases, deadlines of one call. */
  wall(): number
  /** Reads the row again; true when it moved. */
  refresh(queries: Queries): Promise<boolean>
  readonly offsetMs: number
  /** How far system time is ahead of the database's, as last read; NaN until then. Right to half a second. */
  readonly aheadMs: number
}

const readClock = statement(
  'kernel.readClock',
  'select offset_ms, version, clock_timestamp() as system_time from kernel.clock',
)

interface ClockRow {
  readonly offset_ms: bigint
  readonly version: bigint
  readonly system_time: Date
}

const readMsMax = 1_000
const pollMs = 1_000
const apartMsMax = 2_000

export function createClock(wall: () => number = Date.now): Clock {
  let offsetMs = 0
  let version = -1n
  let aheadMs = NaN
  return {
    wall,
    now: () => new Date(wall() + offsetMs),
    get offsetMs() {
      return offsetMs
    },
    get aheadMs() {
      return aheadMs
    },
    async refresh(queries) {
      const askedAt = wall()
      const [row] = await queries.run<ClockRow>(readClock, [])
      if (row === undefined) return false
      const tookMs = wall() - askedAt
      // The database read its clock somewhere in between. A time that is long, or below 0, is also that of a clock which was set meanwhile.
      if (tookMs >= 0 && tookMs <= readMsMax) aheadMs = askedAt + tookMs / 2 - row.system_time.getTime()
      // An answer that was overtaken on its way must not set the clock back.
      if (row.version <= version) return false
      offsetMs = Number(row.offset_ms)
      version = row.version
      return true
    },
  }
}

/**
 * Business time follows its row: at once when somebody says that it moved, within a second when nobody could. Hosts judge each other's deadlines
 * by their own clocks, so one that is not with the database's is told of.
 */
export function followClock(clock: Clock, db: Queries, bus: Bus, log: Log): AsyncDisposable {
  let isApart = false
  return startLoop('clock', { log, bus, wokenBy: ['clock'] }, async () => {
    await clock.refresh(db)
    const { aheadMs } = clock
    if (!isApart && Math.abs(aheadMs) > apartMsMax) {
      isApart = true
      log.warn(
        { aheadMs },
        'the clock of this host is not that of the database: deadlines come early or late, and payments to terminals that hang on another host fail; keep the clocks of all hosts right by NTP',
      )
    }
    // Well below, so that a clock at the bound is not told of again and again.
    if (isApart && Math.abs(aheadMs) < apartMsMax / 2) {
      isApart = false
      log.info({ aheadMs }, 'the clock of this host is that of the database again')
    }
    return pollMs
  })
}
