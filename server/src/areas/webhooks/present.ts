import type { SigningSecret, WebhookEndpoint, WebhookEvent } from '@kaha/contract'
import type { Static } from 'typebox'
import type { DestinationRow, EventRow } from '../../delivery/index.ts'

export function presentEndpoint(row: DestinationRow): Static<typeof WebhookEndpoint> {
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    enabled_events: row.types as Static<typeof WebhookEndpoint>['enabled_events'],
    status: row.state,
    metadata: row.metadata,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

export function presentSigningSecret(
  endpointId: string,
  secret: { secret: string; createdAt: Date; previousExpiresAt: Date | null },
): Static<typeof SigningSecret> {
  return {
    endpoint_id: endpointId,
    signing_secret: secret.secret,
    created_at: secret.createdAt.toISOString(),
    previous_expires_at: secret.previousExpiresAt?.toISOString() ?? null,
  }
}

export function presentEvent(row: EventRow): Static<typeof WebhookEvent> {
  return {
    id: row.id,
    type: row.type as Static<typeof WebhookEvent>['type'],
    status: row.status,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    merchant_id: row.merchant_id,
    branch_id: row.branch_id,
    ...(row.payment_intent_id === null ? {} : { payment_intent_id: row.payment_intent_id }),
    ...(row.payment_link_id === null ? {} : { payment_link_id: row.payment_link_id }),
    delivered_at: row.delivered_at?.toISOString() ?? null,
    attempt_count: row.attempt_count,
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
  }
}
