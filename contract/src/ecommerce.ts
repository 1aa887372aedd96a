import Type from 'typebox'
import { operation } from './operation.ts'
import {
  Amount,
  ById,
  Closed,
  CommaList,
  Count,
  Currency,
  Cursor,
  Metadata,
  Nullable,
  OneOf,
  Page,
  PageSize,
  Text,
  Timestamp,
  Uuid,
  WebAddress,
  amountMinorMax,
} from './primitives.ts'

export const linkTypes = ['one_time', 'multi_use'] as const
export const linkStatuses = ['ACTIVE', 'CONSUMED', 'EXPIRED', 'CANCELLED'] as const
export const intentStatuses = [
  'ACTIVE',
  'EXPIRED',
  'CONSUMED',
  'CANCELLED',
  'REQUIRES_ACTION',
  'PROCESSING',
  'SUCCEEDED',
  'DECLINED',
  'FAILED',
] as const
export const failureCategories = [
  'VERIFICATION_REJECTED',
  'VERIFICATION_UNAVAILABLE',
  'PAYMENT_REJECTED',
  'PAYMENT_PROCESSING_ERROR',
  'PROCESSOR_UNAVAILABLE',
  'CARD_NOT_ELIGIBLE',
] as const

/** Every code of area C and its HTTP status. */
export const ecommerceErrors = {
  BAD_REQUEST: 400,
  INVALID_ID: 400,
  INVALID_TYPE: 400,
  INVALID_CURRENCY: 400,
  INVALID_AMOUNT: 400,
  INVALID_LINE_ITEMS: 400,
  INVALID_EXPIRES_AT: 400,
  INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER: 400,
  INVALID_DESCRIPTION: 400,
  INVALID_ORDER_REFERENCE: 400,
  INVALID_REDIRECT_URLS: 400,
  INVALID_MAX_USES: 400,
  INVALID_METADATA: 400,
  INVALID_PAYMENT_LINK_ID: 400,
  INVALID_CLIENT_SECRET: 400,
  INVALID_PAYMENT_METHOD: 400,
  INVALID_CARD: 400,
  INVALID_IDEMPOTENCY_KEY: 400,
  INVALID_CURSOR: 400,
  INVALID_PAGE_SIZE: 400,
  INVALID_STATUS: 400,
  INVALID_DATE_RANGE: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  IDEMPOTENCY_MISMATCH: 409,
  IDEMPOTENCY_IN_PROGRESS: 409,
  INTENT_PROCESSING: 409,
  INTENT_INVALID_STATE: 409,
  LINK_FULLY_RESERVED: 409,
  ATTEMPT_LIMIT_REACHED: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  INVALID_STATE: 422,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const
export type EcommerceCode = keyof typeof ecommerceErrors

/** Two refusals share the wire code INVALID_STATE: of a link (422) and of an intent (409). */
export const ecommerceWireCodes: Partial<Record<EcommerceCode, string>> = { INTENT_INVALID_STATE: 'INVALID_STATE' }

export const LineItem = Closed({
  sku: Text(100, 'Your stock keeping unit.'),
  name: Text(255, 'What the payer reads.'),
  unit_price: Type.Integer({ minimum: 0, maximum: amountMinorMax, description: 'Price of one, in minor units.' }),
  quantity: Type.Integer({ minimum: 1, maximum: amountMinorMax, description: 'How many.' }),
  metadata: Type.Optional(Metadata('Of your own, per line.')),
})

export const RedirectUrls = Closed(
  {
    success: Type.Optional(WebAddress('Where the payer goes after a success.')),
    declined: Type.Optional(WebAddress('Where the payer goes after giving up on a declined payment.')),
    expired: Type.Optional(WebAddress('Where the payer goes from an expired page.')),
  },
  { description: 'HTTPS; a sandbox also takes http on loopback addresses.' },
)

const optionalOfPayment = {
  description: Type.Optional(Text(255, 'What the payment is for; the payer sees it.')),
  order_reference: Type.Optional(Text(100, 'Your own order number.')),
  redirect_urls: Type.Optional(RedirectUrls),
  metadata: Type.Optional(Metadata('At most 50 keys of 40 characters with values of 500. Sent back with every event.')),
  expires_at: Type.Optional(Timestamp('In the future. 24 hours from now when absent.')),
  merchant_branch_reference_number: Type.Optional(
    Text(
      100,
      "The branch's reference number. Required for keys of partners and merchants; a branch key may leave it out.",
    ),
  ),
}

export const CreatePaymentLink = Closed({
  type: OneOf(linkTypes, 'one_time ends with its first success; multi_use takes several.'),
  currency: Currency,
  amount: Amount('Equal to the sum of unit_price × quantity.'),
  line_items: Type.Array(LineItem, { minItems: 1, maxItems: 100, description: '1 to 100 lines.' }),
  max_uses: Type.Optional(
    Nullable(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'Successes allowed; multi_use only. Null or absent: unlimited.',
      }),
    ),
  ),
  ...optionalOfPayment,
})

