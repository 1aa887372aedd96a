import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  listWebhookEndpoints,
  retrieveSigningSecret,
  retrieveWebhookEndpoint,
  rotateSigningSecret,
  updateWebhookEndpoint,
} from './webhook-endpoints.ts'
import {
  listWebhookEvents,
  recoverWebhookEndpoint,
  resendWebhookEvent,
  retrieveWebhookEvent,
  testWebhookEndpoint,
} from './webhook-events.ts'

export * from './webhook-endpoints.ts'
export * from './webhook-events.ts'
export * from './webhook-types.ts'

export const webhooksOperations = {
  createWebhookEndpoint,
  listWebhookEndpoints,
  retrieveWebhookEndpoint,
  updateWebhookEndpoint,
  deleteWebhookEndpoint,
  retrieveSigningSecret,
  rotateSigningSecret,
  recoverWebhookEndpoint,
  testWebhookEndpoint,
  listWebhookEvents,
  retrieveWebhookEvent,
  resendWebhookEvent,
} as const
