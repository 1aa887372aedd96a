import Type from 'typebox'
import { exampleIds } from './example-ids.ts'
import { operation } from './operation.ts'
import {
  ById,
  Closed,
  CommaList,
  Count,
  Currency,
  Cursor,
  Nullable,
  OneOf,
  Page,
  Timestamp,
  Uuid,
} from './primitives.ts'
import {
  branchPage,
  merchantPage,
  settlementDetail,
  settlementPage,
  transactionDetail,
  transactionPage,
  transactionsAsCsv,
} from './reporting-examples.ts'

/** Area B's catalogue: every code and its HTTP status. */
export const reportingErrors = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const
export type ReportingCode = keyof typeof reportingErrors

const transactionStatuses = [
  'CAPTURED',
  'AUTHORIZED',
  'PENDING',
  'DECLINED',
  'VOIDED',
  'REFUNDED',
  'PARTIALLY_REFUNDED',
  'FAILED',
  'EXPIRED',
  'CANCELLED',
] as const
const paymentMethods = ['QR_PH', 'CARD_PRESENT', 'CARD_NOT_PRESENT', 'CASH', 'MOBILE', 'OTHER'] as const
const cardBrands = ['VISA', 'MASTERCARD', 'JCB', 'UNIONPAY', 'AMEX', 'DISCOVER'] as const
const settlementStatuses = ['UNSETTLED', 'SETTLED', 'NOT_APPLICABLE'] as const
const eventTypes = [
  'CREATED',
  'CAPTURED',
  'DECLINED',
  'FAILED',
  'EXPIRED',
  'CANCELLED',
  'VOIDED',
  'REFUND_REQUESTED',
  'REFUNDED',
  'REFUND_FAILED',
  'SETTLED',
] as const

const PageSize = Type.Integer({
  minimum: 1,
  default: 20,
  description: 'Items a page, 1 to 100; 20 when absent, and over 100 counts as 100.',
})

export const Merchant = Closed({ id: Uuid('The merchant.'), name: Type.String({ description: 'Its name.' }) })

export const Branch = Closed({
  id: Uuid('The branch; the value for the filter branch_id of transactions.'),
  name: Type.String({ description: 'Its name.' }),
  merchant_id: Uuid('The merchant that it belongs to.'),
})

const minor = (description: string) => Count(`${description} In minor units.`)

export const AmountDetails = Closed({
  amount_authorized: minor('What the issuer agreed to.'),
  amount_capturable: minor('What is authorized and not captured yet.'),
  amount_received: minor('What was captured.'),
  amount_refunded: minor('What was given back so far.'),
  original_amount: minor('What was asked for.'),
  tax_amount: minor('Tax that was put on top of it.'),
  final_amount: minor('original_amount and tax_amount together: what the payer is charged.'),
})

const text = (description: string) => Type.Optional(Type.String({ description }))

/** What is known by now of a transaction's numbers: one that never received money has its reference alone, where it has one. */
export const TransactionReceipt = Closed({
  receipt_number: text('The number of the receipt.'),
  auth_number: text('The number that the issuer authorized it under.'),
  batch_number: text('The settlement that it is in.'),
  approval_code: text("The issuer's approval."),
  reference_number: text('What settlement files name the payment by.'),
})

export const MerchantDetails = Closed({
  merchant_name: Type.String({ description: 'The merchant.' }),
  merchant_id: Uuid('The merchant.'),
  partner_name: Type.String({ description: 'The partner above the merchant.' }),
  branch_id: Uuid('The branch that was paid.'),
  branch_name: Type.String({ description: 'The branch that was paid.' }),
})

export const TerminalDetails = Closed({
  terminal_name: text('The device id of the terminal.'),
  activation_code: text('The activation code of its branch.'),
  serial_number: text('The device id of the terminal.'),
})

