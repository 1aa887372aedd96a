import dns from 'node:dns'
import { makeRoom } from '../kernel/oldest.ts'
import { targetOf, type Targets } from './addresses.ts'
import {
  bodyBytesMax,
  connectionsTo,
  dialler,
  isReset,
  RefusedTarget,
  type Exchange,
  type Lookup,
  type Phase,
} from './egress-connections.ts'
import { nameLookup, noSuchName } from './egress-names.ts'

export type { Targets } from './addresses.ts'
export type { Lookup } from './egress-connections.ts'

/**
 * A complete answer within the deadline, whatever its status: a redirect is an answer like any other and is not
 * followed.
 */
export interface EgressAnswer {
  status: number
  /** As it was sent; joined by a comma where it was repeated. */
  retryAfter: string | undefined
  /**
   * The first 16 KiB, not decompressed, read as UTF-8. What is no text, or acts on a terminal or a database, is U+FFFD.
   */
  body: string
  /** There was more than 16 KiB; the rest was not read. */
  truncated: boolean
  durationMs: number
}

/**
 * Why there is no answer. The owner is who must act: `destination` the merchant's receiver, its name or its URL; `ours`
 * this process, and the attempt tells nothing about the receiver; `path` what lies between, where neither can be
 * blamed.
 *
 * | What happened                                                             | Class           | Owner       |
 * |---------------------------------------------------------------------------|-----------------|-------------|
 * | a URL or an address that these targets do not allow                       | refused_target  | destination |
 * | the name does not exist or has no address                                 | dns             | destination |
 * | any other failure of the look-up                                          | dns             | path        |
 * | the connection was refused                                                | connect         | destination |
 * | no route, or not permitted (EHOSTUNREACH, ENETUNREACH, EACCES and others) | of the phase    | path        |
 * | the handshake failed, or the certificate is not valid for the name        | tls             | destination |
 * | TLS broken off later, as 1.3 does for want of a certificate of ours       | tls             | destination |
 * | the connection was closed before the answer was complete                  | reset           | destination |
 * | the answer is not HTTP/1.1, or its head is over 16 KiB                    | protocol        | destination |
 * | 256 KiB that announce or frame an answer, and it is still not over        | protocol        | destination |
 * | the deadline while connecting or answering                                | timeout         | destination |
 * | the deadline during the look-up                                           | timeout         | path        |
 * | the deadline while waiting for one of our connections to the origin       | timeout         | ours        |
 * | files, memory or ports used up (EMFILE, ENOMEM, EADDRNOTAVAIL and others) | of the phase    | ours        |
 * | the caller's signal, or this egress was closed                            | reset           | ours        |
 * | a request that cannot be written (a header with a line break), a defect   | protocol        | ours        |
 */
export interface EgressFailure {
  errorClass: 'refused_target' | 'dns' | 'connect' | 'tls' | 'reset' | 'timeout' | 'protocol'
  owner: 'destination' | 'ours' | 'path'
  /** A sentence for the merchant. Tells no address, and quotes nothing that the other side sent. */
  message: string
  durationMs: number
}

export type EgressResult = { ok: true; answer: EgressAnswer } | { ok: false; failure: EgressFailure }

export interface EgressRequest {
  url: string
  /** Without host, content-length, user-agent and accept-encoding, which are set here. */
  headers: Record<string, string>
  body: string
  signal?: AbortSignal
  deadlineMs?: number
}

export interface Egress extends AsyncDisposable {
  /**
   * Posts within one deadline for waiting, look-up, connecting, handshake, head and body. Never rejects.
   *
   * The bytes go out a second time in one case: a kept-alive connection that has carried an answer before closes under
   * the request before the first byte of its answer. A healthy receiver that closes an idle connection looks just so,
   * and it must not cost an attempt. The second time is on a fresh connection, with the same webhook-id, by which
   * receivers know a repetition.
   */
  post: (request: EgressRequest) => Promise<EgressResult>
  /**
   * A sentence that says why this URL can never be a destination here, or null. Names are vetted at each connection.
   */
  vet: (url: string) => string | null
}

export interface EgressOptions {
  targets: Targets
  userAgent: string
  /** For the whole attempt; a request may have its own. */
  deadlineMs?: number
  lookup?: Lookup
  connectionsPerOriginMax?: number
  /** Over all origins; beyond it, the connection that was idle for longest is closed. */
  connectionsIdleMax?: number
  /** An older connection is not used again, so that a name that has moved is followed. */
  connectionAgeMsMax?: number
  /** PEM certificates to trust instead of the public ones. */
  tls?: { ca?: string }
}

