/**
 * What links and intents should do, in as few words as possible: no database, no processes, no sweeper. A walk on a real platform
 * is held against it. Times are business time in ms.
 */
export interface World {
  readonly links: LinkModel[]
  readonly intents: IntentModel[]
}

export interface LinkModel {
  readonly id: string
  /** What a one_time link has cannot be changed. */
  readonly multi: boolean
  /** Infinity for a link without a limit. */
  cap: number
  expiresAt: number
  successes: number
  ended: 'CONSUMED' | 'CANCELLED' | null
}

export interface IntentModel {
  readonly id: string
  /** The payer's. */
  readonly page: string
  readonly link: LinkModel | null
  readonly expiresAt: number
  attempts: number
  latest: Latest | null
  /** By its merchant, or with its link. */
  ended: 'CONSUMED' | 'CANCELLED' | null
  readonly refunds: RefundModel[]
}

/** The attempt that was started last. ABANDONED counts as none. */
export interface Latest {
  readonly state: 'DECLINED' | 'FAILED' | 'REQUIRES_ACTION' | 'PROCESSING' | 'SUCCEEDED' | 'ABANDONED'
  readonly category: string | null
  /** When a challenge counts as abandoned, or from when on the processor tells what became of a silent call. */
  readonly until?: number
  /** It is a code that waits for the bank. */
  readonly code?: true
  /** What a silent call will turn out to be, or a payment whose challenge is passed. */
  readonly endsAs?: 'SUCCEEDED' | 'FAILED' | 'DECLINED'
}

export interface RefundModel {
  readonly id: string
  readonly amount: number
  state: RefundState
  /** What asking the processor will find, and from when on. */
  readonly endsAs: RefundState
  readonly until: number
}

export type RefundState = 'PENDING' | 'SUCCEEDED' | 'FAILED'

export interface Shown {
  readonly status: string
  readonly category: string | null
}

export const kinds = [
  'approved',
  'declined',
  'error',
  'unavailable',
  'ineligible',
  'verificationRefused',
  'verificationDown',
  'challenge',
  'challengeThenDeclined',
  'silent',
  'silentThenFailed',
  'malformed',
] as const
export type Kind = (typeof kinds)[number]

export const numberOf: Readonly<Record<Kind, string>> = {
  approved: '4242424242424242',
  declined: '4000000000000002',
  error: '4000000000000119',
  unavailable: '5500000000000194',
  ineligible: '5200000000000197',
  verificationRefused: '4230000000000004',
  verificationDown: '4000000000003238',
  challenge: '4000002500003155',
  challengeThenDeclined: '4000008400001629',
  silent: '4000000000004954',
  silentThenFailed: '4000000000006728',
  malformed: '4242424242424241',
}

const attemptsMax = 20
const challengeMs = 15 * 60_000
/** A silent call is asked about a second after it was given up: by now for sure. */
const silenceMs = 10_000
/** A slow refund is made after 20 seconds, and asked about all the while. */
const slowRefundMs = 20_000

/** What every link and every intent is about, in minor units. */
export const amountOfAll = 9_800

/** The attempt that a card makes; none for a malformed one. */
function attemptOf(kind: Kind, now: number): Latest | null {
  switch (kind) {
    case 'approved':
      return { state: 'SUCCEEDED', category: null }
    case 'declined':
      return { state: 'DECLINED', category: 'PAYMENT_REJECTED' }
    case 'error':
      return { state: 'FAILED', category: 'PAYMENT_PROCESSING_ERROR' }
    case 'unavailable':
      return { state: 'FAILED', category: 'PROCESSOR_UNAVAILABLE' }
    case 'ineligible':
      return { state: 'DECLINED', category: 'CARD_NOT_ELIGIBLE' }
    case 'verificationRefused':
      return { state: 'DECLINED', category: 'VERIFICATION_REJECTED' }
    case 'verificationDown':
      return { state: 'FAILED', category: 'VERIFICATION_UNAVAILABLE' }
    case 'challenge':
      return { state: 'REQUIRES_ACTION', category: null, until: now + challengeMs, endsAs: 'SUCCEEDED' }
    case 'challengeThenDeclined':
      return { state: 'REQUIRES_ACTION', category: null, until: now + challengeMs, endsAs: 'DECLINED' }
    case 'silent':
      return { state: 'PROCESSING', category: null, until: now + silenceMs, endsAs: 'SUCCEEDED' }
    case 'silentThenFailed':
      return { state: 'PROCESSING', category: null, until: now + silenceMs, endsAs: 'FAILED' }
    case 'malformed':
      return null
  }
}

