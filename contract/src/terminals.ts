import Type from 'typebox'
import { operation } from './operation.ts'
import { Closed, CommaList, Cursor, PageSize, Timestamp } from './primitives.ts'
import {
  cancelling,
  paid,
  payment,
  taken,
  terminalList,
  transaction,
  transactionList,
  voided,
  voiding,
} from './terminal-examples.ts'
import { terminalId } from './terminal-request-examples.ts'
import {
  ByTerminal,
  ByTransaction,
  CreateTerminalPayment,
  GroupHeader,
  TerminalList,
  TerminalPaymentResponse,
  TerminalTransaction,
  TerminalTransactionList,
  VoidResult,
  VoidTerminalTransaction,
  terminalTransactionStates,
} from './terminal-types.ts'
import { terminalWebhookOperations } from './terminal-webhooks.ts'

export * from './terminal-messages.ts'
export * from './terminal-types.ts'
export * from './terminal-webhooks.ts'

/** Every code of area D and its HTTP status. Codes of the edge that area D writes as INVALID_REQUEST stand in `terminalsWireCodes`. */
export const terminalsErrors = {
  BAD_REQUEST: 400,
  INVALID_REQUEST: 400,
  INVALID_AMOUNT: 400,
  NO_WEBHOOK_ENDPOINTS: 400,
  PAYLOAD_TOO_LARGE: 400,
  UNSUPPORTED_MEDIA_TYPE: 400,
  UNAUTHORIZED: 401,
  INVALID_SIGNATURE: 401,
  TIMESTAMP_EXPIRED: 401,
  GROUP_MISMATCH: 403,
  NOT_FOUND: 404,
  TERMINAL_NOT_FOUND: 404,
  TRANSACTION_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  PAYMENT_IN_PROGRESS: 409,
  TRANSACTION_CONFLICT: 409,
  INVALID_TRANSACTION_STATE: 409,
  ENDPOINT_LIMIT_REACHED: 409,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  TERMINAL_CONNECTION_ERROR: 502,
  TERMINAL_OFFLINE: 503,
  UNAVAILABLE: 503,
  TIMEOUT: 504,
} as const
export type TerminalsCode = keyof typeof terminalsErrors

export const terminalsWireCodes = {
  BAD_REQUEST: 'INVALID_REQUEST',
  PAYLOAD_TOO_LARGE: 'INVALID_REQUEST',
  UNSUPPORTED_MEDIA_TYPE: 'INVALID_REQUEST',
} as const

export const listTerminals = operation({
  id: 'listTerminals',
  area: 'terminals',
  method: 'GET',
  path: '/v1/terminals',
  summary: 'List terminals',
  description: "Terminals of the key's group that are online or reconnecting.",
  auth: 'signed',
  headers: GroupHeader,
  success: { 200: { description: 'The terminals.', schema: TerminalList, example: terminalList } },
  errors: [],
})

export const createTerminalPayment = operation({
  id: 'createTerminalPayment',
  area: 'terminals',
  method: 'POST',
  path: '/v1/terminals/{terminalId}/payments',
  summary: 'Pay at a terminal',
  description:
    'Sends a payment to a terminal and waits for its result, 90 seconds at most. The transactionId is the idempotency key: the same one with the same body joins the running wait, or gives the answer again, and never charges twice. After a lost answer repeat the call. A request of more than 60 KiB is refused: it goes to the terminal in one frame.',
  auth: 'signed',
  headers: GroupHeader,
  params: ByTerminal,
  body: CreateTerminalPayment,
  success: {
    200: {
      description:
        'What the terminal said, also where webhookMode asks for it again; PENDING where the server stops while the payment goes on.',
      schema: TerminalPaymentResponse,
      examples: paid,
    },
    202: {
      description: 'With webhookMode: taken, and sent to the terminal.',
      schema: TerminalPaymentResponse,
      examples: taken,
    },
  },
  errors: [
    'INVALID_AMOUNT',
    'NO_WEBHOOK_ENDPOINTS',
    'TERMINAL_NOT_FOUND',
    'PAYMENT_IN_PROGRESS',
    'TRANSACTION_CONFLICT',
    'TERMINAL_CONNECTION_ERROR',
    'TERMINAL_OFFLINE',
    'TIMEOUT',
  ],
  example: payment,
  exampleParameters: { terminalId },
})

