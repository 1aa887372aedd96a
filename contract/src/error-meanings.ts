import type { EcommerceCode } from './ecommerce.ts'
import type { Area } from './operation.ts'
import type { QrErrorCode } from './qr.ts'
import type { QrWebhookCode } from './qr-webhooks.ts'
import type { ReportingCode } from './reporting.ts'
import type { SandboxCode } from './sandbox.ts'
import type { TerminalsCode } from './terminals.ts'
import type { WebhooksCode } from './webhooks.ts'

type Code = WebhooksCode | ReportingCode | EcommerceCode | TerminalsCode | QrErrorCode | QrWebhookCode | SandboxCode

/** What each code says, where its area does not say it otherwise. A code without a meaning does not compile. */
const meanings: Readonly<Record<Code, string>> = {
  BAD_REQUEST: 'The request is malformed as a whole: no JSON, a missing or unknown field, or a text that is blank.',
  INVALID_ID: 'The id is not a UUID.',
  INVALID_TYPE: 'type is none of the allowed values.',
  INVALID_STATUS: 'status has a value that is none of the allowed ones.',
  INVALID_CURSOR: 'The cursor is not one that this list gave for these filters.',
  INVALID_PAGE_SIZE: 'page_size is no integer, or out of range.',
  INVALID_DATE_RANGE: 'date_from or date_to is not an RFC 3339 time, or they are the wrong way round.',
  INVALID_BRANCH_ID: 'branch_id is missing where the key needs it, or not a UUID.',
  INVALID_URL: 'The URL is not one that events may be sent to.',
  INVALID_DESCRIPTION: 'The description is too long, or not text.',
  INVALID_ENABLED_EVENTS: 'enabled_events is empty, repeats a type, or names one that does not exist.',
  INVALID_METADATA: 'metadata has too many keys, a key or a value that is too long, or a value that is not text.',
  INVALID_DISABLED: 'disabled is no boolean.',
  INVALID_CURRENCY: 'The currency is not one that this installation takes, or not that of the link.',
  INVALID_AMOUNT: 'The amount is out of range, or not the sum of the lines or the amount of the link.',
  INVALID_LINE_ITEMS: 'A line breaks a rule, or there are none or too many.',
  INVALID_EXPIRES_AT:
    'expires_at is not an RFC 3339 time in the future, not later than the present one, or later than the end of the link.',
  INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER:
    'The reference number is missing where the key needs it, or names no branch of it.',
  INVALID_ORDER_REFERENCE: 'The order reference is too long, or not text.',
  INVALID_REDIRECT_URLS: 'A redirect URL is not one that a payer may be sent to.',
  INVALID_MAX_USES: 'max_uses is out of range, sent for a one_time link, or not greater than the uses that are taken.',
  INVALID_PAYMENT_INTENT_ID: 'payment_intent_id is not a UUID.',
  INVALID_PAYMENT_LINK_ID: 'payment_link_id is not a UUID.',
  INVALID_REASON: 'The reason is too long, or not text.',
  INVALID_CLIENT_SECRET: 'client_secret does not have the form of one.',
  INVALID_PAYMENT_METHOD: 'The payment method is not one that can be used here.',
  INVALID_CARD: 'The card is malformed or has expired. No attempt was made.',
  INVALID_IDEMPOTENCY_KEY: 'Idempotency-Key is missing or malformed.',
  INVALID_SECONDS: 'seconds is no integer, or out of range.',
  INVALID_TO: 'to is not an RFC 3339 time, or lies before now.',
  DEVICE_ID_IN_USE: 'A terminal that is no virtual one has this device id.',
  ENDPOINT_LIMIT_REACHED: 'The group has 16 webhook endpoints; delete one first.',
  NO_WEBHOOK_ENDPOINTS: 'webhookMode needs an active webhook endpoint of the group.',
  INVALID_SIGNATURE: 'x-signature is missing, malformed, or not the signature of this request.',
  TIMESTAMP_EXPIRED: 'x-timestamp is missing, malformed, or more than 5 minutes from the time of the server.',
  GROUP_MISMATCH:
    'The resource, or the group that x-group-id names, is not that of the key, or the key has the wrong role.',
  TERMINAL_NOT_FOUND: 'The group has no such terminal.',
  TRANSACTION_NOT_FOUND: 'There is no such transaction, or its retention has ended.',
  PAYMENT_IN_PROGRESS: 'The terminal is busy with another payment.',
  TRANSACTION_CONFLICT: 'The transactionId was used before: with another body or terminal, or its retention has ended.',
  INVALID_TRANSACTION_STATE: 'The transaction is not in a state that allows this.',
  TERMINAL_CONNECTION_ERROR:
    'The terminal was not reached, or its line was lost for 60 seconds. The money is not kept.',
  TERMINAL_OFFLINE: 'The terminal is offline or reconnecting. Nothing was sent.',
  TIMEOUT: 'The terminal gave no result within 90 seconds. The money is not kept.',
  UNAUTHORIZED: 'The key is missing or not valid.',
  FORBIDDEN:
    'The key lacks the scope, its account or that of the branch that is to be paid is not active, or the resource is not its own.',
  NOT_FOUND: 'There is no such resource for this key.',
  METHOD_NOT_ALLOWED: 'The path takes other methods: see Allow.',
  CONFLICT:
    'The request does not fit how things stand: the message says why. The entity has a live endpoint with this URL, or 500 endpoints; the endpoint is DISABLED or deleted; the event is not dispatched yet; there is no endpoint to send to.',
  IDEMPOTENCY_MISMATCH: 'The Idempotency-Key came with another request before.',
  IDEMPOTENCY_IN_PROGRESS: 'The first request with this Idempotency-Key is still running; repeat it after Retry-After.',
  INTENT_PROCESSING: 'An attempt is being processed; retrieve the intent until it is settled.',
  INTENT_INVALID_STATE: 'The intent is not in a state that allows this.',
  LINK_FULLY_RESERVED: 'All uses of the link are taken for now; one that fails becomes free again.',
  ATTEMPT_LIMIT_REACHED: 'The intent has had as many attempts as it may have.',
  INVALID_STATE: 'The link is not ACTIVE, or the intent to refund is not SUCCEEDED.',
  AMOUNT_EXCEEDS_REMAINING: 'The amount is more than is left of the payment, or nothing is left of it.',
  PAYLOAD_TOO_LARGE: 'The body is larger than this area reads.',
  UNSUPPORTED_MEDIA_TYPE: 'The body is not declared as application/json, or carries a content encoding.',
  MISDIRECTED_REQUEST: 'The Host is not the own one of this sandbox.',
  NO_AUTHORIZATION:
    'The header Authorization is missing, or is not HTTP Basic with the secret key as the user name and no password.',
  API_KEY_NOT_FOUND: 'The user name is empty.',
  API_KEY_EXPIRED: 'The key has expired.',
  API_KEY_REVOKED: 'The key was revoked.',
  API_KEY_SUSPENDED: 'The key is suspended.',
  API_KEY_DELETED: 'The key was deleted.',
  INVALID_API_KEY: 'The key is not known.',
  ACCOUNT_NOT_FOUND: 'The merchant of the key has no encryption key: it is no account of this service.',
  ACCOUNT_LOCKED: 'The account is locked.',
  ACCOUNT_NOT_ACTIVE: 'The account is not active.',
  UNAUTHORIZED_ACTION: 'The key is that of a partner, and an account is a merchant.',
  INSUFFICIENT_PERMISSIONS: 'The key lacks the scope.',
  TOKEN_REFUSED:
    'The Token cannot be opened with the encryption key of the account, was made with other algorithms, or holds no JSON object.',
  INVALID_REQUEST: 'The body is malformed, or a field or a parameter is missing, unknown, or of the wrong form.',
  DUPLICATE_REFERENCE: 'The account has a code with this merchantReferenceNumber.',
  UNKNOWN_ACTIVATION_CODE: 'The account, or the branch of the key, has no such activation code.',
  AMOUNT_OUT_OF_RANGE: 'The amount is below 1.00 or above 99999.99.',
  UNSUPPORTED_CURRENCY: 'The currency is not PHP.',
  WEBHOOK_NOT_FOUND:
    'The account, or the branch of the key, has no such webhook; of a simulation, none that is ENABLED and takes the action.',
  URL_REGISTERED: 'The account has a webhook with this URL.',
  CODE_NOT_FOUND: 'The account has no such code.',
  CODE_NOT_PENDING: 'The code has had its one outcome: it was paid or declined, or its time is over.',
  UNREADABLE_IMAGE: 'The picture gives no QR code; the rule says why.',
  MALFORMED_CODE: 'The text is no QR Ph code; the rule says what is wrong with it, and the message where.',
  FOREIGN_CODE: 'The code is of a real bank, or pays a person: nobody of this sandbox.',
  CODE_FINAL: 'The code was paid or declined, or has expired; the rule says which.',
  AMOUNT_MISMATCH: 'The code is paid with its exact amount and no other.',
  RATE_LIMITED: 'Too many requests; wait as long as Retry-After says.',
  INTERNAL_ERROR: 'Something failed on our side.',
  UNAVAILABLE: 'Not possible at this moment; try again after Retry-After.',
}

