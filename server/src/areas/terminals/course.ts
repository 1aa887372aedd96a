import {
  graceMs,
  isOpen,
  noResultMs,
  progressAfter,
  type Announcement,
  type GivenUp,
  type Push,
  type TransactionEvent,
  type TransactionState,
  type VoidCause,
} from './machine.ts'

export type Outcome = 'SUCCESS' | 'FAILED' | 'CANCELLED'
export type VoidState = 'ASKED' | 'CONFIRMED' | 'REFUSED'

/** What changes of a transaction. Times are business time. */
export interface Course {
  readonly state: TransactionState
  readonly given_up: GivenUp | null
  readonly given_up_at: Date | null
  readonly announced: Announcement | null
  readonly sent_to: string | null
  readonly cancel_asked: boolean
  readonly outcome: Outcome | null
  readonly our_code: string | null
  readonly authorization_code: string | null
  readonly error_code: string | null
  readonly error_message: string | null
  readonly receipt_data: string | null
  readonly receipt_json: string | null
  readonly outcome_at: Date | null
  readonly void_cause: VoidCause | null
  readonly void_state: VoidState | null
  readonly void_reason: string | null
  readonly void_error: string | null
  readonly void_asked_at: Date | null
  readonly void_step_s: number | null
  readonly voided_at: Date | null
  /** What tells an approval that was voided as it came from another, see `approval` of a result; shown to nobody. */
  readonly voided_code: string | null
  readonly complete_unseen: boolean
  readonly voided_unseen: boolean
  readonly ended_at: Date | null
  readonly reach_at: Date | null
  readonly grace_at: Date | null
  readonly wait_at: Date | null
  readonly no_result_at: Date | null
  readonly cancel_at: Date | null
  readonly void_at: Date | null
}

/** Of a payment that begins. */
export const newCourse: Course = {
  state: 'PENDING',
  given_up: null,
  given_up_at: null,
  announced: null,
  sent_to: null,
  cancel_asked: false,
  outcome: null,
  our_code: null,
  authorization_code: null,
  error_code: null,
  error_message: null,
  receipt_data: null,
  receipt_json: null,
  outcome_at: null,
  void_cause: null,
  void_state: null,
  void_reason: null,
  void_error: null,
  void_asked_at: null,
  void_step_s: null,
  voided_at: null,
  voided_code: null,
  complete_unseen: false,
  voided_unseen: false,
  ended_at: null,
  reach_at: null,
  grace_at: null,
  wait_at: null,
  no_result_at: null,
  cancel_at: null,
  void_at: null,
}

// What Kaha keeps to itself. Of the rest a record is made: its state, its answer, and when it came to them.
const behind: readonly (keyof Course)[] = [
  'announced',
  'sent_to',
  'cancel_asked',
  'void_state',
  'void_reason',
  'void_error',
  'void_asked_at',
  'void_step_s',
  'voided_code',
  'complete_unseen',
  'voided_unseen',
  'reach_at',
  'grace_at',
  'wait_at',
  'no_result_at',
  'cancel_at',
  'void_at',
]
const shown = (Object.keys(newCourse) as (keyof Course)[]).filter((name) => !behind.includes(name))

/** Whether the payment stands as it did for all who may read it, whatever Kaha still does about it. */
export const standsAs = (before: Course, after: Course): boolean => shown.every((name) => after[name] === before[name])

export type Told = 'payment' | 'cancelPayment' | 'voidPayment' | 'paymentStatus'
export const alarms = [
  'void_refused',
  'void_unanswered',
  'foreign_result',
  'malformed_result',
  'further_approval',
] as const
export type Alarm = (typeof alarms)[number]
/** What may need a person: alarms of a payment, and an approval without one. */
export const attentionCauses = [...alarms, 'unmatched_result'] as const
export type AttentionCause = (typeof attentionCauses)[number]

/** What follows from a change, once it is committed; announcements and alarms are written with it. */
export type Effect =
  | { readonly kind: 'announce'; readonly type: Announcement }
  | { readonly kind: 'push'; readonly push: Push }
  | { readonly kind: 'tell'; readonly action: Told }
  | { readonly kind: 'alarm'; readonly alarm: Alarm; readonly detail: string }

