export type RefundState = 'PENDING' | 'SUCCEEDED' | 'FAILED'

export type RefundEvent = 'asked' | 'refunded' | 'refused' | 'unknown_to_processor' | 'no_answer'

export type RefundMove = {
  /** NONE: the refund does not exist yet; the move creates it. */
  readonly from: RefundState | 'NONE'
  readonly event: RefundEvent
  readonly to: RefundState
  /** What becomes of its amount among what was received: held back, gone to the payer, or free for another refund. */
  readonly amount: 'reserved' | 'refunded' | 'freed'
  readonly when: string
}

export const refundMoves: readonly RefundMove[] = [
  {
    from: 'NONE',
    event: 'asked',
    to: 'PENDING',
    amount: 'reserved',
    when: 'the merchant asks for it, and no more than is left',
  },
  { from: 'PENDING', event: 'refunded', to: 'SUCCEEDED', amount: 'refunded', when: 'the processor refunds' },
  { from: 'PENDING', event: 'refused', to: 'FAILED', amount: 'freed', when: 'the processor refuses' },
  {
    from: 'PENDING',
    event: 'unknown_to_processor',
    to: 'FAILED',
    amount: 'freed',
    when: 'the processor never got it, and will refuse it from now on',
  },
  {
    from: 'PENDING',
    event: 'no_answer',
    to: 'PENDING',
    amount: 'reserved',
    when: 'no answer: the processor is asked until it knows',
  },
]

const moveOf = new Map(refundMoves.map((move) => [`${move.from} ${move.event}`, move]))

/** The row of the table for a refund. A refusal means that the event came too late or twice, and changes nothing. */
export function moveRefund(
  state: RefundState | 'NONE',
  event: RefundEvent,
): RefundMove | { readonly refusal: 'INVALID_STATE' } {
  return moveOf.get(`${state} ${event}`) ?? { refusal: 'INVALID_STATE' }
}