/** A request under way. */
interface Sent extends Exchange<Sent> {
  /** On the monotonic clock. */
  readonly startedAt: number
  readonly signal: AbortSignal | undefined
  deadline: NodeJS.Timeout | undefined
  readonly resolve: (result: EgressResult) => void
}

/** Unless it is told otherwise. */
export const connectionsToOneOrigin = 192

/**
 * The guarded way out for deliveries. The caller bounds how many requests are under way; each of them waits until its
 * deadline at most.
 */
export function createEgress(options: EgressOptions): Egress {
  const { targets, userAgent, deadlineMs = 15_000 } = options
  const {
    connectionsPerOriginMax = connectionsToOneOrigin,
    connectionsIdleMax = 256,
    connectionAgeMsMax = 300_000,
  } = options
  // A developer's machine has names of its own.
  const { lookup = targets === 'public' ? nameLookup() : dns.lookup } = options
  const dial = dialler({ targets, lookup, ca: options.tls?.ca })
  const limits = { connectionsPerOriginMax, connectionsIdleMax, connectionAgeMsMax }
  const connections = connectionsTo<Sent>(dial, limits, {
    answered: (sent, truncated) => end(sent, { ok: true, answer: answerOf(sent, truncated) }),
    failed: (sent, error, phase) => end(sent, failed(failureOf(error, phase), sent.startedAt)),
  })
  const target = readTargets(targets, userAgent)
  const heard = new WeakSet<AbortSignal>()
  let closed = false

  function end(sent: Sent, result: EgressResult): void {
    clearTimeout(sent.deadline)
    sent.resolve(result)
  }

  const tooLate = (sent: Sent) => end(sent, failed(late[connections.abandon(sent)], sent.startedAt))

  function stop(sent: Sent): void {
    connections.abandon(sent)
    end(sent, failed(stopped, sent.startedAt))
  }

  // One listener for each signal, since a signal takes long to add one and longer to find it again among many.
  function hear(signal: AbortSignal): void {
    if (heard.has(signal)) return
    heard.add(signal)
    const stopAll = () =>
      connections
        .underWay()
        .filter((sent) => sent.signal === signal)
        .forEach(stop)
    signal.addEventListener('abort', stopAll, { once: true })
  }

  function post(request: EgressRequest): Promise<EgressResult> {
    const startedAt = performance.now()
    const { signal } = request
    const to = target(request.url)
    if (typeof to === 'string') return Promise.resolve(failed(refusal(to), startedAt))
    if (closed || signal?.aborted) return Promise.resolve(failed(stopped, startedAt))
    const written = writtenOf(to.start, request)
    if (written === null) return Promise.resolve(failed(byPhase.wait, startedAt))

    return new Promise((resolve) => {
      const sent: Sent = {
        origin: to.origin,
        request: written,
        connection: null,
        status: 0,
        retryAfter: undefined,
        body: noBytes,
        bodyBytes: 0,
        startedAt,
        signal,
        deadline: undefined,
        resolve,
      }
      sent.deadline = setTimeout(tooLate, request.deadlineMs ?? deadlineMs, sent)
      if (signal !== undefined) hear(signal)
      connections.run(sent)
    })
  }

  return {
    post,
    vet(url) {
      const to = targetOf(url, targets)
      return typeof to === 'string' ? to : null
    },
    async [Symbol.asyncDispose]() {
      closed = true
      const underWay = connections.underWay()
      const connectionsClosed = connections.close()
      underWay.forEach(stop)
      await connectionsClosed
    },
  }
}

const targetsReadMax = 1_000

/** Where a URL leads, and how each request to it begins. */
interface ReadTarget {
  readonly origin: string
  readonly start: string
}

/** Where URLs lead, or why they do not. Up to 1,000 are remembered: a destination's is the same for each of its deliveries. */
function readTargets(targets: Targets, userAgent: string): (url: string) => ReadTarget | string {
  const read = new Map<string, ReadTarget | string>()
  return (url) => {
    let target = read.get(url)
    if (target === undefined) {
      const to = targetOf(url, targets)
      target = typeof to === 'string' ? to : { origin: to.origin, start: startOf(to, userAgent) }
      makeRoom(read, targetsReadMax)
      read.set(url, target)
    }
    return target
  }
}

function startOf({ origin, path }: { origin: string; path: string }, userAgent: string): string {
  const host = origin.slice(origin.indexOf('//') + 2)
  const lines = [
    `POST ${path} HTTP/1.1`,
    `host: ${host}`,
    'connection: keep-alive',
    `user-agent: ${userAgent}`,
    'accept-encoding: identity',
  ]
  return lines.join('\r\n')
}

