import Type, { type Static } from 'typebox'
import { Closed, Nullable, OneOf, Timestamp } from './primitives.ts'

/** What may follow a payment's, a terminal's and a connection's name. */
const Name = (description: string) => Type.String({ minLength: 1, maxLength: 64, description })

export const terminalCurrencies = ['USD', 'EUR', 'GBP', 'PHP', 'JPY', 'CAD', 'AUD'] as const
const terminalPaymentMethods = ['CARD', 'CASH', 'MOBILE', 'OTHER'] as const
export const terminalTransactionStates = [
  'PENDING',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'AWAITING_RECONNECT',
  'VOIDED',
] as const
const terminalConnectionStates = ['online', 'offline', 'reconnecting'] as const

export const TransactionId = Type.String({
  // Those two are no part of a path: nobody could read or void the payment.
  pattern: '^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,64}$',
  description: 'Your name for the payment, unique within the group for good; a UUIDv7 is made where it is left out.',
})

const Price = (description: string) =>
  Type.Union([Type.String({ minLength: 1, maxLength: 32 }), Type.Number()], { description })
const Described = (description: string) => Type.Optional(Type.String({ maxLength: 255, description }))

/** Any JSON object. */
const AnyObject = (description: string) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description })

// Tills send more than is asked for: an object that is read takes other properties and leaves them aside.
export const Product = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 255, description: 'Your name for the product.' }),
  name: Type.String({ minLength: 1, maxLength: 255, description: 'As it stands on the receipt.' }),
  price: Price('For one unit.'),
  quantity: Type.Number({ description: 'Over 0, at most 3 decimals.' }),
  category: Described('A category.'),
  sku: Described('A stock number.'),
  brand: Described('A brand.'),
  tax: Type.Optional(Type.Number({ description: 'For the whole line.' })),
  discount: Type.Optional(Type.Number({ description: 'For the whole line.' })),
})

export const CustomerInfo = Type.Object({
  customerId: Described('Your name for the customer.'),
  email: Described('An address.'),
  phone: Described('A number.'),
})

const paymentFields = {
  amount: Price('A decimal; as a string it keeps its digits.'),
  currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217 alphabetic code.' }),
  paymentMethod: OneOf(terminalPaymentMethods, 'How the customer pays.'),
  products: Type.Optional(Type.Array(Product, { maxItems: 500, description: 'What is bought; the sum must fit.' })),
  customerInfo: Type.Optional(CustomerInfo),
  metadata: Type.Optional(AnyObject('Yours: kept, and given back unchanged.')),
}

export const TerminalPaymentRequest = Type.Object({ transactionId: Type.Optional(TransactionId), ...paymentFields })

/** The request of the HTTP operation, which may also ask not to wait. */
export const CreateTerminalPayment = Type.Object({
  transactionId: Type.Optional(TransactionId),
  ...paymentFields,
  webhookMode: Type.Optional(
    Type.Boolean({ description: 'Answers 202 at once; a webhook tells of the result. Needs an active endpoint.' }),
  ),
})

export const TerminalPaymentResponse = Closed({
  transactionId: Type.String({ description: 'The name of the payment.' }),
  status: OneOf(
    ['SUCCESS', 'FAILED', 'PENDING', 'CANCELLED'],
    'SUCCESS: approved. FAILED: declined, or an error. PENDING: still in progress. CANCELLED: before it was complete.',
  ),
  amount: Price('As it was asked for.'),
  currency: Type.String({ description: 'As it was asked for.' }),
  paymentMethod: OneOf(terminalPaymentMethods, 'As it was asked for.'),
  authorizationCode: Type.Optional(Type.String({ description: 'With SUCCESS.' })),
  errorCode: Type.Optional(
    Type.String({ description: "With FAILED: the terminal's, PAYMENT_FAILED where it gave none, or one of ours." }),
  ),
  errorMessage: Type.Optional(Type.String({ description: 'With FAILED; for people.' })),
  receiptData: Type.Optional(Type.String({ description: "Passed on as it is; its form is the terminal's." })),
  timestamp: Timestamp('When the payment came to stand so.'),
  metadata: Type.Optional(AnyObject('That of the request.')),
})