export const listTerminalTransactions = operation({
  id: 'listTerminalTransactions',
  area: 'terminals',
  method: 'GET',
  path: '/v1/transactions',
  summary: 'List transactions',
  description: "Payments of the key's group, newest first, until their retention ends.",
  auth: 'signed',
  headers: GroupHeader,
  query: Closed({
    status: Type.Optional(CommaList(terminalTransactionStates, 'Only these states.')),
    terminalId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Only those of this device id, or of a connection id that the terminal has or was paid at.',
      }),
    ),
    dateFrom: Type.Optional(Timestamp('Created at or after.')),
    dateTo: Type.Optional(Timestamp('Created at or before.')),
    pageSize: Type.Optional(PageSize(100)),
    cursor: Type.Optional(
      Type.String({ ...Cursor, description: 'Opaque; from a previous nextCursor, sent back unchanged.' }),
    ),
  }),
  success: {
    200: { description: 'A page of transactions.', schema: TerminalTransactionList, example: transactionList },
  },
  errors: [],
  exampleParameters: { status: ['COMPLETED'], terminalId, pageSize: 1 },
})

export const retrieveTerminalTransaction = operation({
  id: 'retrieveTerminalTransaction',
  area: 'terminals',
  method: 'GET',
  path: '/v1/transactions/{transactionId}',
  summary: 'Retrieve a transaction',
  description:
    'Where the money of a payment is. PENDING, and AWAITING_RECONNECT where its terminal dropped, is also one that was given up, for its terminal may still tell of it: only the same payment call tells that it was, by TIMEOUT or TERMINAL_CONNECTION_ERROR.',
  auth: 'signed',
  headers: GroupHeader,
  params: ByTransaction,
  success: { 200: { description: 'The transaction.', schema: TerminalTransaction, example: transaction } },
  errors: ['TRANSACTION_NOT_FOUND'],
  exampleParameters: { transactionId: transaction.transactionId },
})

export const voidTerminalTransaction = operation({
  id: 'voidTerminalTransaction',
  area: 'terminals',
  method: 'POST',
  path: '/v1/transactions/{transactionId}/void',
  summary: 'Void a transaction',
  description:
    'Asks the terminal to void a completed payment and waits for its answer, 30 seconds at most. An answer that says success false tells why; one that comes later still counts.',
  auth: 'signed',
  headers: GroupHeader,
  params: ByTransaction,
  body: VoidTerminalTransaction,
  bodyOptional: true,
  success: { 200: { description: 'Whether it is voided.', schema: VoidResult, example: voided } },
  errors: ['TRANSACTION_NOT_FOUND'],
  example: voiding,
  exampleParameters: { transactionId: voided.transactionId },
})

export const cancelTerminalTransaction = operation({
  id: 'cancelTerminalTransaction',
  area: 'terminals',
  method: 'POST',
  path: '/v1/transactions/{transactionId}/cancel',
  summary: 'Cancel a payment that is open',
  description:
    'Asks the terminal to cancel, now or when it is back. The payment stays as it is: the result of the terminal decides.',
  auth: 'signed',
  headers: GroupHeader,
  params: ByTransaction,
  success: { 200: { description: 'The transaction as it stands.', schema: TerminalTransaction, example: cancelling } },
  errors: ['TRANSACTION_NOT_FOUND', 'INVALID_TRANSACTION_STATE'],
  exampleParameters: { transactionId: cancelling.transactionId },
})

export const terminalsOperations = {
  listTerminals,
  createTerminalPayment,
  listTerminalTransactions,
  retrieveTerminalTransaction,
  voidTerminalTransaction,
  cancelTerminalTransaction,
  ...terminalWebhookOperations,
} as const
