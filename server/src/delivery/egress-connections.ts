import net from 'node:net'
import tls from 'node:tls'
import type { LookupAddress } from 'node:dns'
import { Client, type Dispatcher, type buildConnector } from 'undici'
import { hostOf, isPublicAddress, type Targets } from './addresses.ts'

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
  readonly origin: string
  readonly options: Dispatcher.DispatchOptions
  connection: Connection<E> | null
  status: number
  headers: Record<string, string | string[] | undefined>
  chunks: Buffer[]
  bodyBytes: number
}

/** How exchanges end: exactly one of both is called for each, and neither once it was abandoned. */
export interface ExchangeEnds<E> {
  answered(exchange: E, truncated: boolean): void
  failed(exchange: E, error: Error, phase: Phase): void
}

/** One socket at a time, and one exchange at a time. */
interface Connection<E> {
  readonly origin: Origin<E>
  readonly client: Client
  readonly handler: Dispatcher.DispatchHandler
  exchange: E | null
  socket: net.Socket | null
  phase: Phase
  dialledAt: number
  /** The present socket has carried a complete answer. */
  reused: boolean
  /** A byte of the present answer has come. */
  answering: boolean
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
const headBytesMax = 16 * 1024
const keepAliveMs = 4_000
const keepAliveMsMax = 30_000
/** How long one address of several is tried before the next one. */
const addressAttemptMs = 1_000
const addressesMax = 8

/** Thrown at an address that these targets do not allow. */
export class RefusedTarget extends Error {
  override readonly name = 'RefusedTarget'
}

type Dial = (
  target: buildConnector.Options,
  entered: (phase: Phase) => void,
  callback: buildConnector.Callback,
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

  return ({ hostname, port, protocol }, entered, callback) => {
    const secure = protocol === 'https:'
    entered('connect')
    const to = {
      host: hostname,
      port: Number(port) || (secure ? 443 : 80),
      lookup: vettedLookup(entered),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: addressAttemptMs,
      noDelay: true,
    }
    if (secure) secureContext ??= tls.createSecureContext()
    const socket = secure
      ? tls.connect({
          ...to,
          secureContext,
          servername: net.isIP(hostname) === 0 ? hostOf(hostname) : '',
          rejectUnauthorized: true,
          ALPNProtocols: ['http/1.1'],
        })
      : net.connect(to)

    let handed = false
    const hand = (error: Error | null) => {
      if (handed) return
      handed = true
      if (error === null) callback(null, socket)
      else callback(error, null)
    }
    socket.on('error', hand)
    // Runs before the listener that starts the handshake.
    socket.prependOnceListener('connect', () => {
      if (!allowed(socket.remoteAddress ?? '')) socket.destroy(new RefusedTarget())
      else if (secure) entered('tls')
      else hand(null)
    })
    if (secure) socket.once('secureConnect', () => hand(null))
    return socket
  }
}

/**
 * Keeps the connections to all origins, each an undici Client. Not undici's Agent: its pools queue without a bound
 * behind an origin that hangs, dial again for requests long given up, refuse new origins at the bound instead of
 * letting idle ones go, and hide whether a socket was used before.
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
    connection.client.dispatch(exchange.options, connection.handler)
  }

  function connect(origin: Origin<E>): Connection<E> {
    const connection: Connection<E> = {
      origin,
      client: new Client(origin.url, {
        // Called again when the receiver closes the socket after `send` and before the request is written.
        connect: (target, callback) => {
          connection.reused = false
          connection.dialledAt = performance.now()
          const entered = (phase: Phase) => {
            connection.phase = phase
          }
          connection.socket = dial(target, entered, (...result) => {
            if (result[0] === null) entered('answer')
            callback(...result)
          })
        },
        allowH2: false,
        pipelining: 1,
        keepAliveTimeout: keepAliveMs,
        keepAliveMaxTimeout: keepAliveMsMax,
        maxHeaderSize: headBytesMax,
        // The caller's deadline covers both.
        headersTimeout: 0,
        bodyTimeout: 0,
      }),
      handler: {
        onRequestStart() {},
        onResponseStarted() {
          connection.answering = true
        },
        onResponseStart(_, status, headers) {
          if (status >= 200 && connection.exchange !== null) Object.assign(connection.exchange, { status, headers })
        },
        onResponseData: (_, chunk) => read(connection, chunk),
        onResponseEnd: () => release(connection),
        onResponseError: (_, error) => fail(connection, error),
      },
      exchange: null,
      socket: null,
      phase: 'connect',
      dialledAt: 0,
      reused: false,
      answering: false,
      closed: false,
    }
    connection.client.on('disconnect', () => {
      if (connection.exchange === null) void drop(connection)
    })
    origin.open += 1
    open.add(connection)
    return connection
  }

  function read(connection: Connection<E>, chunk: Buffer): void {
    const { exchange } = connection
    if (exchange === null) return
    exchange.chunks.push(chunk)
    exchange.bodyBytes += chunk.length
    if (exchange.bodyBytes <= bodyBytesMax) return
    void drop(connection)
    ends.answered(exchange, true)
  }

  function release(connection: Connection<E>): void {
    const { origin, exchange } = connection
    if (exchange === null) return
    connection.exchange = null
    connection.reused = true
    const next = origin.waiting.values().next().value
    if (performance.now() - connection.dialledAt >= limits.connectionAgeMsMax) void drop(connection)
    else if (next !== undefined) {
      origin.waiting.delete(next)
      send(connection, next)
    } else {
      origin.idle.push(connection)
      idle.add(connection)
      if (idle.size > limits.connectionsIdleMax) void drop(idle.values().next().value ?? connection)
    }
    ends.answered(exchange, false)
  }

  function fail(connection: Connection<E>, error: Error): void {
    const { exchange, phase } = connection
    if (exchange === null) return
    // Once at most, for the repetition goes out on a connection that is not reused.
    const repeatable = connection.reused && !connection.answering && isReset(error)
    void drop(connection, repeatable ? exchange : undefined)
    if (!repeatable) ends.failed(exchange, error, phase)
  }

  /** Closes the connection. Its place goes to the given exchange, or else to the first that waits. */
  async function drop(connection: Connection<E>, successor?: E): Promise<void> {
    if (connection.closed) return
    const { origin } = connection
    connection.closed = true
    connection.exchange = null
    open.delete(connection)
    if (idle.delete(connection)) origin.idle.splice(origin.idle.indexOf(connection), 1)
    const destroyed = connection.client.destroy()
    connection.socket?.destroy()
    origin.open -= 1
    const next = closing ? undefined : (successor ?? origin.waiting.values().next().value)
    if (next !== undefined) {
      origin.waiting.delete(next)
      send(connect(origin), next)
    } else if (origin.open === 0) origins.delete(origin.url)
    await destroyed
  }

  return {
    /** Sends on an idle connection or a new one, or lets the exchange wait for one. */
    run,
    /** Gives an exchange up, wherever it is, and says how far it had come. */
    abandon(exchange: E): Phase {
      const { connection } = exchange
      if (connection?.exchange === exchange) {
        const { phase } = connection
        void drop(connection)
        return phase
      }
      origins.get(exchange.origin)?.waiting.delete(exchange)
      return 'wait'
    },
    /** Closes all connections. The caller abandons what is under way. */
    async close(): Promise<void> {
      closing = true
      await Promise.all([...open].map((connection) => drop(connection)))
    },
  }
}

/** The other side closed the connection, as against not being HTTP (which undici reports under the same code). */
export function isReset(error: Error & { code?: string }): boolean {
  if (error.code === 'UND_ERR_SOCKET') return !error.message.startsWith('bad ')
  return error.code === 'ECONNRESET' || error.code === 'EPIPE'
}
