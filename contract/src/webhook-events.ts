import Type from 'typebox'
import { exampleIds } from './example-ids.ts'
import { operation } from './operation.ts'
import {
  ById,
  Closed,
  CommaList,
  Count,
  Cursor,
  Nullable,
  OneOf,
  Page,
  PageSize,
  Timestamp,
  Uuid,
} from './primitives.ts'
import {
  eventDetail,
  eventPage,
  recovering,
  recovery,
  resending,
  resentEvent,
  testEvent,
  testing,
} from './webhook-examples.ts'
import { DeliveryStatus, EventStatus, EventType, eventStatuses } from './webhook-types.ts'

const event = {
  id: Uuid('The event; also the `webhook-id` of every delivery.'),
  type: EventType,
  status: EventStatus,
  created_at: Timestamp(
    'When the event was written: as the payment changed, or some milliseconds later; after an outage, at its end.',
  ),
  updated_at: Timestamp('When the status last changed.'),
  merchant_id: Uuid('The merchant of the payment.'),
  branch_id: Uuid('The branch of the payment.'),
  payment_intent_id: Type.Optional(Uuid('The intent that the event tells of.')),
  payment_link_id: Type.Optional(Uuid('The link that the payment came from.')),
  delivered_at: Nullable(Timestamp('When the last endpoint acknowledged it.')),
  attempt_count: Count('Delivery attempts so far, over all endpoints.'),
  next_attempt_at: Nullable(Timestamp('When the next delivery attempt is due.')),
}

export const WebhookEvent = Closed(event)

const errorClasses = ['refused_target', 'dns', 'connect', 'tls', 'reset', 'timeout', 'protocol'] as const

/** One HTTP call to an endpoint, as it went. */
export const WebhookDeliveryAttempt = Closed({
  number: Count('Counts from 1 over everything that was sent of this event to this endpoint.'),
  started_at: Timestamp('When it began, in business time.'),
  duration_ms: Count('Until the answer was complete, or the attempt given up.'),
  status: Nullable(Type.Integer({ description: 'HTTP status of the answer; null when there was none.' })),
  error_class: Nullable(OneOf(errorClasses, 'Why there was no answer; null when there was one.')),
  error_message: Nullable(Type.String({ description: 'The same in a sentence.' })),
  owner: Nullable(
    OneOf(
      ['destination', 'path'],
      'Who must act: you, or whoever runs what lies between; null when it was acknowledged.',
    ),
  ),
  request_headers: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'The content type and the three headers of Standard Webhooks, as they were sent.',
  }),
  response_body: Nullable(
    Type.String({
      description:
        'The first 16 KiB of the answer as plain text: show it as text, whatever it holds; null when there was none.',
    }),
  ),
})

/** One event on its way to one endpoint. */
export const WebhookDelivery = Closed({
  endpoint_id: Uuid('The endpoint.'),
  url: Type.String({ format: 'uri', description: 'Its callback URL now, also when it was deleted.' }),
  status: DeliveryStatus,
  attempt_count: Count('Attempts so far; resends included.'),
  next_attempt_at: Nullable(Timestamp('When the next attempt is due; null when it is over.')),
  dispatched_at: Timestamp('When the event was last queued for this endpoint.'),
  ended_at: Nullable(Timestamp('When it was acknowledged or given up; null while it is PENDING.')),
  attempts: Type.Array(WebhookDeliveryAttempt, { description: 'The newest 20, newest first. Kept for 30 days.' }),
})

export const WebhookEventDetail = Closed({
  ...event,
  test: Type.Boolean({ description: 'Made by a test of an endpoint: no payment stands behind it.' }),
  payload: Type.String({ description: 'The very bytes that are signed and sent, as text.' }),
  deliveries: Type.Array(WebhookDelivery, {
    description:
      'To the endpoints that this key can see, those of its own entity and below; at most 50, the latest dispatch first.',
  }),
})

export const listWebhookEvents = operation({
  id: 'listWebhookEvents',
  area: 'webhooks',
  method: 'GET',
  path: '/v1/webhook_events',
  summary: 'List events',
  description:
    "Persisted payment events with their delivery status, newest first. Keys of partners and merchants name the branch; a branch key sees its own branch's events. With `type` or `status` a page looks at 1,000 events at most, and may hold fewer than `page_size`, or none, while `has_more` is true: go on with `next_cursor`.",
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
  success: { 200: { description: 'A page of events.', schema: Page(WebhookEvent), example: eventPage } },
  errors: [
    'INVALID_CURSOR',
    'INVALID_PAGE_SIZE',
    'INVALID_BRANCH_ID',
    'INVALID_TYPE',
    'INVALID_STATUS',
    'INVALID_DATE_RANGE',
  ],
  exampleParameters: { branch_id: exampleIds.branch, status: ['DELIVERED'], page_size: 1 },
})