export const PaymentLink = Closed({
  id: Uuid('The link.'),
  type: OneOf(linkTypes, 'one_time or multi_use.'),
  status: OneOf(linkStatuses, 'Exact at the time of the answer.'),
  merchant_branch_reference_number: Type.String({ description: 'The branch that is paid.' }),
  currency: Currency,
  amount: Amount('What one payment takes.'),
  line_items: Type.Array(LineItem),
  description: Type.Optional(Type.String()),
  expires_at: Timestamp('When the link ends.'),
  url: Type.String({ format: 'uri', description: 'The checkout page to share.' }),
  max_uses: Type.Optional(Type.Integer({ description: 'Successes allowed; absent: unlimited.' })),
  successful_payment_count: Count('Successful payments so far.'),
  metadata: Metadata('As sent.'),
  created_at: Timestamp('When the link was made.'),
  updated_at: Timestamp('When it last changed.'),
  cancelled_at: Type.Optional(Timestamp('When it was cancelled.')),
  cancellation_reason: Type.Optional(Type.String({ description: 'Why it was cancelled.' })),
  order_reference: Type.Optional(Type.String()),
  redirect_urls: Type.Optional(RedirectUrls),
})

export const Receipt = Closed({
  approval_code: Type.String({ description: "The issuer's approval code (ISO 8583 field 38)." }),
  transaction_id: Type.String({ description: "The processor's id of the payment." }),
  reconciliation_id: Type.String({ description: "The processor's id for reconciliation." }),
  card_scheme: Type.String({ description: 'VISA, MASTERCARD, …' }),
  card_last_four: Type.String({ description: 'Last four digits of the card.' }),
  invoice_number: Type.String({ description: "The receipt's own number." }),
  completed_at: Timestamp('When the payment succeeded.'),
})

const intentProperties = {
  id: Uuid('The payment intent, a UUID of version 7.'),
  amount: Amount('What is paid.'),
  currency: Currency,
  status: OneOf(intentStatuses, 'The intent as it stands, or its latest attempt.'),
  updated_at: Timestamp('When the returned state came about.'),
  order_reference: Type.Optional(Type.String({ description: 'As sent, or the order reference of the link.' })),
  payment_attempt_id: Type.Optional(Uuid('The latest attempt.')),
  user_message: Type.Optional(Type.String({ description: 'What a payer may read about the latest outcome.' })),
  failure_category: Type.Optional(OneOf(failureCategories, 'Why the latest attempt did not succeed.')),
  receipt: Type.Optional(Receipt),
}

export const PaymentIntent = Closed(intentProperties)

export const CreatedPaymentIntent = Closed({
  ...intentProperties,
  client_secret: Type.String({ description: 'Lets the payer confirm this one intent. Shown once, here.' }),
  checkout_url: Type.String({ format: 'uri', description: "The payer's page for this intent." }),
})

