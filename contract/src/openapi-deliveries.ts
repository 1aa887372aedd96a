import { exampleIds } from './example-ids.ts'
import { activationCodePattern } from './qr.ts'
import type { QrPaymentNotification, qrActions } from './qr-webhooks.ts'
import type { TerminalWebhookPayload, TerminalWebhookPing, terminalEventTypes } from './terminals.ts'
import { paidPayload } from './webhook-examples.ts'
import type { WebhookPayload, eventTypes } from './webhooks.ts'

type Tree = { readonly [name: string]: unknown }

/** An event as it arrives at a receiver. */
export interface Delivery<Type extends string = string, Payload = unknown> {
  readonly type: Type
  readonly id: string
  readonly summary: string
  readonly description: string
  readonly example: Payload
  /** The name of its schema, where that is not the area's. */
  readonly payload?: string
  /** What a receiver may answer, where that is not the area's. */
  readonly answers?: Tree
}

/** What arrives at the endpoints of an area. */
export interface Deliveries {
  /** The name of the payload's schema, and the property of it that has the type. */
  readonly payload: string
  readonly typeField: string
  /** The headers of a delivery, as parameters. */
  readonly headers: readonly Tree[]
  /** What a receiver may answer, by status. */
  readonly answers: Tree
  /** How a body is written that does not hold the payload as it is. */
  encrypted?(payload: Tree): Tree
  readonly events: readonly Delivery[]
}

const payment = {
  payment_intent_id: exampleIds.intent,
  payment_link_id: exampleIds.link,
  payment_attempt_id: exampleIds.attempt,
  amount: 25000,
  currency: 'PHP',
}
const of = {
  merchant_id: exampleIds.merchant,
  branch_id: exampleIds.branch,
  merchant_branch_name: 'Kapihan ni Aling Nena, Makati',
  metadata: { cart: '7781' },
}
const card = { order_reference: 'ORDER-1001', card_brand: 'VISA', card_last_four: '4242' }
const about = { id: exampleIds.event, created_at: '2026-01-15T10:30:00.000Z' }

const events: readonly Delivery<(typeof eventTypes)[number], WebhookPayload>[] = [
  {
    type: 'payment.succeeded',
    id: 'paymentSucceeded',
    summary: 'A payment succeeded',
    description: 'An attempt succeeded: the money is there.',
    example: paidPayload,
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
      data: { payment_link_id: exampleIds.link, amount: 25000, currency: 'PHP', status: 'EXPIRED', ...of },
    },
  },
]

/** The headers of Standard Webhooks 1.0. */
const signedHeaders = (idSchema: Tree): readonly Tree[] => [
  {
    name: 'webhook-id',
    in: 'header',
    required: true,
    description: 'The event, the same on every attempt: your key against doubles.',
    schema: idSchema,
  },
  {
    name: 'webhook-timestamp',
    in: 'header',
    required: true,
    description: 'When this attempt was made, in seconds since 1970. Refuse what is more than five minutes off.',
    schema: { type: 'integer' },
  },
  {
    name: 'webhook-signature',
    in: 'header',
    required: true,
    description:
      '`v1,` and the base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`, keyed with the bytes of the signing secret. Several, separated by spaces, while secrets overlap.',
    schema: { type: 'string' },
  },
]

const signedAnswers = {
  '2XX': { description: 'Acknowledged. Answer within 15 seconds and do the work afterwards.' },
  '410': { description: 'Nobody is here any more: the endpoint is disabled.' },
  default: { description: 'A failure, a redirect too; the same bytes are sent again later.' },
}

/** Of area A, with an example each. */
export const deliveries: Deliveries = {
  payload: 'WebhookPayload',
  typeField: 'type',
  headers: signedHeaders({ type: 'string', format: 'uuid' }),
  answers: signedAnswers,
  events,
}

const sale = { transactionId: 'ORDER-1001', amount: '150.00', currency: 'PHP', paymentMethod: 'CARD' }
const at = { eventId: 'evt_01KEZZ6Q60F8S7XQ8M4T2B5C9D', timestamp: '2026-01-15T10:30:00.000Z' }
const terminalId = 'KAPE-1-T1'