export interface Step {
  readonly course: Course
  readonly effects: readonly Effect[]
}

/** Nothing happens, and nothing is written. */
export const unchanged = (course: Course): Step => ({ course, effects: [] })

/** A result, as far as it is kept. */
export interface Result {
  readonly authorizationCode?: string | undefined
  /** What tells an approval from another: its money and its code. */
  readonly approval?: string | undefined
  readonly errorCode?: string | undefined
  readonly errorMessage?: string | undefined
  readonly receiptData?: string | undefined
}

/** How long a payment that nobody took on to the terminal stays without a word. */
export const reachMs = 10_000
const cancelEveryMs = 30_000
/** How long a terminal counts as busy with a payment that was given up. */
export const busyMs = 2 * 60_000
export const voidWaitMs = 30_000
const voidStepS = 30
const voidStepSMax = 15 * 60
const voidForMs = 24 * 3_600_000

const plus = (at: Date, ms: number): Date => new Date(at.getTime() + ms)

const voidReasons: Readonly<Record<VoidCause, string>> = {
  late: 'The approval came too late: the payment had been given up.',
  mismatch: 'The terminal approved another amount or currency.',
  contradiction: 'The terminal approved after it had said otherwise.',
  confirmed: 'It was voided at the terminal.',
}

const outcomes: Partial<Record<TransactionEvent, Outcome>> = {
  success: 'SUCCESS',
  failed: 'FAILED',
  cancelled: 'CANCELLED',
  not_reached: 'FAILED',
  unknown: 'FAILED',
  no_result: 'FAILED',
  mismatch: 'FAILED',
}

const ourMessages: Readonly<Record<string, string>> = {
  TERMINAL_CONNECTION_ERROR: 'The terminal was not reached.',
  TERMINAL_LOST_PAYMENT: 'The terminal has no record of this payment: nothing was charged.',
  AMOUNT_MISMATCH: 'The terminal approved another amount or currency; that is voided.',
  NO_RESULT: 'The terminal gave no result within 24 hours.',
}

// PostgreSQL's text holds neither NUL nor half a surrogate pair, and what goes to a printer may: such a receipt is kept as its JSON.
const keptReceipt = (receipt: string | undefined): Pick<Course, 'receipt_data' | 'receipt_json'> =>
  receipt === undefined || (!receipt.includes('\0') && receipt.isWellFormed())
    ? { receipt_data: receipt ?? null, receipt_json: null }
    : { receipt_data: null, receipt_json: JSON.stringify(receipt) }

/** The receipt as the terminal sent it. */
export const receiptOf = ({ receipt_data, receipt_json }: Course): string | null =>
  receipt_json === null ? receipt_data : (JSON.parse(receipt_json) as string)

const said = (event: TransactionEvent, result: Result, at: Date): Partial<Course> => ({
  outcome: outcomes[event] ?? null,
  authorization_code: event === 'success' ? (result.authorizationCode ?? null) : null,
  // Of a failure without a code nobody knows whether an issuer declined: a cashier may not tell the payer so.
  error_code: event === 'failed' ? (result.errorCode ?? 'PAYMENT_FAILED') : null,
  error_message: event === 'failed' ? (result.errorMessage ?? 'The terminal gave no reason.') : null,
  // That of an approval which is voided says what is not so: who prints it gives the customer a proof of payment.
  ...keptReceipt(event === 'mismatch' ? undefined : result.receiptData),
  outcome_at: at,
})

/** Asks the terminal to void, now and again until it answers. */
const asksVoid = (at: Date): Partial<Course> => ({
  void_state: 'ASKED',
  void_asked_at: at,
  void_step_s: voidStepS,
  void_at: plus(at, voidStepS * 1_000),
})

