import { STATUS_CODES } from 'node:http'
import { terminalRequests, terminalsWireCodes } from '@kaha/contract'
import type { Static } from 'typebox'
import type { TerminalIdentity } from '../../../identity/terminal-keys.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { Fault } from '../../../kernel/fault.ts'
import { complaintOf } from '../../../kernel/http/complaints.ts'
import { compile, isAllKeepable, isKeepable, type Validator } from '../../../kernel/http/validation.ts'
import { nestingMax, nestsTooDeep } from '../../../kernel/json-depth.ts'
import { asWritten } from '../../../kernel/json-digits.ts'
import { repeatsKey } from '../../../kernel/json-keys.ts'
import { sha256 } from '../../../kernel/seal.ts'
import type { Connections } from '../connections.ts'
import { isNotConnected, notConnected, refuse, statuses, terminalOfAnother } from '../errors.ts'
import { presentTerminal, presentVoid } from '../present.ts'
import { readPayment } from '../requests.ts'
import { codeOfField } from '../routes.ts'
import type { TerminalsService } from '../service.ts'
import type { TransactionRow } from '../store-transactions.ts'
import type { Speaker, TerminalCases } from '../service-terminal.ts'
import type { Link } from './links.ts'

type Requests = typeof terminalRequests
type Action = keyof Requests
type Message<A extends Action> = Static<Requests[A]['schema']>

const validators = Object.fromEntries(
  Object.entries(terminalRequests).map(([name, { schema }]) => [name, compile(schema)]),
) as Record<Action, Validator>

const utf8 = new TextDecoder('utf-8', { fatal: true })
const hasKeyTwice = 'An object of the message has a key twice; send it once.'
const isTooDeep = `The message is nested deeper than ${nestingMax} levels.`
const cannotBeKept = 'The message holds text or a key that cannot be kept: NUL, half a surrogate pair, or __proto__.'

const codeCharactersMax = 64
const digestCharacters = 16
const reasonCharactersMax = 255

const isAction = (name: unknown): name is Action => typeof name === 'string' && Object.hasOwn(terminalRequests, name)
/** Undefined where a terminal sent nothing by null or by an empty text. */
const said = <Value>(value: Value | null | undefined) => (value === null || value === '' ? undefined : value)
/** Of a text that a till or a person is to go by. */
const meant = (text: string | null | undefined) => (text?.trim() === '' ? undefined : said(text))
/** What is kept of a text that a terminal said; half a surrogate pair at its end could not be. */
const beginningOf = (text: string | null | undefined, charactersMax: number) =>
  meant(text)?.slice(0, charactersMax).toWellFormed()
/** Of an approval's code, which tells it from another, more than its beginning: some share that. */
const approvalCodeOf = (code: string | null | undefined) => {
  const text = meant(code)
  if (text === undefined || text.length <= codeCharactersMax) return text
  const digest = sha256(text).toString('base64url').slice(0, digestCharacters)
  return beginningOf(text, codeCharactersMax - digestCharacters) + digest
}
const isEmpty = (value: unknown) => value === undefined || value === null || value === ''

/**
 * What is kept of a message: of a terminal's what is read of it, but for the receipt, which is kept whatever it holds. It tells of money: a
 * text in it that nobody reads, as an error of an approval, is no cause to refuse it.
 */
const keptOf = (action: Action, value: Record<string, unknown>): unknown => {
  if (terminalRequests[action].from !== 'terminal') return value
  const { transactionId, reason, error, paymentResponse } = value
  const { status, amount, currency, authorizationCode, errorCode, errorMessage } = (paymentResponse ?? {}) as Record<
    string,
    unknown
  >
  const ofError = status === 'SUCCESS' ? [] : [errorCode, errorMessage]
  const kept = [transactionId, reason, error, amount, currency, authorizationCode, ...ofError]
  return kept.filter((one) => one !== undefined)
}

export interface ActionsDependencies {
  readonly identity: Pick<TerminalIdentity, 'count'>
  readonly service: TerminalsService
  readonly cases: TerminalCases
  readonly connections: Pick<Connections, 'isGone' | 'isReplaced'>
  readonly clock: Clock
  /** Pushes what became of a payment to this link alone, after what it is answered just now; nothing where it goes on. */
  readonly tellEnd: (link: Link, row: TransactionRow) => void
  /** Ends a link whose connection was given up for lost. */
  readonly end: (link: Link) => void
  /** Something that nobody expected; what it was stays in the log. */
  readonly onError: (error: unknown) => void
}