export function linkStatus(link: LinkModel, now: number): string {
  return link.ended ?? (link.expiresAt <= now ? 'EXPIRED' : 'ACTIVE')
}

export function shownIntent({ latest, ended, expiresAt }: IntentModel, now: number): Shown {
  const is = (status: string, category: string | null = null) => ({ status, category })
  if (latest?.state === 'SUCCEEDED' || latest?.state === 'PROCESSING') return is(latest.state)
  if (ended !== null) return is(ended)
  if (expiresAt <= now) return is('EXPIRED')
  if (latest === null || latest.state === 'ABANDONED') return is('ACTIVE')
  if (latest.state === 'REQUIRES_ACTION' && (latest.until ?? 0) <= now)
    return latest.code ? is('ACTIVE') : is('DECLINED', 'VERIFICATION_REJECTED')
  return is(latest.state, latest.category)
}

const reservedOf = ({ intents }: World, link: LinkModel, now: number): number =>
  intents.filter((one) => one.link === link && (one.latest?.state === 'PROCESSING' || holdsByCode(one, now))).length

/** Whether a code holds a use of its link: until its time is over, whether or not anybody has stored that. */
const holdsByCode = ({ latest, ended }: IntentModel, now: number): boolean =>
  latest?.code === true && latest.state === 'REQUIRES_ACTION' && ended === null && (latest.until ?? 0) > now

/** How many further payments of a link may start. */
export const freeOf = (world: World, link: LinkModel, now: number): number => link.cap - takenOf(world, link, now)

const takenOf = (world: World, link: LinkModel, now: number): number => link.successes + reservedOf(world, link, now)

/** What a confirm is answered: a refusal, or the attempt that it makes. */
export function confirmOf(world: World, intent: IntentModel, kind: Kind, now: number): Latest | string {
  const { status } = shownIntent(intent, now)
  if (status === 'PROCESSING') return '409 INTENT_PROCESSING'
  if (!['ACTIVE', 'DECLINED', 'FAILED'].includes(status)) return '409 INVALID_STATE'
  const attempt = attemptOf(kind, now)
  if (attempt === null) return '400 INVALID_CARD payment_method.card.number luhn'
  if (intent.attempts >= attemptsMax) return '409 ATTEMPT_LIMIT_REACHED'
  if (intent.link !== null && freeOf(world, intent.link, now) <= 0) return '409 LINK_FULLY_RESERVED'
  return attempt
}

export function makeAttempt(world: World, intent: IntentModel, attempt: Latest, now: number): void {
  intent.attempts += 1
  intent.latest = attempt
  if (attempt.state === 'SUCCEEDED' && intent.link !== null) countSuccess(world, intent.link, now)
}

/** A code that the payer is shown. */
export const codeOf = ({ expiresAt }: IntentModel, now: number): Latest => ({
  state: 'REQUIRES_ACTION',
  category: null,
  until: Math.min(now + challengeMs, expiresAt),
  code: true,
})

