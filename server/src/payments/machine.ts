/** What an intent stores of itself. How its attempts fare is theirs; `shownIntent` puts both together. */
export type IntentState = 'ACTIVE' | 'CONSUMED' | 'EXPIRED' | 'CANCELLED'

/** What an attempt stores. ABANDONED is never shown. */
export type AttemptState = 'REQUIRES_ACTION' | 'PROCESSING' | 'SUCCEEDED' | 'DECLINED' | 'FAILED' | 'ABANDONED'

export type ShownStatus = IntentState | Exclude<AttemptState, 'ABANDONED'>

export type FailureCategory =
  | 'VERIFICATION_REJECTED'
  | 'VERIFICATION_UNAVAILABLE'
  | 'PAYMENT_REJECTED'
  | 'PAYMENT_PROCESSING_ERROR'
  | 'PROCESSOR_UNAVAILABLE'
  | 'CARD_NOT_ELIGIBLE'

export type PaymentEvent = 'payment.succeeded' | 'payment.declined' | 'payment.failed'

export type IntentEvent = 'expires' | 'merchant_cancels' | 'link_consumed' | 'link_expired' | 'link_cancelled'

export type AttemptEvent =
  | 'card_ineligible'
  | 'verification_refused'
  | 'verification_down'
  | 'challenge_needed'
  | 'processing_starts'
  | 'challenge_passed'
  | 'challenge_passed_no_use_free'
  | 'challenge_refused'
  | 'challenge_abandoned'
  | 'challenge_down'
  | 'approved'
  | 'issuer_refused'
  | 'processor_unavailable'
  | 'processor_error'
  | 'no_answer'
  | 'code_made'
  | 'code_paid'
  | 'code_declined'
  | 'code_expired'
  | 'code_given_up'
  | 'intent_ended'

/** How an attempt is paid: by a card, or by a QR Ph code that the payer's bank reads. */
export type PaymentMethod = 'card' | 'qrph'

/** A move that the table does not have. Nothing changes, and for a challenge's late or doubled result the processor is not called. */
export type Refused<Code extends string = 'INVALID_STATE'> = { readonly refusal: Code }

export type IntentMove = {
  readonly from: IntentState
  readonly event: IntentEvent
  readonly to: IntentState
  /** An end of an intent is no failure and causes none of the attempt events; `payment.expired` is `owesExpiredEvent`'s. */
  readonly category: null
  readonly emits: null
  readonly when: string
}

export type AttemptMove = {
  /** NONE: the attempt does not exist yet; the move creates it. */
  readonly from: AttemptState | 'NONE'
  readonly event: AttemptEvent
  readonly to: AttemptState
  /** Why it failed, for a move into DECLINED or FAILED. */
  readonly category: FailureCategory | null
  /** The merchant's event that is written in the same transaction as the move. */
  readonly emits: PaymentEvent | null
  readonly when: string
}

/** Attempts per intent, those that never reached the processor included. */
export const attemptsMax = 20

/** How long a payer may take over a challenge, in business time, before it counts as abandoned. */
export const challengeWaitMs = 15 * 60_000

/** How long a code can be paid, in business time; its intent's end may come sooner. */
export const codeWaitMs = 15 * 60_000

export const intentMoves: readonly IntentMove[] = [
  endsIn('EXPIRED', 'expires', 'expires_at passes'),
  endsIn('CANCELLED', 'merchant_cancels', 'the merchant cancels'),
  endsIn('CONSUMED', 'link_consumed', 'its link is used up by another payment'),
  endsIn('EXPIRED', 'link_expired', 'its link expires'),
  endsIn('CANCELLED', 'link_cancelled', 'its link is cancelled'),
  { ...endsIn('CANCELLED', 'merchant_cancels', 'the merchant cancels again: nothing changes'), from: 'CANCELLED' },
]

