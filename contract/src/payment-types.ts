import Type from 'typebox'
import { Closed, Metadata, Text, Timestamp, WebAddress, amountMinorMax } from './primitives.ts'

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
  INVALID_PAYMENT_INTENT_ID: 400,
  INVALID_REASON: 400,
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
  AMOUNT_EXCEEDS_REMAINING: 422,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const
export type EcommerceCode = keyof typeof ecommerceErrors

/** Two refusals share the wire code INVALID_STATE: of a link or a refund (422) and of an intent (409). */
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

/** What a link and an intent may both be given. */
export const optionalOfPayment = {
  description: Type.Optional(Text(255, 'What the payment is for; the payer sees it.')),
  order_reference: Type.Optional(Text(100, 'Your own order number.')),
  redirect_urls: Type.Optional(RedirectUrls),
  metadata: Type.Optional(Metadata('At most 50 keys of 40 characters with values of 500. Sent back with every event.')),
  expires_at: Type.Optional(
    Timestamp(
      'In the future; 24 hours from now when absent. That of an intent of a link: no later than the end of the link.',
    ),
  ),
  merchant_branch_reference_number: Type.Optional(
    Text(
      100,
      "The branch's reference number. Required for keys of partners and merchants; a branch key may leave it out.",
    ),
  ),
}
