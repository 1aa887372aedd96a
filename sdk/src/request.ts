import type { AnswerOf, Operation } from '@kaha/contract'
import { checkedBase, checkedKey, checkInput, isObject, jsonOf, search, segment } from './arguments.ts'
import { KahaConnectionError, KahaError, type Told } from './errors.ts'
import type { InputOf } from './given.ts'
import { beforeNextTry, isRepeatable, pause, retryAfterSecondsOf, waitBeforeRetry } from './retry.ts'

/** What every client is made with. Throws TypeError or RangeError, as it is made, for what cannot be. */
export interface ConnectionOptions {
  /** Where the installation answers, as in `https://pay.example.com`. */
  readonly baseUrl: string
  /** Instead of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /**
   * How long one try may take until its answer is complete; a call's own goes first. 30 s when absent, and longer for what waits: 100 s for
   * a payment at a terminal, 40 s for its void, 120 s for the recovery of an endpoint, 150 s for a move of the clock. Infinity is no limit of
   * the client's; the `fetch` of Node itself gives up when nothing comes for 300 s.
   */
  readonly timeoutMs?: number | undefined
  /** How often a request that can be repeated safely is sent again. 2 when absent, 4 for a payment at a terminal; 0 is never. */
  readonly maxRetries?: number | undefined
}

/** For one call; what it says goes before what its client says. */
export interface CallOptions {
  /**
   * Ends the call at once; it rejects with the signal's reason. A create or a cancel without a key of yours, or a payment at a terminal without
   * a transactionId of yours, that was sent before rejects with a KahaConnectionError that tells it, and has the signal's reason as its `cause`.
   */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly maxRetries?: number | undefined
}

/** For a call that makes or moves something, and may be sent again without doing it twice. */
export interface CreateOptions extends CallOptions {
  /** Your name for this request, 8 to 64 of `A-Z a-z 0-9 . _ -`. Made when absent; the retries of one call share it, and an error tells it. */
  readonly idempotencyKey?: string | undefined
}

export type Send = <O extends Operation>(
  operation: O,
  input: InputOf<O>,
  options?: CreateOptions,
  /** For an operation that waits: how long a try may take where neither the call nor the client says so. */
  timeoutMsOwn?: number,
) => Promise<AnswerOf<O>>

/** What is signed of a request: the path as it is sent, without a query, and the body's text. */
export type Sign = (request: {
  readonly method: string
  readonly path: string
  readonly body: string
}) => Readonly<Record<string, string>>

/** Opens an operation's answer as the bytes of another content type. */
export type Open = <O extends Operation>(
  operation: O,
  input: InputOf<O>,
  contentType: string,
  options?: CallOptions,
) => Promise<ReadableStream<Uint8Array>>

/** What a service does otherwise than the rest. */
export interface Manner {
  readonly apiKey?: string
  /** A secret key that is sent as the user name of HTTP Basic. */
  readonly basicUser?: string
  readonly headers?: Readonly<Record<string, string>>
  /** What the paths of its operations begin with and its address ends with. */
  readonly prefix?: string
  /** What a body holds, of a success or a refusal. Rejects where it cannot be opened. */
  readonly opened?: (body: unknown) => Promise<unknown>
}

