import net from 'node:net'
import tls from 'node:tls'
import type { LookupAddress } from 'node:dns'
import { joined } from '../kernel/joined.ts'
import { hostOf, isPublicAddress, type Targets } from './addresses.ts'
import { answerReaders, readBytesMax, type AnswerReader } from './egress-answers.ts'

/** The shape of `dns.lookup` asked for all addresses of a name. */
export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** How far an exchange has come: waiting for a connection, resolving, connecting, in the handshake, sent. */
export type Phase = 'wait' | 'lookup' | 'connect' | 'tls' | 'answer'

/** One request and what comes back; `E` is what the caller makes of it. */
export interface Exchange<E> {
  /** Of WHATWG `URL`. */
  readonly origin: string
  /** All of it, head and body. */
  readonly request: string
  connection: Connection<E> | null
  status: number
  retryAfter: string | undefined
  /** As much of its body as is kept, and perhaps room for more. */
  body: Buffer
  /** Of what has come of it. */
  bodyBytes: number
}

/** How exchanges end: exactly one of both is called for each, and neither once it was abandoned. */
export interface ExchangeEnds<E> {
  answered(exchange: E, truncated: boolean): void
  failed(exchange: E, error: Error, phase: Phase): void
}

/** One socket, and one exchange at a time. */
interface Connection<E> {
  readonly origin: Origin<E>
  socket: net.Socket | null
  readonly answers: AnswerReader
  exchange: E | null
  phase: Phase
  readonly dialledAt: number
  /** It has carried a complete answer. */
  reused: boolean
  /** A byte of the present answer has come. */
  answering: boolean
  /** Nothing is sent before what had already come is read. */
  resting: boolean
  /** On the monotonic clock; the receiver may close it later. */
  usableUntil: number
  closed: boolean
}

interface Origin<E> {
  readonly url: string
  readonly idle: Connection<E>[]
  readonly waiting: Set<E>
  open: number
}

/** What was read of a body at most; an answer with more is cut here and its connection closed. */
export const bodyBytesMax = 16 * 1024
const sweepMs = 1_000
/** How long one address of several is tried before the next one: a first packet that was lost is sent again after 1 s (RFC 6298). */
const addressAttemptMs = 2_500
const addressesMax = 8

/** Thrown at an address that these targets do not allow. */
export class RefusedTarget extends Error {
  override readonly name = 'RefusedTarget'
}

/** `origin` is of WHATWG `URL`. What comes is read by `onread`; `connected` is called at most once, errors and ends are the socket's. */
type Dial = (
  origin: string,
  onread: net.OnReadOpts,
  entered: (phase: Phase) => void,
  connected: () => void,
) => net.Socket

/**
 * Dials vetted addresses only, and looks again at who picked up before anything is sent. `ca` is trusted instead of the
 * public certificates.
 */
export function dialler({ targets, lookup, ca }: { targets: Targets; lookup: Lookup; ca: string | undefined }): Dial {
  const allowed = targets === 'any' ? () => true : isPublicAddress
  // The public certificates take a while to load: not before they are needed.
  let secureContext = ca === undefined ? undefined : tls.createSecureContext({ ca })

  // The socket connects to what this hands back, and asks only once.
  const vettedLookup =
    (entered: (phase: Phase) => void): net.LookupFunction =>
    (hostname, { all }, callback) => {
      entered('lookup')
      lookup(hostname, { all: true }, (error, answers) => {
        if (error) return callback(error, [])
        const addresses = answers.map(({ address }) => ({ address, family: net.isIP(address) }))
        const [first] = addresses
        if (first === undefined) return callback(Object.assign(new Error('no address'), { code: 'ENODATA' }), [])
        if (!addresses.every(({ address, family }) => family !== 0 && allowed(address)))
          return callback(new RefusedTarget(), [])
        entered('connect')
        if (all === true) callback(null, addresses.slice(0, addressesMax))
        else callback(null, first.address, first.family)
      })
    }

  return (origin, onread, entered, connected) => {
    const { hostname, port, protocol } = new URL(origin)
    const secure = protocol === 'https:'
    const host = net.isIP(hostOf(hostname)) === 0 ? hostname : hostOf(hostname)
    entered('connect')
    const to = {
      host,
      port: Number(port) || (secure ? 443 : 80),
      lookup: vettedLookup(entered),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: addressAttemptMs,
      noDelay: true,
      onread,
    }
    if (secure) secureContext ??= tls.createSecureContext()
    const socket = secure
      ? tls.connect({
          ...to,
          secureContext,
          servername: net.isIP(host) === 0 ? hostOf(hostname) : '',
          rejectUnauthorized: true,
          ALPNProtocols: ['http/1.1'],
        })
      : net.connect(to)
    // Runs before the listener that starts the handshake.
    socket.prependOnceListener('connect', () => {
      if (!allowed(socket.remoteAddress ?? '')) socket.destroy(new RefusedTarget())
      else if (secure) entered('tls')
      else connected()
    })
    if (secure) socket.once('secureConnect', connected)
    return socket
  }
}

