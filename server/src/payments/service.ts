import type { Principal } from '../identity/principal.ts'
import type { Clock } from '../kernel/clock.ts'
import { isAway, type Db, type Queries } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { newId } from '../kernel/ids.ts'
import type { Keyring } from '../kernel/seal.ts'
import { cardFingerprint, parseCard, type Card, type CardInput } from './card.ts'
import { eventOf, type Connector, type Outcome } from './connectors/connector.ts'
import { intentOf, storedOf, type Intent } from './intent.ts'
import {
  attemptRefusal,
  challengeWaitMs,
  confirmRefusal,
  moveAttempt,
  type AttemptEvent,
  type AttemptState,
  type PaymentEvent,
} from './machine.ts'
import { overdueMoves } from './projection.ts'
import { paymentsStore as store, type IntentRow, type NewIntent } from './store.ts'

/**
 * Whoever made an intent, seen from here: it lends what an attempt needs (a use of a link) and tells the world how the attempt
 * ended. Every call runs in the transaction of the move itself, before the intent's row is locked, so locks go one way.
 */
export interface PaymentOwner {
  /** Takes what an attempt needs. `taken`, or why there is nothing to take. */
  reserve(tx: Queries, use: { linkId: string; attemptId: string }): Promise<'taken' | 'full' | 'ended'>
  /** Whether `reserve` would succeed right now; asked before a card is looked at. */
  isFree(linkId: string): Promise<boolean>
  /** Spends or gives back what the attempt took. True when that used up the link, so that its other intents end. */
  settle(
    tx: Queries,
    use: { linkId: string; attemptId: string; succeeded: boolean; at: Date },
  ): Promise<{ linkConsumed: boolean }>
  /** Tells of an outcome, in the transaction that brought it about. */
  announce(tx: Queries, intent: Intent, event: PaymentEvent | 'payment.expired'): Promise<void>
  /** After the commit: something was announced. */
  announced(): void
  /** Something falls due earlier than was thought. */
  dueSooner(): void
}

export interface PaymentsDependencies {
  readonly db: Db
  readonly clock: Clock
  readonly keyring: Keyring
  readonly connector: Connector
  readonly owner: PaymentOwner
  /** How long a confirm waits for the processor; then it answers that the payment is being processed. */
  readonly confirmWaitMsMax?: number
}

export interface Payments {
  createIntent(on: Queries, intent: NewIntent): Promise<boolean>
  findIntent(principal: Principal, id: string): Promise<Intent | undefined>
  readIntent(id: string): Promise<Intent | undefined>
  findIntentByToken(tokenHash: Buffer): Promise<Intent | undefined>
  findIntentByForm(linkId: string, nonce: string): Promise<Intent | undefined>
  /** Pays; with `attemptCount`, only while the intent has had just so many attempts. Throws INTENT_PROCESSING, INTENT_INVALID_STATE, INVALID_CARD, ATTEMPT_LIMIT_REACHED, LINK_FULLY_RESERVED. */
  confirm(intent: Intent, card: CardInput, correlationId: string | null, attemptCount?: number): Promise<Intent>
  /** Ends what is open of a link that has ended. */
  endIntentsOfLink(tx: Queries, linkId: string, to: 'CONSUMED' | 'EXPIRED' | 'CANCELLED', at: Date): Promise<void>
  /** One round of everything that is due: unanswered attempts, abandoned challenges, expiries. Resolves to ms until the next. */
  runDue(): Promise<number>
}

interface NewPayment {
  readonly intent: Intent
  readonly attemptId: string
  readonly card: Card
  readonly event: AttemptEvent
  readonly correlationId: string | null
  readonly attemptCount: number | undefined
}

// A call of the processor ends before its lease does, so nobody asks about an attempt whose own call may still answer.
const leaseSeconds = 20
const confirmWaitMsDefault = 10_000
const verificationMsMax = 10_000
const dueRowsMax = 50
const inquiryMsMax = 10_000
const firstInquiryMs = 1_000
const inquiryWaitMsMax = 300_000

/** A payer may be watching a young payment; an old one is asked about ever more rarely. */
const inquiryWaitMs = (ageMs: number): number => Math.min(inquiryWaitMsMax, Math.max(firstInquiryMs, ageMs / 20))

const transactionStatusOf: Readonly<Record<AttemptState, string>> = {
  REQUIRES_ACTION: 'PENDING',
  PROCESSING: 'PENDING',
  SUCCEEDED: 'CAPTURED',
  DECLINED: 'DECLINED',
  FAILED: 'FAILED',
  ABANDONED: 'CANCELLED',
}

