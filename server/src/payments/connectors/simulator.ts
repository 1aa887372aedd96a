import { randomBytes, randomInt } from 'node:crypto'
import type { Card } from '../card.ts'
import type {
  Answer,
  Approval,
  CardPayment,
  Challenge,
  Connector,
  DeclineReason,
  Outcome,
  ProcessorFailure,
  Verification,
} from './connector.ts'
import type { ChallengeMemory } from './simulator-challenges.ts'
import { simulatedRefunds, untilAborted, type RefundMemory } from './simulator-refunds.ts'

/** What the processor has decided for an attempt. `none` is the mark of an inquiry that came before any authorization. */
export type Decision =
  | Approval
  | { readonly kind: 'declined'; readonly reason: DeclineReason }
  | { readonly kind: 'failed'; readonly category: ProcessorFailure }
  | { readonly kind: 'none' }

export type DecisionRow = {
  readonly decision: Decision
  /** Business time from which the processor tells its decision; until then it answers `pending`. */
  readonly answersAt: Date
}

/** The processor's own memory, apart from the platform's: it outlives any crash of the process that called. Holds no card data. */
export type SimulatorStore = {
  readonly find: (attemptId: string) => Promise<DecisionRow | undefined>
  /** Keeps the row unless the attempt has one already; gives the row that is kept. The first writer wins, atomically. */
  readonly record: (attemptId: string, row: DecisionRow) => Promise<DecisionRow>
  readonly refunds: RefundMemory
  readonly challenges: ChallengeMemory
}

/**
 * The sandbox's card processor. It decides payments by the card number alone, from `testCards`; any other number is ineligible and is
 * never approved. Refunds are decided by their amount, from `testRefunds`. Times are business time.
 */
export function simulator({
  clock,
  store,
  challengeUrlOf,
}: {
  clock: { now(): Date }
  store: SimulatorStore
  /** Where the page of a challenge stands. */
  challengeUrlOf: (token: string) => string
}): Connector {
  const decideOnce = async (attemptId: string, behaviour: Behaviour, signal: AbortSignal): Promise<Answer> => {
    const now = clock.now()
    const answersAt = new Date(now.getTime() + (behaviour.answersAfterMs ?? 0))
    const kept = await store.record(attemptId, { decision: decide(behaviour, answersAt), answersAt })
    if (behaviour.answersAfterMs === null) return untilAborted(signal)
    const outcome = outcomeOf(kept, now)
    return outcome.kind === 'none' ? { kind: 'failed', category: 'PAYMENT_PROCESSING_ERROR' } : outcome
  }

  return {
    ...simulatedRefunds({ clock, memory: store.refunds }),

    eligibility: (card) => (behaviourOf(card) ? 'eligible' : 'ineligible'),

    async verify({ attemptId, card, amount, currency, returnUrl, payee, signal }): Promise<Verification> {
      signal.throwIfAborted()
      const behaviour = behaviourOf(card)
      if (behaviour?.verification !== 'challenge') return { kind: behaviour?.verification ?? 'passed' }
      // The card itself is not kept: what the processor would decide about it is.
      const { token } = await store.challenges.open({
        attemptId,
        token: randomBytes(16).toString('base64url'),
        returnUrl,
        payee,
        amount,
        currency,
        cardLastFour: card.lastFour,
        decision: behaviour.decision === 'approve' ? 'approved' : 'declined',
        result: null,
      })
      return { kind: 'challenge', url: challengeUrlOf(token) }
    },

    async challenge(attemptId, signal): Promise<Challenge> {
      signal?.throwIfAborted()
      const held = await store.challenges.find(attemptId)
      if (held === undefined) return { kind: 'none' }
      return held.result === null ? { kind: 'open', url: challengeUrlOf(held.token) } : { kind: held.result }
    },

    async authorize({ attemptId, card, signal }: CardPayment): Promise<Answer> {
      signal.throwIfAborted()
      return decideOnce(attemptId, behaviourOf(card) ?? declines('generic'), signal)
    },

    async authorizeVerified({ attemptId, signal }): Promise<Answer> {
      signal.throwIfAborted()
      const held = await store.challenges.find(attemptId)
      const approved = held?.result === 'passed' && held.decision === 'approved'
      return decideOnce(attemptId, approved ? approves : declines('generic'), signal)
    },

    async inquire(attemptId, signal): Promise<Outcome> {
      signal?.throwIfAborted()
      const now = clock.now()
      const row =
        (await store.find(attemptId)) ?? (await store.record(attemptId, { decision: { kind: 'none' }, answersAt: now }))
      return outcomeOf(row, now)
    },
  }
}

