import type { IncomingMessage } from 'node:http'
import { terminalFrameBytesMax, terminalsErrors, type TerminalAnswer, type TerminalRequest } from '@kaha/contract'
import { uuidv7 } from 'uuidv7'
import { WebSocket } from 'ws'
import {
  checkedBase,
  checkedKey,
  checkSignal,
  isObject,
  jsonOf,
  mustBeObject,
  mustBeText,
  mustFitHeader,
} from './arguments.ts'
import { KahaConnectionError, KahaError } from './errors.ts'
import { errorOf, parsed, timerMsOf, type CallOptions } from './request.ts'
import { pause, waitBeforeReopening } from './retry.ts'

type Sent<Name extends keyof TerminalRequest> = Omit<TerminalRequest[Name], 'action' | 'requestId'>

/** What a client asks over a line, and what answers it. */
export interface TerminalQuestions {
  readonly getTerminals: TerminalAnswer['terminalsResponse']
  readonly payment: TerminalAnswer['paymentAccepted']
  readonly cancelPayment: TerminalAnswer['cancelAccepted']
  readonly voidPayment: TerminalAnswer['voidResultToDesktop']
  readonly ping: TerminalAnswer['pong']
}

/** What a terminal reports, which nothing answers. */
export type TerminalReport = 'paymentResponse' | 'paymentStatus' | 'voidResult'

type Answering = 'terminalsResponse' | 'paymentAccepted' | 'cancelAccepted' | 'voidResultToDesktop' | 'pong' | 'error'

/** What the platform says by itself, told apart by `action`: to a till how payments and terminals stand, to a terminal what it is to do. */
export type TerminalPush = TerminalAnswer[Exclude<keyof TerminalAnswer, Answering>]

/** `reconnecting`: the line is lost and will be there again. `closed`: for good. */
export type TerminalLineState = 'open' | 'reconnecting' | 'closed'

/** What a line is opened with. */
export interface TerminalLineOptions {
  /** The address of the terminal service, as in `https://pay.example.com/terminal`. */
  readonly baseUrl: string
  /** The API key of a till or a terminal. It has one line: where it connects elsewhere, this one closes for good. */
  readonly apiKey: string
  /** A terminal's stable name; without one it is known by its key alone. */
  readonly deviceId?: string
  /** Where you want to be refused rather than connected to another group. */
  readonly groupId?: string
  /** Called with each push, in the order in which they came, once the line can be asked. Whoever asked goes on first with an answer that came before. */
  readonly hear: (push: TerminalPush) => void
  /** Called when the line is lost, is back, or is closed; `why` is what went wrong. */
  readonly changed?: (state: TerminalLineState, why?: Error) => void
  /** How long an answer may take. 40 s when absent: a void waits 30 s for its terminal. */
  readonly timeoutMs?: number
  /** In [0, 1). */
  readonly random?: () => number
}

/** For one question over a line. */
export type LineCallOptions = Pick<CallOptions, 'signal'>

/** The line of a till or a terminal to the platform. */
export interface TerminalLine extends AsyncDisposable {
  readonly state: TerminalLineState
  /**
   * Asks, and resolves to the answer. Throws KahaError where it is refused, and KahaConnectionError where no answer came: a `payment` with
   * the transactionId that it tells joins the first and charges nothing twice. Without one a payment gets its own. Payments end with a push.
   * The signal ends the wait at once, with its own reason, and not what was asked for: name a payment that you may leave. A message of more
   * than 64 KiB is a RangeError, and nothing is sent.
   */
  ask<Name extends keyof TerminalQuestions>(
    action: Name,
    message: Sent<Name>,
    call?: LineCallOptions,
  ): Promise<TerminalQuestions[Name]>
  /**
   * Reports of a terminal; resolves when the platform has taken it. Throws as `ask` does. Report what was not taken again, until it is, where no
   * answer came or the code is UNAVAILABLE or INTERNAL_ERROR: the platform asks after the next connect alone, with a push `paymentStatus` or
   * `voidPayment`, and gives up a payment of which it has heard nothing for 90 s.
   */
  report<Name extends TerminalReport>(action: Name, message: Sent<Name>, call?: LineCallOptions): Promise<void>
  /** Says goodbye, and waits until the line is closed, two seconds at most. Whoever waits for an answer is told at once that none will come. */
  close(): Promise<void>
}

