import type { Card } from '../card.ts'
import type { AttemptEvent, FailureCategory } from '../machine.ts'

/** Why an issuer refused. For us alone: what a payer and a merchant may read of it is in `messages.ts`. */
export type DeclineReason =
  'generic' | 'insufficient_funds' | 'lost_card' | 'stolen_card' | 'expired_card' | 'wrong_cvc'

/** Both authoritative: nothing was authorized. */
export type ProcessorFailure = Extract<FailureCategory, 'PAYMENT_PROCESSING_ERROR' | 'PROCESSOR_UNAVAILABLE'>

export type Approval = {
  readonly kind: 'approved'
  /** Six digits, the issuer's. */
  readonly approvalCode: string
  /** The processor's name of the payment. */
  readonly transactionId: string
  /** What settlement files name the payment by. */
  readonly reconciliationId: string
  /** Business time. */
  readonly completedAt: Date
}

export type Answer =
  | Approval
  | { readonly kind: 'declined'; readonly reason: DeclineReason }
  /** Nothing was authorized, and never will be under this attempt's id. */
  | { readonly kind: 'failed'; readonly category: ProcessorFailure }
  /** The processor has the payment and does not know yet: ask again. */
  | { readonly kind: 'pending' }

/**
 * `none`: the processor has never heard of the attempt. It is a promise and not a snapshot: the processor has marked the id, so
 * an authorization that was still on its way (a call of a process that died, a packet that hung) is refused when it arrives.
 * Otherwise whoever asks would have to guess how long to wait, and a late call would charge a payer who was told "failed".
 */
export type Outcome = Answer | { readonly kind: 'none' }

/** A challenge is held on pages of ours or the issuer's; until it is passed nothing may be authorized. */
export type Verification = { readonly kind: 'passed' | 'challenge' | 'refused' | 'unavailable' }

export type CardPayment = {
  /** The attempt's id, and the processor's idempotency key. */
  readonly attemptId: string
  readonly card: Card
  /** Minor units. */
  readonly amount: bigint
  readonly currency: string
  /** The deadline of this one call. */
  readonly signal: AbortSignal
}

/** A card processor. A call that rejects or is aborted has told nothing: only `inquire` ends the doubt. */
export type Connector = {
  /** Local rules, asked before the processor is reached. */
  readonly eligibility: (card: Card) => 'eligible' | 'ineligible'
  /** Whether the payer must prove to be the cardholder. Charges nothing. */
  readonly verify: (payment: CardPayment) => Promise<Verification>
  /** Idempotent by attempt id: called again, it gives the first call's outcome and charges nothing. */
  readonly authorize: (payment: CardPayment) => Promise<Answer>
  /** What became of an attempt, known by its id alone. */
  readonly inquire: (attemptId: string, signal?: AbortSignal) => Promise<Outcome>
}

/** The attempt's event that an outcome is. `none` is an error that is known not to have authorized. */
export function eventOf(outcome: Outcome): AttemptEvent {
  switch (outcome.kind) {
    case 'approved':
      return 'approved'
    case 'declined':
      return 'issuer_refused'
    case 'failed':
      return outcome.category === 'PROCESSOR_UNAVAILABLE' ? 'processor_unavailable' : 'processor_error'
    case 'none':
      return 'processor_error'
    case 'pending':
      return 'no_answer'
  }
}