export const ConfirmedPaymentIntent = Closed({
  ...intentProperties,
  next_action: Type.Optional(
    Closed({
      type: OneOf(['redirect'], 'What the payer must do.'),
      url: Type.String({ format: 'uri', description: 'Where to send the payer.' }),
    }),
  ),
})

export const CreatePaymentIntent = Closed({
  amount: Type.Optional(Amount('Required without a link; with one it must equal the amount of the link.')),
  currency: Type.Optional(Currency),
  payment_link_id: Type.Optional(Uuid('An ACTIVE link that this intent pays.')),
  ...optionalOfPayment,
})

export const ConfirmPaymentIntent = Closed({
  client_secret: Type.Optional(Type.String({ description: 'Of the intent; a secret key may be used instead.' })),
  payment_method: Closed({
    type: OneOf(['card'], 'How the payer pays.'),
    card: Closed({
      number: Type.String({ description: 'Digits only.' }),
      exp_month: Type.Integer({ description: '1 to 12.' }),
      exp_year: Type.Integer({ description: 'Four digits.' }),
      cvc: Type.String({ description: '3 digits, 4 for American Express.' }),
      name: Type.Optional(Type.String({ maxLength: 100, description: 'Name on the card.' })),
    }),
  }),
})

export const createPaymentLink = operation({
  id: 'createPaymentLink',
  area: 'ecommerce',
  method: 'POST',
  path: '/ecom/v1/payment-links',
  summary: 'Create a payment link',
  description:
    'Makes a shareable checkout page. One-time links end with their first success, multi-use links with max_uses successes.',
  auth: 'key',
  scope: 'payment_links.create',
  idempotency: 'required',
  body: CreatePaymentLink,
  success: { 201: { description: 'The link.', schema: PaymentLink } },
  errors: [
    'INVALID_TYPE',
    'INVALID_CURRENCY',
    'INVALID_AMOUNT',
    'INVALID_LINE_ITEMS',
    'INVALID_EXPIRES_AT',
    'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER',
    'INVALID_DESCRIPTION',
    'INVALID_ORDER_REFERENCE',
    'INVALID_REDIRECT_URLS',
    'INVALID_MAX_USES',
    'INVALID_METADATA',
    'INVALID_IDEMPOTENCY_KEY',
    'IDEMPOTENCY_MISMATCH',
    'IDEMPOTENCY_IN_PROGRESS',
  ],
  example: {
    type: 'one_time',
    currency: 'PHP',
    amount: 25000,
    line_items: [{ sku: 'BEANS-250', name: 'Benguet coffee beans, 250 g', unit_price: 12500, quantity: 2 }],
    order_reference: 'ORDER-1001',
  },
})

export const listPaymentLinks = operation({
  id: 'listPaymentLinks',
  area: 'ecommerce',
  method: 'GET',
  path: '/ecom/v1/payment-links',
  summary: 'List payment links',
  description: 'Links of the entity of the key and of all entities under it, newest first.',
  auth: 'key',
  scope: 'payment_links.read',
  query: Closed({
    status: Type.Optional(CommaList(linkStatuses, 'One or more statuses, comma-separated.')),
    merchant_branch_reference_number: Type.Optional(Type.String({ description: 'Only links of this branch.' })),
    date_from: Type.Optional(Timestamp('Only links created after this time.')),
    date_to: Type.Optional(Timestamp('Only links created before this time.')),
    page_size: Type.Optional(PageSize(200)),
    cursor: Type.Optional(Cursor),
  }),
  success: { 200: { description: 'A page of links.', schema: Page(PaymentLink) } },
  errors: ['INVALID_STATUS', 'INVALID_DATE_RANGE', 'INVALID_PAGE_SIZE', 'INVALID_CURSOR'],
})

