import Type from 'typebox'
import { operation } from './operation.ts'
import {
  ById,
  Closed,
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
import { EnabledEvents } from './webhook-types.ts'

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
