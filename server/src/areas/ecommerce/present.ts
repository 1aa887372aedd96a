import type { CreatedPaymentIntent, PaymentIntent, PaymentLink } from '@kaha/contract'
import type { Static } from 'typebox'
import type { Intent } from '../../payments/intent.ts'
import type { LinkRow } from './store.ts'

const whenPresent = <K extends string, V>(key: K, value: V | null | undefined): Partial<Record<K, V>> =>
  value === null || value === undefined ? {} : ({ [key]: value } as Record<K, V>)

export function presentLink(link: LinkRow, checkoutUrl: string): Static<typeof PaymentLink> {
  return {
    id: link.id,
    type: link.type,
    status: link.state,
    merchant_branch_reference_number: link.branch_reference_number,
    currency: link.currency,
    amount: Number(link.amount),
    line_items: [...link.line_items],
    ...whenPresent('description', link.description),
    expires_at: link.expires_at.toISOString(),
    url: `${checkoutUrl}/l/${link.token}`,
    ...whenPresent('max_uses', link.max_uses),
    successful_payment_count: link.success_count,
    metadata: link.metadata,
    created_at: link.created_at.toISOString(),
    updated_at: link.updated_at.toISOString(),
    ...whenPresent('cancelled_at', link.cancelled_at?.toISOString()),
    ...whenPresent('cancellation_reason', link.cancellation_reason),
    ...whenPresent('order_reference', link.order_reference),
    ...whenPresent('redirect_urls', link.redirect_urls),
  }
}

export function presentIntent(intent: Intent): Static<typeof PaymentIntent> {
  const { shown, receipt } = intent
  return {
    id: intent.id,
    amount: Number(intent.amount),
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
        card_scheme: receipt.cardScheme ?? 'OTHER',
        card_last_four: receipt.cardLastFour,
        invoice_number: receipt.invoiceNumber,
        completed_at: receipt.completedAt.toISOString(),
      },
    ),
  }
}

export const presentCreatedIntent = (intent: Static<typeof PaymentIntent>, clientSecret: string, checkoutUrl: string) =>
  ({ ...intent, client_secret: clientSecret, checkout_url: checkoutUrl }) satisfies Static<typeof CreatedPaymentIntent>

/** The bytes of an event of area A: made once, here, and sent unchanged on every attempt. */
export function presentEvent(
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
  amount: Number(intent.amount),
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
  amount: Number(link.amount),
  currency: link.currency,
  status: 'EXPIRED',
  order_reference: link.order_reference,
  merchant_id: link.merchant_id,
  branch_id: link.branch_id,
  merchant_branch_name: branchName,
  metadata: link.metadata,
})
