import type { Delivery } from '../../delivery/index.ts'
import type { Identity } from '../../identity/service.ts'
import type { Cursors } from '../../kernel/cursor.ts'
import { endpointCases } from './service-endpoints.ts'
import { eventCases } from './service-events.ts'

export interface WebhooksDependencies {
  readonly delivery: Delivery
  readonly identity: Identity
  readonly cursors: Cursors
  /** A reason why an address can never be reached from here, or null. */
  readonly vet: (url: string) => string | null
  readonly sandbox: boolean
}

export type WebhooksService = ReturnType<typeof createWebhooksService>

/** What a merchant can do with endpoints and with events. */
export function createWebhooksService(deps: WebhooksDependencies) {
  const endpoints = endpointCases(deps)
  return { ...endpoints, ...eventCases(deps, endpoints.findEndpoint) }
}
