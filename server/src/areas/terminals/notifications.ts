import type { KeyObject } from 'node:crypto'
import type { TerminalWebhookPayload, TerminalWebhookPing } from '@kaha/contract'
import { signed, signedMessage, type Dialect, type Prepared } from '../../delivery/dialects.ts'
import type { NewEvent } from '../../delivery/index.ts'
import type { Clock } from '../../kernel/clock.ts'
import { newId, ulidOf } from '../../kernel/ids.ts'
import { minorToDecimal } from '../../kernel/money.ts'
import { receiptOf } from './course.ts'
import type { Announcement } from './machine.ts'
import { givenUpMessages, requestOf } from './present.ts'
import type { TransactionRow } from './store-transactions.ts'

/** An event as endpoints know it. */
const eventNameOf = (id: string): string => `evt_${ulidOf(id)}`

/** Area D signs, tries and judges as area A does, and has names of its own for events. */
export const terminalDialect: Dialect = {
  ...signed,
  prepare: (outgoing) => signedMessage(eventNameOf(outgoing.eventId), outgoing),
}

/** What a URL is asked with before it is taken. */
export function pingMessage(key: KeyObject, clock: Clock): Prepared {
  const at = clock.now()
  const eventId = eventNameOf(newId(at))
  const ping: TerminalWebhookPing = { eventType: 'ping', eventId, timestamp: at.toISOString() }
  return signedMessage(eventId, { body: JSON.stringify(ping), keys: [key], wallMs: clock.wall() })
}

const statusOf: Readonly<Record<Announcement, TerminalWebhookPayload['data']['status']>> = {
  'payment.completed': 'SUCCESS',
  'payment.failed': 'FAILED',
  'payment.cancelled': 'CANCELLED',
  'payment.timeout': 'TIMEOUT',
}

/** What is told of the end: of one that came in time what the terminal said, else that there was none. */
function endOf(row: TransactionRow, type: Announcement) {
  const receiptData = receiptOf(row)
  if (type === 'payment.timeout') return { errorCode: 'TIMEOUT', errorMessage: givenUpMessages.TIMEOUT }
  return {
    ...(type === 'payment.completed' && row.authorization_code !== null
      ? { authorizationCode: row.authorization_code }
      : {}),
    ...(row.error_code === null ? {} : { errorCode: row.error_code }),
    ...(row.error_message === null ? {} : { errorMessage: row.error_message }),
    ...(receiptData === null ? {} : { receiptData }),
  }
}

function payloadOf(id: string, row: TransactionRow, type: Announcement, at: Date): TerminalWebhookPayload {
  const { paymentMethod, metadata } = requestOf(row)
  return {
    eventType: type,
    eventId: eventNameOf(id),
    timestamp: at.toISOString(),
    data: {
      transactionId: row.transaction_id,
      status: statusOf[type],
      amount: minorToDecimal(row.amount, row.currency),
      currency: row.currency,
      paymentMethod,
      ...endOf(row, type),
      terminalId: row.device_id ?? row.addressed,
      ...(metadata === undefined ? {} : { metadata }),
    },
  }
}

/** What the endpoints of the group are told of a payment; to be written in the transaction that decides it. */
export function announcementOf(row: TransactionRow, type: Announcement, at: Date): NewEvent {
  const id = newId(at)
  return {
    id,
    dialect: 'terminal',
    type,
    partnerId: row.partner_id,
    merchantId: row.merchant_id,
    branchId: row.branch_id,
    groupId: row.group_id,
    paymentIntentId: null,
    paymentLinkId: null,
    body: JSON.stringify(payloadOf(id, row, type, at)),
    at,
  }
}
