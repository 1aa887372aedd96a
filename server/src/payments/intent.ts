import type { IntentRow, LinkEnd, NewIntent } from './store.ts'
import type { CardBrand } from './card.ts'
import type { FailureCategory, PaymentMethod } from './machine.ts'
import { asOf, shownIntent, type LinkEvent, type ShownIntent, type StoredIntent } from './projection.ts'

export interface Receipt {
  readonly approvalCode: string
  readonly transactionId: string
  readonly reconciliationId: string
  readonly method: PaymentMethod
  /** Null for a card of a scheme that has no name here, and for a payment by QR Ph. */
  readonly cardScheme: CardBrand | null
  /** Null for a payment by QR Ph. */
  readonly cardLastFour: string | null
  readonly invoiceNumber: string
  readonly completedAt: Date
}

/** The QR Ph code of an attempt. Whether it can still be paid is the status of the intent. */
export interface AttemptCode {
  readonly text: string
  readonly expiresAt: Date
  /** Its time ran out, whether or not anybody has stored that. */
  readonly hasExpired: boolean
}

/** A payment intent as everybody sees it, at the time that it was read. */
export interface Intent {
  readonly id: string
  readonly partnerId: string
  readonly merchantId: string
  readonly branchId: string
  readonly branchName: string
  readonly linkId: string | null
  /** Made by a form of its link's page, not by its merchant. */
  readonly isOfForm: boolean
  readonly amount: bigint
  readonly currency: string
  readonly description: string | null
  readonly orderReference: string | null
  readonly redirectUrls: Readonly<Record<string, string>> | null
  readonly metadata: Readonly<Record<string, string>>
  readonly expiresAt: Date
  readonly shown: ShownIntent
  readonly attemptCount: number
  readonly latestAttempt: {
    readonly id: string
    readonly method: PaymentMethod
    readonly cardBrand: CardBrand | null
    /** Null for a code. */
    readonly cardLastFour: string | null
    /** Why it failed, whatever has become of the intent since. */
    readonly category: FailureCategory | null
    /** Null for a card. */
    readonly code: AttemptCode | null
  } | null
  /** A code of it was shown, by whichever attempt: nobody can say then that nothing was charged. */
  readonly hadCode: boolean
  readonly receipt: Receipt | null
  readonly readAt: Date
}

/** What the row says, in the words of the projection. */
export function storedOf(row: IntentRow): StoredIntent {
  return {
    state: row.state,
    stateAt: row.state_at,
    expiresAt: row.expires_at,
    succeededAt: row.succeeded_at,
    linkEnd: linkEndOf(row),
    hadCode: row.had_code,
    latest:
      row.attempt_state === null || row.attempt_state_at === null
        ? null
        : {
            method: row.method ?? 'card',
            state: row.attempt_state,
            stateAt: row.attempt_state_at,
            category: row.failure_category,
            reason: row.decline_reason,
            challengeExpiresAt: row.challenge_expires_at,
          },
  }
}

const linkEvents: Readonly<Record<LinkEnd['state'], LinkEvent>> = {
  CONSUMED: 'link_consumed',
  EXPIRED: 'link_expired',
  CANCELLED: 'link_cancelled',
}

const linkEndOf = ({ link_end_state: state, link_end_at: at }: IntentRow): StoredIntent['linkEnd'] =>
  state === null || at === null ? null : { event: linkEvents[state], at }

export function intentOf(row: IntentRow): Intent {
  return {
    id: row.id,
    partnerId: row.partner_id,
    merchantId: row.merchant_id,
    branchId: row.branch_id,
    branchName: row.branch_name,
    linkId: row.link_id,
    isOfForm: row.form_nonce !== null,
    amount: row.amount,
    currency: row.currency,
    description: row.description,
    orderReference: row.order_reference,
    redirectUrls: row.redirect_urls,
    metadata: row.metadata,
    expiresAt: row.expires_at,
    attemptCount: row.attempt_count,
    shown: shownIntent(storedOf(row), row.read_at),
    latestAttempt:
      row.attempt_id === null
        ? null
        : {
            id: row.attempt_id,
            method: row.method ?? 'card',
            cardBrand: row.card_brand,
            cardLastFour: row.card_last_four,
            category: row.failure_category,
            code: codeOf(row),
          },
    hadCode: row.had_code,
    receipt: receiptOf(row),
    readAt: row.read_at,
  }
}

/** An intent as it stands the moment that it is made. */
export function intentOfNew(row: NewIntent): Intent {
  return {
    ...row,
    isOfForm: row.formNonce !== null,
    attemptCount: 0,
    latestAttempt: null,
    hadCode: false,
    receipt: null,
    shown: { status: 'ACTIVE', updatedAt: row.at },
    readAt: row.at,
  }
}

function codeOf(row: IntentRow): AttemptCode | null {
  if (row.code_text === null || row.challenge_expires_at === null) return null
  const { latest } = asOf(storedOf(row), row.read_at)
  const expiresAt = row.challenge_expires_at
  return {
    text: row.code_text,
    expiresAt,
    hasExpired: latest?.state === 'ABANDONED' && latest.stateAt >= expiresAt,
  }
}

function receiptOf(row: IntentRow): Receipt | null {
  if (row.succeeded_at === null || row.completed_at === null) return null
  return {
    approvalCode: row.approval_code ?? '',
    transactionId: row.processor_transaction_id ?? '',
    reconciliationId: row.reconciliation_id ?? '',
    method: row.method ?? 'card',
    cardScheme: row.card_brand,
    cardLastFour: row.card_last_four,
    invoiceNumber: row.invoice_number ?? '',
    completedAt: row.completed_at,
  }
}
