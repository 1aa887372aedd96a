import type { CardRefund, Connector, RefundAnswer, RefundOutcome } from './connector.ts'

/** What the processor has decided for a refund. `none` is the mark of an inquiry that came before any refund. */
export type RefundDecision = 'refunded' | 'failed' | 'none'

export type RefundDecisionRow = {
  readonly decision: RefundDecision
  /** Business time from which the processor tells its decision; until then it answers `pending`. */
  readonly answersAt: Date
}

/** The processor's own memory of refunds, apart from the platform's. */
export type RefundMemory = {
  readonly find: (refundId: string) => Promise<RefundDecisionRow | undefined>
  /** Keeps the row unless the refund has one already; gives the row that is kept. The first writer wins, atomically. */
  readonly record: (refundId: string, row: RefundDecisionRow) => Promise<RefundDecisionRow>
}

type Behaviour = {
  /** `lost`: the call never reaches the processor, which knows of nothing. */
  readonly decision: Exclude<RefundDecision, 'none'> | 'lost'
  /** How long after the call the decision is told; null: the call itself is never answered. */
  readonly answersAfterMs: number | null
  /** What a merchant sees, for the documents. */
  readonly says: string
}

/** How a refund goes is chosen by the last three digits of its amount in minor units; all others are refunded at once. */
export const testRefunds: ReadonlyMap<string, Behaviour> = new Map<string, Behaviour>([
  ['991', { decision: 'failed', answersAfterMs: 0, says: '`FAILED`' }],
  [
    '992',
    {
      decision: 'refunded',
      answersAfterMs: null,
      says: '`PENDING`; the call is never answered, and asking the processor gives `SUCCEEDED`',
    },
  ],
  [
    '993',
    {
      decision: 'lost',
      answersAfterMs: null,
      says: '`PENDING`; the call never reaches the processor, and asking it gives `FAILED`',
    },
  ],
  ['994', { decision: 'refunded', answersAfterMs: 20_000, says: '`PENDING` for 20 s, then `SUCCEEDED`' }],
])

const refunds: Behaviour = { decision: 'refunded', answersAfterMs: 0, says: '`SUCCEEDED`' }

const behaviourOf = (amount: bigint): Behaviour => testRefunds.get(String(amount % 1_000n).padStart(3, '0')) ?? refunds

/** The sandbox's card processor, as far as it gives money back. Times are business time. */
export function simulatedRefunds({
  clock,
  memory,
}: {
  clock: { now(): Date }
  memory: RefundMemory
}): Pick<Connector, 'refund' | 'inquireRefund'> {
  return {
    async refund({ refundId, amount, signal }: CardRefund): Promise<RefundAnswer> {
      signal.throwIfAborted()
      const { decision, answersAfterMs } = behaviourOf(amount)
      if (decision === 'lost') return untilAborted(signal)
      const now = clock.now()
      const answersAt = new Date(now.getTime() + (answersAfterMs ?? 0))
      const kept = await memory.record(refundId, { decision, answersAt })
      if (answersAfterMs === null) return untilAborted(signal)
      const outcome = outcomeOf(kept, now)
      return outcome.kind === 'none' ? { kind: 'failed' } : outcome
    },

    async inquireRefund(refundId, signal): Promise<RefundOutcome> {
      signal?.throwIfAborted()
      const now = clock.now()
      const row = (await memory.find(refundId)) ?? (await memory.record(refundId, { decision: 'none', answersAt: now }))
      return outcomeOf(row, now)
    },
  }
}

const outcomeOf = ({ decision, answersAt }: RefundDecisionRow, now: Date): RefundOutcome =>
  answersAt > now ? { kind: 'pending' } : { kind: decision }

/** A call that nobody answers: it ends with its deadline. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason as Error)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