const transaction = {
  id: Uuid(
    'The transaction. Of an attempt of area C it is the payment_attempt_id, of a code of area E its id; of a sale at a terminal it is an id of its own, and reference_number is the transactionId.',
  ),
  status: OneOf(transactionStatuses, 'How it stands.'),
  amount: minor('What was asked for.'),
  currency: Currency,
  payment_method: OneOf(paymentMethods, 'How it was paid.'),
  created_at: Timestamp('When the attempt began.'),
  updated_at: Timestamp(
    'When its status, an amount of it or its settlement_status last changed; a refund that is asked for or fails changes none.',
  ),
  card_brand: Type.Optional(OneOf(cardBrands, 'The scheme of the card, where it is known.')),
  card_last_four: text('The last four digits of the card.'),
  correlation_id: Type.Optional(Uuid('The request that made it.')),
  amount_details: AmountDetails,
  receipt: Type.Optional(TransactionReceipt),
  merchant_details: MerchantDetails,
  terminal_details: Type.Optional(TerminalDetails),
}

export const Transaction = Closed(transaction)

export const TransactionEvent = Closed({
  event_type: OneOf(eventTypes, 'What happened.'),
  created_at: Timestamp('When it happened.'),
  amount: Type.String({ pattern: '^\\d+$', description: 'What it was about, in minor units, as text.' }),
  description: Type.String({
    description: 'The same in a sentence, with the id of the intent that was begun to be paid, or of the refund.',
  }),
  reason: Nullable(
    Type.String({ description: 'Why, where there is a reason to tell: a failure_category, or that of a refund.' }),
  ),
})

export const TransactionDetail = Closed({
  ...transaction,
  partner_name: Type.String({ description: 'The partner above the merchant.' }),
  activation_code: text('The activation code of the branch.'),
  approval_code: text("The issuer's approval."),
  reference_number: text('What settlement files name the payment by.'),
  settlement_status: OneOf(settlementStatuses, 'NOT_APPLICABLE where no money was received.'),
  settled_at: Nullable(Timestamp('When it was settled; null while it is not.')),
  events: Type.Array(TransactionEvent, { description: 'What happened to it, the earliest first.' }),
})

const totals = {
  count: Count('Transactions that were settled.'),
  gross: minor('What they received.'),
  refunds: minor('What was given back: of these transactions, and since the batch before of those settled earlier.'),
  net: Type.Integer({
    description: 'gross less refunds, in minor units; below zero where more was given back than received.',
  }),
}

export const Settlement = Closed({
  batch_number: Type.String({ format: 'date', description: 'The day on which it was settled, in Asia/Manila.' }),
  settled_at: Timestamp('00:00 of that day in Asia/Manila.'),
  currency: Currency,
  ...totals,
})

export const SettlementDetail = Closed({
  batch_number: Type.String({ format: 'date', description: 'The day on which it was settled, in Asia/Manila.' }),
  settled_at: Timestamp('00:00 of that day in Asia/Manila.'),
  currency: Currency,
  ...totals,
  merchants: Type.Array(
    Closed({ merchant_id: Uuid('The merchant.'), merchant_name: Type.String({ description: 'Its name.' }), ...totals }),
    { description: 'The share of each merchant that the key sees, by name.' },
  ),
})

const page = { page_size: Type.Optional(PageSize), cursor: Type.Optional(Cursor) }
const reads = { area: 'reporting', method: 'GET', auth: 'key', scope: 'reports.read' } as const

export const listReportMerchants = operation({
  ...reads,
  id: 'listReportMerchants',
  path: '/reports/v1/merchants',
  summary: 'List merchants',
  description: 'The merchants that the key sees, by name. A branch key sees the name of its own merchant.',
  query: Closed(page),
  success: { 200: { description: 'A page of merchants.', schema: Page(Merchant), example: merchantPage } },
  errors: [],
})

export const listReportBranches = operation({
  ...reads,
  id: 'listReportBranches',
  path: '/reports/v1/branches',
  summary: 'List branches',
  description: 'The branches that the key sees, by name.',
  query: Closed({
    ...page,
    merchant_id: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
        description: 'Only branches of this merchant. A canonical UUID in lower case.',
      }),
    ),
  }),
  success: { 200: { description: 'A page of branches.', schema: Page(Branch), example: branchPage } },
  errors: [],
  exampleParameters: { merchant_id: exampleIds.merchant },
})

