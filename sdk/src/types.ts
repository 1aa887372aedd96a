import type {
  AnswerOf,
  advanceSandboxClock,
  cancelPaymentLink,
  confirmPaymentIntent,
  createPaymentIntent,
  createPaymentLink,
  createRefund,
  createTerminalPayment,
  createTerminalWebhook,
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  listPaymentLinks,
  listReportBranches,
  listReportMerchants,
  listReportTransactions,
  listSettlements,
  listTerminals,
  listTerminalTransactions,
  listTerminalWebhooks,
  listWebhookEndpoints,
  listWebhookEvents,
  payAsBank,
  readAsBank,
  readSandboxClock,
  recoverWebhookEndpoint,
  registerQrWebhook,
  resendWebhookEvent,
  retrievePaymentIntent,
  retrievePaymentLink,
  retrieveReportTransaction,
  retrieveSettlement,
  retrieveRefund,
  retrieveSigningSecret,
  retrieveTerminalTransaction,
  retrieveTerminalWebhook,
  retrieveWebhookEndpoint,
  retrieveWebhookEvent,
  rotateSigningSecret,
  simulateQr,
  startVirtualTerminal,
  testWebhookEndpoint,
  updatePaymentLink,
  updateQrWebhook,
  updateTerminalWebhook,
  updateWebhookEndpoint,
  voidTerminalTransaction,
} from '@kaha/contract'
import type { BodyOf } from './given.ts'

// Names for the shapes of the contract: each is derived from its operation, none is written twice.

export type PaymentLink = AnswerOf<typeof retrievePaymentLink>
export type PaymentLinkPage = AnswerOf<typeof listPaymentLinks>
export type CreatePaymentLink = BodyOf<typeof createPaymentLink>
export type UpdatePaymentLink = BodyOf<typeof updatePaymentLink>
export type CancelPaymentLink = BodyOf<typeof cancelPaymentLink>

export type PaymentIntent = AnswerOf<typeof retrievePaymentIntent>
export type CreatedPaymentIntent = AnswerOf<typeof createPaymentIntent>
export type ConfirmedPaymentIntent = AnswerOf<typeof confirmPaymentIntent>
export type CreatePaymentIntent = BodyOf<typeof createPaymentIntent>
export type ConfirmPaymentIntent = BodyOf<typeof confirmPaymentIntent>

export type Refund = AnswerOf<typeof retrieveRefund>
export type CreateRefund = BodyOf<typeof createRefund>

export type WebhookEndpoint = AnswerOf<typeof retrieveWebhookEndpoint>
export type WebhookEndpointPage = AnswerOf<typeof listWebhookEndpoints>
export type CreateWebhookEndpoint = BodyOf<typeof createWebhookEndpoint>
export type UpdateWebhookEndpoint = BodyOf<typeof updateWebhookEndpoint>
export type DeleteResult = AnswerOf<typeof deleteWebhookEndpoint>
export type RotateSigningSecret = BodyOf<typeof rotateSigningSecret>
export type SigningSecret = AnswerOf<typeof retrieveSigningSecret>
export type WebhookEvent = WebhookEventPage['data'][number]
export type WebhookEventPage = AnswerOf<typeof listWebhookEvents>
export type WebhookEventDetail = AnswerOf<typeof retrieveWebhookEvent>
export type WebhookDelivery = WebhookEventDetail['deliveries'][number]
export type WebhookDeliveryAttempt = WebhookDelivery['attempts'][number]
export type ResendWebhookEvent = BodyOf<typeof resendWebhookEvent>
export type RecoverWebhookEndpoint = BodyOf<typeof recoverWebhookEndpoint>
export type WebhookRecovery = AnswerOf<typeof recoverWebhookEndpoint>
export type TestWebhookEndpoint = BodyOf<typeof testWebhookEndpoint>

export type Merchant = MerchantPage['data'][number]
export type MerchantPage = AnswerOf<typeof listReportMerchants>
export type Branch = BranchPage['data'][number]
export type BranchPage = AnswerOf<typeof listReportBranches>
export type Transaction = TransactionPage['data'][number]
export type TransactionPage = AnswerOf<typeof listReportTransactions>
export type TransactionDetail = AnswerOf<typeof retrieveReportTransaction>['data']
export type Settlement = SettlementPage['data'][number]
export type SettlementPage = AnswerOf<typeof listSettlements>
export type SettlementDetail = AnswerOf<typeof retrieveSettlement>['data']

export type TerminalPayment = AnswerOf<typeof createTerminalPayment>
export type CreateTerminalPayment = BodyOf<typeof createTerminalPayment>
export type Terminal = AnswerOf<typeof listTerminals>['terminals'][number]
export type TerminalTransaction = AnswerOf<typeof retrieveTerminalTransaction>
export type TerminalTransactionPage = AnswerOf<typeof listTerminalTransactions>
export type TerminalVoid = AnswerOf<typeof voidTerminalTransaction>
export type TerminalWebhook = AnswerOf<typeof retrieveTerminalWebhook>
export type CreatedTerminalWebhook = AnswerOf<typeof createTerminalWebhook>
export type TerminalWebhookList = AnswerOf<typeof listTerminalWebhooks>
export type CreateTerminalWebhook = BodyOf<typeof createTerminalWebhook>
export type UpdateTerminalWebhook = BodyOf<typeof updateTerminalWebhook>

export type SandboxClock = AnswerOf<typeof readSandboxClock>
export type AdvanceClock = BodyOf<typeof advanceSandboxClock>
export type ReadAsBank = BodyOf<typeof readAsBank>
export type BankCode = AnswerOf<typeof readAsBank>
export type PayAsBank = BodyOf<typeof payAsBank>
export type BankPayment = AnswerOf<typeof payAsBank>
export type StartVirtualTerminal = BodyOf<typeof startVirtualTerminal>
export type VirtualTerminal = AnswerOf<typeof startVirtualTerminal>

export type RegisterQrWebhook = BodyOf<typeof registerQrWebhook>
export type UpdateQrWebhook = BodyOf<typeof updateQrWebhook>
export type QrWebhook = AnswerOf<typeof registerQrWebhook>
export type SimulateQr = BodyOf<typeof simulateQr>
export type SimulatedQr = AnswerOf<typeof simulateQr>
export type { CreateQrPayment, CreatedQrPayment, QrPayment } from '@kaha/contract'
