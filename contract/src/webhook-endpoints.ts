import Type from 'typebox'
import { exampleIds } from './example-ids.ts'
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
import {
  changedEndpoint,
  deletedEndpoint,
  endpoint,
  endpointChange,
  endpointPage,
  newEndpoint,
  rotatedSecret,
  rotation,
  signingSecret,
} from './webhook-examples.ts'
import { EnabledEvents } from './webhook-types.ts'

export const WebhookEndpoint = Closed({
  id: Uuid('Unique endpoint identifier.'),
  url: Type.String({ format: 'uri', description: 'Callback URL.' }),
  description: Nullable(Type.String({ description: "The merchant's label; null when none was supplied." })),
  enabled_events: EnabledEvents,
  status: OneOf(['ENABLED', 'DISABLED'], 'Whether events are delivered to the endpoint.'),
  disabled_reason: Nullable(
    Type.String({ description: 'Why we disabled it; null while it is ENABLED, and when you paused it yourself.' }),
  ),
  disabled_at: Nullable(Timestamp('When we disabled it; null as disabled_reason is.')),
  metadata: Metadata('Merchant-owned configuration of the endpoint; never sent with an event.'),
  created_at: Timestamp('When the endpoint was registered.'),
  updated_at: Timestamp('When the endpoint last changed.'),
})

export const CreateWebhookEndpoint = Closed({
  url: WebAddress(
    'Public HTTPS URL, without user information or fragment. A sandbox also takes http on loopback addresses.',
  ),
  enabled_events: EnabledEvents,
  description: Type.Optional(Text(255, 'A label of your own; without one leave it out.')),
  metadata: Type.Optional(
    Nullable(Metadata('At most 50 keys of 40 characters with values of 500; null is an empty object.')),
  ),
})

export const UpdateWebhookEndpoint = Closed({
  url: Type.Optional(
    WebAddress('Replaces the URL, also for what is queued already. The same rules as on create; left out, it stays.'),
  ),
  enabled_events: Type.Optional(EnabledEvents),
  description: Type.Optional(Nullable(Text(255, 'Replaces the label; null, or left out, it stays.'))),
  disabled: Type.Optional(
    Type.Boolean({
      description: 'true pauses: what is queued waits, and nothing new is queued. false resumes, whoever disabled it.',
    }),
  ),
  metadata: Type.Optional(
    Nullable(Metadata('Replaces the whole object, with the limits of create; null, or left out, it stays.')),
  ),
})

export const DeleteResult = Closed({
  id: Uuid('The endpoint that was deleted.'),
  deleted: Type.Literal(true, { description: 'Always true.' }),
})

export const RotateSigningSecret = Closed({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 604_800,
      default: 86_400,
      description:
        'How long the present secret signs beside the new one, at most a week; a day when absent, 0 ends it now.',
    }),
  ),
})

export const SigningSecret = Closed({
  endpoint_id: Uuid('The endpoint that the secret signs for.'),
  signing_secret: Type.String({ description: '`whsec_` and the padded base64 of 32 bytes (Standard Webhooks).' }),
  created_at: Timestamp('When this secret was made.'),
  previous_expires_at: Nullable(Timestamp('Until when secrets before it sign too; null when there are none.')),
})