/** A bank answers a code that waits, or its payer gives it up. */
export function endCode(
  world: World,
  intent: IntentModel,
  how: 'SUCCESS' | 'DECLINED' | 'EXPIRED' | 'given up',
  now: number,
): void {
  if (how === 'SUCCESS') intent.latest = { state: 'SUCCEEDED', category: null }
  else if (how === 'DECLINED') intent.latest = { state: 'DECLINED', category: 'PAYMENT_REJECTED' }
  else intent.latest = { state: 'ABANDONED', category: null }
  if (how === 'SUCCESS' && intent.link !== null) countSuccess(world, intent.link, now)
}

/** Codes whose time is over are stored as that. */
export function sweepCodes({ intents }: World, now: number): void {
  for (const intent of intents)
    if (intent.latest?.code && intent.latest.state === 'REQUIRES_ACTION' && (intent.latest.until ?? 0) <= now)
      intent.latest = { state: 'ABANDONED', category: null }
}

/** A silent call has turned out to be what it was. */
export function settleSilent(world: World, intent: IntentModel, now: number): void {
  const succeeded = intent.latest?.endsAs === 'SUCCEEDED'
  intent.latest = succeeded
    ? { state: 'SUCCEEDED', category: null }
    : { state: 'FAILED', category: 'PAYMENT_PROCESSING_ERROR' }
  if (succeeded && intent.link !== null) countSuccess(world, intent.link, now)
}

export const challengeAnswers = ['passed', 'refused', 'unavailable'] as const
export type ChallengeAnswer = (typeof challengeAnswers)[number]

/** The payer comes back from a challenge. Nothing happens where the intent does not wait for it any more. */
export function endChallenge(world: World, intent: IntentModel, answer: ChallengeAnswer, now: number): void {
  if (shownIntent(intent, now).status !== 'REQUIRES_ACTION') return
  const approved = intent.latest?.endsAs === 'SUCCEEDED'
  if (answer === 'refused') intent.latest = { state: 'DECLINED', category: 'VERIFICATION_REJECTED' }
  else if (answer === 'unavailable') intent.latest = { state: 'FAILED', category: 'VERIFICATION_UNAVAILABLE' }
  else if (intent.link !== null && freeOf(world, intent.link, now) <= 0)
    intent.latest = { state: 'ABANDONED', category: null }
  else if (!approved) intent.latest = { state: 'DECLINED', category: 'PAYMENT_REJECTED' }
  else {
    intent.latest = { state: 'SUCCEEDED', category: null }
    if (intent.link !== null) countSuccess(world, intent.link, now)
  }
}

const sumOf = ({ refunds }: IntentModel, ...states: readonly RefundState[]): number =>
  refunds.reduce((sum, { amount, state }) => (states.includes(state) ? sum + amount : sum), 0)

/** What came in, and what of it has gone back to payers. */
export const moneyOf = ({ intents }: World): { received: number; refunded: number } => ({
  received: amountOfAll * intents.filter(({ latest }) => latest?.state === 'SUCCEEDED').length,
  refunded: intents.reduce((sum, intent) => sum + sumOf(intent, 'SUCCEEDED'), 0),
})

/** What of a payment can still be refunded; nothing while it is not paid. */
export const leftOf = (intent: IntentModel): number =>
  intent.latest?.state === 'SUCCEEDED' ? amountOfAll - sumOf(intent, 'SUCCEEDED', 'PENDING') : 0

/** What a refund is answered: a refusal, or the refund that it makes. `amount` undefined: all that is left. */
export function refundOf(
  intent: IntentModel,
  amount: number | undefined,
  now: number,
): Omit<RefundModel, 'id'> | string {
  if (intent.latest?.state !== 'SUCCEEDED') return '422 INVALID_STATE'
  const left = leftOf(intent)
  const asked = amount ?? left
  return asked < 1 || asked > left ? '422 AMOUNT_EXCEEDS_REMAINING amount remaining' : refundFor(asked, now)
}