/**
 * Keeps the connections to all origins. Not by undici's Agent: its pools queue without a bound behind an origin that hangs, dial again for
 * requests long given up, refuse new origins at the bound instead of letting idle ones go, and hide whether a socket was used before. Nor
 * by its Client, which takes twice the time for a request that was made before.
 */
export function connectionsTo<E extends Exchange<E>>(
  dial: Dial,
  limits: { connectionsPerOriginMax: number; connectionsIdleMax: number; connectionAgeMsMax: number },
  ends: ExchangeEnds<E>,
) {
  const origins = new Map<string, Origin<E>>()
  const open = new Set<Connection<E>>()
  /** Over all origins, the one idle for longest first. */
  const idle = new Set<Connection<E>>()
  const readerOf = answerReaders()
  // What is read is taken in before the next is read.
  const bytes = Buffer.allocUnsafeSlow(readBytesMax)
  const rest = createRest<Connection<E>>((connection) => {
    connection.resting = false
    if (connection.exchange !== null) write(connection, connection.exchange)
  })
  let sweep: NodeJS.Timeout | undefined
  let closing = false

  function run(exchange: E): void {
    let origin = origins.get(exchange.origin)
    if (origin === undefined) {
      origin = { url: exchange.origin, idle: [], waiting: new Set(), open: 0 }
      origins.set(origin.url, origin)
    }
    const connection = origin.idle.pop()
    if (connection !== undefined) {
      idle.delete(connection)
      send(connection, exchange)
    } else if (origin.open < limits.connectionsPerOriginMax) send(connect(origin), exchange)
    else origin.waiting.add(exchange)
  }

  function send(connection: Connection<E>, exchange: E): void {
    connection.exchange = exchange
    connection.answering = false
    exchange.connection = connection
    if (performance.now() >= connection.usableUntil) drop(connection, exchange)
    else if (connection.phase === 'answer' && !connection.resting) write(connection, exchange)
  }

  const write = ({ socket }: Connection<E>, { request }: E) => void socket?.write(request)

  function connect(origin: Origin<E>): Connection<E> {
    const connection: Connection<E> = {
      origin,
      socket: null,
      answers: readerOf({
        head(status, retryAfter) {
          if (connection.exchange === null) return
          connection.exchange.status = status
          connection.exchange.retryAfter = retryAfter
        },
        body: (part) => keep(connection, part),
        end: (idleMsMax) => release(connection, idleMsMax),
      }),
      exchange: null,
      phase: 'connect',
      dialledAt: performance.now(),
      reused: false,
      answering: false,
      resting: false,
      usableUntil: Infinity,
      closed: false,
    }
    const entered = (phase: Phase) => {
      connection.phase = phase
    }
    const connected = () => {
      entered('answer')
      if (connection.exchange !== null) write(connection, connection.exchange)
    }
    const onread = { buffer: bytes, callback: (length: number) => read(connection, length) }
    connection.socket = dial(origin.url, onread, entered, connected)
      .on('error', (error) => ended(connection, error))
      .on('end', () => ended(connection, cut()))
      .on('close', () => ended(connection, cut()))
    origin.open += 1
    open.add(connection)
    return connection
  }

  function read(connection: Connection<E>, length: number): boolean {
    const { exchange } = connection
    if (connection.closed) return false
    // Nobody asked for it.
    if (exchange === null || connection.resting) {
      drop(connection, exchange ?? undefined)
      return false
    }
    connection.answering = true
    try {
      connection.answers.read(bytes.subarray(0, length))
    } catch (error) {
      fail(connection, error as Error)
      return false
    }
    if (connection.exchange === null || exchange.bodyBytes <= bodyBytesMax) return true
    drop(connection)
    ends.answered(exchange, true)
    return false
  }

  function keep({ exchange }: Connection<E>, part: Buffer): boolean {
    if (exchange === null) return false
    exchange.body = joined(exchange.body, exchange.bodyBytes, part, bodyBytesMax)
    exchange.bodyBytes += part.length
    return exchange.bodyBytes <= bodyBytesMax
  }

  function release(connection: Connection<E>, idleMsMax: number): void {
    const { origin, exchange, socket } = connection
    if (exchange === null) return
    connection.exchange = null
    connection.reused = true
    const now = performance.now()
    const young = now - connection.dialledAt < limits.connectionAgeMsMax
    if (idleMsMax > 0 && young && socket?.writableLength === 0) {
      connection.usableUntil = now + idleMsMax
      connection.resting = true
      rest.add(connection)
      const next = origin.waiting.values().next().value
      if (next !== undefined) {
        origin.waiting.delete(next)
        send(connection, next)
      } else putAside(connection)
    } else drop(connection)
    ends.answered(exchange, false)
  }

  function putAside(connection: Connection<E>): void {
    connection.origin.idle.push(connection)
    idle.add(connection)
    if (idle.size > limits.connectionsIdleMax) drop(idle.values().next().value ?? connection)
    sweep ??= setTimeout(dropOld, sweepMs).unref()
  }

  function dropOld(): void {
    sweep = undefined
    const now = performance.now()
    for (const connection of idle) if (now >= connection.usableUntil) drop(connection)
    if (idle.size > 0) sweep = setTimeout(dropOld, sweepMs).unref()
  }

  /** An error, or the end of the connection, which may be the end of the answer. */
  function ended(connection: Connection<E>, error: Error): void {
    const { exchange, closed, resting } = connection
    if (closed) return
    if (exchange === null) drop(connection)
    else if (resting || !isReset(error) || !connection.answers.ended()) fail(connection, error)
  }

  function fail(connection: Connection<E>, error: Error): void {
    const { exchange, phase } = connection
    if (exchange === null) return
    // Once at most, for the repetition goes out on a connection that is not reused.
    const repeatable = connection.reused && !connection.answering && isReset(error)
    drop(connection, repeatable ? exchange : undefined)
    if (!repeatable) ends.failed(exchange, error, phase)
  }

  /** Closes the connection. Its place goes to the given exchange, or else to the first that waits. */
  function drop(connection: Connection<E>, successor?: E): void {
    if (connection.closed) return
    const { origin } = connection
    connection.closed = true
    connection.exchange = null
    open.delete(connection)
    if (idle.delete(connection)) origin.idle.splice(origin.idle.indexOf(connection), 1)
    connection.answers[Symbol.dispose]()
    connection.socket?.destroy()
    origin.open -= 1
    const next = closing ? undefined : (successor ?? origin.waiting.values().next().value)
    if (next !== undefined) {
      origin.waiting.delete(next)
      send(connect(origin), next)
    } else if (origin.open === 0) origins.delete(origin.url)
  }

  return {
    /** Sends on an idle connection or a new one, or lets the exchange wait for one. */
    run,
    /** Gives an exchange up, wherever it is, and says how far it had come. */
    abandon(exchange: E): Phase {
      const { connection } = exchange
      if (connection?.exchange === exchange) {
        const { phase } = connection
        drop(connection)
        return phase
      }
      origins.get(exchange.origin)?.waiting.delete(exchange)
      return 'wait'
    },
    /** All exchanges that have not ended. */
    underWay(): E[] {
      const sent = [...open].flatMap(({ exchange }) => exchange ?? [])
      return [...sent, ...[...origins.values()].flatMap(({ waiting }) => [...waiting])]
    },
    /** Closes all connections. The caller abandons what is under way. */
    async close(): Promise<void> {
      closing = true
      clearTimeout(sweep)
      await Promise.all(
        [...open].map(async (connection) => {
          const { promise, resolve } = Promise.withResolvers<void>()
          connection.socket?.once('close', () => resolve())
          drop(connection)
          await promise
        }),
      )
    },
  }
}

/** Lets each rest until all that had come when it was added has been read: a whole turn of the event loop. */
function createRest<One>(rested: (one: One) => void): { add(one: One): void } {
  let added: One[] = []
  let resting: One[] = []
  let turning = false
  const turn = () => {
    const over = resting
    resting = added
    added = []
    turning = resting.length > 0
    if (turning) setImmediate(turn)
    for (const one of over) rested(one)
  }
  return {
    add(one) {
      added.push(one)
      if (!turning) setImmediate(turn)
      turning = true
    },
  }
}

/** The other side ended the connection. */
const cut = (): Error => Object.assign(new Error('the other side closed the connection'), { code: 'ECONNRESET' })

/** The other side closed the connection, as against not being HTTP. */
export const isReset = ({ code }: Error & { code?: string }): boolean => code === 'ECONNRESET' || code === 'EPIPE'
