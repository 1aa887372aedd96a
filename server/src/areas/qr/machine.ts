export const codeStates = ['PENDING', 'PAID', 'DECLINED', 'EXPIRED'] as const
export type CodeState = (typeof codeStates)[number]
export type CodeEvent = 'paid' | 'declined' | 'expires'

/** A move of a code, and what becomes of its transaction. */
export interface CodeMove {
  readonly from: CodeState
  readonly event: CodeEvent
  readonly when: string
  readonly to: CodeState
  readonly transaction: 'CAPTURED' | 'DECLINED' | 'EXPIRED'
}

/** Every move there is. A code has one outcome: from the other states nothing leads on. */
export const codeMoves: readonly CodeMove[] = [
  { from: 'PENDING', event: 'paid', when: 'the bank pays the exact amount', to: 'PAID', transaction: 'CAPTURED' },
  { from: 'PENDING', event: 'declined', when: 'the bank declines', to: 'DECLINED', transaction: 'DECLINED' },
  { from: 'PENDING', event: 'expires', when: 'its time is over', to: 'EXPIRED', transaction: 'EXPIRED' },
]

/** Where an event leads, or that the state is final. */
export function moveCode(from: CodeState, event: CodeEvent): CodeMove | { readonly refusal: 'final' } {
  return codeMoves.find((move) => move.from === from && move.event === event) ?? { refusal: 'final' }
}

export interface StoredCode {
  readonly state: CodeState
  readonly stateAt: Date
  readonly expiresAt: Date
}

/** The code with its deadline applied, whether or not anybody has stored that: what everybody who reads it at `now` is told. */
export function codeAsOf<Code extends StoredCode>(code: Code, now: Date): Code {
  if (code.state !== 'PENDING' || now < code.expiresAt) return code
  const move = moveCode(code.state, 'expires')
  return 'refusal' in move ? code : { ...code, state: move.to, stateAt: code.expiresAt }
}