export const createWebhookEndpoint = operation({
  id: 'createWebhookEndpoint',
  area: 'webhooks',
  method: 'POST',
  path: '/v1/webhook_endpoints',
  summary: 'Register an endpoint',
  description:
    'Registers a callback URL of the entity of the key, at most 500 of them, DISABLED ones included. It is ENABLED at once and receives the events of that entity and of all entities under it. The signing secret is read by an operation of its own.',
  auth: 'key',
  scope: 'webhooks.write',
  body: CreateWebhookEndpoint,
  success: {
    201: { description: 'The endpoint, without its signing secret.', schema: WebhookEndpoint, example: endpoint },
  },
  errors: ['INVALID_URL', 'INVALID_ENABLED_EVENTS', 'INVALID_DESCRIPTION', 'INVALID_METADATA', 'CONFLICT'],
  errorExamples: { CONFLICT: { message: 'This entity has 500 endpoints, as many as it may; delete one first.' } },
  example: newEndpoint,
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
  success: { 200: { description: 'A page of endpoints.', schema: Page(WebhookEndpoint), example: endpointPage } },
  errors: ['INVALID_CURSOR', 'INVALID_PAGE_SIZE'],
  exampleParameters: { page_size: 1 },
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
  success: { 200: { description: 'The endpoint.', schema: WebhookEndpoint, example: endpoint } },
  errors: ['INVALID_ID', 'NOT_FOUND'],
  exampleParameters: { id: exampleIds.endpoint },
})

export const updateWebhookEndpoint = operation({
  id: 'updateWebhookEndpoint',
  area: 'webhooks',
  method: 'PATCH',
  path: '/v1/webhook_endpoints/{id}',
  summary: 'Update, pause or resume an endpoint',
  description:
    'Changes what is named and nothing else; an empty object changes nothing. A paused endpoint gets nothing more but what was in flight. What is queued for it waits, and goes out when it is resumed; events that happen meanwhile are not queued for it, and can be recovered. A resume also ends a disabling of ours.',
  auth: 'key',
  scope: 'webhooks.write',
  params: ById,
  body: UpdateWebhookEndpoint,
  success: {
    200: { description: 'The whole endpoint, as it is now.', schema: WebhookEndpoint, example: changedEndpoint },
  },
  errors: [
    'INVALID_ID',
    'INVALID_URL',
    'INVALID_ENABLED_EVENTS',
    'INVALID_DESCRIPTION',
    'INVALID_DISABLED',
    'INVALID_METADATA',
    'NOT_FOUND',
    'CONFLICT',
  ],
  example: endpointChange,
  exampleParameters: { id: exampleIds.endpoint },
})

export const deleteWebhookEndpoint = operation({
  id: 'deleteWebhookEndpoint',
  area: 'webhooks',
  method: 'DELETE',
  path: '/v1/webhook_endpoints/{id}',
  summary: 'Delete an endpoint',
  description:
    'Ends deliveries to the endpoint for good: what is queued is dropped, and nothing more is sent but what was in flight. Its record is kept for audit and is found by no operation any more; its URL may be used again.',
  auth: 'key',
  scope: 'webhooks.write',
  params: ById,
  success: { 200: { description: 'The endpoint is deleted.', schema: DeleteResult, example: deletedEndpoint } },
  errors: ['INVALID_ID', 'NOT_FOUND'],
  exampleParameters: { id: exampleIds.endpoint },
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
  success: {
    200: {
      description: 'The newest signing secret.',
      schema: SigningSecret,
      example: signingSecret,
      neverStored: true,
    },
  },
  errors: ['INVALID_ID', 'NOT_FOUND'],
  exampleParameters: { id: exampleIds.endpoint },
})

export const rotateSigningSecret = operation({
  id: 'rotateSigningSecret',
  area: 'webhooks',
  method: 'POST',
  path: '/v1/webhook_endpoints/{id}/signing_secret/rotate',
  summary: "Rotate an endpoint's signing secret",
  description:
    'Makes a new secret, which signs first from now on. Those before it sign too until the overlap ends, and no longer than they would have; at most three sign at a time, so a fourth ends the oldest at once. The answer is never cached. It is not repeated by itself: after an answer that was lost, read the secret.',
  auth: 'key',
  scope: ['webhooks.secret', 'webhooks.write'],
  params: ById,
  body: RotateSigningSecret,
  success: {
    200: { description: 'The new signing secret.', schema: SigningSecret, example: rotatedSecret, neverStored: true },
  },
  errors: ['INVALID_ID', 'NOT_FOUND'],
  example: rotation,
  exampleParameters: { id: exampleIds.endpoint },
})