/** One event at one time. Unchanged, with no effect, where the table has no row for it. */
export function happen(before: Course, createdAt: Date, event: TransactionEvent, at: Date, result: Result = {}): Step {
  const progress = { state: before.state, givenUp: before.given_up, announced: before.announced }
  const { after, move } = progressAfter(progress, event)
  if (move === null) return unchanged(before)
  const effects: Effect[] = []
  const course: { -readonly [Name in keyof Course]: Course[Name] } = {
    ...before,
    state: after.state,
    given_up: after.givenUp,
    announced: after.announced,
  }
  const set = (more: Partial<Course>) => Object.assign(course, more)
  if (after.announced !== before.announced && after.announced !== null)
    effects.push({ kind: 'announce', type: after.announced })

  if (event === 'lost') set({ grace_at: course.given_up === null ? plus(at, graceMs) : null })
  if (event === 'working') set({ grace_at: null })
  if (event === 'grace_over') set({ grace_at: null })
  if (event === 'wait_over') set({ wait_at: null })
  // The word of it may be lost on its way, and so is said again; one that was given up is told by a timer of its own.
  if (event === 'cancel')
    set({ cancel_asked: true, cancel_at: course.given_up === null ? plus(at, cancelEveryMs) : course.cancel_at })
  if (before.given_up === null && course.given_up !== null)
    set({ given_up_at: at, grace_at: null, no_result_at: plus(createdAt, noResultMs) })
  if (isOpen(course.state)) {
    const givesUp = course.given_up !== null && (event === 'wait_over' || event === 'grace_over')
    if (givesUp) set({ cancel_at: plus(at, cancelEveryMs) })
    if (givesUp || event === 'cancel') effects.push({ kind: 'tell', action: 'cancelPayment' })
  } else {
    const open = isOpen(before.state)
    if (open) set({ ended_at: at, grace_at: null, reach_at: null, no_result_at: null, cancel_at: null })
    if (course.announced !== null) set({ wait_at: null })
    if (open && move.voids !== 'late') set(said(event, result, at))
    if (move.code !== null)
      set({ our_code: move.code, error_code: move.code, error_message: ourMessages[move.code] ?? null })
  }
  // Who had said nothing contradicts nothing.
  const voids = move.voids === 'contradiction' && before.our_code === 'NO_RESULT' ? 'late' : move.voids
  if (voids !== null) {
    const reason = voids === 'confirmed' ? (course.void_reason ?? voidReasons.confirmed) : voidReasons[voids]
    set({ voided_at: at, void_cause: voids, void_reason: reason, voided_unseen: true })
    if (voids === 'confirmed') set({ void_state: 'CONFIRMED', void_at: null, void_error: null })
    else {
      set({ ...asksVoid(at), void_error: null, voided_code: result.approval ?? null })
      effects.push({ kind: 'tell', action: 'voidPayment' })
    }
  }
  if (move.pushes === 'paymentComplete') set({ complete_unseen: true })
  if (move.pushes !== null) effects.push({ kind: 'push', push: move.pushes })
  return { course, effects }
}

/** Deadlines up to `now`, applied in their order: whatever is handled after one finds it already applied. */
export function asOf(before: Course, createdAt: Date, now: Date): Step {
  let course = before
  const effects: Effect[] = []
  for (let next = earliest(course); next !== null && next.at <= now; next = earliest(course)) {
    const step = timers[next.timer](course, createdAt, next.at)
    effects.push(...step.effects)
    // Whatever a timer did, it is over.
    course =
      step.course[next.timer]?.getTime() === next.at.getTime() ? { ...step.course, [next.timer]: null } : step.course
  }
  return { course, effects }
}

type Timer = 'reach_at' | 'grace_at' | 'wait_at' | 'no_result_at' | 'cancel_at' | 'void_at'

