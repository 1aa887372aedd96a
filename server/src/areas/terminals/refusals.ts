import { Fault } from '../../kernel/fault.ts'

/** What this area refuses with, beside the codes of every edge. */
export type Refusal =
  | 'INVALID_REQUEST'
  | 'INVALID_AMOUNT'
  | 'NO_WEBHOOK_ENDPOINTS'
  | 'UNAUTHORIZED'
  | 'INVALID_SIGNATURE'
  | 'TIMESTAMP_EXPIRED'
  | 'GROUP_MISMATCH'
  | 'TERMINAL_NOT_FOUND'
  | 'TRANSACTION_NOT_FOUND'
  | 'PAYMENT_IN_PROGRESS'
  | 'TRANSACTION_CONFLICT'
  | 'INVALID_TRANSACTION_STATE'
  | 'ENDPOINT_LIMIT_REACHED'
  | 'TERMINAL_CONNECTION_ERROR'
  | 'TERMINAL_OFFLINE'
  | 'TIMEOUT'

export const refuse = (code: Refusal, message: string, field?: string, rule?: string): Fault =>
  new Fault(code, message, { ...(field === undefined ? {} : { field }), ...(rule === undefined ? {} : { rule }) })

/** Of a terminal that is another group's; over a socket it is told in other words. */
export const terminalOfAnother = 'This terminal belongs to another group.'

/** What a connection is told that was dismissed: another has its place, or it must come anew. */
export const notConnected = (): Fault => new Fault('NOT_FOUND', 'Connection not found')
