import Type, { type Static, type TSchema } from 'typebox'
import { exampleIds } from './example-ids.ts'
import { operation } from './operation.ts'
import { createdCode, newCode, paidCode, token } from './qr-examples.ts'
import { ById, Closed, OneOf, Timestamp, Uuid } from './primitives.ts'

/** What a Token holds is said by `contentSchema`: who has the key sees that. An empty one is refused as whatever cannot be opened is. */
const Sealed = (inner: TSchema, description: string) =>
  Closed({
    Token: Type.String({
      maxLength: 65_536,
      contentMediaType: 'application/jose',
      contentSchema: inner,
      description,
    }),
  })

const reference = Type.String({
  pattern: '^[A-Za-z0-9-]{1,36}$',
  description: 'Your name for the payment: 1 to 36 letters, digits or hyphens, once per account.',
})

export const activationCodePattern = '^[A-Z0-9]{4}(-[A-Z0-9]{4}){3}$'

/** The plaintext of a request for a code. */
export const CreateQrCode = Closed(
  {
    activationCode: Type.String({
      pattern: activationCodePattern,
      description: 'The branch that is paid, by its activation code.',
    }),
    currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'PHP.' }),
    amount: Type.String({
      pattern: '^(0|[1-9][0-9]*)[.][0-9]{2}$',
      description: 'A text with two decimals, from 1.00 to 99999.99.',
    }),
    merchantReferenceNumber: reference,
  },
  { examples: [newCode] },
)

/** The plaintext of the answer. */
export const CreatedQrCode = Closed(
  {
    id: Uuid('The code, a UUID of version 7.'),
    qrBody: Type.String({ description: 'Base64 of a PNG: the picture that the payer scans.' }),
    qrText: Type.String({ description: 'The QR Ph text in the picture.' }),
    expiresAt: Timestamp('From then on it cannot be paid any more: 15 minutes after it was made.'),
  },
  { examples: [createdCode] },
)

export const qrCodeStatuses = ['PENDING', 'PAID', 'DECLINED', 'EXPIRED'] as const

export const qrDeclineReasons = [
  'DECLINED_BY_BANK',
  'MISSING_DESTINATION_ACCOUNT',
  'MISSING_PARTNER_REVENUE_ACCOUNT',
  'UNSUPPORTED_TRANSFER_TYPE',
] as const

/** The plaintext of a code as it stands. */
export const QrCode = Closed(
  {
    id: Uuid('The code.'),
    status: OneOf(
      qrCodeStatuses,
      'PENDING until the bank has paid or declined, or the time is over; the rest is final.',
    ),
    amount: Type.String({ description: 'As sent: a text with two decimals.' }),
    currency: Type.String({ description: 'PHP.' }),
    merchantReferenceNumber: reference,
    createdAt: Timestamp('When it was made.'),
    expiresAt: Timestamp('From then on it cannot be paid any more.'),
    paidAt: Type.Optional(Timestamp('When the bank paid it.')),
    declineReason: Type.Optional(OneOf(qrDeclineReasons, 'Why the bank declined.')),
  },
  { examples: [paidCode] },
)

export type CreateQrPayment = Static<typeof CreateQrCode>
export type CreatedQrPayment = Static<typeof CreatedQrCode>
export type QrPayment = Static<typeof QrCode>

/** Area E's error. */
export const QrError = Closed({
  code: Type.String({ description: 'Eight digits; stable and machine-readable.' }),
  error: Type.String({ description: 'For people; do not branch on its wording.' }),
  referenceNumber: Type.String({
    format: 'uuid',
    description: 'Made for this error. When you ask for help, quote the header X-Correlation-Id.',
  }),
})

const encrypted = 'A compact JWE of JSON: A256KW and A256CBC-HS512, with the encryption key of the account.'
export const CreateQrCodeToken = Sealed(CreateQrCode, encrypted)
export const CreatedQrCodeToken = Sealed(CreatedQrCode, encrypted)
export const QrCodeToken = Sealed(QrCode, encrypted)
export const QrErrorToken = Sealed(QrError, encrypted)

