import { statement, type Queries } from './db.ts'

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
}

const readClock = statement('kernel.readClock', 'select offset_ms, version from kernel.clock')

export function createClock(wall: () => number = Date.now): Clock {
  let offsetMs = 0
  let version = -1n
  return {
    wall,
    now: () => new Date(wall() + offsetMs),
    get offsetMs() {
      return offsetMs
    },
    async refresh(queries) {
      const [row] = await queries.run<{ offset_ms: bigint; version: bigint }>(readClock, [])
      // An answer that was overtaken on its way must not set the clock back.
      if (row === undefined || row.version <= version) return false
      offsetMs = Number(row.offset_ms)
      version = row.version
      return true
    },
  }
}
