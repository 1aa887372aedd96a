import type { KeyObject } from 'node:crypto'
import type { Clock } from '../kernel/clock.ts'
import type { Dialect, Dialects, Prepared } from './dialects.ts'
import type { Egress, EgressAnswer, EgressFailure, EgressResult } from './egress.ts'
import { retryAfterMsOf, waitAfter, waitAfterSetback } from './schedule.ts'
import type { ClaimedRow, LaneRow } from './store-claim.ts'
import type { AttemptRow, LaneChange, SettledDelivery } from './store-settle.ts'

/** A claimed delivery and where it goes. */
export interface Work {
  readonly row: ClaimedRow
  readonly lane: LaneRow
  /** When it was asked for, on the monotonic clock: no later than the moment that the claim tells. */
  readonly askedAt: number
}

export interface Attempted {
  readonly settlement: SettledDelivery
  readonly change: LaneChange | null
  readonly outcome: 'delivered' | 'failed' | 'exhausted' | 'gone' | 'setback'
  readonly owner: EgressFailure['owner'] | 'none'
  /** For the operator, where the failure is ours. */
  readonly cause: unknown
}

export interface AttemptDependencies {
  readonly clock: Clock
  readonly egress: Egress
  readonly dialects: Dialects
  readonly open: (secret: { readonly id: string; readonly sealed: string }) => KeyObject
  readonly random: () => number
  /** Instead of the dialect's own. */
  readonly deadlineMs: number | undefined
}

/** An answer that takes longer puts its destination among the slow ones. */
const slowMs = 1_000

/** Makes one attempt and says what it means. Never rejects: whatever goes wrong on our side is a setback. */
export function createAttempt({ clock, egress, dialects, open, random, deadlineMs }: AttemptDependencies) {
  return async (work: Work, signal: AbortSignal): Promise<Attempted> => {
    const { row, lane } = work
    // The claim's time and what has passed since, or a little more, so that no retry is early: this process hears of an advance later than the
    // database, and its system clock may step.
    const startedAt = new Date(row.claimed_at_ms + performance.now() - work.askedAt)
    const setback = (cause: unknown) => afterSetback(work, startedAt, random, cause)
    const dialect = dialects[lane.dialect]
    if (dialect === undefined) return setback(new Error(`no dialect ${lane.dialect} is spoken here`))
    try {
      const preparing = dialect.prepare({
        eventId: row.event_id,
        destinationId: row.destination_id,
        type: row.type,
        body: row.body,
        // It may have waited in line, and one of them has ended meanwhile.
        keys: lane.secrets.filter(({ expires_at_ms: end }) => end === null || end > startedAt.getTime()).map(open),
        wallMs: clock.wall(),
      })
      const prepared = preparing instanceof Promise ? await preparing : preparing
      const result = await egress.post({
        url: lane.url,
        ...prepared,
        signal,
        deadlineMs: deadlineMs ?? dialect.deadlineMs,
      })
      if (!result.ok && result.failure.owner === 'ours') return setback(new Error(result.failure.message))
      return judge({ work, dialect, prepared, startedAt, result, random, wallMs: clock.wall() })
    } catch (error) {
      return setback(error)
    }
  }
}

export interface Judged {
  readonly work: Work
  readonly dialect: Dialect
  readonly prepared: Prepared
  /** Business time. */
  readonly startedAt: Date
  readonly result: EgressResult
  readonly random: () => number
  /** System time at the end of the attempt. */
  readonly wallMs: number
}

/** What the result of an attempt means for the delivery and for its destination. */
export function judge({ work, dialect, prepared, startedAt, result, random, wallMs }: Judged): Attempted {
  const answer = result.ok ? result.answer : undefined
  const failure = result.ok ? undefined : result.failure
  const { row, lane } = work
  const delivered = answer !== undefined && dialect.acknowledges(answer.status)
  const owner = delivered ? 'none' : (failure?.owner ?? 'destination')
  const attempt = attemptRow(
    startedAt,
    prepared,
    answer,
    failure,
    delivered ? null : owner === 'path' ? 'path' : 'destination',
  )
  const slow = !delivered || attempt.durationMs > slowMs

  if (delivered) {
    const change =
      slow === lane.slow
        ? null
        : { destinationId: row.destination_id, url: lane.url, slow, failingSince: null, disable: null }
    return {
      settlement: { held: row, end: 'DELIVERED', runAt: null, attempt },
      change,
      outcome: 'delivered',
      owner,
      cause: null,
    }
  }

  const gone = answer !== undefined && dialect.autoDisable.statuses.includes(answer.status)
  const askedMs = retryAfterMsOf(answer?.retryAfter, wallMs)
  // Waits count from the start of an attempt, a Retry-After from its answer (RFC 9110).
  const askedFromStartMs = askedMs === null ? null : attempt.durationMs + askedMs
  // Also where nobody is there any more: disabling closes it with whatever else is queued, but for a URL that was changed meanwhile.
  const waitMs = waitAfter(dialect.schedule, row.attempt_no + 1, random, askedFromStartMs)
  const end = waitMs === null ? 'EXHAUSTED' : null
  const change: LaneChange = {
    destinationId: row.destination_id,
    url: lane.url,
    slow: lane.slow ? null : true,
    // The path's failures say nothing about the destination.
    failingSince: owner === 'destination' && lane.failing_since === null ? startedAt : null,
    disable: gone
      ? { reason: `The endpoint answered ${answer.status}: it is gone.`, failingBefore: null }
      : owner === 'destination'
        ? failingTooLong(dialect, lane, startedAt)
        : null,
  }
  return {
    settlement: { held: row, end, runAt: waitMs === null ? null : new Date(startedAt.getTime() + waitMs), attempt },
    change: change.slow === null && change.failingSince === null && change.disable === null ? null : change,
    outcome: gone ? 'gone' : end === null ? 'failed' : 'exhausted',
    owner,
    cause: null,
  }
}

function failingTooLong(dialect: Dialect, { failing_since: since }: LaneRow, startedAt: Date): LaneChange['disable'] {
  const { failingMsMax } = dialect.autoDisable
  if (since === null || failingMsMax === null) return null
  const failingBefore = new Date(startedAt.getTime() - failingMsMax)
  return since > failingBefore ? null : { reason: `Every attempt since ${since.toISOString()} failed.`, failingBefore }
}

function attemptRow(
  startedAt: Date,
  prepared: Prepared,
  answer: EgressAnswer | undefined,
  failure: EgressFailure | undefined,
  owner: AttemptRow['owner'],
): AttemptRow {
  return {
    startedAt,
    durationMs: answer?.durationMs ?? failure?.durationMs ?? 0,
    status: answer?.status ?? null,
    errorClass: failure?.errorClass ?? null,
    errorMessage: failure?.message ?? null,
    owner,
    requestHeaders: prepared.headers,
    answer: answer?.body ?? null,
  }
}

function afterSetback({ row }: Work, startedAt: Date, random: () => number, cause: unknown): Attempted {
  const runAt = new Date(startedAt.getTime() + waitAfterSetback(row.setback_count + 1, random))
  return {
    settlement: { held: row, end: null, runAt, attempt: null },
    change: null,
    outcome: 'setback',
    owner: 'ours',
    cause,
  }
}
