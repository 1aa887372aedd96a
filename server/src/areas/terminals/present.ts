import type {
  TerminalInfo,
  TerminalPaymentResponse,
  TerminalTransaction,
  TerminalsError,
  TerminalWebhook,
  VoidResult,
} from '@kaha/contract'
import type { Static } from 'typebox'
import type { DestinationRow } from '../../delivery/index.ts'
import type { Refusal } from '../../kernel/http/area.ts'
import { ulidOf } from '../../kernel/ids.ts'
import { parseAsWritten } from '../../kernel/json-digits.ts'
import { whenPresent } from '../../kernel/when-present.ts'
import { receiptOf } from './course.ts'
import { refuse } from './errors.ts'
import { isOpen, type GivenUp } from './machine.ts'
import type { Voided } from './service.ts'
import type { TerminalRow } from './store-connections.ts'
import type { TransactionRow } from './store-transactions.ts'

type Request = TerminalTransaction['request']

/** The request as it was sent: numbers of its metadata are those numbers, whatever they are. */
export const requestOf = (row: TransactionRow) => parseAsWritten(row.request) as Request

/** A refusal as area D shows it. */
export const presentError = (
  { code, message, field, rule }: Pick<Refusal, 'code' | 'message' | 'field' | 'rule'>,
  at: Date,
  requestId: string,
): Static<typeof TerminalsError> => ({
  error: { code, message, details: field === undefined || rule === undefined ? null : { field, rule } },
  timestamp: at.toISOString(),
  requestId,
})

export const presentTerminal = (row: TerminalRow): TerminalInfo => ({
  connectionId: row.connection_id,
  terminalId: row.device_id ?? row.connection_id,
  ...whenPresent('deviceId', row.device_id),
  connectedAt: row.connected_at.toISOString(),
  lastActivity: row.last_activity_at.toISOString(),
  status: row.status,
  ...whenPresent('metadata', row.metadata === null ? null : (JSON.parse(row.metadata) as Record<string, unknown>)),
})

/** What every answer about a payment has of its request. */
function echo(row: TransactionRow, { amount, currency, paymentMethod, metadata } = requestOf(row)) {
  return { transactionId: row.transaction_id, amount, currency, paymentMethod, ...whenPresent('metadata', metadata) }
}

const failed = (row: TransactionRow, errorCode: string, errorMessage: string): TerminalPaymentResponse => ({
  ...echo(row),
  status: 'FAILED',
  errorCode,
  errorMessage,
  timestamp: row.updated_at.toISOString(),
})

export const givenUpMessages: Readonly<Record<GivenUp, string>> = {
  TIMEOUT: 'The terminal gave no result within 90 seconds. If it approves later, that is voided.',
  TERMINAL_CONNECTION_ERROR: 'The line of the terminal was lost for 60 seconds. If it approves later, that is voided.',
}

/** The payment as its outcome stands, whatever became of it later; undefined while there is none. */
function presentOutcome(row: TransactionRow, request = requestOf(row)): TerminalPaymentResponse | undefined {
  if (row.outcome === null || row.outcome_at === null)
    return row.void_cause === 'late' && row.given_up !== null
      ? failed(row, row.given_up, givenUpMessages[row.given_up])
      : undefined
  return {
    ...echo(row, request),
    status: row.outcome,
    ...whenPresent('authorizationCode', row.authorization_code),
    ...whenPresent('errorCode', row.error_code),
    ...whenPresent('errorMessage', row.error_message),
    ...whenPresent('receiptData', receiptOf(row)),
    timestamp: row.outcome_at.toISOString(),
  }
}

const pending = (row: TransactionRow): TerminalPaymentResponse => ({
  ...echo(row),
  status: 'PENDING',
  timestamp: row.updated_at.toISOString(),
})

/** What a push tells: no SUCCESS once the payment is voided. */
export function presentNow(row: TransactionRow): TerminalPaymentResponse {
  if (row.state === 'VOIDED' && row.void_cause === 'confirmed') return failed(row, 'VOIDED', 'The payment was voided.')
  return presentOutcome(row) ?? pending(row)
}

/**
 * What the call that pays is given, also when it is repeated: a repeat never shows SUCCESS for a payment that is voided. Throws what the first
 * caller was told where that was an error.
 */
export function presentPayment(row: TransactionRow): TerminalPaymentResponse {
  const wasGivenUp = row.given_up !== null && (isOpen(row.state) || row.state === 'VOIDED')
  if (wasGivenUp && row.given_up !== null) throw refuse(row.given_up, givenUpMessages[row.given_up])
  if (row.our_code === 'TERMINAL_CONNECTION_ERROR')
    throw refuse('TERMINAL_CONNECTION_ERROR', 'The terminal was not reached; nothing was charged.')
  return presentNow(row)
}

export function presentTransaction(row: TransactionRow, now: Date): TerminalTransaction {
  const request = requestOf(row)
  return {
    transactionId: row.transaction_id,
    status: row.state,
    request,
    ...whenPresent('response', presentOutcome(row, request)),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    ...whenPresent('completedAt', row.ended_at?.toISOString()),
    ...whenPresent('terminalDeviceId', row.device_id),
    ...whenPresent('voidedAt', row.voided_at?.toISOString()),
    ...whenPresent('voidReason', row.state === 'VOIDED' ? row.void_reason : null),
    timestamp: now.toISOString(),
  }
}

export const presentVoid = ({ success, row, reason, error }: Voided): VoidResult => ({
  success,
  transactionId: row.transaction_id,
  reason,
  ...whenPresent('voidedAt', success ? row.voided_at?.toISOString() : null),
  ...whenPresent('error', error),
})

export const presentWebhook = (row: DestinationRow): TerminalWebhook => ({
  endpointId: `wh_${ulidOf(row.id)}`,
  url: row.url,
  events: row.types as TerminalWebhook['events'],
  ...whenPresent('description', row.description),
  status: row.state === 'ENABLED' ? 'active' : 'disabled',
  ...(Object.keys(row.metadata).length === 0 ? {} : { metadata: row.metadata }),
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})