export const attemptMoves: readonly AttemptMove[] = [
  declines(
    'NONE',
    'card_ineligible',
    'CARD_NOT_ELIGIBLE',
    'confirm; an eligibility rule refuses before the processor is reached',
  ),
  declines(
    'NONE',
    'verification_refused',
    'VERIFICATION_REJECTED',
    'confirm; verification refuses without a challenge',
  ),
  fails('NONE', 'verification_down', 'VERIFICATION_UNAVAILABLE', 'confirm; the verification service is down'),
  goesOn('NONE', 'challenge_needed', 'REQUIRES_ACTION', 'confirm; a challenge is needed'),
  goesOn('NONE', 'processing_starts', 'PROCESSING', 'confirm'),
  goesOn('NONE', 'code_made', 'REQUIRES_ACTION', 'a QR Ph code is asked for: it waits for the bank'),

  goesOn('REQUIRES_ACTION', 'challenge_passed', 'PROCESSING', 'the challenge is passed and a use of the link is free'),
  goesOn(
    'REQUIRES_ACTION',
    'challenge_passed_no_use_free',
    'ABANDONED',
    'the challenge is passed and no use of the link is free',
  ),
  declines('REQUIRES_ACTION', 'challenge_refused', 'VERIFICATION_REJECTED', 'the challenge is refused'),
  declines(
    'REQUIRES_ACTION',
    'challenge_abandoned',
    'VERIFICATION_REJECTED',
    'nobody takes the challenge for 15 minutes',
  ),
  fails('REQUIRES_ACTION', 'challenge_down', 'VERIFICATION_UNAVAILABLE', 'the challenge service is down'),
  goesOn('REQUIRES_ACTION', 'intent_ended', 'ABANDONED', 'the intent ends'),

  succeeds('REQUIRES_ACTION', 'code_paid', 'the bank pays the code with its exact amount'),
  declines('REQUIRES_ACTION', 'code_declined', 'PAYMENT_REJECTED', 'the bank declines the code'),
  goesOn('REQUIRES_ACTION', 'code_expired', 'ABANDONED', 'the time of the code is over: its transaction is EXPIRED'),
  goesOn('REQUIRES_ACTION', 'code_given_up', 'ABANDONED', 'the payer gives up the code for another way to pay'),

  succeeds('PROCESSING', 'approved', 'approved'),
  declines('PROCESSING', 'issuer_refused', 'PAYMENT_REJECTED', 'the issuer refuses'),
  fails(
    'PROCESSING',
    'processor_unavailable',
    'PROCESSOR_UNAVAILABLE',
    'the processor is authoritatively unavailable and no authorization exists',
  ),
  fails(
    'PROCESSING',
    'processor_error',
    'PAYMENT_PROCESSING_ERROR',
    'the processor failed and is known not to have authorized',
  ),
  goesOn('PROCESSING', 'no_answer', 'PROCESSING', 'no answer: the processor is asked until it knows'),
  goesOn('PROCESSING', 'intent_ended', 'PROCESSING', 'the intent ends: its end is stored, the attempt goes on'),
]

const intentMoveOf = new Map(intentMoves.map((move) => [`${move.from} ${move.event}`, move]))
const attemptMoveOf = new Map(attemptMoves.map((move) => [`${move.from} ${move.event}`, move]))

/** The row of the table for an intent's own state. Final states are left by nothing. */
export function moveIntent(state: IntentState, event: IntentEvent): IntentMove | Refused {
  return intentMoveOf.get(`${state} ${event}`) ?? { refusal: 'INVALID_STATE' }
}

/** The row of the table for one attempt. A refusal means that the event came too late, twice or out of turn, and changes nothing. */
export function moveAttempt(state: AttemptState | 'NONE', event: AttemptEvent): AttemptMove | Refused {
  return attemptMoveOf.get(`${state} ${event}`) ?? { refusal: 'INVALID_STATE' }
}

export type IntentStates = {
  readonly state: IntentState
  /** The state of the attempt that was started last, null before the first. */
  readonly latest: AttemptState | null
  readonly succeeded: boolean
}

