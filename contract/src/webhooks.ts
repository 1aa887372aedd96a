import Type, { type Static } from 'typebox'
import { failureCategories } from './ecommerce.ts'
import { operation } from './operation.ts'
import {
  Amount,
  ById,
  Closed,
  CommaList,
  Count,
  Currency,
  Cursor,
  Metadata,
  Nullable,
  OneOf,
  Page,
  PageSize,
  Text,
  Timestamp,
  Uuid,
  WebAddress,
} from './primitives.ts'

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

/** Every code of area A and its HTTP status. */
export const webhooksErrors = {
  BAD_REQUEST: 400,
  INVALID_ID: 400,
  INVALID_URL: 400,
  INVALID_DESCRIPTION: 400,
  INVALID_ENABLED_EVENTS: 400,
  INVALID_METADATA: 400,
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

const EnabledEvents = Type.Array(EventType, {
  minItems: 1,
  uniqueItems: true,
  description: 'Event types delivered to the endpoint.',
})

export const WebhookEndpoint = Closed({
  id: Uuid('Unique endpoint identifier.'),
  url: Type.String({ format: 'uri', description: 'Callback URL.' }),
  description: Nullable(Type.String({ description: "The merchant's label; null when none was supplied." })),
  enabled_events: EnabledEvents,
  status: OneOf(['ENABLED', 'DISABLED'], 'Whether events are delivered to the endpoint.'),
  metadata: Metadata('Merchant-owned configuration of the endpoint; never sent with an event.'),
  created_at: Timestamp('When the endpoint was registered.'),
  updated_at: Timestamp('When the endpoint last changed.'),
})

export const CreateWebhookEndpoint = Closed({
  url: WebAddress(
    'Public HTTPS URL, without user information or fragment. A sandbox also takes http on loopback addresses.',
  ),
  enabled_events: EnabledEvents,
  description: Type.Optional(Nullable(Text(255, 'A label of your own.'))),
  metadata: Type.Optional(
    Nullable(Metadata('At most 50 keys of 40 characters with values of 500; null is an empty object.')),
  ),
})

export const SigningSecret = Closed({
  endpoint_id: Uuid('The endpoint that the secret signs for.'),
  signing_secret: Type.String({ description: '`whsec_` and the padded base64 of 32 bytes (Standard Webhooks).' }),
  created_at: Timestamp('When this secret was made.'),
  previous_expires_at: Nullable(Timestamp('Until when the secret before it signs too; null when there is none.')),
})

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

/** What a delivery carries: made once per event, the same bytes on every attempt. A field without a value is left out. */
export const WebhookPayload = Closed({
  id: Uuid('The event, as in the header webhook-id: your key against doubles.'),
  type: EventType,
  created_at: Timestamp('When the payment changed.'),
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
  }),
})

export type WebhookPayload = Static<typeof WebhookPayload>

export const createWebhookEndpoint = operation({
  id: 'createWebhookEndpoint',
  area: 'webhooks',
  method: 'POST',
  path: '/v1/webhook_endpoints',
  summary: 'Register an endpoint',
  description:
    'Registers a callback URL of the entity of the key. It is ENABLED at once and receives the events of that entity and of all entities under it. The signing secret is read by an operation of its own.',
  auth: 'key',
  scope: 'webhooks.write',
  body: CreateWebhookEndpoint,
  success: { 201: { description: 'The endpoint, without its signing secret.', schema: WebhookEndpoint } },
  errors: ['INVALID_URL', 'INVALID_ENABLED_EVENTS', 'INVALID_DESCRIPTION', 'INVALID_METADATA', 'CONFLICT'],
  example: {
    url: 'https://shop.example.com/webhooks',
    enabled_events: ['payment.succeeded', 'payment.declined'],
    description: 'Order service',
    metadata: { team: 'orders' },
  },
})

export const listWebhookEndpoints = operation({
  id: 'listWebhookEndpoints',
  area: 'webhooks',
  method: 'GET',
  path: '/v1/webhook_endpoints',
  summary: 'List endpoints',
  description: 'Endpoints of the entity of the key and of all entities under it, newest first.',
  auth: 'key',
  scope: 'webhooks.read',
  query: Closed({ page_size: Type.Optional(PageSize(100)), cursor: Type.Optional(Cursor) }),
  success: { 200: { description: 'A page of endpoints.', schema: Page(WebhookEndpoint) } },
  errors: ['INVALID_CURSOR', 'INVALID_PAGE_SIZE'],
})

export const retrieveWebhookEndpoint = operation({
  id: 'retrieveWebhookEndpoint',
  area: 'webhooks',
  method: 'GET',
  path: '/v1/webhook_endpoints/{id}',
  summary: 'Retrieve an endpoint',
  description: 'One endpoint of the entity of the key or of an entity under it.',
  auth: 'key',
  scope: 'webhooks.read',
  params: ById,
  success: { 200: { description: 'The endpoint.', schema: WebhookEndpoint } },
  errors: ['INVALID_ID', 'NOT_FOUND'],
})

export const retrieveSigningSecret = operation({
  id: 'retrieveSigningSecret',
  area: 'webhooks',
  method: 'GET',
  path: '/v1/webhook_endpoints/{id}/signing_secret',
  summary: "Read an endpoint's signing secret",
  description: 'The secret that signs every delivery to the endpoint. The answer is never cached.',
  auth: 'key',
  scope: 'webhooks.secret',
  params: ById,
  success: { 200: { description: 'The newest signing secret.', schema: SigningSecret } },
  errors: ['INVALID_ID', 'NOT_FOUND'],
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

export const webhooksOperations = {
  createWebhookEndpoint,
  listWebhookEndpoints,
  retrieveWebhookEndpoint,
  retrieveSigningSecret,
  listWebhookEvents,
} as const