/** The parts of sending that a test steps itself. */
export interface Timing {
  readonly random: () => number
  readonly pause: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

const timeoutMsDefault = 30_000
const retriesDefault = 2
const answerBytesMax = 64 * 1024 * 1024
const timerMsMax = 2 ** 31 - 1

/**
 * The one way to the platform: sends any operation of the contract. Throws KahaError for an error answer, KahaConnectionError where none
 * came, and the reason of the caller's signal, unless a key was made that has to be told. Network errors, 429, 503, what a proxy says for want
 * of an answer (any 5xx) and IDEMPOTENCY_IN_PROGRESS are tried again if the operation is a GET or carries an Idempotency-Key, and never otherwise.
 */
export function createSend(
  options: ConnectionOptions & Manner,
  { random, pause: wait }: Timing = { random: Math.random, pause },
  sign?: Sign,
): Send {
  const base = checkedConnection(options)
  const manner = { ...options, apiKey: checkedKey(options.apiKey), basicUser: checkedKey(options.basicUser) }
  const send = async (
    operation: Operation,
    input: AnyInput,
    call: CreateOptions = {},
    timeoutMsOwn = timeoutMsDefault,
  ): Promise<unknown> => {
    checkInput(operation, input, call)
    const idempotencyKey =
      operation.idempotency === undefined ? undefined : (call.idempotencyKey ?? crypto.randomUUID())
    const request = requestOf(operation, base, manner, idempotencyKey, input)
    const retriesGiven = retriesOf(call.maxRetries ?? options.maxRetries ?? retriesDefault)
    const retriesMax = isRepeatable(operation, idempotencyKey) ? retriesGiven : 0
    const timeoutMs = timerMsOf(call.timeoutMs ?? options.timeoutMs ?? timeoutMsOwn)
    const made = { operation: operation.id, idempotencyKey: call.idempotencyKey == null ? idempotencyKey : undefined }
    call.signal?.throwIfAborted()
    for (let triesMade = 1; ; triesMade++) {
      try {
        // Signed anew for each try, for a signature holds for a few minutes alone.
        return await attempt(
          { operation: operation.id, idempotencyKey, transactionId: transactionIdIn(input) },
          sign === undefined ? request : signed(request, sign),
          timeoutMs,
          call.signal,
          options.fetch,
          options.opened,
        )
      } catch (failure) {
        const waitMs = triesMade > retriesMax ? null : waitBeforeRetry(failure, triesMade, random)
        await beforeNextTry(made, failure, waitMs, wait, call.signal)
      }
    }
  }
  return send as Send
}

/**
 * The way to answers that are too long to be held at once. Sent once; `timeoutMs` is for the answer to begin, and what is read of it may
 * take as long as its reader does. Where the answer breaks off, the stream fails with what `Send` throws, as the call does.
 */
export function createOpen(options: ConnectionOptions & { readonly apiKey?: string }): Open {
  const base = checkedConnection(options)
  const apiKey = checkedKey(options.apiKey)
  const open = async (operation: Operation, input: AnyInput, contentType: string, call: CallOptions = {}) => {
    checkInput(operation, input, call)
    const { url, init } = requestOf(operation, base, { apiKey }, undefined, input, contentType)
    const told: Told = { operation: operation.id }
    const ours = new AbortController()
    let isLate = false
    const giveUp = () => {
      isLate = true
      ours.abort()
    }
    const fail = (error: unknown): never => {
      call.signal?.throwIfAborted()
      if (error instanceof KahaError) throw error
      throw new KahaConnectionError(told.operation, isLate ? 'TIMEOUT' : reasonOf(error), undefined, error)
    }
    const timer = setTimeout(giveUp, timerMsOf(call.timeoutMs ?? options.timeoutMs ?? timeoutMsDefault))
    try {
      call.signal?.throwIfAborted()
      const signals = call.signal === undefined ? [ours.signal] : [call.signal, ours.signal]
      const answer = await (options.fetch ?? globalThis.fetch)(url, { ...init, signal: AbortSignal.any(signals) })
      if (answer.ok && answer.headers.get('content-type')?.startsWith(contentType) && answer.body !== null)
        return leavable(answer.body, ours, fail)
      throw errorOf(told, answer, parsed(await readText(answer)))
    } catch (error) {
      return fail(error)
    } finally {
      clearTimeout(timer)
    }
  }
  return open as Open
}

/** The same bytes; whoever leaves them ends the connection. */
function leavable(
  body: ReadableStream<Uint8Array>,
  connection: AbortController,
  fail: (error: unknown) => never,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read().catch(fail)
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => connection.abort(),
    },
    { highWaterMark: 0 },
  )
}

/** What a timer takes of a `timeoutMs`: more than it can hold, 24 days, is no limit to speak of. */
export const timerMsOf = (timeoutMs: number): number =>
  Math.min(Math.ceil(fromZero('timeoutMs', timeoutMs)), timerMsMax)

/** How often a call is sent again. */
export const retriesOf = (maxRetries: number): number => fromZero('maxRetries', maxRetries)

/** The address of what a client is made with, the rest of which is looked at too: else its first call would be refused, however late that comes. */
function checkedConnection({ baseUrl, fetch, timeoutMs, maxRetries }: ConnectionOptions): string {
  if (fetch != null && typeof fetch !== 'function') throw new TypeError('fetch must be a function')
  timerMsOf(timeoutMs ?? timeoutMsDefault)
  retriesOf(maxRetries ?? retriesDefault)
  return checkedBase(baseUrl)
}

function fromZero(name: string, value: number): number {
  if (!(value >= 0)) throw new RangeError(`${name} must be a number from 0 on`)
  return value
}

interface Prepared {
  readonly url: string
  readonly success: Operation['success']
  readonly init: RequestInit
}

function signed({ url, init, success }: Prepared, sign: Sign): Prepared {
  const headers = new Headers(init.headers)
  const body = typeof init.body === 'string' ? init.body : ''
  const more = sign({ method: init.method ?? 'GET', path: new URL(url).pathname, body })
  for (const [name, value] of Object.entries(more)) headers.set(name, value)
  return { url, init: { ...init, headers }, success }
}

interface AnyInput {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/** The terminal payment that a call is about: in its path, or made by it. */
function transactionIdIn({ params, body }: AnyInput): string | undefined {
  const { transactionId } = { ...params, ...fieldsOf(body) }
  return typeof transactionId === 'string' ? transactionId : undefined
}

function requestOf(
  { path, method, success }: Operation,
  base: string,
  { apiKey, basicUser, headers: own = {}, prefix = '' }: { [Name in keyof Manner]: Manner[Name] | undefined },
  idempotencyKey: string | undefined,
  { params = {}, query = {}, body }: AnyInput,
  accept = 'application/json',
): Prepared {
  const headers = new Headers({ ...own, accept })
  if (apiKey !== undefined) headers.set('x-api-key', apiKey)
  if (basicUser !== undefined) headers.set('authorization', `Basic ${btoa(`${basicUser}:`)}`)
  if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey)
  if (body !== undefined) headers.set('content-type', 'application/json')
  // A redirect would carry the key to wherever it leads.
  const init: RequestInit = { method, headers, redirect: 'manual' }
  if (body !== undefined) init.body = jsonOf(body)
  return {
    success,
    url: `${base}${path.slice(prefix.length).replaceAll(/\{(\w+)\}/g, (_all, name: string) => segment(name, params[name]))}${search(query)}`,
    init,
  }
}