export function createPayments({
  db,
  clock,
  keyring,
  connector,
  owner,
  confirmWaitMsMax,
}: PaymentsDependencies): Payments {
  const fingerprintKey = keyring.mac('card-fingerprint-key', '')
  const waitMs = confirmWaitMsMax ?? confirmWaitMsDefault

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
    if (refusal !== null) {
      throw new Fault('INTENT_INVALID_STATE', `This intent is ${intent.shown.status}; make another one to pay again.`)
    }
  }

  const refuseAttempt = (intent: Intent, useFree: boolean) => {
    const refusal = attemptRefusal({ attempts: intent.attemptCount, useFree })
    if (refusal === 'ATTEMPT_LIMIT_REACHED') {
      throw new Fault(refusal, 'This intent has had as many attempts as it may; make another one.')
    }
    if (refusal !== null) throw new Fault(refusal, 'Others are paying with this link right now; try again in a moment.')
  }

  /** A challenge past its deadline that no sweeper has come by yet still holds the one open place of its intent. */
  const storeAbandonedChallenge = async (tx: Queries, intentId: string): Promise<void> => {
    const row = await store.readIntent(tx, intentId)
    if (row === undefined || row.attempt_id === null) return
    const overdue = overdueMoves(storedOf(row), row.read_at).find(({ of }) => of === 'attempt')
    if (overdue !== undefined)
      await settleLocked(tx, intentId, row.attempt_id, 'REQUIRES_ACTION', 'challenge_abandoned', null, overdue.at)
  }

  /** Creates the attempt in the state that its first event leads to. */
  const start = ({ intent, attemptId, card, event, correlationId, attemptCount }: NewPayment): Promise<void> =>
    db.tx(async (tx) => {
      const at = clock.now()
      const move = moveAttempt('NONE', event)
      if ('refusal' in move) throw new Error(`no first move ${event}`)
      const got =
        intent.linkId === null || move.to !== 'PROCESSING'
          ? 'taken'
          : await owner.reserve(tx, { linkId: intent.linkId, attemptId })
      await store.lockIntent(tx, intent.id)
      await storeAbandonedChallenge(tx, intent.id)
      const present = await read(tx, intent.id)
      refuseUnlessOpen(present)
      if (attemptCount !== undefined && present.attemptCount !== attemptCount) {
        throw new Fault('INTENT_PROCESSING', 'This form has been submitted before; see how the payment stands.')
      }
      refuseAttempt(present, got !== 'full')
      if (got === 'ended')
        throw new Fault('INTENT_INVALID_STATE', 'The link of this intent has ended; it takes no more payments.')
      await store.insertAttempt(tx, {
        id: attemptId,
        intentId: intent.id,
        state: move.to,
        category: move.category,
        cardBrand: card.brand,
        cardLastFour: card.lastFour,
        cardFingerprint: cardFingerprint(card.number(), fingerprintKey),
        challengeExpiresAt: move.to === 'REQUIRES_ACTION' ? new Date(at.getTime() + challengeWaitMs) : null,
        transactionStatus: transactionStatusOf[move.to],
        correlationId,
        leaseSeconds,
        at,
      })
      if (move.emits !== null) await owner.announce(tx, await read(tx, intent.id), move.emits)
    })

  /** The move itself, under the intent's lock. Undefined when another has made one before. */
  const settleLocked = async (
    tx: Queries,
    intentId: string,
    attemptId: string,
    from: AttemptState,
    event: AttemptEvent,
    outcome: Outcome | null,
    at: Date,
  ): Promise<IntentRow | undefined> => {
    const move = moveAttempt(from, event)
    if ('refusal' in move) return undefined
    const moved = await store.settleAttempt(
      tx,
      {
        attemptId,
        state: move.to,
        category: move.category,
        reason: outcome?.kind === 'declined' ? outcome.reason : null,
        approval: outcome?.kind === 'approved' ? outcome : null,
        transactionStatus: transactionStatusOf[move.to],
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
   * Moves an attempt by its outcome, once: whoever comes second changes nothing. Repeatable, so that a lost answer to COMMIT is
   * resolved by doing it again.
   */
  const settle = (
    intentId: string,
    attemptId: string,
    from: AttemptState,
    event: AttemptEvent,
    outcome: Outcome | null,
    at: Date,
  ) =>
    db.tx(async (tx) => {
      const { linkId } = await read(tx, intentId)
      const succeeded = outcome?.kind === 'approved'
      const { linkConsumed } =
        linkId === null || from !== 'PROCESSING'
          ? { linkConsumed: false }
          : await owner.settle(tx, { linkId, attemptId, succeeded, at })
      await store.lockIntent(tx, intentId)
      const row = await settleLocked(tx, intentId, attemptId, from, event, outcome, at)
      if (row === undefined) return
      // The end was stored while the attempt was being processed, and told to nobody; now nothing is left that could pay it. An end
      // that is not stored yet is told when it is.
      if (linkId === null && from === 'PROCESSING' && !succeeded && row.state === 'EXPIRED')
        await owner.announce(tx, intentOf(row), 'payment.expired')
      if (linkId !== null && linkConsumed) await store.endIntentsOfLink(tx, linkId, 'CONSUMED', at)
    })

  const settleSurely = async (intentId: string, attemptId: string, outcome: Outcome): Promise<void> => {
    const at = clock.now()
    const once = () => settle(intentId, attemptId, 'PROCESSING', eventOf(outcome), outcome, at)
    await once().catch((error: unknown) => {
      if (!isAway(error)) throw error
      return once()
    })
    owner.announced()
  }

  const process = async (intent: Intent, attemptId: string, card: Card): Promise<void> => {
    const signal = AbortSignal.timeout(waitMs)
    const outcome = await connector
      .authorize({ attemptId, card, amount: intent.amount, currency: intent.currency, signal })
      // No answer is no outcome: the reconciler asks until the processor knows.
      .catch(() => ({ kind: 'pending' }) as const)
    if (outcome.kind === 'pending') {
      await store.postponeInquiry(db, attemptId, firstInquiryMs)
      owner.dueSooner()
    } else await settleSurely(intent.id, attemptId, outcome)
  }

  const inquire = async (due: { id: string; intent_id: string; age_ms: number }): Promise<void> => {
    const outcome = await connector
      .inquire(due.id, AbortSignal.timeout(inquiryMsMax))
      .catch(() => ({ kind: 'pending' }) as const)
    if (outcome.kind !== 'pending') return settleSurely(due.intent_id, due.id, outcome)
    await store.postponeInquiry(db, due.id, inquiryWaitMs(due.age_ms))
  }

  const abandonChallenges = async (): Promise<boolean> => {
    const due = await store.claimAbandoned(db, dueRowsMax)
    for (const { id, intent_id, challenge_expires_at } of due) {
      await settle(intent_id, id, 'REQUIRES_ACTION', 'challenge_abandoned', null, challenge_expires_at)
      owner.announced()
    }
    return due.length === dueRowsMax
  }

  const expireIntents = async (): Promise<boolean> => {
    const ended = await db.tx(async (tx) => {
      const rows = await store.expireIntents(tx, dueRowsMax)
      for (const { id, link_id } of rows) {
        if (link_id !== null) continue
        const intent = await read(tx, id)
        if (intent.shown.status === 'EXPIRED') await owner.announce(tx, intent, 'payment.expired')
      }
      return rows.length
    })
    if (ended > 0) owner.announced()
    return ended === dueRowsMax
  }

  const inquireAll = async (): Promise<boolean> => {
    const due = await store.claimInquiries(db, dueRowsMax, leaseSeconds)
    await Promise.all(due.map(inquire))
    return due.length === dueRowsMax
  }

  return {
    createIntent: (on, intent) => store.insertIntent(on, intent),
    findIntent: (principal, id) => store.findIntent(db, principal, id).then(intentIfAny),
    readIntent: (id) => store.readIntent(db, id).then(intentIfAny),
    findIntentByToken: (tokenHash) => store.findIntentByToken(db, tokenHash).then(intentIfAny),
    findIntentByForm: (linkId, nonce) => store.findIntentByForm(db, linkId, nonce).then(intentIfAny),

    async confirm(intent, input, correlationId, attemptCount) {
      refuseUnlessOpen(intent)
      const card = parseCard(input, intent.readAt)
      if ('refusal' in card) {
        throw new Fault('INVALID_CARD', `The card's ${card.field} is not right (${card.rule}).`, {
          field: `payment_method.card.${card.field}`,
          rule: card.rule,
        })
      }
      refuseAttempt(intent, intent.linkId === null || (await owner.isFree(intent.linkId)))
      const attemptId = newId(clock.now())
      const event = await firstEvent(connector, intent, attemptId, card)
      await start({ intent, attemptId, card, event, correlationId, attemptCount })
      if (event === 'processing_starts') await process(intent, attemptId, card)
      else owner.announced()
      return read(db, intent.id)
    },

    async endIntentsOfLink(tx, linkId, to, at) {
      await store.endIntentsOfLink(tx, linkId, to, at)
    },

    async runDue() {
      let full = false
      const failures: unknown[] = []
      // In this order, for a challenge's end comes before its intent's; a part that fails keeps none of the others from its turn.
      for (const part of [abandonChallenges, expireIntents, inquireAll]) {
        try {
          full = (await part()) || full
        } catch (error) {
          failures.push(error)
        }
      }
      if (failures.length > 0) throw failures[0]
      return full ? 0 : store.nextTurn(db)
    },
  }
}

const intentIfAny = (row: IntentRow | undefined): Intent | undefined => (row === undefined ? undefined : intentOf(row))

async function firstEvent(connector: Connector, intent: Intent, attemptId: string, card: Card): Promise<AttemptEvent> {
  if (connector.eligibility(card) === 'ineligible') return 'card_ineligible'
  const verification = await connector
    .verify({
      attemptId,
      card,
      amount: intent.amount,
      currency: intent.currency,
      signal: AbortSignal.timeout(verificationMsMax),
    })
    .catch(() => ({ kind: 'unavailable' }) as const)
  switch (verification.kind) {
    case 'passed':
      return 'processing_starts'
    case 'challenge':
      return 'challenge_needed'
    case 'refused':
      return 'verification_refused'
    case 'unavailable':
      return 'verification_down'
  }
}
