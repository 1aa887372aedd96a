export type TransactionState = 'PENDING' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'AWAITING_RECONNECT' | 'VOIDED'

/** What the waiting side was told when it was told that there is no payment. Sticky: once given up, money is never kept. */
export type GivenUp = 'TERMINAL_CONNECTION_ERROR' | 'TIMEOUT'

export type Announcement = 'payment.completed' | 'payment.failed' | 'payment.cancelled' | 'payment.timeout'

export type Push = 'paymentComplete' | 'paymentVoided' | 'paymentTimeout'

/** What a terminal says, and what time says. */
export type TransactionEvent =
  | 'not_reached'
  | 'success'
  | 'mismatch'
  | 'failed'
  | 'cancelled'
  | 'lost'
  | 'working'
  | 'unknown'
  | 'grace_over'
  | 'wait_over'
  | 'no_result'
  | 'cancel'
  | 'void_confirmed'

/** Why it is voided: `confirmed` by the terminal, which was asked to or not; else by the platform, which tells the terminal. */
export type VoidCause = 'late' | 'mismatch' | 'contradiction' | 'confirmed'

/** How far a payment has come. */
export interface Progress {
  readonly state: TransactionState
  readonly givenUp: GivenUp | null
  /** The one webhook, once it was written. */
  readonly announced: Announcement | null
}

export interface Move {
  readonly from: TransactionState
  /** Whether the move is for payments that were given up; `any` is for both. */
  readonly givenUp: 'no' | 'yes' | 'any'
  readonly event: TransactionEvent
  readonly to: TransactionState
  /** The mark that the move sets where there is none. */
  readonly marks: GivenUp | null
  /** The error code of the record from now on. */
  readonly code: 'TERMINAL_CONNECTION_ERROR' | 'TERMINAL_LOST_PAYMENT' | 'AMOUNT_MISMATCH' | 'NO_RESULT' | null
  /** Written in the same transaction, if none was before. */
  readonly announces: Announcement | null
  readonly pushes: Push | null
  readonly voids: VoidCause | null
  /** What the call that waits is given; null: it waits on, or nobody waits. */
  readonly answers: string | null
  readonly when: string
}

/** Deadlines in business time, from the start, from the loss, and from the start again. */
export const waitMs = 90_000
export const graceMs = 60_000
export const noResultMs = 24 * 3_600_000
/** For how long a payment that has ended is found, by the way it came in. Its id stays taken. */
export const retentionDays = { http: 30, socket: 7 } as const

const open = ['PENDING', 'AWAITING_RECONNECT'] as const
const ended = ['FAILED', 'CANCELLED'] as const

const move = (
  from: TransactionState,
  event: TransactionEvent,
  to: TransactionState,
  when: string,
  more: Partial<Omit<Move, 'from' | 'event' | 'to' | 'when'>> = {},
): Move => ({
  from,
  event,
  to,
  when,
  givenUp: 'any',
  marks: null,
  code: null,
  announces: null,
  pushes: null,
  voids: null,
  answers: null,
  ...more,
})

const endsAs = { success: 'COMPLETED', failed: 'FAILED', cancelled: 'CANCELLED' } as const
const announcedAs = {
  success: 'payment.completed',
  failed: 'payment.failed',
  cancelled: 'payment.cancelled',
} as const