/** By the last three digits of its amount. */
export function refundFor(amount: number, now: number): Omit<RefundModel, 'id'> {
  const refund = (state: RefundState, endsAs: RefundState = state, afterMs = 0) => {
    return { amount, state, endsAs, until: now + afterMs }
  }
  switch (amount % 1_000) {
    case 991:
      return refund('FAILED')
    case 992:
      return refund('PENDING', 'SUCCEEDED', silenceMs)
    case 993:
      return refund('PENDING', 'FAILED', silenceMs)
    case 994:
      return refund('PENDING', 'SUCCEEDED', slowRefundMs)
    default:
      return refund('SUCCEEDED')
  }
}

/** The processor was asked about every refund that it has not answered. */
export function settleRefunds({ intents }: World, now: number): RefundModel[] {
  const due = intents
    .flatMap(({ refunds }) => refunds)
    .filter(({ state, until }) => state === 'PENDING' && until <= now)
  for (const refund of due) refund.state = refund.endsAs
  return due
}

/** A success counts whenever it comes. The one that uses an ACTIVE link up ends the intents of it that are still open. */
export function countSuccess(world: World, link: LinkModel, now: number): void {
  link.successes += 1
  if (linkStatus(link, now) !== 'ACTIVE' || link.successes < link.cap) return
  endLink(world, link, 'CONSUMED', now)
}

/** With what is open of it. What is being processed goes on, and shows that end only if it comes to nothing. */
export function endLink({ intents }: World, link: LinkModel, ended: 'CONSUMED' | 'CANCELLED', now: number): void {
  link.ended = ended
  for (const one of intents) {
    if (one.link === link && one.latest?.state !== 'SUCCEEDED' && one.expiresAt > now) one.ended ??= ended
  }
}

/** Cancels a link as its merchant does. The refusal, or what it is then. */
export function cancelLink(world: World, link: LinkModel, now: number): string {
  const status = linkStatus(link, now)
  if (status !== 'ACTIVE' && status !== 'CANCELLED') return '422 INVALID_STATE'
  if (status === 'ACTIVE') endLink(world, link, 'CANCELLED', now)
  return 'CANCELLED'
}

/** Cancels an intent as its merchant does. */
export function cancelIntent(intent: IntentModel, now: number): string {
  const { status } = shownIntent(intent, now)
  if (status === 'PROCESSING') return '409 INTENT_PROCESSING'
  if (status === 'SUCCEEDED' || status === 'EXPIRED' || status === 'CONSUMED') return '409 INVALID_STATE'
  intent.ended = 'CANCELLED'
  return 'CANCELLED'
}

export interface LinkChange {
  /** Infinity lifts the limit; one of a single use keeps its own. */
  readonly cap?: number
  readonly expiresAt?: number
}

/** Changes a link as its merchant does. */
export function updateLink(world: World, link: LinkModel, { cap, expiresAt }: LinkChange, now: number): string {
  if (linkStatus(link, now) !== 'ACTIVE') return '422 INVALID_STATE'
  if (cap !== undefined && cap !== Infinity && !link.multi) return '400 INVALID_MAX_USES max_uses multi_use_only'
  if (cap !== undefined && cap <= takenOf(world, link, now)) return '400 INVALID_MAX_USES max_uses greater_than_taken'
  if (expiresAt !== undefined && expiresAt <= link.expiresAt) return '400 INVALID_EXPIRES_AT expires_at later'
  if (link.multi) link.cap = cap ?? link.cap
  link.expiresAt = expiresAt ?? link.expiresAt
  return 'ACTIVE'
}

/** The times at which something changes by itself. */
export const deadlinesOf = ({ links, intents }: World): number[] => [
  ...links.map(({ expiresAt }) => expiresAt),
  ...intents.flatMap(({ expiresAt, latest, refunds }) => [
    expiresAt,
    ...(latest?.until === undefined ? [] : [latest.until]),
    ...refunds.flatMap(({ state, until }) => (state === 'PENDING' ? [until] : [])),
  ]),
]