interface Waiting {
  readonly operation: string
  /** Of the payment that it is about. */
  readonly transactionId: string | undefined
  readonly promised: PromiseWithResolvers<Record<string, unknown>>
  /** Lets go of what could have ended the wait before. */
  release(): void
}

const timeoutMsDefault = 40_000
const handshakeMsMax = 10_000
/** For the other side's goodbye. */
const goodbyeMsMax = 2_000
/** The platform pings every 15 s; a line that says nothing for longer is taken for lost. */
const silenceMsMax = 45_000
const answerBytesMax = 64 * 1024
const replaced = 4001
const replacedReason = 'api_key_used_elsewhere'

/**
 * Opens a line and keeps it open: one that is lost is opened again, later each time until it holds. A till is told then the `paymentComplete` and
 * `paymentVoided` that it missed of what its key started. A `paymentTimeout` is not told again on another line: once `changed` says `open`, ask again
 * for each payment whose end is not known, with its transactionId. Rejects where the first connect fails: with KahaError where the platform refuses it, with
 * KahaConnectionError where nobody answers, or not in full within ten seconds.
 */
export async function connectTerminal(options: TerminalLineOptions): Promise<TerminalLine> {
  const { hear, changed = () => {}, random = Math.random } = mustBeObject('options', options)
  mustBeText('baseUrl', options.baseUrl)
  mustBeText('apiKey', options.apiKey)
  for (const name of ['deviceId', 'groupId'] as const) {
    if (options[name] !== undefined) mustFitHeader(name, options[name])
  }
  if (typeof hear !== 'function') throw new TypeError('hear must be a function')
  const timeoutMs = timerMsOf(options.timeoutMs ?? timeoutMsDefault)
  const waiting = new Map<string, Waiting>()
  const stopping = new AbortController()
  let state: TerminalLineState = 'open'
  let asked = 0
  let triesMade = 0
  let comingBack = Promise.resolve()

  const become = (next: TerminalLineState, why?: Error) => {
    if (state === next || state === 'closed') return
    state = next
    tell(() => changed(next, why))
  }
  const read = (message: Record<string, unknown>) => {
    const { requestId } = message
    const one = typeof requestId === 'string' ? forget(requestId) : undefined
    if (one === undefined) {
      // An answer that nobody waits for any more is no push.
      if (requestId === undefined && message['action'] !== 'error') tell(() => hear(message as unknown as TerminalPush))
      return
    }
    if (message['action'] === 'error') one.promised.reject(refusalOf(one, message))
    else one.promised.resolve(message)
  }
  const forget = (requestId: string): Waiting | undefined => {
    const one = waiting.get(requestId)
    one?.release()
    waiting.delete(requestId)
    return one
  }
  /** Whoever waits is told that no answer will come. */
  const forsake = (reason: string) => {
    for (const [requestId, { operation, transactionId, promised }] of waiting) {
      forget(requestId)
      promised.reject(unanswered(operation, reason, transactionId))
    }
  }

  const open = async (): Promise<WebSocket> => {
    let farewell = ''
    const listen = (message: Record<string, unknown>) => {
      if (message['action'] === 'forceDisconnect') farewell = String(message['reason'])
      read(message)
    }
    const fresh = await handshake(options, listen, stopping.signal)
    // Whatever took the line only to drop it has not pinged.
    fresh.once('ping', () => (triesMade = 0))
    // Whoever asked goes on with the last answer before the end is told. The frame that says why may be lost, and the push before it not.
    fresh.once('close', (code, reason) => setImmediate(lost, code, reason.toString() || farewell))
    return fresh
  }
  const lost = (code: number, reason: string) => {
    const why = new KahaConnectionError('connectTerminal', reason || String(code))
    forsake(why.reason)
    if (stopping.signal.aborted) return become('closed')
    if (code === replaced || reason === replacedReason) return become('closed', why)
    become('reconnecting', why)
    comingBack = comeBack(why)
  }
  const comeBack = async (why: Error): Promise<void> => {
    for (let failure: unknown = why; ;) {
      const wait = waitBeforeReopening(failure, (triesMade += 1), random)
      if (wait === null) return become('closed', failure as Error)
      try {
        await pause(wait, stopping.signal)
        socket = await open()
        // Whoever closes the line meanwhile waits for this, and closes what it opened.
        return stopping.signal.aborted ? undefined : become('open')
      } catch (error) {
        if (stopping.signal.aborted) return become('closed')
        failure = error
      }
    }
  }
  let socket = await open()

  const send = (operation: string, message: object, signal?: AbortSignal) => {
    const promised = Promise.withResolvers<Record<string, unknown>>()
    const requestId = String((asked += 1))
    const transactionId = transactionIdIn(message)
    // Before anybody waits: what cannot be written throws.
    const text = jsonOf({ ...message, action: operation, requestId })
    // The platform would end the line, and with it whatever else waits for an answer.
    if (Buffer.byteLength(text) > terminalFrameBytesMax)
      throw new RangeError(`${operation}: a message has at most ${terminalFrameBytesMax} bytes of JSON`)
    checkSignal(signal)
    signal?.throwIfAborted()
    const isClosed = state === 'closed' || stopping.signal.aborted
    if (isClosed || socket.readyState !== WebSocket.OPEN) {
      promised.reject(unanswered(operation, isClosed ? 'CLOSED' : 'RECONNECTING', transactionId))
      return { requestId, answer: promised.promise }
    }
    const giveUp = (why: unknown) => {
      forget(requestId)
      promised.reject(why)
    }
    const leave = () => giveUp(signal?.reason)
    const timer = setTimeout(() => giveUp(unanswered(operation, 'TIMEOUT', transactionId)), timeoutMs)
    signal?.addEventListener('abort', leave, { once: true })
    const release = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
    }
    waiting.set(requestId, { operation, transactionId, promised, release })
    socket.send(text)
    return { requestId, answer: promised.promise }
  }
  const close = async (): Promise<void> => {
    stopping.abort()
    forsake('CLOSED')
    await comingBack
    if (socket.readyState === WebSocket.CLOSED) return become('closed')
    socket.close(1000)
    // An error on the way, such as a frame that is none, is no end: its close follows.
    await new Promise((resolve) => socket.once('close', () => setImmediate(resolve)))
  }

  return {
    get state() {
      return state
    },
    async ask(action, message = {} as never, call = {}) {
      const checked = mustBeObject('message', message)
      const { signal } = mustBeObject('options', call)
      const full = action === 'payment' ? named(checked as Sent<'payment'>) : checked
      return (await send(action, full, signal).answer) as never
    },
    async report(action, message, call = {}) {
      mustBeObject('message', message)
      const { signal } = mustBeObject('options', call)
      // One thing after the other is worked through: the answer to a ping says that what came before it was taken.
      const { requestId, answer: refusal } = send(action, message, signal)
      const taken = send('ping', {}, signal)
      try {
        await Promise.race([refusal, taken.answer])
      } finally {
        forget(requestId)
        forget(taken.requestId)
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Calls what the caller gave: what it throws is uncaught there, and changes nothing of the line. */
const tell = (call: () => void): void => queueMicrotask(call)

/** A payment that has no name gets one: whoever hears of no answer can ask for the same one again. */
const named = ({ paymentRequest, ...message }: Sent<'payment'>): Sent<'payment'> => ({
  ...message,
  paymentRequest: {
    ...mustBeObject('paymentRequest', paymentRequest),
    transactionId: paymentRequest.transactionId ?? uuidv7(),
  },
})

function transactionIdIn(message: object): string | undefined {
  const { transactionId, paymentRequest } = message as Partial<Sent<'payment'> & Sent<'cancelPayment'>>
  return paymentRequest?.transactionId ?? transactionId
}

const unanswered = (operation: string, reason: string, transactionId: string | undefined): KahaConnectionError =>
  new KahaConnectionError(operation, reason, undefined, undefined, transactionId)

/** Opens a socket, or rejects with why there is none, at the signal too. One that falls silent or speaks otherwise is dropped. */
function handshake(
  { baseUrl, apiKey, deviceId, groupId }: TerminalLineOptions,
  read: (message: Record<string, unknown>) => void,
  signal: AbortSignal,
): Promise<WebSocket> {
  const operation = 'connectTerminal'
  const headers = {
    'x-api-key': checkedKey(apiKey),
    ...(deviceId === undefined ? {} : { 'x-device-id': deviceId }),
    ...(groupId === undefined ? {} : { 'x-group-id': groupId }),
  }
  const url = `${checkedBase(baseUrl, /^(?:http|ws)s?:$/).replace(/^http/, 'ws')}/v1`
  // The types of the library do not know closeTimeout yet.
  const how = {
    headers,
    closeTimeout: goodbyeMsMax,
    // One message in a turn: whoever asked goes on with its answer before what came behind it is heard.
    allowSynchronousEvents: false,
  }
  const socket = new WebSocket(url, how)
  let silence: NodeJS.Timeout | undefined
  const heard = () => {
    clearTimeout(silence)
    silence = setTimeout(() => socket.terminate(), silenceMsMax)
  }
  socket.on('ping', heard)
  socket.on('message', (data) => {
    heard()
    const message = parsed((data as Buffer).toString())
    if (isObject(message)) read(message)
    else socket.terminate()
  })
  const stop = () => socket.terminate()
  signal.addEventListener('abort', stop, { once: true })
  socket.on('close', () => {
    clearTimeout(silence)
    signal.removeEventListener('abort', stop)
  })
  return new Promise((resolve, reject) => {
    const fail = (reason: string, cause?: unknown) =>
      reject(new KahaConnectionError(operation, reason, undefined, cause))
    // Over all of it: an answer that comes in drops is as late as one that does not come.
    const late = setTimeout(() => {
      fail('TIMEOUT')
      socket.terminate()
    }, handshakeMsMax)
    socket.on('close', () => clearTimeout(late))
    socket.on('open', () => {
      clearTimeout(late)
      heard()
      signal.removeEventListener('abort', stop)
      // What came with the handshake is read when whoever waits for the line has it, and can answer.
      socket.pause()
      setImmediate(() => socket.resume())
      resolve(socket)
    })
    socket.on('error', (cause: Error & { readonly code?: string }) => fail(cause.code ?? cause.name, cause))
    socket.on('unexpected-response', (_request, response) => {
      void textOf(response)
        .then((text) => reject(errorOf({ operation }, answerOf(response), parsed(text))))
        .catch(reject)
        .finally(() => socket.terminate())
    })
  })
}

/** The body of a refusal, or as much of it as may be. */
async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      text += String(chunk)
      if (text.length > answerBytesMax) break
    }
  } catch {
    // What there is of it is looked at.
  }
  return text
}

const answerOf = ({ statusCode = 502, headers }: IncomingMessage): Response =>
  new Response(null, {
    // What is no status of HTTP is no answer of the platform's.
    status: statusCode >= 200 && statusCode <= 599 ? statusCode : 502,
    headers: Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  })

/** A message that was refused, with the status that its code has over HTTP. */
function refusalOf(
  { operation, transactionId }: Pick<Waiting, 'operation' | 'transactionId'>,
  { code, message }: Readonly<Record<string, unknown>>,
): KahaError {
  return new KahaError({
    status: (terminalsErrors as Readonly<Record<string, number>>)[String(code)] ?? 400,
    code: String(code),
    message: String(message),
    operation,
    correlationId: undefined,
    details: undefined,
    retryAfterSeconds: undefined,
    idempotencyKey: undefined,
    transactionId,
  })
}