const unknownEnd = 'Not possible at this moment, and what became of the request is not known'
const broken = 'is missing, unknown or breaks a rule; the message names it.'

/** What one area says of a code in its own words: where it has no codes for single fields, and how a request is repeated there. */
const meaningsOfArea: Readonly<Record<Area, Partial<Record<Code, string>>>> = {
  webhooks: {
    UNAVAILABLE: `${unknownEnd}: repeat the create of an endpoint after Retry-After, and where that is 409, take the endpoint with this url from the list; after a rotation read the secret.`,
  },
  reporting: { BAD_REQUEST: `The request is malformed, or a parameter or the cursor ${broken}` },
  ecommerce: {
    UNAUTHORIZED: 'The key, or the client_secret, is missing or not valid.',
    UNAVAILABLE: `${unknownEnd}: repeat a create with the same Idempotency-Key after Retry-After; after a confirm retrieve the intent.`,
  },
  terminals: {
    INVALID_AMOUNT:
      'The amount, or a price, quantity, tax or discount of a product, is malformed or out of range, or the amount is not the sum of the products.',
    UNAVAILABLE: `${unknownEnd}: repeat a payment with the same transactionId after Retry-After, or read the transaction. An endpoint that the list shows after a lost create has a secret that no answer tells again: delete it and create another.`,
  },
  qr: {
    UNAVAILABLE: `${unknownEnd}: find the code by its merchantReferenceNumber after Retry-After. A live installation makes no codes while no bank tells it what is paid.`,
  },
  qr_webhooks: {
    BAD_REQUEST: `The request is malformed, or a field, parameter or header ${broken}`,
    UNAVAILABLE: `${unknownEnd}: read the list after Retry-After, and after a simulation the code.`,
  },
  sandbox: {
    BAD_REQUEST: `The request is malformed, or a field or parameter ${broken}`,
    UNAVAILABLE: `${unknownEnd}: try again after Retry-After; read the clock before you advance it again.`,
  },
}

/** What a code says in the document of this area. */
export const meaningOf = (code: string, area: Area): string =>
  meaningsOfArea[area][code as Code] ?? meanings[code as Code]
