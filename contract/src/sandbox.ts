import Type, { type Static } from 'typebox'
import { exampleIds } from './example-ids.ts'
import { operation } from './operation.ts'
import { Amount, Closed, OneOf, Text, Timestamp, Uuid } from './primitives.ts'
import { codeText } from './qr-examples.ts'
import { qrCodeStatuses } from './qr.ts'

export const SandboxClock = Closed({
  now: Timestamp('Business time.'),
  offset_seconds: Type.Number({ description: 'How far business time is ahead of system time.' }),
})

/** Ten years of any decade, with its three leap days. */
export const clockStepSecondsMax = 3_653 * 86_400

export const AdvanceClock = Closed({
  seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: clockStepSecondsMax,
      description: 'How far to go, in seconds (ten years at most).',
    }),
  ),
  to: Type.Optional(Timestamp('The time to go to; not before now, and ten years from now at most.')),
})

const imageBytesMax = 8 * 1024 * 1024
// A picture as Base64, and what is around it.
const bankBodyBytesMax = 4 * Math.ceil(imageBytesMax / 3) + 64 * 1024

const scanned = {
  qr_text: Type.Optional(Text(2_048, 'The text of a QR Ph code, as a bank app reads it from the picture.')),
  qr_image: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: bankBodyBytesMax,
      contentEncoding: 'base64',
      description:
        'Instead: a picture of the code, PNG or JPEG, 8 MiB and 16 million pixels at most, as Base64. `qrBody` is one.',
    }),
  ),
}

export const ReadAsBank = Closed(scanned)

export const BankCode = Closed({
  qr_text: Type.String({ description: 'What stands in the code.' }),
  pays: OneOf(['merchant', 'person'], 'Whom the code pays.'),
  bank: Type.String({ description: 'The BIC of the bank that receives the money.' }),
  payee_name: Type.String({ description: 'Whom a bank app shows as paid.' }),
  payee_city: Type.String(),
  amount: Type.Union([Type.String(), Type.Null()], {
    description: 'As the code says it, a plain decimal; null where the payer chooses.',
  }),
  currency: Type.String({ description: 'PHP; the three digits of ISO 4217 where the code says another.' }),
  reference: Type.Union([Type.String(), Type.Null()], { description: "The code's own reference." }),
  status: Type.Optional(OneOf(qrCodeStatuses, 'How a code of this sandbox stands.')),
  merchant_reference_number: Type.Optional(Type.String({ description: "The merchant's name for the payment." })),
  expires_at: Type.Optional(Timestamp('From then on it cannot be paid any more.')),
  refusal: Type.Optional(
    Closed({
      code: OneOf(
        ['FOREIGN_CODE', 'NOT_FOUND', 'CODE_FINAL', 'AMOUNT_MISMATCH'],
        'What a payment would be refused with.',
      ),
      rule: Type.String({ description: 'The reason in a word.' }),
      message: Type.String({ description: 'For a person.' }),
    }),
  ),
})

export const PayAsBank = Closed({
  ...scanned,
  outcome: OneOf(
    ['SUCCESS', 'DECLINED', 'EXPIRED'],
    "What the payer's bank does: pays, declines, or lets the time of the code run out.",
  ),
  amount: Type.Optional(Amount('Of a payment: what the bank takes. What the code says when absent.')),
})

export const BankPayment = Closed({
  id: Uuid('The code.'),
  status: OneOf(qrCodeStatuses, 'How it stands now.'),
  amount: Type.Integer({ description: 'In minor units.' }),
  currency: Type.String(),
  merchant_name: Type.String({ description: 'Whom a bank app shows as paid.' }),
  merchant_city: Type.String(),
  merchant_reference_number: Type.String({ description: "The merchant's name for the payment." }),
  bank_reference: Type.String({ description: "The bank's name for what it did." }),
  at: Timestamp('When the status was reached.'),
})

