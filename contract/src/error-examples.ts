import type { EcommerceCode } from './ecommerce.ts'
import { linkStatuses, linkTypes } from './payment-types.ts'
import type { ReportingCode } from './reporting.ts'

/** What a refusal says in one case of its code. */
export interface ErrorExample {
  readonly message: string
  readonly details?: { readonly field: string; readonly rule: string }
}

/** A field that breaks a rule, as the message tells it. */
const atField = (field: string, rule: string, says: string): ErrorExample => ({
  message: `${field}: ${says}.`,
  details: { field, rule },
})

const noUuid = (field: string) => atField(field, 'format', 'must be a UUID')
const noTime = (field: string) =>
  atField(field, 'format', 'must be a time with its offset, such as 2026-01-31T09:00:00Z')
const noText = (field: string) => atField(field, 'type', 'must be a string')
const noneOf = (field: string, values: readonly string[]) =>
  atField(field, 'one_of', `must be one of ${values.join(', ')}`)
const tooLong = (field: string, charactersMax: number) =>
  atField(field, 'max_length', `must not be longer than ${charactersMax} characters`)
const tooSmall = (field: string) => atField(field, 'minimum', 'must be at least 1')

/** A name that is none of those that the operation takes. */
export const unknownName = (names: readonly string[]): ErrorExample =>
  atField(
    'surprise',
    'unknown',
    `is not known here; leave it out${names.length === 0 ? '' : `, or use one of ${names.join(', ')}`}`,
  )

const everywhere = {
  BAD_REQUEST: unknownName([]),
  UNAUTHORIZED: { message: 'The API key is not known or not active; use one that is.' },
  FORBIDDEN: { message: 'The account of this key is not active; ask its operator.' },
  RATE_LIMITED: { message: 'Too many requests with this key; slow down and try again.' },
  INTERNAL_ERROR: { message: 'Something failed on our side. Nothing is known to be wrong with your request.' },
  UNAVAILABLE: { message: 'The database is away for a moment. Try again.' },
}

/** One for each code of area C that an operation can give. Where one says it otherwise, its own `errorExamples` do. */
export const ecommerceErrorExamples: Readonly<Record<Exclude<EcommerceCode, 'METHOD_NOT_ALLOWED'>, ErrorExample>> = {
  ...everywhere,
  PAYLOAD_TOO_LARGE: { message: 'The body is larger than the 256 KiB that are read; send less.' },
  UNSUPPORTED_MEDIA_TYPE: { message: 'Send the body as application/json.' },
  INVALID_ID: noUuid('id'),
  INVALID_TYPE: noneOf('type', linkTypes),
  INVALID_CURRENCY: atField('currency', 'format', 'must be three capital letters, such as PHP'),
  INVALID_AMOUNT: tooSmall('amount'),
  INVALID_LINE_ITEMS: atField('line_items', 'min_items', 'must have 1 or more entries'),
  INVALID_EXPIRES_AT: noTime('expires_at'),
  INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER: atField(
    'merchant_branch_reference_number',
    'known_branch',
    'names no branch of this key',
  ),
  INVALID_DESCRIPTION: tooLong('description', 255),
  INVALID_ORDER_REFERENCE: tooLong('order_reference', 100),
  INVALID_REDIRECT_URLS: atField(
    'redirect_urls.success',
    'https',
    'must use https; http is for localhost and loopback addresses alone',
  ),
  INVALID_MAX_USES: tooSmall('max_uses'),
  INVALID_METADATA: noText('metadata.team'),
  INVALID_PAYMENT_LINK_ID: noUuid('payment_link_id'),
  INVALID_PAYMENT_INTENT_ID: noUuid('payment_intent_id'),
  INVALID_REASON: tooLong('reason', 500),
  INVALID_CLIENT_SECRET: noText('client_secret'),
  INVALID_PAYMENT_METHOD: noneOf('payment_method.type', ['card', 'qrph']),
  INVALID_CARD: {
    message: 'payment_method.card.number: is no card number: its check digit is wrong.',
    details: { field: 'payment_method.card.number', rule: 'luhn' },
  },
  INVALID_IDEMPOTENCY_KEY: {
    message: 'Send the header Idempotency-Key with 8 to 64 letters, digits, dots, hyphens or underscores.',
    details: { field: 'Idempotency-Key', rule: 'format' },
  },
  INVALID_CURSOR: atField('cursor', 'known', 'is not one of this list with these filters; start again without it'),
  INVALID_PAGE_SIZE: tooSmall('page_size'),
  INVALID_STATUS: noneOf('status', linkStatuses),
  INVALID_DATE_RANGE: atField('date_from', 'not_after_date_to', 'must not be later than date_to'),
  NOT_FOUND: { message: 'There is no such resource for this key.' },
  IDEMPOTENCY_MISMATCH: {
    message: 'This Idempotency-Key came with another request before; use a new key for a new one.',
  },
  IDEMPOTENCY_IN_PROGRESS: { message: 'The first request with this key is still running; try again in a moment.' },
  INTENT_PROCESSING: { message: 'A payment of this intent is being processed; retrieve the intent for its outcome.' },
  INTENT_INVALID_STATE: { message: 'This intent is SUCCEEDED; make another one to pay again.' },
  LINK_FULLY_RESERVED: { message: 'Others are paying with this link right now; try again in a moment.' },
  ATTEMPT_LIMIT_REACHED: { message: 'This intent has had as many attempts as it may; make another one.' },
  INVALID_STATE: { message: 'The link is CANCELLED; it cannot be changed any more.' },
  AMOUNT_EXCEEDS_REMAINING: {
    message: 'Only 4900 (minor units) is left of this payment to refund; open refunds count too.',
    details: { field: 'amount', rule: 'remaining' },
  },
}

type NotOfReporting = 'METHOD_NOT_ALLOWED' | 'PAYLOAD_TOO_LARGE' | 'UNSUPPORTED_MEDIA_TYPE'
/** One for each code of area B that an operation can give; its envelope has no details. */
export const reportingErrorExamples: Readonly<Record<Exclude<ReportingCode, NotOfReporting>, ErrorExample>> = {
  ...everywhere,
  NOT_FOUND: { message: 'There is no such transaction.' },
}
