import type { BankPayment, PayAsBank, SandboxCode } from '@kaha/contract'
import { readQrPh } from '@kaha/qrph'
import type { Static } from 'typebox'
import { Fault } from '../kernel/fault.ts'
import { randomText } from '../kernel/ids.ts'

/** Where a bank's answers to codes are taken, seen from here. */
export interface CodeBank {
  answer(
    partnerId: string,
    answer: {
      readonly text: string
      readonly event: 'paid' | 'declined' | 'expires'
      readonly amount?: bigint
      readonly bankReference: string
    },
  ): Promise<
    | {
        readonly code: {
          readonly id: string
          readonly state: 'PENDING' | 'PAID' | 'DECLINED' | 'EXPIRED'
          readonly stateAt: Date
          readonly reference: string
          readonly amount: bigint
          readonly currency: string
        }
      }
    | {
        readonly refusal: {
          readonly why: 'malformed' | 'foreign' | 'unknown' | 'final' | 'amount'
          readonly message: string
          readonly rule: string
        }
      }
  >
}

const events = { SUCCESS: 'paid', DECLINED: 'declined', EXPIRED: 'expires' } as const
const refusals: Readonly<Record<string, readonly [code: SandboxCode, field: string]>> = {
  malformed: ['MALFORMED_CODE', 'qr_text'],
  foreign: ['FOREIGN_CODE', 'qr_text'],
  unknown: ['NOT_FOUND', 'qr_text'],
  final: ['CODE_FINAL', 'qr_text'],
  amount: ['AMOUNT_MISMATCH', 'amount'],
}
const digits = '0123456789'
const referenceDigits = 12

/** The payer's bank: what a bank app would do with a code, and what it would show. */
export function bankApp(codes: CodeBank) {
  return {
    async pay(
      partnerId: string,
      { qr_text: text, outcome, amount }: Static<typeof PayAsBank>,
    ): Promise<Static<typeof BankPayment>> {
      const bankReference = randomText(referenceDigits, digits)
      const given = amount === undefined ? {} : { amount: BigInt(amount) }
      const answered = await codes.answer(partnerId, { text, event: events[outcome], ...given, bankReference })
      if ('refusal' in answered) {
        const { why, message, rule } = answered.refusal
        const [code, field] = refusals[why] ?? ['MALFORMED_CODE', 'qr_text']
        throw new Fault(code, message, { field, rule })
      }
      const { id, state, stateAt, reference, currency, amount: paid } = answered.code
      const read = readQrPh(text)
      const { name, city } = 'code' in read ? read.code : { name: '', city: '' }
      return {
        id,
        status: state,
        amount: Number(paid),
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