async function attempt(
  told: Told,
  { url, init, success }: Prepared,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  fetch = globalThis.fetch,
  opened: Manner['opened'] = async (body) => body,
): Promise<unknown> {
  signal?.throwIfAborted()
  // A timer keeps what waits for it, and this one would never end.
  const deadline = timeoutMs === timerMsMax ? new AbortController().signal : AbortSignal.timeout(timeoutMs)
  let answer: Response
  let text: string
  try {
    answer = await fetch(url, {
      ...init,
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    })
    text = await readText(answer)
  } catch (error) {
    signal?.throwIfAborted()
    const reason = deadline.aborted ? 'TIMEOUT' : reasonOf(error)
    throw new KahaConnectionError(told.operation, reason, told.idempotencyKey, error, told.transactionId)
  }
  const body = await opened(parsed(text)).catch((): never => {
    throw errorOf(told, answer, sealedOtherwise)
  })
  if (!answer.ok || !isOfKind(success, answer.status, text, body)) throw errorOf(told, answer, body)
  return isObject(body) ? body : text === '' ? undefined : text
}

const sealedOtherwise = {
  error: {
    code: 'UNEXPECTED_ANSWER',
    message: 'the Token of the answer cannot be opened: is the encryption key that of the account?',
  },
}

/** Whether a success is of a kind that the operation has: its text, nothing, or an object. What an object holds is not looked at. */
function isOfKind(success: Operation['success'], status: number, text: string, body: unknown): boolean {
  return Object.values(success).some((one) =>
    one.text
      ? 'const' in one.schema && text === one.schema.const
      : isObject(body) || (one.empty === true && status === 204),
  )
}

/** The whole body; of an absurdly large one nothing. */
async function readText(answer: Response): Promise<string> {
  const reader = answer.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (let chunk = await reader?.read(); chunk?.value !== undefined; chunk = await reader?.read()) {
    bytes += chunk.value.byteLength
    if (bytes > answerBytesMax) {
      await reader?.cancel()
      return ''
    }
    text += decoder.decode(chunk.value, { stream: true })
  }
  return text + decoder.decode()
}

/** JSON, or undefined. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** When the built-in `fetch` has waited for an answer, or for more of it, for as long as it ever does. */
const fetchTimeouts = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** A few words and nothing else: no address, no key and no card is one. */
const plainWords = /^[A-Za-z]+(?: [A-Za-z]+){1,7}$/

/** The code that the system gave to a failed connection: `fetch` hides it in the cause, which says in words what `fetch` itself would not do. */
function reasonOf(error: unknown, isCause = false): string {
  if (!(error instanceof Error)) return 'UNKNOWN'
  if ('code' in error && typeof error.code === 'string') return fetchTimeouts.has(error.code) ? 'TIMEOUT' : error.code
  if (error.cause instanceof Error) return reasonOf(error.cause, true)
  return isCause && plainWords.test(error.message) ? error.message : error.name
}

/** What an answer that is no success says, whichever envelope it is in. */
export function errorOf(
  { operation, idempotencyKey, transactionId }: Told,
  answer: Response,
  body: unknown,
): KahaError {
  const said = saidIn(fieldsOf(body))
  const details = fieldsOf(said['details'])
  // Area E has it in the header alone, a handshake that is refused the second alone.
  const named = answer.headers.get('x-correlation-id') ?? answer.headers.get('x-request-id')
  const { code, message, correlation_id: correlationId = named } = said
  const { field, rule } = details
  const isOurs = typeof code === 'string' && typeof message === 'string'
  return new KahaError({
    status: answer.status,
    code: isOurs ? code : 'UNEXPECTED_ANSWER',
    message: isOurs ? message : `${operation}: an answer with status ${answer.status} that is not of this interface`,
    operation,
    correlationId: typeof correlationId === 'string' ? correlationId : undefined,
    details: typeof field === 'string' && typeof rule === 'string' ? { field, rule } : undefined,
    retryAfterSeconds: retryAfterSecondsOf(answer.headers),
    idempotencyKey,
    transactionId,
  })
}

/** A success that lacks what the client itself reads of it. */
export const unexpected = (operation: string): KahaError => errorOf({ operation }, new Response(), undefined)

/** What an envelope says, whichever area's it is. */
function saidIn(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { code, error } = body
  return typeof error === 'string' ? { code, message: error } : fieldsOf(error)
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
