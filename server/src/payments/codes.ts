import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { newId } from '../kernel/ids.ts'
import type { createAttempts } from './attempts.ts'
import type { Approval } from './connectors/connector.ts'
import { storedOf, type Intent } from './intent.ts'
import type { AttemptEvent, AttemptState } from './machine.ts'
import type { PaymentOwner } from './owner.ts'
import { asOf } from './projection.ts'
import { paymentsStore as store, type CodeRow, type IntentRow } from './store.ts'

/** Whoever writes codes, seen from here. */
export interface CodeWriter {
  /** Why no code can be written of such a payment, in words for the merchant; undefined where one can. */
  refusal(payment: { readonly currency: string; readonly amount: bigint }): string | undefined
  /** The text that the payer's bank reads. `id` is what the bank's answer names the payment by. */
  write(payment: {
    readonly id: string
    readonly merchantId: string
    readonly branchId: string
    readonly currency: string
    readonly amount: bigint
  }): Promise<string>
}

/** What a bank says of a code. */
export interface CodeAnswer {
  /** Of the attempt that the code is. */
  readonly id: string
  readonly merchantId: string
  readonly event: 'paid' | 'declined' | 'expires'
  /** What the bank took, in minor units. */
  readonly amount: bigint
  /** The bank's name for what it did: told again, it is the same payment. */
  readonly bankReference: string
}

/** A code as a bank sees it, an attempt's or any other. */
export interface CodeAtBank {
  readonly id: string
  readonly partnerId: string
  readonly state: 'PENDING' | 'PAID' | 'DECLINED' | 'EXPIRED'
  /** When `state` was reached. */
  readonly stateAt: Date
  /** The merchant's name for the payment, or ours. */
  readonly reference: string
  readonly amount: bigint
  readonly currency: string
  readonly expiresAt: Date
}

/** Attempts that are paid by a QR Ph code, and wait for the payer's bank. */
export interface Codes {
  /** Whether such a payment can be made here. */
  offered(payment: Pick<Intent, 'currency' | 'amount'>): boolean
  /**
   * Makes an attempt that waits for the bank; with `attemptCount`, only while the intent has had just so many attempts. Throws
   * INVALID_PAYMENT_METHOD, INTENT_PROCESSING, INTENT_INVALID_STATE, ATTEMPT_LIMIT_REACHED, LINK_FULLY_RESERVED.
   */
  make(intent: Intent, correlationId: string | null, attemptCount?: number): Promise<Intent>
  /** Gives up the code that the intent waits for, so that the payer can pay in another way. Nothing happens where it waits for none. */
  giveUp(intent: Intent): Promise<void>
  /** The code of this id, of a partner or of anybody, as it stands. */
  read(partnerId: string | null, code: Pick<CodeAnswer, 'id' | 'merchantId'>): Promise<CodeAtBank | undefined>
  /**
   * Moves a code as the bank says; the first to lock it wins. Undefined where no code of an attempt has this id. `final`: it had its
   * outcome before, another than this payment, and nothing has changed.
   */
  answer(
    partnerId: string,
    answer: CodeAnswer,
  ): Promise<{ readonly code: CodeAtBank; readonly refusal?: 'final' | 'amount' } | undefined>
}

const events = { paid: 'code_paid', declined: 'code_declined', expires: 'code_expired' } as const

const codeStates: Readonly<Record<AttemptState, CodeAtBank['state']>> = {
  REQUIRES_ACTION: 'PENDING',
  PROCESSING: 'PENDING',
  SUCCEEDED: 'PAID',
  DECLINED: 'DECLINED',
  FAILED: 'DECLINED',
  ABANDONED: 'EXPIRED',
}

