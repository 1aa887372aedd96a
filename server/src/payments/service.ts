import type { Principal } from '../identity/principal.ts'
import { foremost } from '../kernel/all-over.ts'
import type { Clock } from '../kernel/clock.ts'
import { surely, type Db, type Queries } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { newId } from '../kernel/ids.ts'
import { createPace } from '../kernel/pace.ts'
import type { Keyring } from '../kernel/seal.ts'
import { cancelIntent } from './cancel.ts'
import { createAttempts, endOf, waitsFor, type ChallengeEnd } from './attempts.ts'
import { createCodes, type Codes, type CodeWriter } from './codes.ts'
import { cardRules, parseCard, type Card, type CardInput } from './card.ts'
import {
  eventOf,
  type Answer,
  type Challenge,
  type Connector,
  type Outcome,
  type Verification,
} from './connectors/connector.ts'
import { createInquiries, dueRowsMax, firstInquiryMs } from './inquiry.ts'
import { intentOf, type Intent } from './intent.ts'
import { owesExpiredEvent, type AttemptEvent } from './machine.ts'
import type { PaymentOwner } from './owner.ts'
import { atOnceOrOneByOne, oneByOne } from './put-off.ts'
import { createRefunds, type Refunds } from './refunds.ts'
import { paymentsStore as store, type IntentRow, type NewIntent } from './store.ts'

export interface PaymentsDependencies {
  readonly db: Db
  readonly clock: Clock
  readonly keyring: Keyring
  readonly connector: Connector
  readonly owner: PaymentOwner
  /** Null: nothing is paid by QR Ph here. */
  readonly codeWriter: CodeWriter | null
  /** How long a confirm waits for the processor; then it answers that the payment is being processed. */
  readonly confirmWaitMsMax: number
}

/** An intent after a confirm. */
export interface Confirmed extends Intent {
  /** Where the payer goes on: the challenge, or the page of the code, that the intent waits for. */
  readonly nextUrl?: string
}

export interface Payments {
  readonly refunds: Refunds
  readonly codes: Codes
  createIntent(on: Queries, intent: NewIntent): Promise<boolean>
  findIntent(principal: Principal, id: string): Promise<Intent | undefined>
  readIntent(id: string): Promise<Intent | undefined>
  findIntentByToken(tokenHash: Buffer): Promise<Intent | undefined>
  /** The intents of a link that were made by one of these forms, or have one of these tokens. */
  findIntentsMade(linkId: string, nonces: readonly string[], tokenHashes: readonly Buffer[]): Promise<Intent[]>
  /** Throws INTENT_PROCESSING, INTENT_INVALID_STATE where the intent takes no confirm. */
  refuseUnlessOpen(intent: Intent): void
  /** Pays; with `attemptCount`, only while the intent has had just so many attempts. Throws INTENT_PROCESSING, INTENT_INVALID_STATE, INVALID_CARD, ATTEMPT_LIMIT_REACHED, LINK_FULLY_RESERVED. */
  confirm(intent: Intent, card: CardInput, correlationId: string | null, attemptCount?: number): Promise<Confirmed>
  /** Where the payer goes on with the challenge that the intent waits for, and whether it has ended there; undefined while it waits for none. */
  challengeOf(intent: Intent): Promise<{ readonly url: string; readonly hasEnded: boolean } | undefined>
  /**
   * Asks the connector how the challenge of an attempt has ended, and goes on from there. A result that comes late or twice changes
   * nothing, and the processor is not called. `linkFull`: it was passed, but no use of the link was free.
   */
  takeChallenge(intent: Intent, attemptId: string): Promise<{ readonly intent: Intent; readonly linkFull: boolean }>
  /** Ends an intent at its merchant's word. Throws INTENT_PROCESSING, INTENT_INVALID_STATE. */
  cancelIntent(tx: Queries, id: string): Promise<Intent>
  /** Ends what is open of a link that has ended: of very much some, and the rest in the next rounds of `sweep`. */
  endIntentsOfLink(tx: Queries, linkId: string, to: 'CONSUMED' | 'EXPIRED' | 'CANCELLED', at: Date): Promise<void>
  /** Whether a further payment of a link could start now; true of one that has ended, which is the state of its intents to tell. */
  hasFreeUse(linkId: string): Promise<boolean>
  /** Has codes of a link whose time is over give back their uses, some at a time; resolves to whether there were any. */
  endOverdueCodes(tx: Queries, linkId: string): Promise<boolean>
  /** One round of what is due: abandoned challenges, codes, intents of links that have ended, expiries. Resolves to ms until the next. */
  sweep(): Promise<number>
  /** One round of questions to the processor about attempts that it has not answered. Resolves to ms until the next. */
  reconcile(): Promise<number>
}