// A name is a token, a value has no control characters (RFC 9110, 5.1 and 5.5). ASCII only: what else there is, receivers read differently.
const fieldName = /^[\w!#$%&'*+.^`|~-]+$/
const fieldValue = /^[\t -~]*$/

/** A request as it goes out, or null for one that cannot be written. */
function writtenOf(start: string, { headers, body }: EgressRequest): string | null {
  let head = start
  for (const name in headers) {
    const value = headers[name] ?? ''
    if (!fieldName.test(name) || !fieldValue.test(value)) return null
    head += `\r\n${name}: ${value}`
  }
  return `${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

const noBytes = Buffer.alloc(0)

function answerOf({ status, retryAfter, body, bodyBytes, startedAt }: Sent, truncated: boolean): EgressAnswer {
  return {
    status,
    retryAfter,
    body: bodyBytes === 0 ? '' : inert(body.toString('utf8', 0, Math.min(bodyBytes, bodyBytesMax))),
    truncated,
    durationMs: since(startedAt),
  }
}

/** Control characters move cursors in terminals, and PostgreSQL stores no NUL. */
function inert(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, '\ufffd')
}

type Failure = Omit<EgressFailure, 'durationMs'>

function failed(failure: Failure, startedAt: number): EgressResult {
  return { ok: false, failure: { ...failure, durationMs: since(startedAt) } }
}

function since(startedAt: number): number {
  return Math.round(performance.now() - startedAt)
}

const refusal = (message: string): Failure => ({ errorClass: 'refused_target', owner: 'destination', message })

const stopped: Failure = { errorClass: 'reset', owner: 'ours', message: 'The attempt was stopped on our side.' }

const late: Record<Phase, Failure> = {
  wait: { errorClass: 'timeout', owner: 'ours', message: 'No connection to the receiver became free in time.' },
  lookup: { errorClass: 'timeout', owner: 'path', message: 'The host name was not resolved in time.' },
  connect: {
    errorClass: 'timeout',
    owner: 'destination',
    message: 'The receiver did not accept the connection in time.',
  },
  tls: {
    errorClass: 'timeout',
    owner: 'destination',
    message: 'The receiver did not complete the TLS handshake in time.',
  },
  answer: { errorClass: 'timeout', owner: 'destination', message: 'The receiver did not answer completely in time.' },
}

/** What an error means by the phase it struck in, where its code says nothing else. */
const byPhase: Record<Phase, Failure> = {
  wait: { errorClass: 'protocol', owner: 'ours', message: 'The request could not be sent.' },
  lookup: { errorClass: 'dns', owner: 'path', message: 'The host name could not be resolved.' },
  connect: { errorClass: 'connect', owner: 'destination', message: 'The receiver could not be reached.' },
  tls: { errorClass: 'tls', owner: 'destination', message: 'A secure connection could not be made.' },
  answer: { errorClass: 'protocol', owner: 'destination', message: 'The answer was not valid HTTP.' },
}

const reset: Failure = {
  errorClass: 'reset',
  owner: 'destination',
  message: 'The connection was closed before the answer was complete.',
}

const brokenOff: Failure = {
  errorClass: 'tls',
  owner: 'destination',
  message: 'The secure connection was broken off.',
}

const usedUp = ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL', 'EAI_MEMORY']
const noRoute = ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN', 'EAFNOSUPPORT', 'EACCES', 'EPERM']

/**
 * What an error of the network means (see `EgressFailure`). Where several addresses were tried, the error that tells
 * most counts.
 */
export function failureOf(error: Error, phase: Phase): Failure {
  if (error instanceof RefusedTarget) return refusal('The host name does not lead to public addresses only.')
  const codes = (error instanceof AggregateError ? error.errors : [error]).map(({ code }: { code?: unknown }) =>
    String(code),
  )
  const code =
    codes.find((one) => usedUp.includes(one)) ?? codes.find((one) => !noRoute.includes(one)) ?? codes[0] ?? ''
  const cut = phase === 'answer' && (isReset(error) || noRoute.includes(code))
  const general = cut ? reset : phase === 'answer' && code.startsWith('ERR_SSL_') ? brokenOff : byPhase[phase]
  const named = (failure: Failure) =>
    /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? { ...failure, message: `${failure.message} (${code})` } : failure
  if (error instanceof TypeError || error instanceof ReferenceError) return byPhase.wait
  if (usedUp.includes(code)) return { ...general, owner: 'ours', message: `The attempt failed on our side. (${code})` }
  if (noRoute.includes(code)) return named({ ...general, owner: 'path' })
  if (phase === 'lookup' && noSuchName.includes(code))
    return { ...general, owner: 'destination', message: 'The host name does not exist or has no address.' }
  if (code === 'ETIMEDOUT' && phase !== 'lookup') return late[phase]
  return named(general)
}
