import { qrErrors, type QrErrorCode, type QrWebhookCode } from '@kaha/contract'
import { Fault } from '../../kernel/fault.ts'

/** Code to status, exhaustively: a code that the contract does not list does not compile. */
export const statuses: Readonly<Record<QrErrorCode, number>> = qrErrors

/** A refusal with one of the codes of the service of codes. */
export const refuse = (code: QrErrorCode, message: string): Fault => new Fault(code, message)

/** The same with those of the service of webhooks. */
export const refuseWebhook = (code: QrWebhookCode, message: string): Fault => new Fault(code, message)