const verificationMsMax = 10_000

export function createPayments({
  db,
  clock,
  keyring,
  connector,
  owner,
  codeWriter,
  confirmWaitMsMax,
}: PaymentsDependencies): Payments {
  const attempts = createAttempts({ db, clock, keyring, owner })

  /** Resolves to the intent where this call moved it. */
  const settleSurely = async (
    intent: Pick<Intent, 'id' | 'linkId'>,
    attemptId: string,
    outcome: Outcome,
  ): Promise<Intent | undefined> => {
    const event = eventOf(outcome)
    const settling = { intent, attemptId, method: 'card', from: 'PROCESSING', event, outcome, at: clock.now() } as const
    const settled = await surely(() => attempts.settle(settling))
    owner.announced()
    return settled
  }

  const callProcessor = async (
    intent: Intent,
    attemptId: string,
    authorize: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Intent> => {
    // No answer is no outcome: the reconciler asks until the processor knows.
    const outcome = await authorize(AbortSignal.timeout(confirmWaitMsMax)).catch(() => ({ kind: 'pending' }) as const)
    if (outcome.kind === 'pending') {
      await store.postponeInquiry(db, attemptId, firstInquiryMs)
      owner.dueSooner()
      return attempts.read(db, intent.id)
    }
    return (await settleSurely(intent, attemptId, outcome)) ?? attempts.read(db, intent.id)
  }

  const verify = async (
    { id, amount, currency, branchName }: Intent,
    attemptId: string,
    card: Card,
  ): Promise<{ event: AttemptEvent; challengeUrl?: string }> => {
    if (connector.eligibility(card) === 'ineligible') return { event: 'card_ineligible' }
    const returnUrl = owner.returnUrl(id, attemptId)
    const signal = AbortSignal.timeout(verificationMsMax)
    const verification = await connector
      .verify({ attemptId, card, amount, currency, returnUrl, payee: branchName, signal })
      .catch(() => ({ kind: 'unavailable' }) as const)
    const event = firstEvents[verification.kind]
    return verification.kind === 'challenge' ? { event, challengeUrl: verification.url } : { event }
  }

  /** A question that fails has told nothing: the challenge counts as open, as far as anybody knows. */
  const askAboutChallenge = (attemptId: string): Promise<Challenge> =>
    connector.challenge(attemptId, AbortSignal.timeout(verificationMsMax)).catch(() => ({ kind: 'none' }) as const)

  /** These resolve to how much they moved. */
  const endOverdueAttempts = async (): Promise<number> =>
    oneByOne(
      db,
      await store.findOverdueAttempts(db, dueRowsMax),
      async ({ id, intent_id, link_id, method, challenge_expires_at: at }) => {
        const event = method === 'qrph' ? 'code_expired' : 'challenge_abandoned'
        const intent = { id: intent_id, linkId: link_id }
        const from = 'REQUIRES_ACTION'
        const moved = await attempts.settle({ intent, attemptId: id, method, from, event, outcome: null, at })
        owner.announced()
        return moved === undefined ? 0 : 1
      },
    )

  const expire = async (which: { readonly rowsMax: number } | { readonly id: string }): Promise<number> => {
    const ended = await db.tx(async (tx) => {
      const rows = await store.expireIntents(tx, which)
      for (const { id, link_id } of rows) {
        if (link_id !== null) continue
        const row = await attempts.readRow(tx, id)
        if (owesExpiredEvent(endOf(row))) await owner.announce(tx, intentOf(row), 'payment.expired')
      }
      return rows.length
    })
    if (ended > 0) owner.announced()
    return ended
  }

  const expireIntents = (): Promise<number> =>
    atOnceOrOneByOne(db, {
      atOnce: () => expire({ rowsMax: dueRowsMax }),
      due: () => store.findOverdueIntents(db, dueRowsMax),
      one: expire,
    })

  const endLinks = async (): Promise<number> =>
    oneByOne(db, await store.findEndingLinks(db, dueRowsMax), async ({ id }) =>
      (await attempts.endRestOfLink(id)) ? 1 : 0,
    )

  const reconcile = createInquiries({
    db,
    store,
    ask: (id, signal) => connector.inquire(id, signal),
    settle: ({ id, intent_id, link_id }, outcome) => settleSurely({ id: intent_id, linkId: link_id }, id, outcome),
  })

  const sweepPace = createPace()

  return {
    refunds: createRefunds({ db, clock, connector, waitMsMax: confirmWaitMsMax, dueSooner: () => owner.dueSooner() }),
    codes: createCodes({ db, clock, attempts, owner, writer: codeWriter }),
    createIntent: (on, intent) => store.insertIntent(on, intent),
    findIntent: (principal, id) => store.findIntent(db, principal, id).then(intentIfAny),
    readIntent: (id) => store.readIntent(db, id).then(intentIfAny),
    findIntentByToken: (tokenHash) => store.findIntentByToken(db, tokenHash).then(intentIfAny),
    findIntentsMade: async (linkId, nonces, tokenHashes) =>
      (await store.findIntentsMade(db, linkId, nonces, tokenHashes)).map(intentOf),

    refuseUnlessOpen: attempts.refuseUnlessOpen,

    async confirm(intent, input, correlationId, attemptCount) {
      attempts.refuseUnlessOpen(intent)
      const card = parseCard(input, intent.readAt)
      if ('refusal' in card) {
        throw new Fault('INVALID_CARD', `payment_method.card.${card.field}: ${cardRules[card.rule]}.`, {
          field: `payment_method.card.${card.field}`,
          rule: card.rule,
        })
      }
      await attempts.refuseUnlessFree(intent)
      const attemptId = newId(clock.now())
      const { event, challengeUrl } = await verify(intent, attemptId, card)
      await attempts.start({ intent, attemptId, by: { method: 'card', card }, event, correlationId, attemptCount })
      if (event === 'processing_starts') {
        const { amount, currency } = intent
        return callProcessor(intent, attemptId, (signal) =>
          connector.authorize({ attemptId, card, amount, currency, signal }),
        )
      }
      owner.announced()
      const confirmed = await attempts.read(db, intent.id)
      const waits = challengeUrl !== undefined && waitsFor(confirmed, attemptId)
      return waits ? { ...confirmed, nextUrl: challengeUrl } : confirmed
    },

    async challengeOf(intent) {
      const attemptId = intent.latestAttempt?.id
      if (attemptId === undefined || !waitsFor(intent, attemptId)) return undefined
      const challenge = await askAboutChallenge(attemptId)
      const url = challenge.kind === 'open' ? challenge.url : owner.returnUrl(intent.id, attemptId)
      return { url, hasEnded: challengeEnds[challenge.kind] !== null }
    },

    async takeChallenge(intent, attemptId) {
      if (!waitsFor(intent, attemptId)) return { intent, linkFull: false }
      const end = challengeEnds[(await askAboutChallenge(attemptId)).kind]
      if (end === null) return { intent, linkFull: false }
      const ended = await attempts.endChallenge(intent, attemptId, end).catch((error: unknown) => {
        // Another result was first, or the intent has ended meanwhile.
        if (error instanceof Fault && error.code === 'INTENT_INVALID_STATE') return 'late'
        throw error
      })
      if (ended === 'passed') {
        const authorize = (signal: AbortSignal) => connector.authorizeVerified({ attemptId, signal })
        return { intent: await callProcessor(intent, attemptId, authorize), linkFull: false }
      }
      owner.announced()
      return { intent: await attempts.read(db, intent.id), linkFull: ended === 'full' }
    },

    cancelIntent: (tx, id) => cancelIntent(tx, { clock, attempts, owner }, id),

    endIntentsOfLink: (tx, linkId, to, at) => attempts.endIntentsOfLink(tx, linkId, { state: to, at }),

    hasFreeUse: attempts.hasFreeUse,
    endOverdueCodes: attempts.endOverdueCodes,

    async sweep() {
      const moves: number[] = []
      const failures: unknown[] = []
      // In this order, for a challenge's end comes before its intent's; a part that fails does not keep the other from its turn.
      for (const part of [endOverdueAttempts, endLinks, expireIntents]) {
        try {
          moves.push(await part())
        } catch (error) {
          failures.push(error)
        }
      }
      if (failures.length > 0) throw foremost(failures)
      const nextMs = moves.includes(dueRowsMax) ? 0 : await store.nextDeadline(db)
      return sweepPace({ moved: moves.some((count) => count > 0), waitMs: nextMs })
    },

    reconcile,
  }
}

const intentIfAny = (row: IntentRow | undefined): Intent | undefined => (row === undefined ? undefined : intentOf(row))

/** What each end of a challenge does to its attempt. One that is open, or that the issuer does not know, goes on waiting. */
const challengeEnds: Readonly<Record<Challenge['kind'], ChallengeEnd | null>> = {
  open: null,
  none: null,
  passed: 'challenge_passed',
  refused: 'challenge_refused',
  unavailable: 'challenge_down',
}

const firstEvents: Readonly<Record<Verification['kind'], AttemptEvent>> = {
  passed: 'processing_starts',
  challenge: 'challenge_needed',
  refused: 'verification_refused',
  unavailable: 'verification_down',
}
