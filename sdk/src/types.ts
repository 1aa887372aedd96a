import type {
  AnswerOf,
  BodyOf,
  advanceSandboxClock,
  confirmPaymentIntent,
  createPaymentIntent,
  createPaymentLink,
  createWebhookEndpoint,
  listPaymentLinks,
  listWebhookEndpoints,
  listWebhookEvents,
  readSandboxClock,
  retrievePaymentIntent,
  retrievePaymentLink,
  retrieveSigningSecret,
  retrieveWebhookEndpoint,
} from '@kaha/contract'

// Names for the shapes of the contract: each is derived from its operation, none is written twice.

export type PaymentLink = AnswerOf<typeof retrievePaymentLink>
export type PaymentLinkPage = AnswerOf<typeof listPaymentLinks>
export type CreatePaymentLink = BodyOf<typeof createPaymentLink>

export type PaymentIntent = AnswerOf<typeof retrievePaymentIntent>
export type CreatedPaymentIntent = AnswerOf<typeof createPaymentIntent>
export type ConfirmedPaymentIntent = AnswerOf<typeof confirmPaymentIntent>
export type CreatePaymentIntent = BodyOf<typeof createPaymentIntent>
export type ConfirmPaymentIntent = BodyOf<typeof confirmPaymentIntent>

export type WebhookEndpoint = AnswerOf<typeof retrieveWebhookEndpoint>
export type WebhookEndpointPage = AnswerOf<typeof listWebhookEndpoints>
export type CreateWebhookEndpoint = BodyOf<typeof createWebhookEndpoint>
export type SigningSecret = AnswerOf<typeof retrieveSigningSecret>
export type WebhookEvent = WebhookEventPage['data'][number]
export type WebhookEventPage = AnswerOf<typeof listWebhookEvents>

export type SandboxClock = AnswerOf<typeof readSandboxClock>
export type AdvanceClock = BodyOf<typeof advanceSandboxClock>
