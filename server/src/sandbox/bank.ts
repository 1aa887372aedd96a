import type { BankCode, BankPayment, SandboxCode } from '@kaha/contract'
import { readQrPh, type QrPhCode } from '@kaha/qrph'
import type { Static } from 'typebox'
import { Fault } from '../kernel/fault.ts'
import { randomText } from '../kernel/ids.ts'
import { currencyOf, minorToNumber } from '../kernel/money.ts'
import type { CodeAtBank } from '../payments/codes.ts'
import type { Pictures } from './pictures.ts'

interface BankRefusal {
  readonly why: 'malformed' | 'foreign' | 'unknown' | 'final' | 'amount'
  readonly message: string
  readonly rule: string
}

/** What is shown of a code before it is paid. */
export interface Reading {
  readonly code: QrPhCode
  /** The code that was made here, as it stands. */
  readonly made?: CodeAtBank
  /** Why a payment would change nothing. */
  readonly refusal?: BankRefusal
}

/** Where a bank's answers to codes are taken, seen from here. */
export interface CodeBank {
  /** A partner's codes, or everybody's. */
  read(partnerId: string | null, text: string): Promise<Reading | { readonly refusal: BankRefusal }>
  answer(
    partnerId: string,
    answer: {
      readonly text: string
      readonly event: 'paid' | 'declined' | 'expires'
      readonly amount?: bigint
      readonly bankReference: string
    },
  ): Promise<{ readonly code: CodeAtBank } | { readonly refusal: BankRefusal }>
}

export const outcomes = ['SUCCESS', 'DECLINED', 'EXPIRED'] as const
export type Outcome = (typeof outcomes)[number]

const events = { SUCCESS: 'paid', DECLINED: 'declined', EXPIRED: 'expires' } as const
const refusals = {
  malformed: ['MALFORMED_CODE', 'qr_text'],
  foreign: ['FOREIGN_CODE', 'qr_text'],
  unknown: ['NOT_FOUND', 'qr_text'],
  final: ['CODE_FINAL', 'qr_text'],
  amount: ['AMOUNT_MISMATCH', 'amount'],
} as const satisfies Readonly<Record<BankRefusal['why'], readonly [code: SandboxCode, field: string]>>

const faultOf = ({ why, message, rule }: BankRefusal): Fault => {
  const [code, field] = refusals[why]
  return new Fault(code, message, { field, rule })
}

const digits = '0123456789'
const referenceDigits = 12

export type BankApp = ReturnType<typeof bankApp>

/** The payer's bank: what a bank app would do with a code, and what it would show. Whatever is refused throws a Fault of the sandbox. */
export function bankApp(codes: CodeBank, pictures: Pictures) {
  return {
    /** The text of the code in a picture. Throws UNREADABLE_IMAGE with the rule that it breaks. */
    async scan(picture: Uint8Array, field = 'qr_image'): Promise<string> {
      const read = await pictures.read(picture)
      if ('text' in read) return read.text
      const { reason, message } = read.refusal
      throw new Fault('UNREADABLE_IMAGE', message, { field, rule: reason })
    },

    /** The text of a request that has it, or a picture of it in Base64. */
    async textOf({ qr_text: text, qr_image: image }: { qr_text?: string; qr_image?: string }): Promise<string> {
      if (text !== undefined && image === undefined) return text
      if (image?.startsWith('data:') === true)
        throw new Fault('BAD_REQUEST', 'qr_image: send the Base64 alone, without the data:…, before it.', {
          field: 'qr_image',
          rule: 'format',
        })
      if (image !== undefined && text === undefined) return this.scan(Buffer.from(image, 'base64'))
      const broken = { field: 'qr_text', rule: 'either_text_or_image' }
      throw new Fault('BAD_REQUEST', 'Send either qr_text or qr_image.', broken)
    },

    /** Throws MALFORMED_CODE for a text that no bank app could make anything of. */
    async read(partnerId: string | null, text: string): Promise<Reading> {
      const read = await codes.read(partnerId, text)
      if (!('code' in read)) throw faultOf(read.refusal)
      return read
    },

    async pay(
      partnerId: string,
      { text, outcome, amount }: { text: string; outcome: Outcome; amount?: number },
    ): Promise<Static<typeof BankPayment>> {
      const bankReference = randomText(referenceDigits, digits)
      const given = amount === undefined ? {} : { amount: BigInt(amount) }
      const answered = await codes.answer(partnerId, { text, event: events[outcome], ...given, bankReference })
      if ('refusal' in answered) throw faultOf(answered.refusal)
      const { id, state, stateAt, reference, currency, amount: paid } = answered.code
      const read = readQrPh(text)
      const { name, city } = 'code' in read ? read.code : { name: '', city: '' }
      return {
        id,
        status: state,
        amount: minorToNumber(paid),
        currency,
        merchant_name: name,
        merchant_city: city,
        merchant_reference_number: reference,
        bank_reference: bankReference,
        at: stateAt.toISOString(),
      }
    },
  }
}

const peso = 'PHP'

/** PHP, or the three digits of another currency: no merchant's code of QR Ph has one. */
export const currencyIn = ({ currency }: QrPhCode): string => (currency === currencyOf(peso)?.numeric ? peso : currency)

export function presentReading({ code, made, refusal }: Reading, text: string): Static<typeof BankCode> {
  return {
    qr_text: text,
    pays: code.pays,
    bank: code.acquirer,
    payee_name: code.name,
    payee_city: code.city,
    amount: code.amount,
    currency: currencyIn(code),
    reference: code.reference,
    ...(made === undefined
      ? {}
      : {
          status: made.state,
          merchant_reference_number: made.reference,
          expires_at: made.expiresAt.toISOString(),
        }),
    ...(refusal === undefined || refusal.why === 'malformed'
      ? {}
      : { refusal: { code: refusals[refusal.why][0], rule: refusal.rule, message: refusal.message } }),
  }
}
