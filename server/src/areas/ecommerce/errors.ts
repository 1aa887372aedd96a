import { ecommerceErrors, type EcommerceCode } from '@kaha/contract'
import { Fault } from '../../kernel/fault.ts'

/** Code to status, exhaustively: a code that the contract does not list does not compile. */
export const statuses: Readonly<Record<EcommerceCode, number>> = ecommerceErrors

/** A refusal with one of this area's codes. */
export const refuse = (code: EcommerceCode, message: string, field?: string, rule?: string): Fault =>
  new Fault(code, message, { ...(field === undefined ? {} : { field }), ...(rule === undefined ? {} : { rule }) })

export const notOfThisList = (): Fault =>
  refuse(
    'INVALID_CURSOR',
    'cursor: is not one of this list with these filters; start again without it.',
    'cursor',
    'known',
  )
