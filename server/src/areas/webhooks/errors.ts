import { webhooksErrors, type WebhooksCode } from '@kaha/contract'
import { Fault } from '../../kernel/fault.ts'

/** Code to status, exhaustively: a code that the contract does not list does not compile. */
export const statuses: Readonly<Record<WebhooksCode, number>> = webhooksErrors

/** A refusal with one of this area's codes. */
export const refuse = (code: WebhooksCode, message: string): Fault => new Fault(code, message)

export const notOfThisList = (): Fault =>
  refuse('INVALID_CURSOR', 'cursor: is not one of this list with these filters; start again without it.')