export const listReportTransactions = operation({
  ...reads,
  id: 'listReportTransactions',
  path: '/reports/v1/transactions',
  summary: 'List transactions',
  description:
    'The transactions of the entity of the key and of everything under it. With `Accept: text/csv` the whole filtered result comes as CSV (RFC 4180, a header row, CRLF), as it is read: `page_size` has no effect then, and a `cursor` begins it where that page would. A cell that a spreadsheet could take for a formula gets a leading apostrophe. By `updated_at`, a transaction that changes while you page may be seen again or not at all; no other is lost.',
  query: Closed({
    merchant_id: Type.Optional(Uuid('Only transactions of this merchant.')),
    branch_id: Type.Optional(Uuid('Only transactions of this branch.')),
    activation_code: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        pattern: '\\S',
        description: 'Only transactions of the branch that has this code.',
      }),
    ),
    payment_method: Type.Optional(OneOf(paymentMethods, 'Only this method.')),
    card_brand: Type.Optional(OneOf(cardBrands, 'Only this scheme.')),
    status: Type.Optional(CommaList(transactionStatuses, 'One or more statuses, comma-separated.')),
    date_from: Type.Optional(Timestamp('Only transactions created at or after this time.')),
    date_to: Type.Optional(Timestamp('Only transactions created at or before this time.')),
    sort_by: Type.Optional(OneOf(['created_at', 'updated_at', 'amount'], 'created_at when absent.')),
    sort_order: Type.Optional(OneOf(['asc', 'desc'], 'desc when absent. The id breaks ties in the same direction.')),
    ...page,
  }),
  success: {
    200: {
      description: 'A page of transactions.',
      schema: Page(Transaction),
      csv: { example: transactionsAsCsv },
      example: transactionPage,
    },
  },
  errors: [],
  exampleParameters: {
    branch_id: exampleIds.branch,
    status: ['CAPTURED', 'PARTIALLY_REFUNDED'],
    sort_by: 'amount',
    page_size: 10,
  },
})

export const retrieveReportTransaction = operation({
  ...reads,
  id: 'retrieveReportTransaction',
  path: '/reports/v1/transactions/{id}',
  summary: 'Retrieve a transaction',
  description: 'One transaction with its settlement and what happened to it.',
  params: ById,
  success: {
    200: { description: 'The transaction.', schema: Closed({ data: TransactionDetail }), example: transactionDetail },
  },
  errors: ['NOT_FOUND'],
  errorExamples: { FORBIDDEN: { message: 'This transaction belongs to another entity.' } },
  exampleParameters: { id: exampleIds.ownAttempt },
})

export const listSettlements = operation({
  ...reads,
  id: 'listSettlements',
  path: '/reports/v1/settlements',
  summary: 'List settlements',
  description:
    'The daily batches of the entity of the key and of everything under it, the latest first; one for each currency of a day. A day on which nothing was settled or given back has none.',
  query: Closed(page),
  success: { 200: { description: 'A page of settlements.', schema: Page(Settlement), example: settlementPage } },
  errors: [],
})

export const retrieveSettlement = operation({
  ...reads,
  id: 'retrieveSettlement',
  path: '/reports/v1/settlements/{batch_number}',
  summary: 'Retrieve a settlement',
  description: 'One batch and the share of each merchant in it.',
  params: Closed({
    batch_number: Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2}$',
      description: 'The day of the batch, as in 2026-01-15.',
    }),
  }),
  query: Closed({
    currency: Type.Optional(
      Type.String({
        pattern: '^[A-Z]{3}$',
        description: 'Which one, where the day has batches in several currencies.',
      }),
    ),
  }),
  success: {
    200: { description: 'The settlement.', schema: Closed({ data: SettlementDetail }), example: settlementDetail },
  },
  errors: ['NOT_FOUND'],
  exampleParameters: { batch_number: '2026-01-16', currency: 'PHP' },
  errorExamples: { NOT_FOUND: { message: 'There is no such settlement.' } },
})

export const reportingOperations = {
  listReportMerchants,
  listReportBranches,
  listReportTransactions,
  retrieveReportTransaction,
  listSettlements,
  retrieveSettlement,
} as const