export const retrievePaymentLink = operation({
  id: 'retrievePaymentLink',
  area: 'ecommerce',
  method: 'GET',
  path: '/ecom/v1/payment-links/{id}',
  summary: 'Retrieve a payment link',
  description: 'One link of the entity of the key or of an entity under it.',
  auth: 'key',
  scope: 'payment_links.read',
  params: ById,
  success: { 200: { description: 'The link.', schema: PaymentLink } },
  errors: ['INVALID_ID', 'NOT_FOUND'],
})

export const createPaymentIntent = operation({
  id: 'createPaymentIntent',
  area: 'ecommerce',
  method: 'POST',
  path: '/ecom/v1/payment-intents',
  summary: 'Create a payment intent',
  description:
    'Starts one payment, of a link or on its own. The answer carries the client_secret for the page of the payer.',
  auth: 'key',
  scope: 'payment_intents.create',
  idempotency: 'required',
  body: CreatePaymentIntent,
  success: { 201: { description: 'The intent and its client_secret.', schema: CreatedPaymentIntent } },
  errors: [
    'INVALID_AMOUNT',
    'INVALID_CURRENCY',
    'INVALID_EXPIRES_AT',
    'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER',
    'INVALID_DESCRIPTION',
    'INVALID_ORDER_REFERENCE',
    'INVALID_REDIRECT_URLS',
    'INVALID_METADATA',
    'INVALID_PAYMENT_LINK_ID',
    'INVALID_IDEMPOTENCY_KEY',
    'IDEMPOTENCY_MISMATCH',
    'IDEMPOTENCY_IN_PROGRESS',
    'NOT_FOUND',
    'INVALID_STATE',
  ],
  example: { amount: 9800, currency: 'PHP', order_reference: 'ORDER-1002' },
})

export const retrievePaymentIntent = operation({
  id: 'retrievePaymentIntent',
  area: 'ecommerce',
  method: 'GET',
  path: '/ecom/v1/payment-intents/{id}',
  summary: 'Retrieve a payment intent',
  description: 'The authoritative status of a payment, and its receipt once it succeeded. Never the client_secret.',
  auth: 'key',
  scope: 'payment_intents.read',
  params: ById,
  success: { 200: { description: 'The intent.', schema: PaymentIntent } },
  errors: ['INVALID_ID', 'NOT_FOUND'],
})

export const confirmPaymentIntent = operation({
  id: 'confirmPaymentIntent',
  area: 'ecommerce',
  method: 'POST',
  path: '/ecom/v1/payment-intents/{id}/confirm',
  summary: 'Confirm a payment intent',
  description:
    'Pays with a card. Takes the client_secret from the page of the payer, or a secret key. Answers with the outcome, or with 202 while the processor has not answered.',
  auth: 'key_or_client_secret',
  scope: 'payment_intents.confirm',
  params: ById,
  body: ConfirmPaymentIntent,
  success: {
    200: { description: 'The intent after the attempt.', schema: ConfirmedPaymentIntent },
    202: {
      description: 'The processor has not answered yet; retrieve the intent until it is settled.',
      schema: ConfirmedPaymentIntent,
    },
  },
  errors: [
    'INVALID_ID',
    'INVALID_CARD',
    'INVALID_CLIENT_SECRET',
    'INVALID_PAYMENT_METHOD',
    'NOT_FOUND',
    'INTENT_PROCESSING',
    'INTENT_INVALID_STATE',
    'LINK_FULLY_RESERVED',
    'ATTEMPT_LIMIT_REACHED',
  ],
  example: {
    payment_method: {
      type: 'card',
      card: { number: '4242424242424242', exp_month: 12, exp_year: 2040, cvc: '123', name: 'Juana dela Cruz' },
    },
  },
})

export const ecommerceOperations = {
  createPaymentLink,
  listPaymentLinks,
  retrievePaymentLink,
  createPaymentIntent,
  retrievePaymentIntent,
  confirmPaymentIntent,
} as const
