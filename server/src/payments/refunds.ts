import type { Principal } from '../identity/principal.ts'
import type { Clock } from '../kernel/clock.ts'
import { surely, type Db, type Queries } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { refundEventOf, type Connector, type RefundOutcome } from './connectors/connector.ts'
import { createInquiries, firstInquiryMs, leaseSeconds } from './inquiry.ts'
import { moveRefund, type RefundEvent, type RefundMove, type RefundState } from './refund-machine.ts'
import { refundsStore as store, type RefundCall, type RefundRow } from './store-refunds.ts'

export type Refund = RefundRow

export interface RefundsDependencies {
  readonly db: Db
  readonly clock: Clock
  readonly connector: Connector
  /** How long a call waits for the processor. */
  readonly waitMsMax: number
  /** A refund must be asked about earlier than was thought. */
  readonly dueSooner: () => void
}

export interface RefundToMake {
  readonly id: string
  readonly intentId: string
  /** Minor units; null: all that is left. */
  readonly amount: bigint | null
  readonly reason: string | null
  readonly at: Date
}

/** Refunds are made in two steps, so that no crash and no lost answer refunds twice: reserved and committed first, called for then. */
export interface Refunds {
  /** Stores a refund as PENDING and holds its amount back, in the caller's transaction. Throws INVALID_STATE, AMOUNT_EXCEEDS_REMAINING. */
  reserve(tx: Queries, refund: RefundToMake): Promise<void>
  /** Asks the processor to make a refund that was just reserved and committed. Resolves to the refund as it stands then. */
  carryOut(id: string): Promise<Refund>
  /** The refund as it stands. Where the process that called the processor has died, the call is made again, under the same id. */
  resume(id: string): Promise<Refund>
  find(principal: Principal, id: string): Promise<Refund | undefined>
  /** What was given back of the payment that an attempt made, in minor units; what is under way does not count. */
  refunded(attemptId: string): Promise<bigint>
  /** One round of questions to the processor about refunds that it has not answered. Resolves to ms until the next. */
  reconcile(): Promise<number>
}

export function createRefunds({ db, clock, connector, waitMsMax, dueSooner }: RefundsDependencies): Refunds {
  const read = async (id: string): Promise<Refund> => {
    const row = await store.readRefund(db, id)
    if (row === undefined) throw new Error('a refund vanished')
    return row
  }

  /** Once: whoever comes second changes nothing. Repeatable, so that a lost answer to COMMIT is resolved by doing it again. */
  const settle = async (id: string, outcome: RefundOutcome): Promise<void> => {
    const at = clock.now()
    const move = moveOf('PENDING', refundEventOf(outcome))
    await surely(() => store.settleRefund(db, id, move, at))
  }

  const call = async ({ id, amount, currency, attempt_id, processor_transaction_id }: RefundCall): Promise<void> => {
    const outcome = await connector
      .refund({
        refundId: id,
        attemptId: attempt_id,
        transactionId: processor_transaction_id,
        amount,
        currency,
        signal: AbortSignal.timeout(waitMsMax),
      })
      // No answer is no outcome: the reconciler asks until the processor knows.
      .catch(() => ({ kind: 'pending' }) as const)
    if (outcome.kind === 'pending') {
      await store.postponeInquiry(db, id, firstInquiryMs)
      dueSooner()
    } else await settle(id, outcome)
  }

  const reconcile = createInquiries({
    db,
    store,
    ask: (id, signal) => connector.inquireRefund(id, signal),
    settle: ({ id }, outcome) => settle(id, outcome),
  })

  return {
    async reserve(tx, { id, intentId, amount, reason, at }) {
      const paid = await store.lockPaid(tx, intentId)
      if (paid === undefined)
        throw new Fault('INVALID_STATE', 'This intent is not SUCCEEDED; there is nothing to refund.')
      const asked = amount ?? paid.remaining
      if (asked < 1n || asked > paid.remaining) throw exceeds(paid.remaining)
      const { to } = moveOf('NONE', 'asked')
      const transactionId = paid.id
      await store.insertRefund(tx, { id, intentId, transactionId, amount: asked, reason, state: to, leaseSeconds, at })
    },

    async carryOut(id) {
      const due = await store.readCall(db, id)
      if (due !== undefined) await call(due)
      return read(id)
    },

    async resume(id) {
      const orphan = await store.takeOverCall(db, id, leaseSeconds)
      if (orphan !== undefined) await call(orphan)
      return read(id)
    },

    find: (principal, id) => store.findRefund(db, principal, id),
    refunded: (attemptId) => store.readRefunded(db, attemptId),

    reconcile,
  }
}

const exceeds = (remaining: bigint) =>
  new Fault(
    'AMOUNT_EXCEEDS_REMAINING',
    remaining < 1n
      ? 'Nothing is left of this payment to refund; open refunds count too.'
      : `Only ${remaining} (minor units) is left of this payment to refund; open refunds count too.`,
    { field: 'amount', rule: 'remaining' },
  )

function moveOf(state: RefundState | 'NONE', event: RefundEvent): RefundMove {
  const move = moveRefund(state, event)
  if ('refusal' in move) throw new Error(`there is no move ${event} from ${state}`)
  return move
}