export const ResendWebhookEvent = Closed({
  endpoint_id: Type.Optional(Uuid('The one endpoint to send it to, whether it subscribes to the type or not.')),
})

export const RecoverWebhookEndpoint = Closed({
  date_from: Timestamp('Events created at or after this time.'),
  date_to: Type.Optional(Timestamp('Events created at or before this time; all until now when absent.')),
})

export const WebhookRecovery = Closed({ events: Count('How many events were queued for the endpoint.') })

export const TestWebhookEndpoint = Closed({ type: EventType })

export const retrieveWebhookEvent = operation({
  id: 'retrieveWebhookEvent',
  area: 'webhooks',
  method: 'GET',
  path: '/v1/webhook_events/{id}',
  summary: 'Retrieve an event',
  description:
    'One event with its payload, its deliveries and their attempts: what was sent, what came back, and when the next attempt is due.',
  auth: 'key',
  scope: 'webhooks.read',
  params: ById,
  success: {
    200: { description: 'The event and what became of it.', schema: WebhookEventDetail, example: eventDetail },
  },
  errors: ['INVALID_ID', 'NOT_FOUND'],
  exampleParameters: { id: exampleIds.event },
})

export const resendWebhookEvent = operation({
  id: 'resendWebhookEvent',
  area: 'webhooks',
  method: 'POST',
  path: '/v1/webhook_events/{id}/resend',
  summary: 'Resend an event',
  description:
    'Sends the event again, with the same id and the same bytes, under a new timestamp and signature: to the endpoint that is named, else to every ENABLED endpoint that this key can see and that subscribes to the type now. A waiting retry is replaced by an attempt now, with the whole schedule before it; an attempt that is in flight counts as the resend. 409 while the event is not dispatched yet, when the endpoint is deleted or DISABLED, and when there is none to send to.',
  auth: 'key',
  scope: 'webhooks.write',
  params: ById,
  body: ResendWebhookEvent,
  bodyOptional: true,
  success: { 202: { description: 'The event, queued.', schema: WebhookEvent, example: resentEvent } },
  errors: ['INVALID_ID', 'NOT_FOUND', 'CONFLICT'],
  example: resending,
  exampleParameters: { id: exampleIds.event },
})

export const recoverWebhookEndpoint = operation({
  id: 'recoverWebhookEndpoint',
  area: 'webhooks',
  method: 'POST',
  path: '/v1/webhook_endpoints/{id}/recover',
  summary: 'Recover what an endpoint missed',
  description:
    'Queues for the endpoint every event of its entity and of everything under it, of the types that it subscribes to now, that was created between the two times and never reached it; also those that happened before it existed or while it was DISABLED. What it acknowledged, what is on its way to it, what is not dispatched yet and tests are left out, so a second call does no harm. A call looks at up to 1,000,000 events and queues up to 100,000: where a range may hold more, recover it in parts, and call again while `events` is 100,000. 409 while the endpoint is DISABLED.',
  auth: 'key',
  scope: 'webhooks.write',
  params: ById,
  body: RecoverWebhookEndpoint,
  success: { 202: { description: 'How many events were queued.', schema: WebhookRecovery, example: recovery } },
  errors: ['INVALID_ID', 'INVALID_DATE_RANGE', 'NOT_FOUND', 'CONFLICT'],
  example: recovering,
  exampleParameters: { id: exampleIds.endpoint },
})

export const testWebhookEndpoint = operation({
  id: 'testWebhookEndpoint',
  area: 'webhooks',
  method: 'POST',
  path: '/v1/webhook_endpoints/{id}/test',
  summary: 'Send a test event',
  description:
    'Sends a made-up event of the type to this endpoint alone, whatever it subscribes to: through the same queue, signed and retried like any other, with `"test": true` in the data of its payload. It is in no list and no report, and is retrieved by its id. The ids in its payload lead nowhere, but for those of merchant and branch. 409 while the endpoint is DISABLED, or where its entity has no branch yet.',
  auth: 'key',
  scope: 'webhooks.write',
  params: ById,
  body: TestWebhookEndpoint,
  success: { 202: { description: 'The test event, queued.', schema: WebhookEvent, example: testEvent } },
  errors: ['INVALID_ID', 'INVALID_TYPE', 'NOT_FOUND', 'CONFLICT'],
  example: testing,
  exampleParameters: { id: exampleIds.endpoint },
})
