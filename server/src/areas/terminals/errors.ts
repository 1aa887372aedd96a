import { terminalsErrors, type TerminalsCode } from '@kaha/contract'

/** Code to status, exhaustively: a code that the contract does not list does not compile. */
export const statuses: Readonly<Record<TerminalsCode, number>> = terminalsErrors
