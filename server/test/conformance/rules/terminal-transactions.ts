import { built, joined } from './rule.ts'

/** What a terminal's result must be, and the life of a terminal transaction. */
export const terminalTransactions = joined(
  built({
    'D5.result.own-terminal': 'a result counts only from the terminal that the payment was sent to',
    'D5.result.foreign': 'a result from another terminal is Forbidden, kept, and brought before an operator',
    'D5.result.further-approval':
      'another approval of a payment that was completed or voided changes nothing, and is brought before an operator',
    'D5.result.request-fields': 'amount, currency, paymentMethod and metadata of every answer are those of the request',
    'D5.result.amount-mismatch':
      'a SUCCESS with another amount or currency is VOIDED, the caller gets 200 FAILED with AMOUNT_MISMATCH, and the webhook is payment.failed',
    'D5.result.malformed':
      'a SUCCESS without authorizationCode, or a malformed result, is an error to the terminal, changes nothing and alerts an operator',
    'D5.result.pending': 'a result with status PENDING means that the terminal is still working',
    'D5.result.unknown': 'UNKNOWN counts only as the answer to a question on the present connection',
    'D5.machine.none.unknown-terminal': 'none, terminal unknown: 404 TERMINAL_NOT_FOUND and no transaction',
    'D5.machine.none.offline': 'none, terminal offline or reconnecting: 503 TERMINAL_OFFLINE and no transaction',
    'D5.machine.none.busy': 'none, terminal busy: 409 PAYMENT_IN_PROGRESS and no transaction',
    'D5.machine.none.accepted':
      'none, accepted: PENDING, committed before anything is sent, and the caller waits up to 90 s',
    'D5.machine.pending.not-reached':
      'PENDING, known not to have reached the terminal: FAILED, 502 TERMINAL_CONNECTION_ERROR, payment.failed',
    'D5.machine.pending.success': 'PENDING, SUCCESS, not given up: COMPLETED, 200, payment.completed',
    'D5.machine.pending.failed': 'PENDING, FAILED, not given up: FAILED, 200, payment.failed',
    'D5.machine.pending.cancelled': 'PENDING, CANCELLED, not given up: CANCELLED, 200, payment.cancelled',
    'D5.machine.pending.lost':
      'PENDING, socket lost or arrival unknowable: AWAITING_RECONNECT, mark kept, the caller waits on',
    'D5.machine.awaiting.back': 'AWAITING_RECONNECT, back and still working: PENDING, mark kept, the caller waits on',
    'D5.machine.awaiting.success':
      'AWAITING_RECONNECT, back with SUCCESS, not given up: COMPLETED, 200, payment.completed',
    'D5.machine.awaiting.failed': 'AWAITING_RECONNECT, back with FAILED, not given up: FAILED, 200, payment.failed',
    'D5.machine.awaiting.cancelled':
      'AWAITING_RECONNECT, back with CANCELLED, not given up: CANCELLED, 200, payment.cancelled',
    'D5.machine.open.unknown':
      'open, the terminal has no record: FAILED with TERMINAL_LOST_PAYMENT, payment.failed if no webhook was sent',
    'D5.machine.awaiting.grace':
      'AWAITING_RECONNECT, 60 s since the loss: unchanged, given up, 502 TERMINAL_CONNECTION_ERROR',
    'D5.machine.open.timeout':
      'open, 90 s since the start: unchanged, given up, 504 TIMEOUT, payment.timeout, and the terminal is told to cancel',
    'D5.machine.given-up.failed': 'open and given up, FAILED: FAILED, payment.failed if no webhook was sent',
    'D5.machine.given-up.cancelled':
      'open and given up, CANCELLED: CANCELLED, payment.cancelled if no webhook was sent',
    'D5.machine.given-up.success':
      'open and given up, SUCCESS: VOIDED with voidedAt and a voidReason that says late, payment.timeout at 90 s if no webhook was sent, paymentVoided is pushed',
    'D5.machine.given-up.no-result': 'open and given up, 24 h without a result: FAILED with NO_RESULT',
    'D5.machine.ended.success':
      'FAILED or CANCELLED, a SUCCESS that is late or contradicts: VOIDED, paymentVoided is pushed',
    'D5.machine.ended.other': 'FAILED or CANCELLED, any other result: unchanged and logged',
    'D5.machine.pending.cancel':
      'PENDING, cancel: unchanged, cancelPayment is sent, the result of the terminal decides',
    'D5.machine.awaiting.cancel':
      'AWAITING_RECONNECT, cancel: unchanged, cancelPayment is sent when the terminal is back',
    'D5.machine.completed.void':
      'COMPLETED, void that the terminal confirms within 30 s or later: VOIDED, success, paymentVoided is pushed',
    'D5.machine.completed.void-refused':
      'COMPLETED, void that the terminal refuses: COMPLETED, success false with TERMINAL_REFUSED or its own error',
    'D5.machine.completed.void-silent': 'COMPLETED, void without an answer: COMPLETED, success false with TIMEOUT',
    'D5.machine.completed.void-offline':
      'COMPLETED, void while the terminal is offline: COMPLETED, success false with TERMINAL_OFFLINE',
    'D5.machine.completed.voided-at-terminal':
      'COMPLETED, a void that nobody asked for: VOIDED with its reason, paymentVoided is pushed',
    'D5.machine.open.voided-at-terminal':
      'open, a void that the terminal reports before its result: unchanged, INVALID_REQUEST',
    'D5.machine.voided.void': 'VOIDED, void: the same void result again',
    'D5.machine.voided.void-automatic':
      'VOIDED automatically, void: success false with PENDING_CONFIRMATION until the terminal has confirmed',
    'D5.machine.other.void': 'any other state, void: unchanged, success false with an error',
    'D5.machine.other.cancel': 'any other state, cancel: unchanged, 409 INVALID_TRANSACTION_STATE',
    'D5.machine.final.result': 'COMPLETED or VOIDED, any further result: unchanged and logged',
    'D5.machine.any.same-result': 'any state, the same result again: unchanged and logged',
    'D5.given-up.sticky': 'once a payment was given up it stays so, and its money is never kept',
    'D5.grace.from-notice': 'the 60 s count from the moment when the platform noticed the latest loss',
    'D5.void.joins': 'a second void joins the one that runs',
    'D5.void.asked-again':
      'a void that was written and not answered is asked again on each reconnect and by timer for 24 h',
    'D5.void.late-success': 'a success that answers such a void late still counts',
    'D5.void.offline-dropped': 'a void that found the terminal offline was never sent and is dropped',
    'D5.auto-void.told':
      'an automatic void is told to the terminal on every reconnect and by timer, from 30 s doubling to 15 min, until it answers',
    'D5.auto-void.alert': 'an automatic void that is refused, or not answered for 24 h, is brought before an operator',
    'D5.auto-void.not-received': 'money of an automatic void is never counted as received',
    'D5.busy.open':
      'a terminal with an open payment that is not given up, or was given up less than 2 minutes ago, is busy',
    'D5.busy.cancel-resent':
      'while it is busy with a given-up payment, cancelPayment is sent again every 30 s and on each reconnect',
    'D5.busy.free': 'after those 2 minutes a new payment may start, and every message names its transaction',
    'D5.given-up.webhook-mode': 'with webhookMode a payment is given up at the same moments',
  }),
)
