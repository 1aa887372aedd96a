import {
  createWebhookEndpoint,
  listWebhookEndpoints,
  retrieveSigningSecret,
  retrieveWebhookEndpoint,
} from './webhook-endpoints.ts'
import { listWebhookEvents } from './webhook-events.ts'

export * from './webhook-endpoints.ts'
export * from './webhook-events.ts'
export * from './webhook-types.ts'

export const webhooksOperations = {
  createWebhookEndpoint,
  listWebhookEndpoints,
  retrieveWebhookEndpoint,
  retrieveSigningSecret,
  listWebhookEvents,
} as const
