import Type, { type Static } from 'typebox'
import { Nullable, OneOf, Timestamp } from './primitives.ts'
import { TerminalInfo, TerminalPaymentRequest, TerminalPaymentResponse, TransactionId } from './terminal-types.ts'

const id = Type.String({ minLength: 1, maxLength: 64, description: 'The name of the payment.' })
const terminalId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The device id of a terminal, or its connection id.',
})
const timestamp = Timestamp('The time of this message.')
const voidedAt = Timestamp('When it was voided.')
const named = Type.String({
  ...TransactionId,
  description: 'Your name for the payment, or the one that was made for it.',
})
const wholeMax = Number.MAX_SAFE_INTEGER
const requestId = Type.Optional(
  Type.Union(
    [
      Type.String({ minLength: 1, maxLength: 128 }),
      Type.Integer({ minimum: -wholeMax, maximum: wholeMax }),
      Type.Null(),
    ],
    { description: 'Yours: answers and errors to the message have it too.' },
  ),
)
const action = <const Name extends string>(name: Name) => Type.Unsafe<Name>({ type: 'string', const: name })

const pushed = { timestamp, groupId: Type.String({ description: 'The group.' }), version: action('v1') }
const requestIdBack = Type.Optional(
  Type.Union([Type.String(), Type.Integer()], { description: 'That of the message that this answers.' }),
)

/** A client that sends a longer frame is disconnected. */
export const terminalFrameBytesMax = 65_536

/** What a terminal need not say: it may leave it out, or send null. */
const Perhaps = () => Type.Optional(Nullable(Type.String({ maxLength: terminalFrameBytesMax })))

/** The same of a text that may be longer than what is kept of it. */
const PerhapsCut = (charactersKept: number, description = `The first ${charactersKept} characters are kept.`) =>
  Type.Optional(Nullable(Type.String({ maxLength: terminalFrameBytesMax, description })))

/** What a terminal may say and nobody reads: whatever stands there is no cause to refuse what is said beside it. */
const Unread = (description: string) => Type.Optional(Type.Unsafe<string | null>({ description }))
const requestIdOfTerminal = Unread('Yours: an error to the message has it too, where it is a text or a whole number.')

/**
 * What a terminal reports of a payment: read leniently, for what counts in it is looked at one by one. It tells of money, so it is not refused
 * for texts that are long: what fits into a frame is taken.
 */
export const ReportedPayment = Type.Object({
  transactionId: Type.Optional(
    Nullable(
      Type.String({ maxLength: terminalFrameBytesMax, description: 'That of the message, where it stands here too.' }),
    ),
  ),
  status: OneOf(['SUCCESS', 'FAILED', 'PENDING', 'CANCELLED'], 'What became of it.'),
  amount: Type.Optional(Type.Union([Type.String({ maxLength: 32 }), Type.Number(), Type.Null()])),
  currency: Perhaps(),
  paymentMethod: Unread('As the payment has it; left aside.'),
  authorizationCode: PerhapsCut(
    64,
    'Of one that has more than 64 characters the first 48 are kept, and 16 that tell it from others.',
  ),
  errorCode: PerhapsCut(64),
  errorMessage: Perhaps(),
  receiptData: Perhaps(),
})

/** One kind of message: who sends it, and its form. `Type.Object` takes more than it names; what we send has nothing else. */
export interface TerminalMessage {
  readonly from: 'desktop' | 'terminal' | 'any' | 'server'
  /** Of what the server sends: to whom. */
  readonly to?: 'desktop' | 'terminal' | 'any'
  readonly summary: string
  readonly schema: ReturnType<typeof Type.Object>
}

const message = <const M extends TerminalMessage>(declared: M): M => declared

