import type { WebhookPayload, eventTypes } from './webhooks.ts'

/** An event as it arrives at a receiver. */
export interface Delivery {
  readonly type: (typeof eventTypes)[number]
  readonly id: string
  readonly summary: string
  readonly description: string
  readonly example: WebhookPayload
}

const ids = {
  event: '0198f5a2-7c1e-7d3a-9b1f-2a6f0c9d4e11',
  intent: '0198f5a2-6f10-7a44-8c57-1f0e6a2b9d01',
  link: '0198f5a1-11c2-7b90-a3de-77f4c0aa3b02',
  attempt: '0198f5a2-7a02-7e15-92c4-5be01d6f8c03',
  merchant: '0198f4c0-0a00-7c21-b6f0-000000000004',
  branch: '0198f4c0-0a01-7f32-8a11-000000000005',
}

const payment = {
  payment_intent_id: ids.intent,
  payment_link_id: ids.link,
  payment_attempt_id: ids.attempt,
  amount: 25000,
  currency: 'PHP',
}
const of = {
  merchant_id: ids.merchant,
  branch_id: ids.branch,
  merchant_branch_name: 'Makati',
  metadata: { cart: '7781' },
}
const card = { order_reference: 'ORDER-1001', card_brand: 'VISA', card_last_four: '4242' }
const about = { id: ids.event, created_at: '2026-01-15T10:30:00.000Z' }

/** Of area A, with an example each. */
export const deliveries: readonly Delivery[] = [
  {
    type: 'payment.succeeded',
    id: 'paymentSucceeded',
    summary: 'A payment succeeded',
    description: 'An attempt succeeded: the money is there.',
    example: { ...about, type: 'payment.succeeded', data: { ...payment, status: 'SUCCEEDED', ...card, ...of } },
  },
  {
    type: 'payment.declined',
    id: 'paymentDeclined',
    summary: 'A payment was declined',
    description: 'An attempt was refused, by the issuer or by a rule. The intent can be paid with another card.',
    example: {
      ...about,
      type: 'payment.declined',
      data: { ...payment, status: 'DECLINED', ...card, failure_category: 'PAYMENT_REJECTED', ...of },
    },
  },
  {
    type: 'payment.failed',
    id: 'paymentFailed',
    summary: 'A payment failed',
    description: 'An attempt failed on its way. No money was taken, and the intent can be paid again.',
    example: {
      ...about,
      type: 'payment.failed',
      data: { ...payment, status: 'FAILED', ...card, failure_category: 'PROCESSOR_UNAVAILABLE', ...of },
    },
  },
  {
    type: 'payment.expired',
    id: 'paymentExpired',
    summary: 'A link or an intent expired',
    description: 'A link, or an intent without one, expired before any payment of it succeeded. Once each.',
    example: {
      ...about,
      type: 'payment.expired',
      data: { payment_link_id: ids.link, amount: 25000, currency: 'PHP', status: 'EXPIRED', ...of },
    },
  },
]
