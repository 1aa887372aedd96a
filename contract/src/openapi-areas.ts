import type { TObject, TSchema } from 'typebox'
import {
  ConfirmPaymentIntent,
  ConfirmedPaymentIntent,
  CreatePaymentIntent,
  CreatePaymentLink,
  CreatedPaymentIntent,
  LineItem,
  PaymentIntent,
  PaymentLink,
  Receipt,
  RedirectUrls,
  ecommerceErrors,
  ecommerceOperations,
  ecommerceWireCodes,
} from './ecommerce.ts'
import { ecommerceErrorExamples, reportingErrorExamples, type ErrorExample } from './error-examples.ts'
import { EcommerceError, ReportingError, WebhooksError } from './errors.ts'
import { deliveries, qrDeliveries, terminalDeliveries, type Deliveries } from './openapi-deliveries.ts'
import type { Area, Operation } from './operation.ts'
import { Page, Pagination } from './primitives.ts'
import {
  CreateQrCode,
  CreateQrCodeToken,
  CreatedQrCode,
  CreatedQrCodeToken,
  QrCode,
  QrCodeToken,
  QrError,
  QrErrorToken,
  qrErrors,
  qrOperations,
  qrSealedCodes,
  qrWireCodes,
} from './qr.ts'
import {
  QrNotification,
  QrWebhook,
  QrWebhookList,
  RegisterQrWebhook,
  UpdateQrWebhook,
  qrWebhookErrors,
  qrWebhookOperations,
  qrWebhookWireCodes,
} from './qr-webhooks.ts'
import { CreateRefund, Refund } from './refunds.ts'
import {
  AmountDetails,
  Branch,
  Merchant,
  MerchantDetails,
  Settlement,
  SettlementDetail,
  TerminalDetails,
  Transaction,
  TransactionDetail,
  TransactionEvent,
  TransactionReceipt,
  reportingErrors,
  reportingOperations,
} from './reporting.ts'
import {
  terminalSchemas,
  TerminalsError,
  terminalWebhookSchemas,
  terminalsErrors,
  terminalsOperations,
  terminalsWireCodes,
} from './terminals.ts'
import {
  AdvanceClock,
  BankCode,
  BankPayment,
  PayAsBank,
  SandboxClock,
  StartVirtualTerminal,
  VirtualTerminal,
  sandboxErrors,
  sandboxOperations,
} from './sandbox.ts'
import {
  CreateWebhookEndpoint,
  DeleteResult,
  EventType,
  RecoverWebhookEndpoint,
  ResendWebhookEvent,
  RotateSigningSecret,
  SigningSecret,
  TestWebhookEndpoint,
  UpdateWebhookEndpoint,
  WebhookDelivery,
  WebhookDeliveryAttempt,
  WebhookEndpoint,
  WebhookEvent,
  WebhookEventDetail,
  WebhookPayload,
  WebhookRecovery,
  webhooksErrors,
  webhooksOperations,
} from './webhooks.ts'

/** An address of an installation, as its documents name it. */
export interface ServiceAddress {
  readonly variable: string
  readonly says: string
  /** Where it lies under the base address, unless it is set. */
  readonly path: string
}

/** What the document of one area says beside its operations. */
export interface AreaPage {
  readonly title: string
  readonly version: string
  readonly description: string
  /** A tag holds the operations whose path begins with its own. */
  readonly tags: readonly { readonly name: string; readonly description: string; readonly path: string }[]
  readonly operations: Readonly<Record<string, Operation>>
  /** The catalogue: every code and its HTTP status. */
  readonly errors: Readonly<Record<string, number>>
  /** Codes that are written otherwise on the wire. */
  readonly wireCodes: Readonly<Record<string, string>>
  /** Codes that every operation of the area can give; of those about bodies, every operation to which one can be sent. */
  readonly commonErrors: readonly string[]
  readonly envelope: TObject
  /** What the server says in one case of each code. */
  readonly errorExamples?: Readonly<Record<string, ErrorExample>>
  /** An example of it. */
  error?(code: string, message: string, id: string): unknown
  /** Codes that come as an envelope which only the account can open; its schema is SealedError. */
  readonly sealedCodes?: readonly string[]
  /** How callers say who they are; X-API-Key when absent. */
  readonly auth?: 'basic' | 'signed'
  /** Headers of every answer that name the request; x-correlation-id when absent. */
  readonly correlationHeaders?: readonly string[]
  /** Schemas that have a name in the document. */
  readonly schemas: Readonly<Record<string, TSchema>>
  readonly deliveries?: Deliveries
  /** The address of the service, if it has one of its own: the paths of the document lie under it, not under the base address. */
  readonly service?: ServiceAddress
}