/** What a client may send, by `action`. */
export const terminalRequests = {
  getTerminals: message({
    from: 'desktop',
    summary: 'Asks for the terminals of the group that are online or reconnecting.',
    schema: Type.Object({ action: action('getTerminals'), requestId }),
  }),
  payment: message({
    from: 'desktop',
    summary: 'Starts a payment at a terminal, under the rules and deadlines of the HTTP operation.',
    schema: Type.Object({ action: action('payment'), requestId, terminalId, paymentRequest: TerminalPaymentRequest }),
  }),
  cancelPayment: message({
    from: 'desktop',
    summary: 'Asks for the end of an open payment; the result of the terminal decides.',
    schema: Type.Object({ action: action('cancelPayment'), requestId, transactionId: named }),
  }),
  voidPayment: message({
    from: 'desktop',
    summary: 'Asks for a void of a completed payment.',
    schema: Type.Object({
      action: action('voidPayment'),
      requestId,
      transactionId: named,
      reason: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    }),
  }),
  ping: message({
    from: 'any',
    summary: 'Asks for a pong.',
    schema: Type.Object({ action: action('ping'), requestId }),
  }),
  paymentResponse: message({
    from: 'terminal',
    summary:
      'Reports the result of a payment. SUCCESS needs authorizationCode, amount and currency. Nothing answers one that was taken: the pong to a ping that is sent behind it says so. After an error UNAVAILABLE or INTERNAL_ERROR send it again. An error names it by its requestId alone.',
    schema: Type.Object({
      action: action('paymentResponse'),
      requestId: requestIdOfTerminal,
      transactionId: id,
      paymentResponse: ReportedPayment,
    }),
  }),
  paymentStatus: message({
    from: 'terminal',
    summary: 'Answers a paymentStatus. UNKNOWN: the terminal has no record of it, so nothing was charged.',
    schema: Type.Object({
      action: action('paymentStatus'),
      requestId: requestIdOfTerminal,
      transactionId: id,
      status: OneOf(['PENDING', 'UNKNOWN'], 'How it stands at the terminal.'),
    }),
  }),
  voidResult: message({
    from: 'terminal',
    summary: 'Reports what became of a void.',
    schema: Type.Object({
      action: action('voidResult'),
      requestId: requestIdOfTerminal,
      success: Type.Boolean(),
      transactionId: id,
      reason: PerhapsCut(255),
      voidedAt: Unread('When; left aside, for the time of the message counts.'),
      error: PerhapsCut(255),
    }),
  }),
} as const