/** The whole life of a terminal transaction. What is not here changes nothing. */
export const transactionMoves: readonly Move[] = [
  move('PENDING', 'not_reached', 'FAILED', 'known not to have reached the terminal', {
    code: 'TERMINAL_CONNECTION_ERROR',
    announces: 'payment.failed',
    pushes: 'paymentComplete',
    answers: '502 TERMINAL_CONNECTION_ERROR',
  }),
  ...open.flatMap((from) =>
    (['success', 'failed', 'cancelled'] as const).map((event) =>
      move(from, event, endsAs[event], `the terminal says ${event.toUpperCase()}`, {
        givenUp: 'no',
        announces: announcedAs[event],
        pushes: 'paymentComplete',
        answers: '200',
      }),
    ),
  ),
  ...open.map((from) =>
    move(from, 'mismatch', 'VOIDED', 'the terminal says SUCCESS with another amount or currency', {
      givenUp: 'no',
      code: 'AMOUNT_MISMATCH',
      announces: 'payment.failed',
      pushes: 'paymentVoided',
      voids: 'mismatch',
      answers: '200 with FAILED, AMOUNT_MISMATCH',
    }),
  ),
  move('PENDING', 'lost', 'AWAITING_RECONNECT', 'the socket is lost, or arrival cannot be known'),
  move('AWAITING_RECONNECT', 'lost', 'AWAITING_RECONNECT', 'the socket is lost again: the grace begins anew'),
  move('AWAITING_RECONNECT', 'working', 'PENDING', 'the terminal is back and still working'),
  ...open.map((from) =>
    move(from, 'unknown', 'FAILED', 'the terminal has no record of it, so nothing was charged', {
      code: 'TERMINAL_LOST_PAYMENT',
      announces: 'payment.failed',
      pushes: 'paymentComplete',
      answers: '200 with FAILED, if not given up',
    }),
  ),
  move('AWAITING_RECONNECT', 'grace_over', 'AWAITING_RECONNECT', '60 s since the loss pass', {
    givenUp: 'no',
    marks: 'TERMINAL_CONNECTION_ERROR',
    pushes: 'paymentTimeout',
    answers: '502 TERMINAL_CONNECTION_ERROR',
  }),
  ...open.flatMap((from) => [
    move(from, 'wait_over', from, '90 s since the start pass', {
      givenUp: 'no',
      marks: 'TIMEOUT',
      announces: 'payment.timeout',
      pushes: 'paymentTimeout',
      answers: '504 TIMEOUT',
    }),
    move(from, 'wait_over', from, '90 s since the start pass', { givenUp: 'yes', announces: 'payment.timeout' }),
    ...(['failed', 'cancelled'] as const).map((event) =>
      move(from, event, endsAs[event], `the terminal says ${event.toUpperCase()}`, {
        givenUp: 'yes',
        announces: announcedAs[event],
        pushes: 'paymentComplete',
      }),
    ),
    ...(['success', 'mismatch'] as const).map((event) =>
      move(from, event, 'VOIDED', 'the terminal says SUCCESS, too late', {
        givenUp: 'yes',
        voids: 'late',
        pushes: 'paymentVoided',
      }),
    ),
    move(from, 'no_result', 'FAILED', '24 h pass without a result', {
      givenUp: 'yes',
      code: 'NO_RESULT',
      announces: 'payment.timeout',
      pushes: 'paymentComplete',
    }),
    move(from, 'cancel', from, 'a cancel: the result of the terminal decides'),
  ]),
  move('VOIDED', 'wait_over', 'VOIDED', '90 s since the start pass', {
    givenUp: 'yes',
    announces: 'payment.timeout',
  }),
  ...ended.flatMap((from) =>
    (['success', 'mismatch'] as const).map((event) =>
      move(from, event, 'VOIDED', 'the terminal says SUCCESS, late or contradicting itself', {
        voids: 'contradiction',
        pushes: 'paymentVoided',
      }),
    ),
  ),
  move('COMPLETED', 'void_confirmed', 'VOIDED', 'the terminal voided it, asked or not', {
    voids: 'confirmed',
    pushes: 'paymentVoided',
  }),
]

const key = (from: TransactionState, givenUp: boolean, event: TransactionEvent) =>
  `${from} ${givenUp ? 'yes' : 'no'} ${event}`

const byKey = new Map(
  transactionMoves.flatMap((one) =>
    (one.givenUp === 'any' ? [false, true] : [one.givenUp === 'yes']).map((givenUp): [string, Move] => [
      key(one.from, givenUp, one.event),
      one,
    ]),
  ),
)

/** The row of the table, or null where the event changes nothing. */
export function moveOf({ state, givenUp }: Progress, event: TransactionEvent): Move | null {
  return byKey.get(key(state, givenUp !== null, event)) ?? null
}

/** How far it has come after an event, and by which row of the table; as far as before where there is none. */
export function progressAfter(before: Progress, event: TransactionEvent): { after: Progress; move: Move | null } {
  const one = moveOf(before, event)
  if (one === null) return { after: before, move: null }
  return {
    move: one,
    after: {
      state: one.to,
      givenUp: before.givenUp ?? one.marks,
      announced: before.announced ?? one.announces,
    },
  }
}

export const isOpen = (state: TransactionState): boolean => (open as readonly string[]).includes(state)