/**
 * Ends an intent together with its open attempt: a challenge that is open is abandoned, a payment that is being processed is
 * never cut off, only its intent's end is stored (by the merchant it cannot be ended at all), and a paid intent has no end.
 */
export function endIntent(
  { state, latest, succeeded }: IntentStates,
  event: IntentEvent,
): Pick<IntentStates, 'state' | 'latest'> | Refused<'INVALID_STATE' | 'INTENT_PROCESSING'> {
  if (succeeded) return { refusal: 'INVALID_STATE' }
  if (event === 'merchant_cancels' && latest === 'PROCESSING') return { refusal: 'INTENT_PROCESSING' }
  const move = moveIntent(state, event)
  if ('refusal' in move) return move
  const attempt = latest && moveAttempt(latest, 'intent_ended')
  return { state: move.to, latest: attempt && 'to' in attempt ? attempt.to : latest }
}

/**
 * Whether `payment.expired` is due for an intent: it has expired unpaid and nothing of it is being processed any more. It turns
 * true at most once, so the move that makes it true writes the event. An intent of a link owes none: its link does.
 */
export function owesExpiredEvent({
  state,
  latest,
  succeeded,
  hasLink,
}: IntentStates & { readonly hasLink: boolean }): boolean {
  return state === 'EXPIRED' && !hasLink && !succeeded && latest !== 'PROCESSING'
}

/**
 * Whether an attempt holds a use of its link: from when somebody else may bring its success on, for then the use must be there. A code
 * may be paid as soon as it is shown, a card only once the processor is called.
 */
export const holdsUse = (method: PaymentMethod, state: AttemptState): boolean =>
  state === 'PROCESSING' || (state === 'REQUIRES_ACTION' && method === 'qrph')

/** Why an intent that is shown so takes no confirm (409), or null. To be asked before the card is looked at. */
export function confirmRefusal(shown: ShownStatus): 'INTENT_PROCESSING' | 'INVALID_STATE' | null {
  return confirmRefusals[shown]
}

/** Why a well-formed card may make no further attempt (409), or null. Asked after the card's form, the limit before the link's use. */
export function attemptRefusal(already: {
  readonly attempts: number
  readonly useFree: boolean
}): 'ATTEMPT_LIMIT_REACHED' | 'LINK_FULLY_RESERVED' | null {
  if (already.attempts >= attemptsMax) return 'ATTEMPT_LIMIT_REACHED'
  return already.useFree ? null : 'LINK_FULLY_RESERVED'
}

const confirmRefusals: Record<ShownStatus, 'INTENT_PROCESSING' | 'INVALID_STATE' | null> = {
  ACTIVE: null,
  DECLINED: null,
  FAILED: null,
  REQUIRES_ACTION: 'INVALID_STATE',
  PROCESSING: 'INTENT_PROCESSING',
  SUCCEEDED: 'INVALID_STATE',
  EXPIRED: 'INVALID_STATE',
  CONSUMED: 'INVALID_STATE',
  CANCELLED: 'INVALID_STATE',
}

function endsIn(to: IntentState, event: IntentEvent, when: string): IntentMove {
  return { from: 'ACTIVE', event, to, category: null, emits: null, when }
}

function goesOn(from: AttemptMove['from'], event: AttemptEvent, to: AttemptState, when: string): AttemptMove {
  return { from, event, to, category: null, emits: null, when }
}

function succeeds(from: AttemptMove['from'], event: AttemptEvent, when: string): AttemptMove {
  return { from, event, to: 'SUCCEEDED', category: null, emits: 'payment.succeeded', when }
}

function declines(
  from: AttemptMove['from'],
  event: AttemptEvent,
  category: FailureCategory,
  when: string,
): AttemptMove {
  return { from, event, to: 'DECLINED', category, emits: 'payment.declined', when }
}

function fails(from: AttemptMove['from'], event: AttemptEvent, category: FailureCategory, when: string): AttemptMove {
  return { from, event, to: 'FAILED', category, emits: 'payment.failed', when }
}