/** What the server sends. */
export const terminalAnswers = {
  terminalsResponse: message({
    from: 'server',
    to: 'desktop',
    summary: 'The terminals; where they are more than one frame holds, in several frames.',
    schema: Type.Object({
      action: action('terminalsResponse'),
      requestId: requestIdBack,
      terminals: Type.Array(TerminalInfo),
      timestamp,
    }),
  }),
  paymentAccepted: message({
    from: 'server',
    to: 'desktop',
    summary:
      'The payment is taken, now or before. paymentComplete, paymentTimeout or paymentVoided follows, at once where it was asked for again and has ended.',
    schema: Type.Object({
      action: action('paymentAccepted'),
      requestId: requestIdBack,
      transactionId: id,
      terminalId,
      timestamp,
    }),
  }),
  cancelAccepted: message({
    from: 'server',
    to: 'desktop',
    summary: 'The terminal is asked to cancel, now or when it is back.',
    schema: Type.Object({ action: action('cancelAccepted'), requestId: requestIdBack, transactionId: id, timestamp }),
  }),
  voidResultToDesktop: message({
    from: 'server',
    to: 'desktop',
    summary: 'What became of a void.',
    schema: Type.Object({
      action: action('voidResult'),
      requestId: requestIdBack,
      success: Type.Boolean(),
      transactionId: id,
      reason: Type.String({ maxLength: 255 }),
      voidedAt: Type.Optional(voidedAt),
      error: Type.Optional(Type.String({ maxLength: 255 })),
    }),
  }),
  pong: message({
    from: 'server',
    to: 'any',
    summary: 'Answers a ping.',
    schema: Type.Object({ action: action('pong'), requestId: requestIdBack, timestamp }),
  }),
  error: message({
    from: 'server',
    to: 'any',
    summary: 'A message was refused.',
    schema: Type.Object({
      action: action('error'),
      requestId: requestIdBack,
      error: Type.String({ description: 'The name of the HTTP status, as in Bad Request.' }),
      message: Type.String({ description: 'For people.' }),
      code: Type.String({ description: 'The code of the HTTP API.' }),
      timestamp,
    }),
  }),
  paymentToTerminal: message({
    from: 'server',
    to: 'terminal',
    summary: 'A payment to make.',
    schema: Type.Object({
      action: action('payment'),
      transactionId: id,
      terminalId,
      connectionId: Type.String(),
      paymentRequest: TerminalPaymentRequest,
      ...pushed,
    }),
  }),
  cancelPaymentToTerminal: message({
    from: 'server',
    to: 'terminal',
    summary: 'The payment is no longer wanted; report CANCELLED, or what came before.',
    schema: Type.Object({ action: action('cancelPayment'), transactionId: id, ...pushed }),
  }),
  voidPaymentToTerminal: message({
    from: 'server',
    to: 'terminal',
    summary: 'The payment is to be voided; report voidResult.',
    schema: Type.Object({ action: action('voidPayment'), transactionId: id, reason: Type.String(), ...pushed }),
  }),
  paymentStatusToTerminal: message({
    from: 'server',
    to: 'terminal',
    summary:
      'After a connect: how does this payment of an earlier connection stand? Answer with its result, or with paymentStatus.',
    schema: Type.Object({ action: action('paymentStatus'), transactionId: id, ...pushed }),
  }),
  terminalStatusUpdate: message({
    from: 'server',
    to: 'desktop',
    summary: 'A terminal of the group connected, lost its line, or is gone.',
    schema: Type.Object({
      action: action('terminalStatusUpdate'),
      terminalId,
      status: OneOf(['connected', 'reconnecting', 'disconnected'], 'What happened.'),
      connectionId: Type.Optional(Type.String({ description: 'With connected.' })),
      deviceId: Type.Optional(Type.String({ description: 'With connected and reconnecting, where there is one.' })),
      terminalInfo: Type.Optional(TerminalInfo),
      ...pushed,
    }),
  }),
  paymentComplete: message({
    from: 'server',
    to: 'desktop',
    summary:
      'A payment of the group ended: COMPLETED, FAILED or CANCELLED. A receipt that a frame has no room for is left out; the transaction has it.',
    schema: Type.Object({
      action: action('paymentComplete'),
      transactionId: id,
      terminalId,
      paymentResponse: TerminalPaymentResponse,
      ...pushed,
    }),
  }),
  paymentVoided: message({
    from: 'server',
    to: 'desktop',
    summary:
      'A payment of the group is voided. With no paymentComplete or paymentTimeout before it on a line that held, the terminal approved another amount or currency.',
    schema: Type.Object({
      action: action('paymentVoided'),
      transactionId: id,
      terminalId,
      reason: Type.String(),
      voidedAt,
      ...pushed,
    }),
  }),
  paymentTimeout: message({
    from: 'server',
    to: 'desktop',
    summary: 'A payment of the group was given up; its money is not kept.',
    schema: Type.Object({
      action: action('paymentTimeout'),
      transactionId: id,
      terminalId,
      code: OneOf(['TIMEOUT', 'TERMINAL_CONNECTION_ERROR'], 'Why.'),
      ...pushed,
    }),
  }),
  forceDisconnect: message({
    from: 'server',
    to: 'any',
    summary:
      'The server closes this connection: 4000 other, 4001 api_key_used_elsewhere, 4002 stale_connection_timeout, 4003 admin_action, 4004 server_restarting.',
    schema: Type.Object({
      action: action('forceDisconnect'),
      reason: OneOf(
        ['api_key_used_elsewhere', 'stale_connection_timeout', 'admin_action', 'server_restarting', 'other'],
        'Why.',
      ),
      message: Type.String({ description: 'For people.' }),
      ...pushed,
    }),
  }),
} as const

/** The messages of a client, by action. */
export type TerminalRequest = {
  readonly [Name in keyof typeof terminalRequests]: Static<(typeof terminalRequests)[Name]['schema']>
}

/** The messages of the server, by their names in the AsyncAPI document. */
export type TerminalAnswer = {
  readonly [Name in keyof typeof terminalAnswers]: Static<(typeof terminalAnswers)[Name]['schema']>
}
