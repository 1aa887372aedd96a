import type { Clock } from '../kernel/clock.ts'
import type { Db, Queries } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import type { Keyring } from '../kernel/seal.ts'
import { cardFingerprint, type Card } from './card.ts'
import type { Outcome } from './connectors/connector.ts'
import { dueRowsMax, leaseSeconds } from './inquiry.ts'
import { intentOf, storedOf, type Intent } from './intent.ts'
import {
  attemptRefusal,
  challengeWaitMs,
  codeWaitMs,
  confirmRefusal,
  holdsUse,
  moveAttempt,
  owesExpiredEvent,
  type AttemptEvent,
  type AttemptMove,
  type AttemptState,
  type PaymentMethod,
} from './machine.ts'
import type { PaymentOwner } from './owner.ts'
import { overdueMoves } from './projection.ts'
import { paymentsStore as store, type IntentRow, type LinkEnd } from './store.ts'
import type { NewAttempt } from './store-start.ts'

/** A card, or the text of a code. */
export type PaidBy =
  { readonly method: 'card'; readonly card: Card } | { readonly method: 'qrph'; readonly text: string }

export interface NewPayment {
  readonly intent: Intent
  readonly attemptId: string
  readonly by: PaidBy
  readonly event: AttemptEvent
  readonly correlationId: string | null
  readonly attemptCount: number | undefined
}

/** An open attempt that gets its outcome. */
export interface Settling {
  readonly intent: Pick<Intent, 'id' | 'linkId'>
  readonly attemptId: string
  readonly method: PaymentMethod
  readonly from: AttemptState
  readonly event: AttemptEvent
  readonly outcome: Outcome | null
  readonly at: Date
}

/** The move of an attempt whose intent is locked: by default of one that waits for its payer, and without an answer of the processor. */
interface LockedMove {
  readonly intentId: string
  readonly attemptId: string
  readonly from?: AttemptState
  readonly event: AttemptEvent
  readonly outcome?: Outcome | null
  readonly at: Date
}

/** What ends a challenge, as the issuer tells it. */
export type ChallengeEnd = 'challenge_passed' | 'challenge_refused' | 'challenge_down'

const transactionStatusOf: Readonly<Record<AttemptState, string>> = {
  REQUIRES_ACTION: 'PENDING',
  PROCESSING: 'PENDING',
  SUCCEEDED: 'CAPTURED',
  DECLINED: 'DECLINED',
  FAILED: 'FAILED',
  ABANDONED: 'CANCELLED',
}

const transactionAfter = ({ event, to }: AttemptMove): string =>
  event === 'code_expired' ? 'EXPIRED' : transactionStatusOf[to]

const waysOut: Readonly<Record<string, string>> = {
  REQUIRES_ACTION: 'let the payer finish what is open, or wait for its end',
  CONSUMED: 'its link takes no more payments: make another link to be paid again',
}

/** Whether the intent waits for the challenge of this attempt, deadlines that have passed included. */
export const waitsFor = ({ shown, latestAttempt }: Intent, attemptId: string): boolean =>
  shown.status === 'REQUIRES_ACTION' && latestAttempt?.id === attemptId && latestAttempt.method === 'card'

/** The attempt of which a row says that it waits and holds a use of its link: its code is unpaid, and may be past its time. */
const openCodeOf = ({ attempt_id: id, method, attempt_state: state }: IntentRow): string | null =>
  method === 'qrph' && state === 'REQUIRES_ACTION' ? id : null

