import type { IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { Fault } from '../fault.ts'
import { newId } from '../ids.ts'
import { nothingHere, refuseUnrouted, type Edge } from './area.ts'
import { takeBody } from './body.ts'
import { createOwed, type Owed } from './owed.ts'
import { refuseUnreadable } from './unreadable.ts'

export interface HttpOptions extends Edge {
  readonly clock: Clock
  readonly trustProxy: false | string[]
  /** Host names that carry one service each, with the path under which that service lives. */
  readonly prefixOfHost: ReadonlyMap<string, string>
  /** Whether there are WebSockets at the address of a request; where there are none, the offer of one is passed over. */
  readonly takesSockets: (request: IncomingMessage) => boolean
  /** How long a request may take to arrive; it is looked at five times in that time. Default 30 s. */
  readonly requestMsMax?: number
  /**
   * How long it goes on when it is to close, not ready, and ends each connection with its next answer: whoever keeps connections has no request
   * of them cut. Default 0.
   */
  readonly leaveMs?: number
}

const connectionsMax = 10_000
const requestMsUsual = 30_000
const looksMin = 5
const keepAliveMs = 60_000
// Of the five seconds that a stop may take.
const closeMsMax = 3_000
// No route has an expression that a long text could keep busy, and Node takes 16 KiB of headers: an id that is too long is told as any other.
const paramCharactersMax = 16_384

/**
 * The HTTP server before any area is mounted. One log line and one measurement per request; the path in both is the route's pattern,
 * for an address may hold a token.
 */
export function createHttp(options: HttpOptions): FastifyInstance {
  const { log, metrics, clock, prefixOfHost, takesSockets, requestMsMax = requestMsUsual, leaveMs = 0 } = options
  const newCorrelationId = () => newId(new Date(clock.wall()))
  // Lines whose request was answered before all of it had come.
  const answered = new WeakSet<Socket>()
  // What stands behind a request is refused in silence: its sender would take the refusal for the answer to that.
  const unreadable = (error: { readonly code?: string }, socket: Socket) => {
    if (socket.writable && owed.endsAfterAnswers(socket)) return
    if (answered.has(socket)) socket.destroy()
    else refuseUnreadable(error, socket, { log, metrics, correlationId: newCorrelationId() })
  }
  const app: FastifyInstance = fastify({
    logger: false,
    genReqId: newCorrelationId,
    requestIdHeader: false,
    trustProxy: options.trustProxy,
    requestTimeout: requestMsMax,
    keepAliveTimeout: keepAliveMs,
    bodyLimit: 64 * 1024,
    forceCloseConnections: 'idle',
    // Its own refusal of what comes while it closes has no envelope; what that needs is there until it has closed.
    return503OnClosing: false,
    http: {
      // Its own refusal of a request without Host has no envelope; ours is below.
      requireHostHeader: false,
      // Said here it is the bound of the headers too. They would have 60 s else, and of two bounds Node gives the body the longer.
      requestTimeout: requestMsMax,
      connectionsCheckingInterval: Math.ceil(requestMsMax / looksMin),
      shouldUpgradeCallback(request) {
        owed.heard(request.socket)
        const isTaken = isForSocket(request) && takesSockets(request) && app.server.listenerCount('upgrade') > 0
        // Whoever takes it writes on the line at once. Before the answers that it waits for it is a request like any other.
        return isTaken && !owed.owes(request.socket)
      },
    },
    routerOptions: { maxParamLength: paramCharactersMax, querystringParser: () => ({}) },
    // Addresses that do not decode, or are longer than any of ours.
    frameworkErrors: (error, request, reply) => void tellWhoseItIs(app, error, request, reply),
    clientErrorHandler: unreadable,
    rewriteUrl: (request: IncomingMessage) => underPrefix(request, prefixOfHost),
  })
  app.decorate('refusers', [])
  app.decorate('leaving', { is: false })
  app.setErrorHandler((error, request, reply) => tellWhoseItIs(app, error, request, reply))
  app.setNotFoundHandler((request, reply) => tellWhoseItIs(app, nothingHere(), request, reply))
  app.server.maxConnections = connectionsMax
  const owed = createOwed(app.server)
  app.decorateRequest('principal', null)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-correlation-id', request.id)
    owed.asked(request.raw, reply.raw)
    reply.raw.once('close', () => {
      owed.answered(request.raw)
      note(request, reply, options)
    })
    request.sent = takeBody(request)
    done()
  })
  // From the start, for what is seen to grow must have been there before.
  app.addHook('onRoute', ({ config }) => {
    const operation = config?.operationId ?? 'none'
    metrics.unexpectedErrors.inc({ where: operation }, 0)
    for (const status of ['500', '503']) metrics.requests.inc({ operation, status }, 0)
  })
  app.addHook('onRequest', (request, _reply, done) => done(hostFaultOf(request.raw)))
  // An expectation of which nothing is known may be ignored (RFC 9110, 10.1.1); Node's refusal has no envelope.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  // It asks for no path. Node closes the line without a word where nobody listens, and has let go of the socket where somebody does.
  app.server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy())
    unreadable({ code: 'CONNECT' }, socket as Socket)
  })
  // Fastify closes the connection under who is still sending a body that is too large, and who then sees no answer; Node reads what is left of it.
  app.addHook('onSend', ({ raw }, reply, _payload, done) => {
    if (!raw.complete) {
      if (!isClosed()) reply.removeHeader('connection')
      answered.add(raw.socket)
      raw.once('close', () => answered.delete(raw.socket))
    }
    done()
  })
  refuseUnrouted(app)
  const isClosed = closeInTime(app, owed, leaveMs)
  app.addHook('onResponse', (_request, _reply, done) => {
    // The connection of an answer that was under way is idle from now on, and nobody else would close it before its keep-alive ends.
    if (isClosed()) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
  return app
}

/** Notes an answer, or that its connection was closed before it was written whole: by the caller, on the way or here. What was asked for may be done. */
function note({ method, id, routeOptions }: FastifyRequest, reply: FastifyReply, { log, metrics }: Edge): void {
  const { config, url } = routeOptions
  const { raw, elapsedTime } = reply
  const operation = config.operationId ?? 'none'
  const status = raw.headersSent ? raw.statusCode : null
  metrics.requests.inc({ operation, status: raw.writableFinished ? String(status) : 'cut' })
  if (raw.writableFinished) metrics.requestSeconds.observe({ operation }, elapsedTime / 1000)
  log.info(
    {
      operation,
      method,
      path: url ?? null,
      status,
      ...(raw.writableFinished ? {} : { cut: true }),
      ms: Math.round(elapsedTime * 10) / 10,
      correlation_id: id,
    },
    'request',
  )
}

/** Clients that would rather speak HTTP/2 offer it on each request, as Java's do, and are answered in HTTP/1.1 (RFC 9110, 7.8). */
const isForSocket = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket'

/** Since HTTP/1.1 a request has one Host (RFC 9112, 3.2). */
function hostFaultOf({ httpVersion, rawHeaders }: IncomingMessage): Fault | undefined {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return undefined
  return new Fault('BAD_REQUEST', 'Send the header Host, and send it once.')
}

/**
 * Leaves first, and then lets answers that are under way end, for a while: somebody who has stopped reading one must not keep the server from
 * stopping. Tells whether new connections are refused.
 */
function closeInTime(app: FastifyInstance, owed: Owed, leaveMs: number): () => boolean {
  let closed = false
  app.addHook('preClose', async () => {
    app.leaving.is = true
    const cut = setTimeout(() => app.server.closeAllConnections(), closeMsMax)
    app.server.once('close', () => clearTimeout(cut))
    // Browsers open them ahead, and Node takes them for connections that are in use.
    const closeSilent = (those: readonly Socket[]) => {
      for (const socket of those) if (socket.bytesRead === 0) socket.destroy()
    }
    const before = owed.silent()
    // From here on each answer says that it is the connection's last.
    if (app.server.listening) await sleep(leaveMs)
    closed = true
    closeSilent(before)
    setTimeout(closeSilent, leaveMs, owed.silent()).unref()
  })
  return () => closed
}

/** The room with the longest matching prefix answers; outside of all rooms the first one does. */
function tellWhoseItIs(app: FastifyInstance, error: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
  const inside = app.refusers.filter(({ prefix }) => request.url.startsWith(`${prefix}/`))
  const refuser = inside.toSorted((one, other) => other.prefix.length - one.prefix.length)[0] ?? app.refusers[0]
  reply.header('x-correlation-id', request.id)
  return refuser === undefined ? reply.code(404).send() : refuser.refuse(error, request, reply)
}

/** The host and what is asked of it. A request line may have the whole address, whose host then counts (RFC 9112, 3.2.2). */
export function requestTargetOf(url = '/', host = ''): { readonly host: string; readonly path: string } {
  const [whole = '', authority = host] = wholeAddress.exec(url) ?? []
  const path = url.slice(whole.length)
  return { host: authority.toLowerCase(), path: whole !== '' && !path.startsWith('/') ? `/${path}` : path }
}

const wholeAddress = /^https?:\/\/([^/?#]*)/i

function underPrefix(request: IncomingMessage, prefixOfHost: ReadonlyMap<string, string>): string {
  const { host, path } = requestTargetOf(request.url, request.headers.host)
  const prefix = prefixOfHost.get(host) ?? ''
  return path === '/' && prefix !== '' ? prefix : `${prefix}${path}`
}

/** Where a listening server answers. */
export function portOf(app: FastifyInstance): number {
  return (app.server.address() as AddressInfo).port
}