/** Every code of the QR service and its HTTP status. */
export const qrErrors = {
  NO_AUTHORIZATION: 401,
  API_KEY_NOT_FOUND: 401,
  API_KEY_EXPIRED: 401,
  API_KEY_REVOKED: 401,
  API_KEY_SUSPENDED: 401,
  API_KEY_DELETED: 401,
  INVALID_API_KEY: 401,
  ACCOUNT_NOT_FOUND: 401,
  ACCOUNT_LOCKED: 403,
  ACCOUNT_NOT_ACTIVE: 403,
  UNAUTHORIZED_ACTION: 403,
  INSUFFICIENT_PERMISSIONS: 403,
  BAD_REQUEST: 400,
  TOKEN_REFUSED: 400,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  INVALID_REQUEST: 422,
  DUPLICATE_REFERENCE: 422,
  UNKNOWN_ACTIVATION_CODE: 422,
  AMOUNT_OUT_OF_RANGE: 422,
  UNSUPPORTED_CURRENCY: 422,
  CODE_NOT_FOUND: 404,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const
export type QrErrorCode = keyof typeof qrErrors

/** How the codes are written on the wire. */
export const qrWireCodes: Readonly<Record<QrErrorCode, string>> = {
  ACCOUNT_LOCKED: '10000001',
  ACCOUNT_NOT_ACTIVE: '10000002',
  ACCOUNT_NOT_FOUND: '10000003',
  API_KEY_NOT_FOUND: '10000006',
  API_KEY_EXPIRED: '10000008',
  API_KEY_REVOKED: '10000009',
  API_KEY_SUSPENDED: '10000010',
  API_KEY_DELETED: '10000011',
  UNAUTHORIZED_ACTION: '10000012',
  INVALID_API_KEY: '10000013',
  INSUFFICIENT_PERMISSIONS: '10000015',
  NO_AUTHORIZATION: '20000001',
  BAD_REQUEST: '20000002',
  INVALID_REQUEST: '20000002',
  CODE_NOT_FOUND: '20000004',
  DUPLICATE_REFERENCE: '20000005',
  UNKNOWN_ACTIVATION_CODE: '20000006',
  AMOUNT_OUT_OF_RANGE: '20000007',
  UNSUPPORTED_CURRENCY: '20000008',
  TOKEN_REFUSED: '20000009',
  NOT_FOUND: '20000010',
  METHOD_NOT_ALLOWED: '20000011',
  PAYLOAD_TOO_LARGE: '20000012',
  UNSUPPORTED_MEDIA_TYPE: '20000013',
  RATE_LIMITED: '20000014',
  INTERNAL_ERROR: '50000000',
  UNAVAILABLE: '50000001',
}

/** What a 401 of area E asks for (RFC 7617): clients such as Java's send their key only when they are asked. */
export const qrChallenge = 'Basic realm="Kaha", charset="UTF-8"'

/** Refusals of requests that were authenticated and read: they come as a Token. */
export const qrSealedCodes: readonly QrErrorCode[] = [
  'INVALID_REQUEST',
  'DUPLICATE_REFERENCE',
  'UNKNOWN_ACTIVATION_CODE',
  'AMOUNT_OUT_OF_RANGE',
  'UNSUPPORTED_CURRENCY',
  'CODE_NOT_FOUND',
]

export const createQrCode = operation({
  id: 'createQrCode',
  area: 'qr',
  method: 'POST',
  path: '/qr/v1/pay/qr',
  summary: 'Create a code',
  description:
    'Makes a QR Ph code for one payment of an exact amount, as a text and as a picture. A merchantReferenceNumber makes one code; a creation that was declined uses none up.',
  auth: 'basic',
  scope: 'qr.create',
  body: CreateQrCodeToken,
  success: { 200: { description: 'The code.', schema: CreatedQrCodeToken, example: token } },
  errors: [
    'BAD_REQUEST',
    'TOKEN_REFUSED',
    'INVALID_REQUEST',
    'DUPLICATE_REFERENCE',
    'UNKNOWN_ACTIVATION_CODE',
    'AMOUNT_OUT_OF_RANGE',
    'UNSUPPORTED_CURRENCY',
  ],
  example: token,
})

export const findQrCode = operation({
  id: 'findQrCode',
  area: 'qr',
  method: 'GET',
  path: '/qr/v1/pay/qr',
  summary: 'Find a code by your reference',
  description: 'The code of a merchantReferenceNumber of the account, as it stands at this moment.',
  auth: 'basic',
  scope: 'qr.create',
  query: Closed({ merchantReferenceNumber: reference }),
  success: { 200: { description: 'The code.', schema: QrCodeToken, example: token } },
  errors: ['INVALID_REQUEST', 'CODE_NOT_FOUND'],
  exampleParameters: { merchantReferenceNumber: 'ORDER-1001' },
})

export const retrieveQrCode = operation({
  id: 'retrieveQrCode',
  area: 'qr',
  method: 'GET',
  path: '/qr/v1/pay/qr/{id}',
  summary: 'Retrieve a code',
  description: 'A code of the account, as it stands at this moment. Its expiry is exact.',
  auth: 'basic',
  scope: 'qr.create',
  params: ById,
  success: { 200: { description: 'The code.', schema: QrCodeToken, example: token } },
  errors: ['BAD_REQUEST', 'INVALID_REQUEST', 'CODE_NOT_FOUND'],
  exampleParameters: { id: exampleIds.code },
})

export const pingQr = operation({
  id: 'pingQr',
  area: 'qr',
  method: 'GET',
  path: '/qr/ping',
  summary: 'Ask whether the service is there',
  description: 'Answers with a text.',
  auth: 'none',
  success: { 200: { description: 'It is.', schema: Type.Literal('Pong!'), text: true, example: 'Pong!' } },
  errors: ['BAD_REQUEST'],
})

export const qrOperations = { createQrCode, findQrCode, retrieveQrCode, pingQr } as const