/** The moves of attempts, each in one transaction: the link's use first, then the intent's lock. */
export function createAttempts({
  db,
  clock,
  keyring,
  owner,
}: {
  readonly db: Db
  readonly clock: Clock
  readonly keyring: Keyring
  readonly owner: PaymentOwner
}) {
  const fingerprintKey = keyring.mac('card-fingerprint-key', '')

  const readRow = async (on: Queries, id: string): Promise<IntentRow> => {
    const row = await store.readIntent(on, id)
    if (row === undefined) throw new Error('an intent vanished')
    return row
  }
  const read = async (on: Queries, id: string): Promise<Intent> => intentOf(await readRow(on, id))

  const refuseUnlessOpen = (intent: Intent) => {
    const refusal = confirmRefusal(intent.shown.status)
    if (refusal === 'INTENT_PROCESSING') {
      throw new Fault(
        'INTENT_PROCESSING',
        'A payment of this intent is being processed; retrieve the intent for its outcome.',
      )
    }
    if (refusal === null) return
    const { status } = intent.shown
    const wayOut = waysOut[status] ?? 'make another one to pay again'
    throw new Fault('INTENT_INVALID_STATE', `This intent is ${status}; ${wayOut}.`)
  }

  const refuseAttempt = (intent: Intent, useFree: boolean) => {
    const refusal = attemptRefusal({ attempts: intent.attemptCount, useFree })
    if (refusal === 'ATTEMPT_LIMIT_REACHED') {
      throw new Fault(refusal, 'This intent has had as many attempts as it may; make another one.')
    }
    if (refusal !== null) throw new Fault(refusal, 'Others are paying with this link right now; try again in a moment.')
  }

  /** Refuses a further attempt before anybody is asked about it. */
  const refuseUnlessFree = async (intent: Intent) => {
    const useFree = intent.linkId === null || (await hasFreeUse(intent.linkId))
    // Whoever holds the last use may be this very payer, who has confirmed twice.
    if (!useFree) refuseUnlessOpen(await read(db, intent.id))
    refuseAttempt(intent, useFree)
  }

  const refuseUnlessWaiting = (intent: Intent, attemptId: string) => {
    if (!waitsFor(intent, attemptId)) throw new Fault('INTENT_INVALID_STATE', 'This challenge is over.')
  }

  /** Gives back what an attempt holds of whose end nobody is told. Comes before the intent's lock. */
  const release = async (tx: Queries, linkId: string, use: { attemptId: string; at: Date }): Promise<void> => {
    await owner.settle(tx, { ...use, succeeded: false })
    await owner.announceExpiry(tx, linkId)
  }

  /** The same of an unpaid code. */
  const releaseCode = async (tx: Queries, row: IntentRow): Promise<void> => {
    const attemptId = openCodeOf(row)
    if (attemptId === null || row.link_id === null) return
    await release(tx, row.link_id, { attemptId, at: row.read_at })
  }

  /**
   * A challenge or code past its deadline that no sweeper has come by yet still holds the one open place of its intent. Resolves to the
   * intent as it stands then.
   */
  const storeOverdue = async (
    tx: Queries,
    intentId: string,
    event: 'challenge_abandoned' | 'code_expired',
  ): Promise<IntentRow> => {
    const row = await readRow(tx, intentId)
    const overdue = overdueMoves(storedOf(row), row.read_at).find((move) => move.event === event)
    if (overdue === undefined || row.attempt_id === null) return row
    await releaseCode(tx, row)
    await store.lockIntent(tx, intentId)
    const moved = await settleLocked(tx, { intentId, attemptId: row.attempt_id, event, at: overdue.at })
    return moved ?? readRow(tx, intentId)
  }

  /**
   * Codes of a link past their time that no sweeper has come by yet keep their uses from others: some of them give these back. Resolves to
   * whether there were any.
   */
  const endOverdueCodes = async (tx: Queries, linkId: string): Promise<boolean> => {
    const overdue = await store.findOverdueCodes(tx, linkId, dueRowsMax)
    if (overdue.length > 0) await owner.hold(tx, linkId)
    for (const { id, intent_id: intentId, challenge_expires_at: at } of overdue) {
      await release(tx, linkId, { attemptId: id, at })
      await store.lockIntent(tx, intentId)
      await settleLocked(tx, { intentId, attemptId: id, event: 'code_expired', at })
    }
    return overdue.length > 0
  }

  const hasFreeUse = async (linkId: string): Promise<boolean> =>
    (await owner.isFree(linkId)) || ((await db.tx((tx) => endOverdueCodes(tx, linkId))) && owner.isFree(linkId))

  const reserve = async (tx: Queries, use: { linkId: string; attemptId: string; method: PaymentMethod }) => {
    const got = await owner.reserve(tx, use)
    return got === 'full' && (await endOverdueCodes(tx, use.linkId)) ? owner.reserve(tx, use) : got
  }

  const paidBy = (by: PaidBy) =>
    by.method === 'card'
      ? {
          method: by.method,
          cardBrand: by.card.brand,
          cardLastFour: by.card.lastFour,
          cardFingerprint: cardFingerprint(by.card.number(), fingerprintKey),
          codeText: null,
        }
      : { method: by.method, cardBrand: null, cardLastFour: null, cardFingerprint: null, codeText: by.text }

  /** Ends what is open of a link that has ended, in the transaction that ended it: of very much some, and the rest by `endRestOfLink`. */
  const endIntentsOfLink = async (tx: Queries, linkId: string, end: LinkEnd, rest = false): Promise<void> => {
    for (const attemptId of await store.endIntentsOfLink(tx, linkId, end, rest))
      await release(tx, linkId, { attemptId, at: end.at })
  }
  /** Some of what is left open; resolves to whether there was anything to do. Until then it is read as ended, so nothing of it can be paid. */
  const endRestOfLink = (linkId: string): Promise<boolean> =>
    db.tx(async (tx) => {
      await owner.hold(tx, linkId)
      const end = await store.takeEndingLink(tx, linkId)
      if (end !== undefined) await endIntentsOfLink(tx, linkId, end, true)
      return end !== undefined
    })

  /** Creates the attempt in the state that its first event leads to. */
  const start = async (payment: NewPayment): Promise<void> => {
    const { intent, attemptId, by, event, correlationId, attemptCount } = payment
    const move = moveAttempt('NONE', event)
    if ('refusal' in move) throw new Error(`no first move ${event}`)
    const isFirst = intent.latestAttempt === null && (attemptCount ?? 0) === 0 && move.emits === null
    await db.tx(async (tx) => {
      if (intent.latestAttempt?.method === 'qrph') await storeOverdue(tx, intent.id, 'code_expired')
      const got =
        intent.linkId === null || !holdsUse(by.method, move.to)
          ? 'taken'
          : await reserve(tx, { linkId: intent.linkId, attemptId, method: by.method })
      await store.lockIntent(tx, intent.id)
      // Now that nobody else changes the intent: what others stored while this waited is not later.
      const at = clock.now()
      const attempt: NewAttempt = {
        id: attemptId,
        intentId: intent.id,
        state: move.to,
        category: move.category,
        ...paidBy(by),
        challengeExpiresAt: move.to === 'REQUIRES_ACTION' ? deadlineOf(by, intent, at) : null,
        transactionStatus: transactionStatusOf[move.to],
        correlationId,
        leaseSeconds,
        at,
      }
      if (isFirst && got === 'taken' && (await store.insertFirstAttempt(tx, attempt))) return
      const present = intentOf(await storeOverdue(tx, intent.id, 'challenge_abandoned'))
      refuseUnlessOpen(present)
      if (attemptCount !== undefined && present.attemptCount !== attemptCount) {
        throw new Fault('INTENT_PROCESSING', 'This form has been submitted before; see how the payment stands.')
      }
      refuseAttempt(present, got !== 'full')
      if (got === 'ended')
        throw new Fault('INTENT_INVALID_STATE', 'The link of this intent has ended; it takes no more payments.')
      // The attempt before may have ended by the clock of another process, ahead of this one's.
      const { updatedAt } = present.shown
      await store.insertAttempt(tx, updatedAt > at ? { ...attempt, at: updatedAt } : attempt)
      if (move.emits !== null) await owner.announce(tx, await read(tx, intent.id), move.emits)
    })
  }

  /** The move itself, under the intent's lock. Undefined when another has made one before. */
  const settleLocked = async (
    tx: Queries,
    { intentId, attemptId, from = 'REQUIRES_ACTION', event, outcome = null, at }: LockedMove,
  ): Promise<IntentRow | undefined> => {
    const move = moveAttempt(from, event)
    if ('refusal' in move) return undefined
    const moved = await store.settleAttempt(
      tx,
      {
        attemptId,
        state: move.to,
        category: move.category,
        reason: event === 'code_declined' ? event : outcome?.kind === 'declined' ? outcome.reason : null,
        approval: outcome?.kind === 'approved' ? outcome : null,
        transactionStatus: transactionAfter(move),
        at,
      },
      from,
    )
    if (!moved) return undefined
    const row = await readRow(tx, intentId)
    if (move.emits !== null) await owner.announce(tx, intentOf(row), move.emits)
    return row
  }

  /**
   * Moves an attempt by its outcome, once, and resolves to its intent: whoever comes second changes nothing, and is told nothing.
   * Repeatable, so that a lost answer to COMMIT is resolved by doing it again.
   */
  const settle = ({ intent, attemptId, method, from, event, outcome, at }: Settling): Promise<Intent | undefined> =>
    db.tx(async (tx) => {
      const { id, linkId } = intent
      const succeeded = outcome?.kind === 'approved'
      const used = holdsUse(method, from) ? linkId : null
      const { linkConsumed } =
        used === null ? { linkConsumed: false } : await owner.settle(tx, { attemptId, succeeded, at })
      await store.lockIntent(tx, id)
      const row = await settleLocked(tx, { intentId: id, attemptId, from, event, outcome, at })
      if (row === undefined) return undefined
      const settled = intentOf(row)
      // The end was stored while the attempt was being processed, and told to nobody; now nothing is left that could pay it. An end
      // that is not stored yet is told when it is.
      if (from === 'PROCESSING' && owesExpiredEvent(endOf(row))) await owner.announce(tx, settled, 'payment.expired')
      if (used !== null && !succeeded) await owner.announceExpiry(tx, used)
      if (linkId !== null && linkConsumed) await endIntentsOfLink(tx, linkId, { state: 'CONSUMED', at })
      return settled
    })

  /**
   * Ends a challenge, once: throws INTENT_INVALID_STATE for a result that comes late or twice. `passed`: the payment is being processed
   * and its use of the link is taken; `full`: it was passed, and no use was free.
   */
  const endChallenge = (intent: Intent, attemptId: string, end: ChallengeEnd): Promise<'passed' | 'full' | 'over'> =>
    db.tx(async (tx) => {
      const at = clock.now()
      const passed = end === 'challenge_passed'
      await store.lockChallenge(tx, attemptId)
      refuseUnlessWaiting(await read(tx, intent.id), attemptId)
      const got =
        intent.linkId === null || !passed
          ? 'taken'
          : await reserve(tx, { linkId: intent.linkId, attemptId, method: 'card' })
      await store.lockIntent(tx, intent.id)
      refuseUnlessWaiting(await read(tx, intent.id), attemptId)
      // The end of a link ends its intents in the same transaction, so this is a challenge that came late as well.
      if (got === 'ended') throw new Fault('INTENT_INVALID_STATE', 'The link of this intent has ended.')
      if (passed && got === 'taken') {
        if (!(await store.resumeAttempt(tx, attemptId, leaseSeconds, at))) throw new Error('a locked attempt moved')
        return 'passed'
      }
      const event = passed ? 'challenge_passed_no_use_free' : end
      await settleLocked(tx, { intentId: intent.id, attemptId, event, at })
      return passed ? 'full' : 'over'
    })

  return {
    readRow,
    read,
    refuseUnlessOpen,
    refuseUnlessFree,
    hasFreeUse,
    endOverdueCodes,
    releaseCode,
    storeOverdue,
    start,
    settleLocked,
    settle,
    endChallenge,
    endIntentsOfLink,
    endRestOfLink,
  }
}

/** A code ends with its intent at the latest. */
function deadlineOf({ method }: PaidBy, { expiresAt }: Intent, at: Date): Date {
  if (method === 'card') return new Date(at.getTime() + challengeWaitMs)
  return new Date(Math.min(at.getTime() + codeWaitMs, expiresAt.getTime()))
}

/** What an intent's end is judged by. */
export const endOf = (row: IntentRow) => ({
  state: row.state,
  latest: row.attempt_state,
  succeeded: row.succeeded_at !== null,
  hasLink: row.link_id !== null,
})
