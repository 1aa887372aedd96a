import Type from 'typebox'
import { operation } from './operation.ts'
import { Closed, CommaList, Count, Cursor, Nullable, OneOf, Page, PageSize, Timestamp, Uuid } from './primitives.ts'
import { EventType, eventStatuses } from './webhook-types.ts'

export const WebhookEvent = Closed({
  id: Uuid('The event; also the `webhook-id` of every delivery.'),
  type: EventType,
  status: OneOf(eventStatuses, 'Where the latest dispatch of the event stands.'),
  created_at: Timestamp('When the payment changed.'),
  updated_at: Timestamp('When the status last changed.'),
  merchant_id: Uuid('The merchant of the payment.'),
  branch_id: Uuid('The branch of the payment.'),
  payment_intent_id: Type.Optional(Uuid('The intent that the event tells of.')),
  payment_link_id: Type.Optional(Uuid('The link that the payment came from.')),
  delivered_at: Nullable(Timestamp('When the last endpoint acknowledged it.')),
  attempt_count: Count('Delivery attempts so far, over all endpoints.'),
  next_attempt_at: Nullable(Timestamp('When the next delivery attempt is due.')),
})

export const listWebhookEvents = operation({
  id: 'listWebhookEvents',
  area: 'webhooks',
  method: 'GET',
  path: '/v1/webhook_events',
  summary: 'List events',
  description:
    "Persisted payment events with their delivery status, newest first. Keys of partners and merchants name the branch; a branch key sees its own branch's events.",
  auth: 'key',
  scope: 'webhooks.read',
  query: Closed({
    page_size: Type.Optional(PageSize(100)),
    cursor: Type.Optional(Cursor),
    branch_id: Type.Optional(Uuid('The branch whose events are listed. Required for keys of partners and merchants.')),
    type: Type.Optional(EventType),
    status: Type.Optional(CommaList(eventStatuses, 'One or more statuses, comma-separated.')),
    date_from: Type.Optional(Timestamp('Only events created at or after this time.')),
    date_to: Type.Optional(Timestamp('Only events created at or before this time.')),
  }),
  success: { 200: { description: 'A page of events.', schema: Page(WebhookEvent) } },
  errors: [
    'INVALID_CURSOR',
    'INVALID_PAGE_SIZE',
    'INVALID_BRANCH_ID',
    'INVALID_TYPE',
    'INVALID_STATUS',
    'INVALID_DATE_RANGE',
  ],
})