/** What is done with one frame of one link. */
export type Act = (link: Link, frame: Buffer, isBinary: boolean) => Promise<void>

/** The terminal at the other end. GROUP_MISMATCH where it is a till. */
export function speakerOf({ terminalId, deviceId, connectionId, principal }: Link): Speaker {
  if (terminalId === null) throw refuse('GROUP_MISMATCH', 'Only terminals report of payments.')
  return { groupId: principal.groupId, terminalId, deviceId, connectionId }
}

export function createActions(deps: ActionsDependencies): Act {
  const { identity, service, cases, connections, clock, tellEnd, end, onError } = deps
  const timestamp = () => clock.now().toISOString()
  // A request like one over HTTP, and counted with those. What a terminal reports is never too much: it tells of money.
  const desktopOnly = async ({ principal, connectionId }: Link, message: string) => {
    if (principal.role !== 'desktop') throw refuse('GROUP_MISMATCH', message)
    identity.count(principal)
    if (await connections.isGone(connectionId)) throw notConnected()
  }

  const handlers: {
    readonly [A in Action]: (link: Link, message: Message<A>, text: string) => Promise<object | undefined>
  } = {
    async getTerminals(link) {
      await desktopOnly(link, 'Only desktop devices can request terminal list')
      const rows = await service.listTerminals(link.principal)
      return { action: 'terminalsResponse', terminals: rows.map(presentTerminal), timestamp: timestamp() }
    },
    async payment(link, message, text) {
      await desktopOnly(link, 'Only desktop devices can start payments.')
      // Nobody waits here: webhookMode is for those who do, and is left aside as other properties are that a socket does not know.
      const asked = {
        ...readPayment(message.paymentRequest, () => (asWritten(text, message) as typeof message).paymentRequest),
        webhookMode: false,
      }
      const row = await service.startPayment(link.principal, message.terminalId, asked, { way: 'socket' })
      // One that is asked for again may have ended long ago: nobody else would tell of it.
      tellEnd(link, row)
      const { transaction_id: transactionId } = row
      return { action: 'paymentAccepted', transactionId, terminalId: message.terminalId, timestamp: timestamp() }
    },
    async cancelPayment(link, { transactionId }) {
      await desktopOnly(link, 'Only desktop devices can cancel payments.')
      await service.cancel(link.principal, transactionId)
      return { action: 'cancelAccepted', transactionId, timestamp: timestamp() }
    },
    async voidPayment(link, { transactionId, reason, requestId }) {
      await desktopOnly(link, 'Only desktop devices can void payments.')
      // Its answer may take 30 s: other messages of this desktop go on meanwhile.
      const answering = service
        .void(link.principal, transactionId, reason)
        .then((voided) => link.send({ action: 'voidResult', ...presentVoid(voided), ...echo(requestId) }))
        .catch((error: unknown) => void link.send(errorMessageOf(error, requestId)))
      void answering
      return undefined
    },
    async ping() {
      return { action: 'pong', timestamp: timestamp() }
    },
    async paymentResponse(link, { transactionId, paymentResponse }) {
      const { status, amount, currency, authorizationCode, errorCode, errorMessage, receiptData } = paymentResponse
      const named = meant(paymentResponse.transactionId)
      await cases.hearResult(speakerOf(link), transactionId, {
        ...(named === undefined || named === transactionId ? {} : { transactionId: named }),
        status,
        amount: said(amount),
        currency: said(currency),
        authorizationCode: approvalCodeOf(authorizationCode),
        errorCode: beginningOf(errorCode, codeCharactersMax),
        errorMessage: meant(errorMessage),
        receiptData: said(receiptData),
      })
      // Whatever it said, it has answered.
      link.asked.delete(transactionId)
      return undefined
    },
    async paymentStatus(link, { transactionId, status }) {
      await cases.hearStatus(speakerOf(link), transactionId, { status, wasAsked: link.asked.has(transactionId) })
      // What could not be stored may be said again.
      link.asked.delete(transactionId)
      return undefined
    },
    async voidResult(link, { transactionId, success, reason, error }) {
      await cases.hearVoid(speakerOf(link), transactionId, {
        success,
        reason: beginningOf(reason, reasonCharactersMax),
        error: beginningOf(error, reasonCharactersMax),
      })
      return undefined
    },
  }

  const echo = (requestId: unknown) =>
    typeof requestId === 'string' || Number.isSafeInteger(requestId) ? { requestId } : {}

  const errorMessageOf = (error: unknown, requestId: unknown) => {
    const fault = error instanceof Fault ? error : undefined
    const status = fault === undefined ? 500 : ((statuses as Record<string, number>)[fault.code] ?? 500)
    if (fault === undefined || status === 500) onError(error)
    const isOurs = fault === undefined || status === 500
    const isGone = fault?.code === 'TERMINAL_NOT_FOUND' || fault?.code === 'TERMINAL_OFFLINE'
    return {
      action: 'error',
      error: isOurs ? 'Internal Server Error' : isGone ? 'Not Found' : (STATUS_CODES[status] ?? 'Bad Request'),
      message: isOurs ? 'Failed to process message' : isGone ? 'Terminal connection not found' : fault.message,
      code: isOurs ? 'INTERNAL_ERROR' : ((terminalsWireCodes as Record<string, string>)[fault.code] ?? fault.code),
      ...echo(requestId),
      timestamp: timestamp(),
    }
  }

  /** Undefined where the frame is no JSON object in text. */
  const read = (frame: Buffer, isBinary: boolean): { text: string; value: Record<string, unknown> } | undefined => {
    try {
      const text = isBinary ? '' : utf8.decode(frame)
      const value: unknown = JSON.parse(text)
      if (typeof value === 'object' && value !== null && !Array.isArray(value))
        return { text, value: value as Record<string, unknown> }
    } catch {
      // As what is no object.
    }
    return undefined
  }

  const wrongIn = (action: Action, value: Record<string, unknown>, text: string): Fault | undefined => {
    const violation = validators[action](value)
    if (violation !== null) {
      // A field of the request is called what it is called in the body of the HTTP operation.
      const told = { ...violation, field: violation.field.replace(/^paymentRequest\./, '') }
      return new Fault(codeOfField(told), complaintOf(told), told)
    }
    if (nestsTooDeep(text)) return refuse('INVALID_REQUEST', isTooDeep)
    if (repeatsKey(text, value)) return refuse('INVALID_REQUEST', hasKeyTwice)
    return isAllKeepable({ text, value: keptOf(action, value) }) ? undefined : refuse('INVALID_REQUEST', cannotBeKept)
  }

  const check = async (link: Link, action: Action, value: Record<string, unknown>, text: string) => {
    if (action === 'payment') {
      if (isEmpty(value['terminalId'])) throw refuse('INVALID_REQUEST', 'terminalId is required')
      if (isEmpty(value['paymentRequest'])) throw refuse('INVALID_REQUEST', 'paymentRequest is required')
    }
    const wrong = wrongIn(action, value, text)
    if (wrong === undefined) return
    const { transactionId } = value
    const isResult = link.terminalId !== null && (action === 'paymentResponse' || action === 'voidResult')
    if (isResult && typeof transactionId === 'string' && isKeepable(transactionId))
      await cases.hearNonsense(speakerOf(link), transactionId, value['paymentResponse'] ?? value, wrong.message)
    else if (isResult) await cases.hearUnreadable(speakerOf(link), wrong.message)
    throw wrong
  }

  // Whoever is refused gives up what it reports of, and nobody else could report it. Without an answer it does so over its next line.
  const isLost = async ({ connectionId, principal: { keyId }, terminalId }: Link, error: unknown) =>
    isNotConnected(error) && !(await connections.isReplaced({ connectionId, keyId, terminalId }).catch(() => false))

  return async (link, frame, isBinary) => {
    if (link.dismissed) return
    let requestId: unknown
    try {
      const message = read(frame, isBinary)
      requestId = message?.value['requestId']
      if (message === undefined) {
        if (link.terminalId !== null) await cases.hearUnreadable(speakerOf(link), 'no JSON object')
        throw refuse('INVALID_REQUEST', 'Invalid JSON in message body')
      }
      const { text, value } = message
      const { action } = value
      if (!isAction(action))
        throw refuse('INVALID_REQUEST', `action: must be one of: ${Object.keys(handlers).join(', ')}.`)
      await check(link, action, value, text)
      const handle = handlers[action] as (l: Link, m: unknown, t: string) => Promise<object | undefined>
      const answer = await handle(link, value, text)
      if (answer !== undefined) link.send({ ...answer, ...echo(requestId) })
    } catch (error) {
      if (await isLost(link, error)) return end(link)
      // Word for word, where a connection or terminal of another group is meant.
      const isForeign = error instanceof Fault && error.message === terminalOfAnother
      link.send(
        errorMessageOf(
          isForeign ? refuse('GROUP_MISMATCH', 'Cannot send message to connection in different group') : error,
          requestId,
        ),
      )
    }
  }
}
