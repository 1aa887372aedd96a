import { endIntent, moveAttempt } from './machine.ts'
import type { AttemptState, FailureCategory, IntentEvent, IntentState, PaymentMethod, ShownStatus } from './machine.ts'
import { userMessageOf } from './messages.ts'
import type { RejectionReason, UserMessage } from './messages.ts'

export type StoredAttempt = {
  readonly method: PaymentMethod
  readonly state: AttemptState
  /** When that state was reached. An attempt that its intent's end abandoned was abandoned at that end. */
  readonly stateAt: Date
  readonly category: FailureCategory | null
  readonly reason: RejectionReason | null
  /** When REQUIRES_ACTION is over, by a challenge that counts as abandoned or a code that expires; null where it never began. */
  readonly challengeExpiresAt: Date | null
}

export type LinkEvent = Extract<IntentEvent, `link_${string}`>

export type StoredIntent = {
  readonly state: IntentState
  /** When that state was reached: ACTIVE at creation, EXPIRED at expires_at and not when that was noticed. */
  readonly stateAt: Date
  readonly expiresAt: Date
  /** The attempt that was started last, null before the first. */
  readonly latest: StoredAttempt | null
  /** When an attempt succeeded, null while none has. The latest one's success counts without it. */
  readonly succeededAt: Date | null
  /** How and when its link has ended, while that is not stored of all its intents. */
  readonly linkEnd: { readonly event: LinkEvent; readonly at: Date } | null
  /** Whether any attempt was a code, the latest or one before. */
  readonly hadCode: boolean
}

export type ShownIntent = {
  readonly status: ShownStatus
  /** When this status began, in business time. It never goes back from one read to the next. */
  readonly updatedAt: Date
  readonly failureCategory?: FailureCategory
  readonly userMessage?: UserMessage
}

/** A deadline that has passed, or the end of the link, that nothing has stored yet. `at` is the move's time, whenever it is stored. */
export type OverdueMove =
  { readonly of: 'attempt'; readonly event: 'challenge_abandoned' | 'code_expired'; readonly at: Date } | IntentEnd
type IntentEnd = { readonly of: 'intent'; readonly event: 'expires' | LinkEvent; readonly at: Date }

/**
 * What an intent is for everybody who reads it at business time `now`. The first that holds: an attempt succeeded; the latest is
 * being processed, past any end of the intent; the intent has ended; the latest attempt's state; ACTIVE. Passed deadlines count
 * whether or not they are stored, so a sweeper changes nothing that is shown.
 */
export function shownIntent(stored: StoredIntent, now: Date): ShownIntent {
  const { state, stateAt, latest } = asOf(stored, now)
  const paidAt = paidSince(stored)
  if (paidAt) return shown('SUCCEEDED', paidAt)
  if (!latest) return shown(state, stateAt)
  if (latest.state === 'PROCESSING') return shown('PROCESSING', latest.stateAt)
  // An intent that ended under a payment in progress shows its end from when that payment was refused, and under a challenge or a code that began
  // meanwhile, from then.
  if (state !== 'ACTIVE') return shown(state, later(stateAt, latest.stateAt), undefined, stored.hadCode)
  if (latest.state === 'ABANDONED') return shown('ACTIVE', latest.stateAt)
  return shown(latest.state, latest.stateAt, latest, stored.hadCode)
}

/** The moves that are due at `now`, in the order of their deadlines. Whoever changes an intent stores these first, under its lock. */
export function overdueMoves(stored: StoredIntent, now: Date): readonly OverdueMove[] {
  const { latest } = stored
  const moves: OverdueMove[] = []
  const end = overdueEnd(stored, now)
  const challengeEnd = latest?.state === 'REQUIRES_ACTION' ? latest.challengeExpiresAt : null
  if (challengeEnd && challengeEnd <= now && !(end && end.at <= challengeEnd)) {
    const event = latest?.method === 'qrph' ? 'code_expired' : 'challenge_abandoned'
    moves.push({ of: 'attempt', event, at: challengeEnd })
  }
  if (end) moves.push(end)
  return moves
}

/** The end that came first: that of its link, or its own. */
function overdueEnd(stored: StoredIntent, now: Date): IntentEnd | null {
  const { state, expiresAt, linkEnd } = stored
  if (state !== 'ACTIVE' || paidSince(stored)) return null
  if (linkEnd && linkEnd.at < expiresAt) return { of: 'intent', ...linkEnd }
  return expiresAt <= now ? { of: 'intent', event: 'expires', at: expiresAt } : null
}

/** The intent with every deadline up to `now` applied. */
export function asOf(stored: StoredIntent, now: Date): StoredIntent {
  return overdueMoves(stored, now).reduce(apply, stored)
}

/** As it is stored: nothing ends before it began, which was by the clock of a process perhaps that was ahead. */
function apply(stored: StoredIntent, { of, event, at }: OverdueMove): StoredIntent {
  const { latest } = stored
  if (of === 'attempt') {
    const move = latest && moveAttempt(latest.state, event)
    if (!move || 'refusal' in move) return stored
    return {
      ...stored,
      latest: { ...latest, state: move.to, category: move.category, stateAt: later(at, latest.stateAt) },
    }
  }
  const end = endIntent(
    { state: stored.state, latest: latest?.state ?? null, succeeded: paidSince(stored) !== null },
    event,
  )
  if ('refusal' in end) return stored
  const moved =
    latest && end.latest && end.latest !== latest.state
      ? { ...latest, state: end.latest, stateAt: later(at, latest.stateAt) }
      : latest
  return { ...stored, state: end.state, stateAt: later(at, stored.stateAt), latest: moved }
}

function shown(status: ShownStatus, updatedAt: Date, attempt?: StoredAttempt, byCode = false): ShownIntent {
  const { category = null, reason = null } = attempt ?? {}
  const userMessage = userMessageOf({ status, category, reason, byCode })
  return { status, updatedAt, ...(category && { failureCategory: category }), ...(userMessage && { userMessage }) }
}

function paidSince({ latest, succeededAt }: StoredIntent): Date | null {
  return succeededAt ?? (latest?.state === 'SUCCEEDED' ? latest.stateAt : null)
}

function later(one: Date, other: Date): Date {
  return one > other ? one : other
}