const terminalEvents: readonly Delivery<(typeof terminalEventTypes)[number], TerminalWebhookPayload>[] = [
  {
    type: 'payment.completed',
    id: 'terminalPaymentCompleted',
    summary: 'A payment was approved',
    description: 'The terminal returned SUCCESS, and that is kept.',
    example: {
      ...at,
      eventType: 'payment.completed',
      data: { ...sale, status: 'SUCCESS', authorizationCode: 'A1B2C3', terminalId },
    },
  },
  {
    type: 'payment.failed',
    id: 'terminalPaymentFailed',
    summary: 'A payment failed',
    description: 'The terminal returned FAILED, never got the payment, or lost it. No money is kept.',
    example: {
      ...at,
      eventType: 'payment.failed',
      data: { ...sale, status: 'FAILED', errorCode: 'DECLINED', errorMessage: 'The card was declined.', terminalId },
    },
  },
  {
    type: 'payment.cancelled',
    id: 'terminalPaymentCancelled',
    summary: 'A payment was cancelled',
    description: 'The terminal returned CANCELLED: somebody ended it before it was complete.',
    example: { ...at, eventType: 'payment.cancelled', data: { ...sale, status: 'CANCELLED', terminalId } },
  },
  {
    type: 'payment.timeout',
    id: 'terminalPaymentTimeout',
    summary: 'A payment has no result in time',
    description: 'No result that counts came within 90 seconds. An approval that comes later is voided.',
    example: {
      ...at,
      eventType: 'payment.timeout',
      data: {
        ...sale,
        status: 'TIMEOUT',
        errorCode: 'TIMEOUT',
        errorMessage: 'The terminal gave no result within 90 seconds. If it approves later, that is voided.',
        terminalId,
      },
    },
  },
]

const ping: Delivery<'ping', TerminalWebhookPing> = {
  type: 'ping',
  id: 'terminalWebhookPing',
  summary: 'A URL is to be taken',
  description: 'Sent once, when an endpoint is made or its URL is changed; without a 2xx the URL is not taken.',
  example: { ...at, eventType: 'ping' },
  payload: 'TerminalWebhookPing',
  answers: {
    '2XX': { description: 'The URL is taken. Answer within 15 seconds.' },
    default: { description: 'The URL is not taken, whatever it is. Nothing is sent again.' },
  },
}

/** Of area D. */
export const terminalDeliveries: Deliveries = {
  payload: 'TerminalWebhookPayload',
  typeField: 'eventType',
  headers: signedHeaders({ type: 'string' }),
  answers: signedAnswers,
  events: [...terminalEvents, ping],
}

const paidCode = {
  referenceNumber: 'ORDER-1001',
  amount: 25000,
  currency: 'PHP',
  timestamp: '2026-01-15T10:30:00.000Z',
  transactionId: exampleIds.code,
}

const notifications: readonly Delivery<(typeof qrActions)[number], QrPaymentNotification>[] = [
  {
    type: 'QRPH_SUCCESS',
    id: 'qrCodePaid',
    summary: 'A code was paid',
    description: 'The bank paid the exact amount: the money is there.',
    example: { action: 'QRPH_SUCCESS', ...paidCode, status: 'PAID' },
  },
  {
    type: 'QRPH_DECLINED',
    id: 'qrCodeDeclined',
    summary: 'A code was declined',
    description: 'The bank declined. That is final: another try takes another code.',
    example: { action: 'QRPH_DECLINED', ...paidCode, status: 'DECLINED', declineReason: 'DECLINED_BY_BANK' },
  },
]

/** Of area E. */
export const qrDeliveries: Deliveries = {
  payload: 'QrNotification',
  typeField: 'action',
  headers: [
    {
      name: 'activation-code',
      in: 'header',
      required: false,
      description: 'Of a webhook that is narrowed to one branch: the activation code of the branch.',
      schema: { type: 'string', pattern: activationCodePattern },
    },
  ],
  answers: {
    '200': { description: 'Acknowledged. Answer within 10 seconds and do the work afterwards.' },
    default: { description: 'A failure; the same is sent again later, encrypted anew.' },
  },
  encrypted: (payload) => ({
    schema: {
      type: 'object',
      additionalProperties: false,
      required: ['data'],
      properties: {
        data: {
          type: 'string',
          contentMediaType: 'application/jose',
          contentSchema: payload,
          description:
            'A compact JWE of JSON: A256KW and A256CBC-HS512, with the secret key that registered the webhook, or with the one that stands in for it once it is not ACTIVE.',
        },
      },
    },
    example: { data: 'eyJhbGciOiJBMjU2S1ciLCJlbmMiOiJBMjU2Q0JDLUhTNTEyIn0.….….….…' },
  }),
  events: notifications,
}
