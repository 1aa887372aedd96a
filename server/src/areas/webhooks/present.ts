import type { DeleteResult, SigningSecret, WebhookEndpoint, WebhookEvent, WebhookEventDetail } from '@kaha/contract'
import type { Static } from 'typebox'
import type { DestinationRow, EventDetail, EventRow, NewestSecret } from '../../delivery/index.ts'

export function presentEndpoint(row: DestinationRow): Static<typeof WebhookEndpoint> {
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    enabled_events: row.types as Static<typeof WebhookEndpoint>['enabled_events'],
    status: row.state,
    disabled_reason: row.disabled_reason,
    disabled_at: row.disabled_at?.toISOString() ?? null,
    metadata: row.metadata,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

export function presentDeleted(row: DestinationRow): Static<typeof DeleteResult> {
  return { id: row.id, deleted: true }
}

export function presentSigningSecret(secret: NewestSecret): Static<typeof SigningSecret> {
  return {
    endpoint_id: secret.destinationId,
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

type Detail = Static<typeof WebhookEventDetail>
type Delivered = EventDetail['deliveries'][number]

export function presentEventDetail({ event, deliveries }: EventDetail): Detail {
  return { ...presentEvent(event), test: event.test, payload: event.body, deliveries: deliveries.map(presentDelivery) }
}

const presentDelivery = (row: Delivered): Detail['deliveries'][number] => ({
  endpoint_id: row.destination_id,
  url: row.url,
  status: row.status,
  attempt_count: row.attempt_count,
  next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
  dispatched_at: row.dispatched_at.toISOString(),
  ended_at: row.ended_at?.toISOString() ?? null,
  attempts: row.attempts.map(presentAttempt),
})

type Attempt = Detail['deliveries'][number]['attempts'][number]

const presentAttempt = (row: Delivered['attempts'][number]): Attempt => ({
  number: row.number,
  started_at: row.started_at.toISOString(),
  duration_ms: row.duration_ms,
  status: row.status,
  error_class: row.error_class as Attempt['error_class'],
  error_message: row.error_message,
  owner: row.owner,
  request_headers: row.request_headers,
  response_body: row.answer,
})
