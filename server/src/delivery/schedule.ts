const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** When a dialect tries: the first attempt at once, each later one this long after the start of the one before, in business time. */
export interface Schedule {
  readonly waitsMs: readonly number[]
  /** The most that chance adds to a wait, as a part of it; it never takes away. */
  readonly jitterMax: number
  /** The most that a receiver's Retry-After makes of a wait. */
  readonly retryAfterFactorMax: number
}

/** Ten attempts over 75 h 35 min 5 s, chance and receivers aside (the example schedule of Standard Webhooks, and one more). */
export const tenAttempts: Schedule = {
  waitsMs: [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour],
  jitterMax: 0.2,
  retryAfterFactorMax: 2,
}

/**
 * The wait in ms after `attemptsSpent` failed attempts, or null when that was the last. `random` gives [0, 1); `retryAfterMs` is what
 * the receiver asked for, from the same start, honoured between once and twice the scheduled wait.
 */
export function waitAfter(
  schedule: Schedule,
  attemptsSpent: number,
  random: () => number,
  retryAfterMs: number | null = null,
): number | null {
  const scheduledMs = schedule.waitsMs[attemptsSpent - 1]
  if (scheduledMs === undefined) return null
  const jitteredMs = scheduledMs * (1 + schedule.jitterMax * random())
  const askedMs = Math.min(retryAfterMs ?? 0, scheduledMs * schedule.retryAfterFactorMax)
  return Math.ceil(Math.max(jitteredMs, askedMs))
}

/** What a Retry-After header asks for in ms (RFC 9110, section 10.2.3: seconds or a date), or null. A date is system time. */
export function retryAfterMsOf(header: string | undefined, wallMs: number): number | null {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * second
  // Date.parse reads far more than the three forms of an HTTP date, all of which begin with a day's name. The one of C's asctime ends with the
  // year and is of UTC as well.
  const isDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)
  const at = isDate ? Date.parse(/ \d{4}$/.test(text) ? `${text} GMT` : text) : NaN
  return Number.isNaN(at) ? null : Math.max(0, at - wallMs)
}

const setbackMsFirst = second
const setbackMsMax = 5 * minute

/** The wait in ms after a failure of ours, the `setbacks`th in a row: doubling from 1 s to 5 min, with jitter, without an end. */
export function waitAfterSetback(setbacks: number, random: () => number): number {
  const waitMs = Math.min(setbackMsMax, setbackMsFirst * 2 ** Math.min(setbacks - 1, 20))
  return Math.ceil(waitMs * (1 + 0.2 * random()))
}
