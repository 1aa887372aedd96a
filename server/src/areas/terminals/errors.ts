import { terminalsErrors, type TerminalsCode } from '@kaha/contract'
import { Fault } from '../../kernel/fault.ts'

/** Code to status, exhaustively: a code that the contract does not list does not compile. */
export const statuses: Readonly<Record<TerminalsCode, number>> = terminalsErrors

/** A refusal with one of this area's codes. */
export const refuse = (code: TerminalsCode, message: string, field?: string, rule?: string): Fault =>
  new Fault(code, message, { ...(field === undefined ? {} : { field }), ...(rule === undefined ? {} : { rule }) })

/** Of a terminal that is another group's; over a socket it is told in other words. */
export const terminalOfAnother = 'This terminal belongs to another group.'

const connectionNotFound = 'Connection not found'

/** Of a connection that is none any more. It is told so where another has taken its place. */
export const notConnected = (): Fault => refuse('NOT_FOUND', connectionNotFound)
export const isNotConnected = (error: unknown): boolean =>
  error instanceof Fault && error.message === connectionNotFound

/** Of a payment whose id the caller's group has never had, and another group has. */
export const paymentOfAnother = (): Fault => refuse('GROUP_MISMATCH', 'This transaction belongs to another group.')

export const notOfThisList = (): Fault =>
  refuse('INVALID_REQUEST', 'cursor: is not one that this list gave for these filters.', 'cursor', 'known')