const commonErrors = [
  'BAD_REQUEST',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'UNAVAILABLE',
]

const everywhere = `Bodies are JSON in UTF-8. A property or query parameter that is not listed is refused, and no value is converted.
A known path with another method answers 405 \`METHOD_NOT_ALLOWED\` and \`Allow\`. Branch on \`code\` of an error, not on its message; quote
\`x-correlation-id\` when you ask for help.`

const lists = `Lists come newest first. \`next_cursor\`, passed back unchanged as \`cursor\` with the same filters, gives the next page; it is null on the last.`

const orderedLists = `Merchants and branches come by name, settlements the latest first, transactions as \`sort_by\` and \`sort_order\` say. \`next_cursor\`, passed back unchanged as \`cursor\` with the same parameters, gives the next page; it is null on the last.`

const qrCommonErrors = [
  'NO_AUTHORIZATION',
  'INVALID_API_KEY',
  'API_KEY_NOT_FOUND',
  'API_KEY_EXPIRED',
  'API_KEY_REVOKED',
  'API_KEY_SUSPENDED',
  'API_KEY_DELETED',
  'ACCOUNT_LOCKED',
  'ACCOUNT_NOT_ACTIVE',
  'UNAUTHORIZED_ACTION',
  'INSUFFICIENT_PERMISSIONS',
  ...commonErrors.filter((code) => !['BAD_REQUEST', 'UNAUTHORIZED', 'FORBIDDEN'].includes(code)),
]

const qrError = (code: string, error: string, id: string) => ({ code, error, referenceNumber: id })

