import Type, { type Static } from 'typebox'
import { failureCategories } from './ecommerce.ts'
import { Amount, Closed, Currency, Metadata, OneOf, Timestamp, Uuid } from './primitives.ts'

export const eventTypes = ['payment.succeeded', 'payment.declined', 'payment.failed', 'payment.expired'] as const
export const eventStatuses = [
  'PENDING',
  'SUBMITTING',
  'SUBMIT_FAILED',
  'SUBMITTED',
  'DELIVERED',
  'EXHAUSTED',
  'NOT_SUBSCRIBED',
] as const
const deliveryStatuses = ['PENDING', 'DELIVERED', 'EXHAUSTED', 'CLOSED'] as const

/** What a merchant reads in the status of an event: it tells of the latest dispatch. */
export const eventStatusMeanings: Readonly<Record<(typeof eventStatuses)[number], string>> = {
  PENDING: 'It happened, and nobody has taken it up yet.',
  SUBMITTING: 'It is being dispatched: a delivery is queued for each endpoint that subscribes.',
  SUBMIT_FAILED: 'It could not be dispatched, for a cause of ours; that is tried again and spends no attempt.',
  SUBMITTED: 'At least one of its deliveries is not over.',
  DELIVERED: 'Every endpoint that it was queued for acknowledged it.',
  EXHAUSTED: 'All of its deliveries are over, and at least one was not acknowledged.',
  NOT_SUBSCRIBED: 'No ENABLED endpoint subscribed to its type when it was dispatched.',
}

/** And in that of one delivery. */
export const deliveryStatusMeanings: Readonly<Record<(typeof deliveryStatuses)[number], string>> = {
  PENDING: 'An attempt waits or is in flight; before a paused endpoint it waits until that is resumed.',
  DELIVERED: 'The endpoint acknowledged it.',
  EXHAUSTED: 'The last attempt of the schedule failed.',
  CLOSED: 'It ended unacknowledged, because the endpoint was deleted, or disabled by us.',
}

/** Every code of area A and its HTTP status. */
export const webhooksErrors = {
  BAD_REQUEST: 400,
  INVALID_ID: 400,
  INVALID_URL: 400,
  INVALID_DESCRIPTION: 400,
  INVALID_ENABLED_EVENTS: 400,
  INVALID_METADATA: 400,
  INVALID_DISABLED: 400,
  INVALID_CURSOR: 400,
  INVALID_PAGE_SIZE: 400,
  INVALID_TYPE: 400,
  INVALID_STATUS: 400,
  INVALID_DATE_RANGE: 400,
  INVALID_BRANCH_ID: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const
export type WebhooksCode = keyof typeof webhooksErrors

export const EventType = OneOf(eventTypes, 'What happened to the payment.')

/** One of these values. The description goes on with the meaning of each. */
const Explained = <Value extends string>(meanings: Readonly<Record<Value, string>>, description: string) => {
  const values = Object.keys(meanings) as Value[]
  return OneOf(values, `${description}\n\n${values.map((value) => `- \`${value}\`: ${meanings[value]}`).join('\n')}`)
}

export const EventStatus = Explained(eventStatusMeanings, 'Where the latest dispatch of the event stands.')
export const DeliveryStatus = Explained(deliveryStatusMeanings, 'Where the event stands with this endpoint.')

export const EnabledEvents = Type.Array(EventType, {
  minItems: 1,
  uniqueItems: true,
  description: 'Event types delivered to the endpoint.',
})

/** What a delivery carries: made once per event, the same bytes on every attempt. A field without a value is left out. */
export const WebhookPayload = Closed({
  id: Uuid('The event, as in the header webhook-id: your key against doubles.'),
  type: EventType,
  created_at: Timestamp(
    'When the event was written: as the payment changed, or some milliseconds later; after an outage, at its end.',
  ),
  data: Closed({
    payment_intent_id: Type.Optional(Uuid('The intent; absent when a link expired that nobody tried to pay.')),
    payment_link_id: Type.Optional(Uuid('The link that the payment came from.')),
    payment_attempt_id: Type.Optional(Uuid('The latest attempt, if there was one.')),
    amount: Amount('What was to be paid.'),
    currency: Currency,
    status: OneOf(['SUCCEEDED', 'DECLINED', 'FAILED', 'EXPIRED'], 'How the payment ended.'),
    order_reference: Type.Optional(Type.String({ description: 'Your own order number.' })),
    card_brand: Type.Optional(Type.String({ description: 'VISA, MASTERCARD, …' })),
    card_last_four: Type.Optional(Type.String({ description: 'Last four digits of the card.' })),
    failure_category: Type.Optional(OneOf(failureCategories, 'Why the payment was declined or failed.')),
    merchant_id: Uuid('The merchant of the payment.'),
    branch_id: Uuid('The branch of the payment.'),
    merchant_branch_name: Type.String({ description: 'Name of the branch.' }),
    metadata: Metadata('Of the payment, as sent.'),
    test: Type.Optional(Type.Boolean({ description: 'True in a test event: no payment stands behind it.' })),
  }),
})

export type WebhookPayload = Static<typeof WebhookPayload>