type Behaviour = {
  readonly verification: Verification['kind']
  readonly decision: 'approve' | Exclude<Decision, Approval | { kind: 'none' }>
  /** How long after the call the decision is told; null: the call itself is never answered. */
  readonly answersAfterMs: number | null
}

const approves: Behaviour = { verification: 'passed', decision: 'approve', answersAfterMs: 0 }

const declines = (reason: DeclineReason): Behaviour => ({ ...approves, decision: { kind: 'declined', reason } })

const fails = (category: ProcessorFailure): Behaviour => ({
  ...approves,
  decision: { kind: 'failed', category },
})

const verifies = (verification: Verification['kind'], then: Behaviour): Behaviour => ({ ...then, verification })

const answersAfter = (ms: number | null, then: Behaviour): Behaviour => ({ ...then, answersAfterMs: ms })

/** The published test numbers. `ineligible` is refused by name; every number that is not here is refused as well. */
export const testCards: ReadonlyMap<string, Behaviour | 'ineligible'> = new Map<string, Behaviour | 'ineligible'>([
  ['4242424242424242', approves],
  ['4111111111111111', approves],
  ['4343434343434345', approves],
  ['4571736000000075', approves],
  ['5555555555554444', approves],
  ['2223003122003222', approves],
  ['5105105105105100', approves],
  ['5555444444444457', approves],
  ['378282246310005', approves],
  ['6011111111111117', approves],
  ['3566002020360505', approves],
  ['6200000000000005', approves],
  ['4000000000000002', declines('generic')],
  ['4000000000009995', declines('insufficient_funds')],
  ['4000000000009987', declines('lost_card')],
  ['4000000000009979', declines('stolen_card')],
  ['4000000000000069', declines('expired_card')],
  ['4000000000000127', declines('wrong_cvc')],
  ['5100000000000198', declines('insufficient_funds')],
  ['4000000000000119', fails('PAYMENT_PROCESSING_ERROR')],
  ['5500000000000194', fails('PROCESSOR_UNAVAILABLE')],
  ['5200000000000197', 'ineligible'],
  ['4000002500003155', verifies('challenge', approves)],
  ['4000000000003220', verifies('challenge', approves)],
  ['4000008400001629', verifies('challenge', declines('generic'))],
  // These two never get as far as an authorization; if one is asked for all the same, it is refused.
  ['4230000000000004', verifies('refused', declines('generic'))],
  ['4000000000003238', verifies('unavailable', declines('generic'))],
  ['4000000000000259', answersAfter(20_000, approves)],
  ['4000000000004954', answersAfter(null, approves)],
  ['4000000000006728', answersAfter(null, fails('PAYMENT_PROCESSING_ERROR'))],
])

function behaviourOf(card: Card): Behaviour | undefined {
  const behaviour = testCards.get(card.number())
  return behaviour === 'ineligible' ? undefined : behaviour
}

function decide({ decision }: Behaviour, completedAt: Date): Decision {
  if (decision !== 'approve') return decision
  return {
    kind: 'approved',
    approvalCode: String(randomInt(1_000_000)).padStart(6, '0'),
    transactionId: `SIM${letters(17)}`,
    reconciliationId: letters(12),
    completedAt,
  }
}

function outcomeOf({ decision, answersAt }: DecisionRow, now: Date): Outcome {
  return answersAt > now ? { kind: 'pending' } : decision
}

// Crockford's alphabet without its digits: an id never holds a run of digits that a scanner could take for a card number.
const alphabet = 'ABCDEFGHJKMNPQRSTVWXYZ'

function letters(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
}
