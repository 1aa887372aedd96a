import type {
  ConfirmedPaymentIntent,
  CreatedPaymentIntent,
  PaymentIntent,
  PaymentLink,
  Refund as WireRefund,
} from '@kaha/contract'
import type { Static } from 'typebox'
import { minorToNumber } from '../../kernel/money.ts'
import { whenPresent } from '../../kernel/when-present.ts'
import type { Intent } from '../../payments/intent.ts'
import type { Refund } from '../../payments/refunds.ts'
import type { Confirmed } from '../../payments/service.ts'
import type { LinkRow } from './store.ts'

const two = (part: number): string => (part < 10 ? `0${part}` : `${part}`)
const three = (part: number): string => (part < 100 ? `0${two(part)}` : `${part}`)

/** What toISOString writes of the years 1000 to 9999, at half its price: a page of links holds at least sixty times. */
export function isoTime(at: Date): string {
  const day = `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`
  const second = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`
  return `${day}T${second}.${three(at.getUTCMilliseconds())}Z`
}

export function presentLink(link: LinkRow, checkoutUrl: string): Static<typeof PaymentLink> {
  const shown: Static<typeof PaymentLink> = {
    id: link.id,
    type: link.type,
    status: link.state,
    merchant_branch_reference_number: link.branch_reference_number,
    currency: link.currency,
    amount: minorToNumber(link.amount),
    line_items: [...link.line_items],
    expires_at: isoTime(link.expires_at),
    url: `${checkoutUrl}/l/${link.token}`,
    successful_payment_count: link.success_count,
    metadata: link.metadata,
    created_at: isoTime(link.created_at),
    updated_at: isoTime(link.updated_at),
  }
  if (link.description !== null) shown.description = link.description
  if (link.max_uses !== null) shown.max_uses = link.max_uses
  if (link.cancelled_at !== null) shown.cancelled_at = isoTime(link.cancelled_at)
  if (link.cancellation_reason !== null) shown.cancellation_reason = link.cancellation_reason
  if (link.order_reference !== null) shown.order_reference = link.order_reference
  if (link.redirect_urls !== null) shown.redirect_urls = link.redirect_urls
  return shown
}

export function presentIntent(intent: Intent): Static<typeof PaymentIntent> {
  const { shown, receipt } = intent
  return {
    id: intent.id,
    amount: minorToNumber(intent.amount),
    currency: intent.currency,
    status: shown.status,
    updated_at: shown.updatedAt.toISOString(),
    ...whenPresent('order_reference', intent.orderReference),
    ...whenPresent('payment_attempt_id', intent.latestAttempt?.id),
    ...whenPresent('user_message', shown.userMessage?.en),
    ...whenPresent('failure_category', shown.failureCategory),
    ...whenPresent(
      'receipt',
      receipt && {
        approval_code: receipt.approvalCode,
        transaction_id: receipt.transactionId,
        reconciliation_id: receipt.reconciliationId,
        ...(receipt.cardLastFour === null
          ? {}
          : { card_scheme: receipt.cardScheme ?? 'OTHER', card_last_four: receipt.cardLastFour }),
        invoice_number: receipt.invoiceNumber,
        completed_at: receipt.completedAt.toISOString(),
      },
    ),
  }
}

/** After a confirm alone: whoever only reads an intent is not the payer who may take its challenge. */
export const presentConfirmedIntent = (confirmed: Confirmed): Static<typeof ConfirmedPaymentIntent> => ({
  ...presentIntent(confirmed),
  ...whenPresent(
    'next_action',
    confirmed.nextUrl === undefined ? undefined : { type: 'redirect' as const, url: confirmed.nextUrl },
  ),
})

export const presentCreatedIntent = (intent: Static<typeof PaymentIntent>, clientSecret: string, checkoutUrl: string) =>
  ({ ...intent, client_secret: clientSecret, checkout_url: checkoutUrl }) satisfies Static<typeof CreatedPaymentIntent>

export function presentRefund(refund: Refund): Static<typeof WireRefund> {
  return {
    id: refund.id,
    payment_intent_id: refund.intent_id,
    amount: minorToNumber(refund.amount),
    currency: refund.currency,
    status: refund.state,
    ...whenPresent('reason', refund.reason),
    created_at: refund.created_at.toISOString(),
  }
}

/** The bytes of an event of area A: made once, here, and sent unchanged on every attempt. */
export function eventBody(
  event: { id: string; type: string; at: Date },
  data: Readonly<Record<string, unknown>>,
): string {
  const present = Object.entries(data).filter(([, value]) => value !== null && value !== undefined)
  return JSON.stringify({
    id: event.id,
    type: event.type,
    created_at: event.at.toISOString(),
    data: Object.fromEntries(present),
  })
}

export const eventDataOfIntent = (intent: Intent, status: string) => ({
  payment_intent_id: intent.id,
  payment_link_id: intent.linkId,
  payment_attempt_id: intent.latestAttempt?.id,
  amount: minorToNumber(intent.amount),
  currency: intent.currency,
  status,
  order_reference: intent.orderReference,
  card_brand: intent.latestAttempt?.cardBrand,
  card_last_four: intent.latestAttempt?.cardLastFour,
  failure_category: status === 'EXPIRED' ? null : intent.latestAttempt?.category,
  merchant_id: intent.merchantId,
  branch_id: intent.branchId,
  merchant_branch_name: intent.branchName,
  metadata: intent.metadata,
})

export const eventDataOfLink = (link: LinkRow, branchName: string) => ({
  payment_link_id: link.id,
  amount: minorToNumber(link.amount),
  currency: link.currency,
  status: 'EXPIRED',
  order_reference: link.order_reference,
  merchant_id: link.merchant_id,
  branch_id: link.branch_id,
  merchant_branch_name: branchName,
  metadata: link.metadata,
})