export const areaPages: Readonly<Record<Area, AreaPage>> = {
  webhooks: {
    title: 'Kaha payment webhooks',
    version: '1.0.0',
    description: `Endpoints that receive payment events, and the events themselves. Deliveries follow Standard Webhooks 1.0: its libraries verify them.\n\n${everywhere}\n\n${lists}`,
    tags: [
      { name: 'Endpoints', description: 'Where events are delivered.', path: '/v1/webhook_endpoints' },
      { name: 'Events', description: 'What happened, and how its delivery stands.', path: '/v1/webhook_events' },
    ],
    operations: webhooksOperations,
    errors: webhooksErrors,
    wireCodes: {},
    commonErrors,
    envelope: WebhooksError,
    schemas: {
      WebhookEndpoint,
      CreateWebhookEndpoint,
      UpdateWebhookEndpoint,
      WebhookEndpointPage: Page(WebhookEndpoint),
      DeleteResult,
      SigningSecret,
      RotateSigningSecret,
      WebhookEvent,
      WebhookEventPage: Page(WebhookEvent),
      WebhookEventDetail,
      WebhookDelivery,
      WebhookDeliveryAttempt,
      ResendWebhookEvent,
      RecoverWebhookEndpoint,
      WebhookRecovery,
      TestWebhookEndpoint,
      EventType,
      WebhookPayload,
      Pagination,
      Error: WebhooksError,
    },
    deliveries,
  },
  reporting: {
    title: 'Kaha transaction reporting',
    version: '1.0.0',
    description: `What happened to the money: merchants, branches, transactions and settlements, to read alone. Amounts are integers in minor units (centavos for PHP).\n\n${everywhere}\n\n${orderedLists}`,
    tags: [
      { name: 'Merchants', description: 'Who is paid.', path: '/reports/v1/merchants' },
      { name: 'Branches', description: 'Where.', path: '/reports/v1/branches' },
      { name: 'Transactions', description: 'Each payment and what became of it.', path: '/reports/v1/transactions' },
      { name: 'Settlements', description: 'The daily batches.', path: '/reports/v1/settlements' },
    ],
    operations: reportingOperations,
    errors: reportingErrors,
    wireCodes: {},
    commonErrors,
    envelope: ReportingError,
    errorExamples: reportingErrorExamples,
    schemas: {
      Merchant,
      MerchantPage: Page(Merchant),
      Branch,
      BranchPage: Page(Branch),
      Transaction,
      TransactionPage: Page(Transaction),
      TransactionDetail,
      TransactionEvent,
      TransactionReceipt,
      AmountDetails,
      MerchantDetails,
      TerminalDetails,
      Settlement,
      SettlementPage: Page(Settlement),
      SettlementDetail,
      Pagination,
      Error: ReportingError,
    },
  },
  ecommerce: {
    title: 'Kaha e-commerce',
    version: '1.0.0',
    description: `Payment links with a hosted checkout, payment intents, and refunds. Amounts are integers in minor units (centavos for PHP).\n\n${everywhere}\n\n${lists}`,
    tags: [
      { name: 'Payment links', description: 'Checkout pages to share.', path: '/ecom/v1/payment-links' },
      { name: 'Payment intents', description: 'Single payments and their outcome.', path: '/ecom/v1/payment-intents' },
      { name: 'Refunds', description: 'Payments given back, in whole or in part.', path: '/ecom/v1/refunds' },
    ],
    operations: ecommerceOperations,
    errors: ecommerceErrors,
    wireCodes: ecommerceWireCodes,
    commonErrors,
    envelope: EcommerceError,
    errorExamples: ecommerceErrorExamples,
    schemas: {
      PaymentLink,
      CreatePaymentLink,
      PaymentLinkPage: Page(PaymentLink),
      LineItem,
      RedirectUrls,
      PaymentIntent,
      CreatePaymentIntent,
      CreatedPaymentIntent,
      ConfirmPaymentIntent,
      ConfirmedPaymentIntent,
      Receipt,
      Refund,
      CreateRefund,
      Pagination,
      Error: EcommerceError,
    },
  },
  terminals: {
    title: 'Kaha terminal service',
    version: '1.0.0',
    description: `Card payments at terminals, for tills. A terminal and a till may also speak over WebSocket: see the AsyncAPI document. Bodies are JSON in UTF-8. A property of a body that is not listed is left aside; a query parameter that is not listed is refused, and no value is converted. A known path with another method answers 405 \`METHOD_NOT_ALLOWED\` and \`Allow\`. Branch on \`code\` of an error, not on its message; quote \`requestId\` when you ask for help.`,
    tags: [
      { name: 'Terminals', description: 'Terminals, and payments at them.', path: '/v1/terminals' },
      { name: 'Transactions', description: 'Payments, and what became of them.', path: '/v1/transactions' },
      { name: 'Webhooks', description: 'Where the ends of payments are sent.', path: '/v1/webhooks' },
    ],
    operations: terminalsOperations,
    errors: terminalsErrors,
    wireCodes: terminalsWireCodes,
    commonErrors: [
      'INVALID_REQUEST',
      'UNAUTHORIZED',
      'INVALID_SIGNATURE',
      'TIMESTAMP_EXPIRED',
      'GROUP_MISMATCH',
      'RATE_LIMITED',
      'INTERNAL_ERROR',
      'UNAVAILABLE',
    ],
    correlationHeaders: ['x-correlation-id', 'x-request-id'],
    envelope: TerminalsError,
    schemas: {
      ...terminalSchemas,
      ...terminalWebhookSchemas,
      Error: TerminalsError,
    },
    deliveries: terminalDeliveries,
    auth: 'signed',
    service: { variable: 'terminal_url', says: 'Where the terminal service answers.', path: '/terminal' },
    error: (code, message, id) => ({
      error: { code, message, details: null },
      timestamp: '2026-01-15T10:30:00.000Z',
      requestId: id,
    }),
  },
  qr: {
    title: 'Kaha QR service',
    version: '1.4.1',
    description: `QR Ph codes for one payment each. What is sent and answered is a \`Token\`: a compact JWE (A256KW, A256CBC-HS512) under the encryption key of the account, and \`contentSchema\` says what it holds. The key's bytes are those of its text where they are 32, else their SHA-256.\n\nRefusals are plain JSON until a request is authenticated and its Token opened; from then on they are a Token too.\n\n${everywhere.replace('405 `METHOD_NOT_ALLOWED`', '405')}`,
    tags: [
      { name: 'Codes', description: 'One payment each.', path: '/qr/v1/pay/qr' },
      { name: 'Health', description: 'Whether the service is there.', path: '/qr/ping' },
    ],
    operations: qrOperations,
    errors: qrErrors,
    wireCodes: qrWireCodes,
    commonErrors: [...qrCommonErrors, 'ACCOUNT_NOT_FOUND'],
    envelope: QrError,
    error: qrError,
    sealedCodes: qrSealedCodes,
    auth: 'basic',
    service: { variable: 'qr_url', says: 'Where the QR service answers.', path: '/qr' },
    schemas: {
      CreateQrCode,
      CreateQrCodeToken,
      CreatedQrCode,
      CreatedQrCodeToken,
      QrCode,
      QrCodeToken,
      Error: QrError,
      SealedError: QrErrorToken,
    },
  },
  qr_webhooks: {
    title: 'Kaha encrypted webhooks',
    version: '1.9.0',
    description: `Who is told of QR Ph codes that were paid or declined. A notification is \`{ "data": … }\`, a compact JWE (A256KW, A256CBC-HS512) under the secret key that registered the webhook, and holds a QrNotification. Answer 200 within 10 seconds; anything else is a failure, tried again four times, 15 minutes apart.\n\n${everywhere.replace('405 `METHOD_NOT_ALLOWED`', '405')}`,
    tags: [
      { name: 'Webhooks', description: 'Where notifications are posted.', path: '/webhooks/v1/webhooks' },
      { name: 'Health', description: 'Whether the service is there.', path: '/webhooks/ping' },
    ],
    operations: qrWebhookOperations,
    errors: qrWebhookErrors,
    wireCodes: qrWebhookWireCodes,
    commonErrors: qrCommonErrors,
    envelope: QrError,
    error: qrError,
    auth: 'basic',
    schemas: { QrWebhook, QrWebhookList, RegisterQrWebhook, UpdateQrWebhook, QrNotification, Error: QrError },
    deliveries: qrDeliveries,
    service: { variable: 'webhooks_url', says: 'Where the encrypted webhook service answers.', path: '/webhooks' },
  },
  sandbox: {
    title: 'Kaha sandbox',
    version: '1.0.0',
    description: `Controls that only a sandbox has: a live installation answers 404 on all of them. They take the partner's secret key and answer only to the sandbox's own Host.\n\n${everywhere}`,
    tags: [
      { name: 'Clock', description: 'Business time, which only goes forward.', path: '/sandbox/clock' },
      { name: 'Virtual terminals', description: 'Terminals that play a script.', path: '/sandbox/terminals' },
      { name: 'Bank', description: "The payer's bank.", path: '/sandbox/bank' },
    ],
    operations: sandboxOperations,
    errors: sandboxErrors,
    wireCodes: {},
    commonErrors: [...commonErrors, 'NOT_FOUND', 'MISDIRECTED_REQUEST'],
    envelope: EcommerceError,
    service: { variable: 'sandbox_url', says: 'Where the controls of the sandbox answer.', path: '/sandbox' },
    schemas: {
      SandboxClock,
      AdvanceClock,
      VirtualTerminal,
      StartVirtualTerminal,
      BankCode,
      PayAsBank,
      BankPayment,
      Error: EcommerceError,
    },
  },
}
