import type { Static } from 'typebox'
import { exampleCursor, exampleIds } from './example-ids.ts'
import type {
  CreateWebhookEndpoint,
  DeleteResult,
  RecoverWebhookEndpoint,
  ResendWebhookEvent,
  RotateSigningSecret,
  SigningSecret,
  TestWebhookEndpoint,
  UpdateWebhookEndpoint,
  WebhookEndpoint,
  WebhookEvent,
  WebhookEventDetail,
  WebhookPayload,
  WebhookRecovery,
} from './webhooks.ts'

// One story, which is told by the key of a merchant: its order service is told that ORDER-1001 was paid.

export const newEndpoint = {
  url: 'https://shop.example.com/webhooks',
  enabled_events: ['payment.succeeded', 'payment.declined'],
  description: 'Order service',
  metadata: { team: 'orders' },
} satisfies Static<typeof CreateWebhookEndpoint>

export const endpoint: Static<typeof WebhookEndpoint> = {
  id: exampleIds.endpoint,
  ...newEndpoint,
  status: 'ENABLED',
  disabled_reason: null,
  disabled_at: null,
  created_at: '2026-01-15T09:00:00.000Z',
  updated_at: '2026-01-15T09:00:00.000Z',
}

const firstPage = { page_size: 1, has_more: true, next_cursor: exampleCursor }

export const endpointPage = { data: [endpoint], pagination: firstPage }

export const endpointChange = {
  enabled_events: ['payment.succeeded'],
  disabled: false,
} satisfies Static<typeof UpdateWebhookEndpoint>

export const changedEndpoint: Static<typeof WebhookEndpoint> = {
  ...endpoint,
  enabled_events: ['payment.succeeded'],
  updated_at: '2026-01-15T09:30:00.000Z',
}

export const deletedEndpoint: Static<typeof DeleteResult> = { id: exampleIds.endpoint, deleted: true }

export const signingSecret: Static<typeof SigningSecret> = {
  endpoint_id: exampleIds.endpoint,
  signing_secret: 'whsec_b3JkZXItc2VydmljZS1maXJzdC1zZWNyZXQtb2YtMjY=',
  created_at: '2026-01-15T09:00:00.000Z',
  previous_expires_at: null,
}

export const rotation = { overlap_seconds: 86_400 } satisfies Static<typeof RotateSigningSecret>

export const rotatedSecret: Static<typeof SigningSecret> = {
  endpoint_id: exampleIds.endpoint,
  signing_secret: 'whsec_b3JkZXItc2VydmljZS1zZWNvbmQtc2VjcmV0LW9mMjY=',
  created_at: '2026-01-15T09:45:00.000Z',
  previous_expires_at: '2026-01-16T09:45:00.000Z',
}

/** What an endpoint is sent of it. */
export const paidPayload: WebhookPayload = {
  id: exampleIds.event,
  type: 'payment.succeeded',
  created_at: '2026-01-15T10:30:00.000Z',
  data: {
    payment_intent_id: exampleIds.intent,
    payment_link_id: exampleIds.link,
    payment_attempt_id: exampleIds.attempt,
    amount: 25_000,
    currency: 'PHP',
    status: 'SUCCEEDED',
    order_reference: 'ORDER-1001',
    card_brand: 'VISA',
    card_last_four: '4242',
    merchant_id: exampleIds.merchant,
    branch_id: exampleIds.branch,
    merchant_branch_name: 'Kapihan ni Aling Nena, Makati',
    metadata: { cart: '7781' },
  },
}

const delivered: Static<typeof WebhookEvent> = {
  id: exampleIds.event,
  type: 'payment.succeeded',
  status: 'DELIVERED',
  created_at: '2026-01-15T10:30:00.000Z',
  updated_at: '2026-01-15T10:30:00.310Z',
  merchant_id: exampleIds.merchant,
  branch_id: exampleIds.branch,
  payment_intent_id: exampleIds.intent,
  payment_link_id: exampleIds.link,
  delivered_at: '2026-01-15T10:30:00.310Z',
  attempt_count: 1,
  next_attempt_at: null,
}

export const eventPage = { data: [delivered], pagination: firstPage }

export const eventDetail: Static<typeof WebhookEventDetail> = {
  ...delivered,
  test: false,
  payload: JSON.stringify(paidPayload),
  deliveries: [
    {
      endpoint_id: exampleIds.endpoint,
      url: newEndpoint.url,
      status: 'DELIVERED',
      attempt_count: 1,
      next_attempt_at: null,
      dispatched_at: '2026-01-15T10:30:00.100Z',
      ended_at: '2026-01-15T10:30:00.310Z',
      attempts: [
        {
          number: 1,
          started_at: '2026-01-15T10:30:00.120Z',
          duration_ms: 184,
          status: 204,
          error_class: null,
          error_message: null,
          owner: null,
          request_headers: {
            'content-type': 'application/json',
            'webhook-id': exampleIds.event,
            'webhook-timestamp': '1768473000',
            'webhook-signature': 'v1,hZ0bT2xq8mYc4nR7sW1kLd5fJg9vXa3eQu6oIwM+pEs=',
          },
          response_body: '',
        },
      ],
    },
  ],
}

export const resending = { endpoint_id: exampleIds.endpoint } satisfies Static<typeof ResendWebhookEvent>

export const resentEvent: Static<typeof WebhookEvent> = {
  ...delivered,
  status: 'SUBMITTED',
  updated_at: '2026-01-15T11:00:00.000Z',
  delivered_at: null,
  next_attempt_at: '2026-01-15T11:00:00.000Z',
}

export const recovering = {
  date_from: '2026-01-15T00:00:00.000Z',
  date_to: '2026-01-15T12:00:00.000Z',
} satisfies Static<typeof RecoverWebhookEndpoint>

export const recovery: Static<typeof WebhookRecovery> = { events: 1 }

export const testing = { type: 'payment.succeeded' } satisfies Static<typeof TestWebhookEndpoint>

export const testEvent: Static<typeof WebhookEvent> = {
  id: exampleIds.testEvent,
  type: 'payment.succeeded',
  status: 'SUBMITTED',
  created_at: '2026-01-15T09:10:00.000Z',
  updated_at: '2026-01-15T09:10:00.000Z',
  merchant_id: exampleIds.merchant,
  branch_id: exampleIds.branch,
  delivered_at: null,
  attempt_count: 0,
  next_attempt_at: '2026-01-15T09:10:00.000Z',
}
