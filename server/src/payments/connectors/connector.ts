import type { Card } from '../card.ts'
import type { AttemptEvent, FailureCategory } from '../machine.ts'
import type { RefundEvent } from '../refund-machine.ts'

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

/** A challenge is held on pages of the issuer's, at `url`; until it is passed nothing may be authorized. */
export type Verification =
  { readonly kind: 'passed' | 'refused' | 'unavailable' } | { readonly kind: 'challenge'; readonly url: string }

/** How a challenge stands. `none`: there is none of this attempt. */
export type Challenge =
  { readonly kind: 'open'; readonly url: string } | { readonly kind: 'passed' | 'refused' | 'unavailable' | 'none' }

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

export type PaymentToVerify = CardPayment & {
  /** Where a challenge sends the payer once it is over. It brings nothing along: how it ended is asked of the connector. */
  readonly returnUrl: string
  /** Whom a challenge names as the one to be paid. */
  readonly payee: string
}

/** A payment whose challenge was passed: the processor has kept its card since it was verified, and nobody else has. */
export type VerifiedPayment = Pick<CardPayment, 'attemptId' | 'signal'>

export type RefundAnswer =
  | { readonly kind: 'refunded' }
  /** Nothing was refunded, and never will be under this refund's id. */
  | { readonly kind: 'failed' }
  /** The processor has the refund and does not know yet: ask again. */
  | { readonly kind: 'pending' }

/** `none`: the processor has never heard of the refund, and has marked its id: one that comes late is refused. See `Outcome`. */
export type RefundOutcome = RefundAnswer | { readonly kind: 'none' }

export type CardRefund = {
  /** The refund's id, and the processor's idempotency key. */
  readonly refundId: string
  /** The attempt that was paid, by our id and by the processor's. */
  readonly attemptId: string
  readonly transactionId: string
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
  readonly verify: (payment: PaymentToVerify) => Promise<Verification>
  /** How the challenge of an attempt stands, known by the attempt's id alone. */
  readonly challenge: (attemptId: string, signal?: AbortSignal) => Promise<Challenge>
  /** Idempotent by attempt id: called again, it gives the first call's outcome and charges nothing. */
  readonly authorize: (payment: CardPayment) => Promise<Answer>
  /** The same after a challenge. Where none was passed, nothing is authorized. */
  readonly authorizeVerified: (payment: VerifiedPayment) => Promise<Answer>
  /** What became of an attempt, known by its id alone. */
  readonly inquire: (attemptId: string, signal?: AbortSignal) => Promise<Outcome>
  /** Gives money of a payment back. Idempotent by refund id: called again, it gives the first call's outcome and refunds nothing. */
  readonly refund: (refund: CardRefund) => Promise<RefundAnswer>
  /** What became of a refund, known by its id alone. */
  readonly inquireRefund: (refundId: string, signal?: AbortSignal) => Promise<RefundOutcome>
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

/** The refund's event that an outcome is. */
export function refundEventOf(outcome: RefundOutcome): RefundEvent {
  switch (outcome.kind) {
    case 'refunded':
      return 'refunded'
    case 'failed':
      return 'refused'
    case 'none':
      return 'unknown_to_processor'
    case 'pending':
      return 'no_answer'
  }
}
