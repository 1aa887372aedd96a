import { qrErrors, type QrErrorCode } from '@kaha/contract'
import { Fault } from '../../kernel/fault.ts'

/** Code to status, exhaustively: a code that the contract does not list does not compile. */
export const statuses: Readonly<Record<QrErrorCode, number>> = qrErrors

/** A refusal with one of this area's codes. */
export const refuse = (code: QrErrorCode, message: string): Fault => new Fault(code, message)