export const TerminalInfo = Closed({
  connectionId: Type.String({ description: 'Changes when the terminal connects anew.' }),
  terminalId: Type.String({ description: 'The device id; where there is none, the connection id.' }),
  deviceId: Type.Optional(Type.String({ description: 'What the terminal gave as X-Device-Id.' })),
  connectedAt: Timestamp('When the present or latest connection began.'),
  lastActivity: Timestamp('When a frame last came from it, to a few seconds.'),
  status: OneOf(terminalConnectionStates, 'Payments go to terminals that are online.'),
  metadata: Type.Optional(AnyObject('What is known of it besides.')),
})

export const TerminalList = Closed({
  terminals: Type.Array(TerminalInfo),
  count: Type.Integer({ minimum: 0 }),
  timestamp: Timestamp('The time of this answer.'),
})

export const TerminalTransaction = Closed({
  transactionId: Type.String({ description: 'The name of the payment.' }),
  status: OneOf(terminalTransactionStates, 'How the payment stands.'),
  request: TerminalPaymentRequest,
  response: Type.Optional(TerminalPaymentResponse),
  createdAt: Timestamp('When it was taken.'),
  updatedAt: Timestamp('When it last changed.'),
  completedAt: Type.Optional(Timestamp('When it ended.')),
  terminalDeviceId: Type.Optional(Type.String({ description: 'The device that it was sent to.' })),
  voidedAt: Type.Optional(Timestamp('When it was voided.')),
  voidReason: Type.Optional(Type.String({ description: 'Why.' })),
  timestamp: Timestamp('The time of this answer.'),
})

export const TerminalTransactionList = Closed({
  transactions: Type.Array(TerminalTransaction),
  count: Type.Integer({ minimum: 0, description: 'How many are on this page.' }),
  nextCursor: Nullable(Type.String({ description: 'Opaque; null on the last page.' })),
  timestamp: Timestamp('The time of this answer.'),
})

export const VoidTerminalTransaction = Type.Object({
  reason: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'Why; `requested` where it is left out.' }),
  ),
})

export const VoidResult = Closed({
  success: Type.Boolean({ description: 'Whether the payment is voided.' }),
  transactionId: Type.String({ description: 'The name of the payment.' }),
  reason: Type.String({ description: 'Why it was to be voided.' }),
  voidedAt: Type.Optional(Timestamp('With success.')),
  error: Type.Optional(
    Type.String({
      description:
        "Without success: TERMINAL_REFUSED or the terminal's own, TIMEOUT (it is asked again, and a late success counts), TERMINAL_OFFLINE (nothing was sent), PENDING_CONFIRMATION or INVALID_TRANSACTION_STATE.",
    }),
  ),
})

/** Area D's error envelope. */
export const TerminalsError = Closed({
  error: Closed({
    code: Type.String({ description: 'Stable and machine-readable.' }),
    message: Type.String({ description: 'For people; do not branch on its wording.' }),
    details: Nullable(AnyObject('The field to blame and the rule that it breaks, where there is one.')),
  }),
  timestamp: Timestamp('The time of this answer.'),
  requestId: Type.String({ description: 'Quote it when you ask for help; also in x-request-id.' }),
})

/** Those that have a name in the OpenAPI document. */
export const terminalSchemas = {
  CreateTerminalPayment,
  TerminalPaymentRequest,
  TerminalPaymentResponse,
  Product,
  CustomerInfo,
  TerminalInfo,
  TerminalList,
  TerminalTransaction,
  TerminalTransactionList,
  VoidTerminalTransaction,
  VoidResult,
} as const

export type TerminalPaymentResponse = Static<typeof TerminalPaymentResponse>
export type TerminalInfo = Static<typeof TerminalInfo>
export type TerminalTransaction = Static<typeof TerminalTransaction>
export type VoidResult = Static<typeof VoidResult>

/** For a client that says which group it means. */
export const GroupHeader = Closed({
  'x-group-id': Type.Optional(
    Type.String({ description: "The key's group. One that is another group's is refused; it may be left out." }),
  ),
})

/** The parameter of paths that name a terminal. */
export const ByTerminal = Closed({ terminalId: Name('The device id of a terminal, or its connection id.') })
export const ByTransaction = Closed({
  transactionId: Type.String({
    ...TransactionId,
    description: 'Your name for the payment, or the one that was made for it.',
  }),
})
