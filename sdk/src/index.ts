export { createCheckout, type Checkout, type PayerConfirmation } from './checkout.ts'
export { createKaha, type Kaha, type KahaOptions } from './client.ts'
export { KahaConnectionError, KahaError, WebhookVerificationError, type WebhookRefusal } from './errors.ts'
export {
  createKahaQrWebhooks,
  openNotification,
  type KahaQrWebhooks,
  type KahaQrWebhooksOptions,
} from './qr-webhooks.ts'
export { createKahaQr, type KahaQr, type KahaQrOptions } from './qr.ts'
export type { CallOptions, ConnectionOptions, CreateOptions } from './request.ts'
export {
  connectTerminal,
  type LineCallOptions,
  type TerminalLine,
  type TerminalLineOptions,
  type TerminalLineState,
  type TerminalPush,
  type TerminalQuestions,
  type TerminalReport,
} from './terminal-line.ts'
export { createTerminals, type Terminals, type TerminalsOptions } from './terminals.ts'
export type * from './types.ts'
export { verifyTerminalWebhook, verifyWebhook, type Delivered, type DeliveryHeaders } from './verify-webhook.ts'
export type { QrPaymentNotification, TerminalWebhookPayload, TerminalWebhookPing, WebhookPayload } from '@kaha/contract'
export * from '@kaha/qrph'
export { openToken, sealToken, tokenKey, TokenError, type TokenKey } from '@kaha/qrph/token'