export function createCodes({
  db,
  clock,
  attempts,
  owner,
  writer,
}: {
  readonly db: Db
  readonly clock: Clock
  readonly attempts: ReturnType<typeof createAttempts>
  readonly owner: PaymentOwner
  readonly writer: CodeWriter | null
}): Codes {
  /** Moves an open code, once, paid where it has a bankReference; throws CODE_FINAL for whoever comes late, and so gives back what was taken on the way. */
  const end = (intentId: string, attemptId: string, event: AttemptEvent, bankReference: string | null): Promise<void> =>
    db.tx(async (tx) => {
      const { link_id: linkId, read_at: at } = await attempts.readRow(tx, intentId)
      const succeeded = bankReference !== null
      const { linkConsumed } =
        linkId === null ? { linkConsumed: false } : await owner.settle(tx, { attemptId, succeeded, at })
      await store.lockIntent(tx, intentId)
      const row = await attempts.readRow(tx, intentId)
      // It was made by the clock of another process perhaps, and ends no sooner than it began.
      const endedAt = new Date(Math.max(row.read_at.getTime(), row.attempt_state_at?.getTime() ?? 0))
      const approval = bankReference === null ? null : approvalOf(attemptId, bankReference, endedAt)
      const waits = row.attempt_id === attemptId && isOpen(row)
      const moved =
        waits && (await attempts.settleLocked(tx, { intentId, attemptId, event, outcome: approval, at: endedAt }))
      if (!moved) throw new Fault('CODE_FINAL', 'This code has had its one outcome.')
      if (linkId !== null && linkConsumed) await attempts.endIntentsOfLink(tx, linkId, { state: 'CONSUMED', at })
    })

  const endInTime = (intentId: string, attemptId: string, event: AttemptEvent, bankReference: string | null) =>
    end(intentId, attemptId, event, bankReference).then(
      () => {
        owner.announced()
        return true
      },
      (error: unknown) => {
        if (error instanceof Fault && error.code === 'CODE_FINAL') return false
        throw error
      },
    )

  const find = async (partnerId: string | null, { id, merchantId }: Pick<CodeAnswer, 'id' | 'merchantId'>) => {
    const row = await store.findCode(db, partnerId, id)
    return row?.merchant_id === merchantId ? row : undefined
  }

  return {
    offered: (payment) => writer !== null && writer.refusal(payment) === undefined,

    async make(intent, correlationId, attemptCount) {
      attempts.refuseUnlessOpen(intent)
      const refusal = writer === null ? 'no payment is made by QR Ph here.' : writer.refusal(intent)
      if (writer === null || refusal !== undefined)
        throw new Fault('INVALID_PAYMENT_METHOD', `payment_method.type: ${refusal}`, {
          field: 'payment_method.type',
          rule: 'offered',
        })
      await attempts.refuseUnlessFree(intent)
      const { merchantId, branchId, currency, amount } = intent
      const id = newId(clock.now())
      const text = await writer.write({ id, merchantId, branchId, currency, amount })
      const by = { method: 'qrph', text } as const
      await attempts.start({ intent, attemptId: id, by, event: 'code_made', correlationId, attemptCount })
      return attempts.read(db, intent.id)
    },

    async giveUp({ id, latestAttempt }) {
      if (latestAttempt?.method === 'qrph') await endInTime(id, latestAttempt.id, 'code_given_up', null)
    },

    async read(partnerId, code) {
      const row = await find(partnerId, code)
      return row && codeOf(row)
    },

    async answer(partnerId, answer) {
      const row = await find(partnerId, answer)
      if (row === undefined) return undefined
      if (isOpen(row)) {
        if (answer.event === 'paid' && answer.amount !== row.amount) return { code: codeOf(row), refusal: 'amount' }
        const bankReference = answer.event === 'paid' ? answer.bankReference : null
        const moved = await endInTime(row.id, answer.id, events[answer.event], bankReference)
        const after = await find(partnerId, answer)
        if (after === undefined) throw new Error('a code vanished')
        return moved || isPaidBy(after, answer) ? { code: codeOf(after) } : { code: codeOf(after), refusal: 'final' }
      }
      return isPaidBy(row, answer) ? { code: codeOf(row) } : { code: codeOf(row), refusal: 'final' }
    },
  }
}

/** Whether a code can still be paid: it waits, its time is not over, and its intent has not ended. */
const isOpen = (row: IntentRow): boolean => {
  const { state, latest } = asOf(storedOf(row), row.read_at)
  return state === 'ACTIVE' && latest?.state === 'REQUIRES_ACTION'
}

/** Whether it is this payment that the code has had. */
const isPaidBy = (row: CodeRow, { event, bankReference }: CodeAnswer): boolean =>
  event === 'paid' && row.attempt_state === 'SUCCEEDED' && row.approval_code === bankReference

/** The bank has one name for a payment; it stands wherever a card's processor has several. */
const approvalOf = (attemptId: string, bankReference: string, at: Date): Approval => ({
  kind: 'approved',
  approvalCode: bankReference,
  transactionId: attemptId,
  reconciliationId: bankReference,
  completedAt: at,
})

function codeOf(row: CodeRow): CodeAtBank {
  const { latest } = asOf(storedOf(row), row.read_at)
  return {
    id: row.attempt_id,
    partnerId: row.partner_id,
    state: codeStates[latest?.state ?? row.attempt_state],
    stateAt: latest?.stateAt ?? row.attempt_state_at,
    reference: row.order_reference ?? row.attempt_id,
    amount: row.amount,
    currency: row.currency,
    expiresAt: row.challenge_expires_at,
  }
}