/** Every code of the sandbox controls and its HTTP status. */
export const sandboxErrors = {
  BAD_REQUEST: 400,
  INVALID_SECONDS: 400,
  INVALID_TO: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  DEVICE_ID_IN_USE: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  MISDIRECTED_REQUEST: 421,
  UNREADABLE_IMAGE: 422,
  MALFORMED_CODE: 422,
  FOREIGN_CODE: 422,
  CODE_FINAL: 422,
  AMOUNT_MISMATCH: 422,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const
export type SandboxCode = keyof typeof sandboxErrors

const read: Static<typeof BankCode> = {
  qr_text: codeText,
  pays: 'merchant',
  bank: 'TESTPHM1XXX',
  payee_name: 'Kapihan ni Aling Nena',
  payee_city: 'MANILA',
  amount: '250.00',
  currency: 'PHP',
  reference: '03EKIY4S4NCEMV9EWOEV0MAYS',
  status: 'PENDING',
  merchant_reference_number: 'ORDER-1001',
  expires_at: '2026-01-15T10:45:00.000Z',
}
const paid: Static<typeof BankPayment> = {
  id: exampleIds.code,
  status: 'PAID',
  amount: 25_000,
  currency: 'PHP',
  merchant_name: 'Kapihan ni Aling Nena',
  merchant_city: 'MANILA',
  merchant_reference_number: 'ORDER-1001',
  bank_reference: '253979405688',
  at: '2026-01-15T10:31:00.000Z',
}

export const readSandboxClock = operation({
  id: 'readSandboxClock',
  area: 'sandbox',
  method: 'GET',
  path: '/sandbox/clock',
  summary: "Read the sandbox's clock",
  description: 'Business time: system time and an offset that only grows.',
  auth: 'partner_key',
  success: {
    200: {
      description: 'The clock.',
      schema: SandboxClock,
      example: { now: '2026-01-15T10:30:00.000Z', offset_seconds: 0 },
    },
  },
  errors: [],
})

export const advanceSandboxClock = operation({
  id: 'advanceSandboxClock',
  area: 'sandbox',
  method: 'POST',
  path: '/sandbox/clock/advance',
  summary: "Advance the sandbox's clock",
  description:
    'Moves business time forward by seconds, or to a time, runs everything that falls due on the way in its order, and answers when nothing is left to do. One that ends in 503 may have moved a part of the way: go on with what the message says, a `to`, or `seconds` of 0 where only work was left, which also goes on where that time has passed meanwhile. The same seconds again would lead too far.',
  auth: 'partner_key',
  body: AdvanceClock,
  success: {
    200: {
      description: 'The clock after the move.',
      schema: SandboxClock,
      example: { now: '2026-01-15T11:30:00.000Z', offset_seconds: 3_600 },
    },
  },
  errors: ['INVALID_SECONDS', 'INVALID_TO'],
  example: { seconds: 3600 },
})

const DeviceId = Type.String({
  pattern: '^sim-[a-z0-9-]{1,60}$',
  description: 'The name of its script, which may go on after a hyphen: sim-approve, sim-approve-2.',
})

export const VirtualTerminal = Closed({
  device_id: DeviceId,
  status: OneOf(['online', 'offline', 'stopped'], 'How it stands.'),
})

export const StartVirtualTerminal = Closed({ group_id: Uuid('The group of its merchant.'), device_id: DeviceId })

export const startVirtualTerminal = operation({
  id: 'startVirtualTerminal',
  area: 'sandbox',
  method: 'POST',
  path: '/sandbox/terminals',
  summary: 'Start a virtual terminal',
  description:
    'A terminal that plays a script, over the real protocol and with a key of its own: sim-approve, sim-decline, sim-cancel, sim-slow-80s, sim-silent, sim-offline, sim-drop-30s, sim-drop-75s, sim-dup-result, sim-late-success. It follows the clock of the sandbox, and runs until it is stopped or the server ends.',
  auth: 'partner_key',
  body: StartVirtualTerminal,
  success: {
    201: { description: 'It runs.', schema: VirtualTerminal, example: { device_id: 'sim-approve', status: 'online' } },
  },
  errors: ['DEVICE_ID_IN_USE'],
  example: { group_id: exampleIds.group, device_id: 'sim-approve' },
})

export const stopVirtualTerminal = operation({
  id: 'stopVirtualTerminal',
  area: 'sandbox',
  method: 'DELETE',
  path: '/sandbox/terminals/{device_id}',
  summary: 'Stop a virtual terminal',
  description:
    'It says goodbye, in each group that has one of this id. One that does not run stays so; a device id of no script is 404.',
  auth: 'partner_key',
  params: Closed({ device_id: DeviceId }),
  success: {
    200: {
      description: 'It is stopped.',
      schema: VirtualTerminal,
      example: { device_id: 'sim-approve', status: 'stopped' },
    },
  },
  errors: [],
  exampleParameters: { device_id: 'sim-approve' },
})

export const readAsBank = operation({
  id: 'readAsBank',
  area: 'sandbox',
  method: 'POST',
  path: '/sandbox/bank/read',
  summary: 'Read a code as a bank app would',
  description:
    'What a bank app shows of a code before it pays: from its text, or from a picture of it. Any QR Ph code is read; what could not be paid here comes with the reason.',
  auth: 'partner_key',
  body: ReadAsBank,
  bodyBytesMax: bankBodyBytesMax,
  success: { 200: { description: 'The code.', schema: BankCode, example: read } },
  errors: ['UNREADABLE_IMAGE', 'MALFORMED_CODE'],
  example: { qr_text: codeText },
})

export const payAsBank = operation({
  id: 'payAsBank',
  area: 'sandbox',
  method: 'POST',
  path: '/sandbox/bank/pay',
  summary: 'Pay a code as a bank would',
  description:
    'The bank app of the sandbox: reads any QR Ph code, from its text or from a picture, and pays, declines or lets expire what is a code of this sandbox. A real code of a real bank is recognised and refused. A code has one outcome: a payment that comes after it is refused and recorded as unmatched money.',
  auth: 'partner_key',
  body: PayAsBank,
  bodyBytesMax: bankBodyBytesMax,
  success: { 200: { description: 'The code after that.', schema: BankPayment, example: paid } },
  errors: ['UNREADABLE_IMAGE', 'MALFORMED_CODE', 'FOREIGN_CODE', 'CODE_FINAL', 'AMOUNT_MISMATCH'],
  example: { qr_text: codeText, outcome: 'SUCCESS' },
})

export const sandboxOperations = {
  readSandboxClock,
  advanceSandboxClock,
  startVirtualTerminal,
  stopVirtualTerminal,
  readAsBank,
  payAsBank,
} as const