// In the order in which they count where they fall on one moment.
const timers: Readonly<Record<Timer, (course: Course, createdAt: Date, at: Date) => Step>> = {
  reach_at: (course, createdAt, at) => happen(course, createdAt, course.sent_to === null ? 'not_reached' : 'lost', at),
  grace_at: (course, createdAt, at) => happen(course, createdAt, 'grace_over', at),
  wait_at: (course, createdAt, at) => happen(course, createdAt, 'wait_over', at),
  no_result_at: (course, createdAt, at) => happen(course, createdAt, 'no_result', at),
  cancel_at(course, _createdAt, at) {
    const until = plus(course.given_up_at ?? at, busyMs)
    const again = plus(at, cancelEveryMs)
    return {
      course: { ...course, cancel_at: again <= until ? again : null },
      effects: [{ kind: 'tell', action: 'cancelPayment' }],
    }
  },
  void_at(course, _createdAt, at) {
    const step = course.void_step_s ?? voidStepS
    const asked = course.void_asked_at ?? at
    if (at >= plus(asked, voidForMs)) {
      const given: Partial<Course> = { void_at: null, void_state: 'REFUSED', void_error: 'TIMEOUT' }
      if (course.state === 'COMPLETED') return { course: { ...course, ...given }, effects: [] }
      // Money that may still be there: a person must see to it. The terminal is asked whenever it comes back.
      const detail = 'The terminal has not confirmed the void within 24 hours.'
      return { course: { ...course, void_at: null }, effects: [{ kind: 'alarm', alarm: 'void_unanswered', detail }] }
    }
    const longer = Math.min(voidStepSMax, step * 2)
    const next = new Date(Math.min(plus(at, longer * 1_000).getTime(), plus(asked, voidForMs).getTime()))
    return {
      course: { ...course, void_step_s: longer, void_at: next },
      effects: [{ kind: 'tell', action: 'voidPayment' }],
    }
  },
}

function earliest(course: Course): { timer: Timer; at: Date } | null {
  let first: { timer: Timer; at: Date } | null = null
  for (const timer of Object.keys(timers) as Timer[]) {
    const at = course[timer]
    if (at !== null && (first === null || at < first.at)) first = { timer, at }
  }
  return first
}

/** A void that a person asked for, of a completed payment whose terminal is connected. One that runs is joined. */
export function askVoid(course: Course, reason: string, at: Date): Step {
  if (course.void_state === 'ASKED') return unchanged(course)
  return {
    course: { ...course, ...asksVoid(at), void_reason: reason, void_error: null },
    effects: [{ kind: 'tell', action: 'voidPayment' }],
  }
}

// In a terminal's mouth they would tell a till that the void may still come, or was never begun.
const ourVoidErrors: readonly string[] = [
  'TIMEOUT',
  'TERMINAL_OFFLINE',
  'PENDING_CONFIRMATION',
  'INVALID_TRANSACTION_STATE',
]

/** A person was told to see to a void that the terminal confirms after all, and may be about to give the money back, or have done so. */
function allClear({ void_state, void_at }: Course): Effect[] {
  const alarm =
    void_state === 'REFUSED' ? 'void_refused' : void_state === 'ASKED' && void_at === null ? 'void_unanswered' : null
  const detail = 'The terminal has confirmed the void since: give nothing back, and see whether that was done before.'
  return alarm === null ? [] : [{ kind: 'alarm', alarm, detail }]
}

/** What a terminal says of a void. */
export function hearVoid(
  before: Course,
  createdAt: Date,
  answer: { success: boolean; reason?: string | undefined; error?: string | undefined },
  at: Date,
): Step {
  if (answer.success) {
    if (before.state === 'VOIDED' && before.void_state !== 'CONFIRMED')
      return {
        course: { ...before, void_state: 'CONFIRMED', void_at: null, void_error: null },
        effects: allClear(before),
      }
    if (before.state !== 'COMPLETED') return unchanged(before)
    // The reason of a void that was refused is not that of another; one that was not answered for a day may be late.
    const isAnswer = before.void_state === 'ASKED' || (before.void_error === 'TIMEOUT' && before.void_step_s !== null)
    const course = isAnswer ? before : { ...before, void_reason: answer.reason ?? null }
    return happen(course, createdAt, 'void_confirmed', at)
  }
  if (before.void_state !== 'ASKED') return unchanged(before)
  const refused: Partial<Course> = {
    void_state: 'REFUSED',
    void_at: null,
    void_step_s: null,
    void_error: answer.error === undefined || ourVoidErrors.includes(answer.error) ? 'TERMINAL_REFUSED' : answer.error,
  }
  const detail = `The terminal refused a void: ${refused.void_error ?? ''}`
  return {
    course: { ...before, ...refused },
    effects: before.state === 'VOIDED' ? [{ kind: 'alarm', alarm: 'void_refused', detail }] : [],
  }
}
