import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { terminalFrameBytesMax } from '@kaha/contract'
import { WebSocketServer, type RawData, type WebSocket } from 'ws'
import type { TerminalIdentity, TerminalPrincipal } from '../../../identity/terminal-keys.ts'
import type { Bus } from '../../../kernel/bus.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { isAway, type Db } from '../../../kernel/db.ts'
import { Fault } from '../../../kernel/fault.ts'
import { headerOf } from '../../../kernel/http/header.ts'
import { newId } from '../../../kernel/ids.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Metrics } from '../../../kernel/metrics.ts'
import { refuse } from '../errors.ts'
import type { TerminalFigures } from '../figures.ts'
import type { Connections } from '../connections.ts'
import type { Sending } from '../dependencies.ts'
import { requireGroup } from '../routes.ts'
import type { TerminalsService } from '../service.ts'
import type { TerminalCases } from '../service-terminal.ts'
import { createActions, speakerOf } from './actions.ts'
import { createDeliverer } from './deliver.ts'
import { decline, handshake, isHandshake, noHandshake, noteRefusals, retrySoon } from './handshake.ts'
import { createLinks, Link } from './links.ts'
import { silentPingsMax, startLiveness } from './liveness.ts'
import { startOrders } from './orders.ts'

const framesWaitingMax = 64
// The two that are no part of a path could not be paid at over HTTP. A header has no spaces around its value.
const deviceId = /^(?!\.{1,2}$)[\x20-\x7e]{1,64}$/
const socketsMax = 20_000
const stopMsMax = 2_000
const unsentMax = 10_000
// What the library closes a socket for, before anybody has seen what was in the frame.
const unreadable: Readonly<Record<string, string>> = {
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: 'more than 64 KiB',
  WS_ERR_INVALID_UTF8: 'not UTF-8',
  WS_ERR_TOO_MANY_BUFFERED_PARTS: 'more than 256 fragments',
}
// The library keeps each fragment with all that came with it in one read from the socket, 64 KiB at most, until the last is there.
const fragmentsMax = 256
// A commit that nobody waits for any more may still go through.
const unsentMsMax = 60_000

export interface GatewayOptions {
  /** How often sockets are pinged. */
  readonly pingMs?: number
  /** How long one that was told goodbye may keep its end of the line open. */
  readonly closeMs?: number
}

export interface GatewayDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly figures: TerminalFigures
  readonly identity: TerminalIdentity
  readonly service: TerminalsService
  readonly cases: TerminalCases
  readonly connections: Connections
  readonly options: GatewayOptions
  /** The path of a request as the contract has it, from the address of the service; null for a path elsewhere. */
  readonly pathOf: (request: IncomingMessage) => string | null
}

export interface Gateway extends AsyncDisposable, Sending {
  /** Takes upgrades from now on. */
  attach(server: Server): void
}

/** The sockets of terminals and tills in this process. */
export function createGateway(deps: GatewayDependencies): Gateway {
  const { db, bus, clock, log, metrics, figures, identity, service, cases, connections, pathOf } = deps
  const { pingMs = 15_000, closeMs = 2_000 } = deps.options
  const links = createLinks()
  // Connections that have ended here and may not have in the database, which was away, and whether they said goodbye.
  const unended = new Map<string, boolean>()
  // Payments that may be stored as sent to a socket here and are not, and until which time of the system, in ms, they are looked for.
  const unsent = new Map<string, number>()
  const where = 'terminals.socket'
  metrics.unexpectedErrors.inc({ where }, 0)
  const onError = (error: unknown) => {
    if (isAway(error)) return
    metrics.unexpectedErrors.inc({ where })
    log.error({ err: error }, 'work for a socket failed for a cause of ours')
  }
  const refused = noteRefusals(log, metrics)
  figures.countSockets(() => links.size)
  // The types of the library do not know the last two of these yet.
  const options = {
    noServer: true,
    perMessageDeflate: false,
    maxPayload: terminalFrameBytesMax,
    clientTracking: false,
    closeTimeout: closeMs,
    maxFragments: fragmentsMax,
  }
  const server = new WebSocketServer(options)
  const noteUnsent = (ids: readonly string[]) => {
    const untilMs = clock.wall() + unsentMsMax
    for (const id of ids) if (unsent.size < unsentMax) unsent.set(id, untilMs)
  }
  const deliverer = createDeliverer({
    db,
    bus,
    clock,
    links,
    cases,
    connections,
    unsent: noteUnsent,
    checkSoon: () => liveness.checkSoon(),
    onError,
  })
  const { desktops, terminals } = deliverer
  const act = createActions({
    identity,
    service,
    cases,
    connections,
    clock,
    tellEnd: desktops.tellEnd,
    end(link) {
      if (!link.dismissed) deliverer.dismiss(link, 'other')
    },
    onError,
  })
  const liveness = startLiveness({
    links,
    clock,
    connections,
    onError,
    pingMs,
    dismiss: (link, reason) => deliverer.dismiss(link, reason),
    async settle() {
      const ends = [...unended].map(async ([connectionId, isGoodbye]) => {
        await connections.disconnect(connectionId, isGoodbye)
        unended.delete(connectionId)
      })
      const looks = [...unsent].map(async ([id, untilMs]) => {
        if ((await cases.notSent(id)) !== undefined || clock.wall() >= untilMs) unsent.delete(id)
      })
      // One that cannot be stored holds up no other.
      for (const done of await Promise.allSettled([...ends, ...looks]))
        if (done.status === 'rejected') onError(done.reason)
      terminals.tellAgain()
      desktops.tellAgain()
      await desktops.tellMissed().catch(onError)
    },
  })
  const orders = startOrders({
    bus,
    log,
    identity,
    connections,
    links,
    dismiss(link) {
      link.byOperator = true
      deliverer.dismiss(link, 'admin_action')
      // It is offline at once, however long it keeps its end of the line open; its close finds nothing to end.
      link.inTurn(() => disconnect(link.connectionId, true))
    },
  })
  // Words that were lost may have told of connections that were replaced elsewhere.
  const forget = bus.listen('terminals', () => liveness.checkSoon())
  const closing = new Set<Promise<void>>()
  let draining = false

  /** Where that cannot be stored, it is as soon as it can. */
  const disconnect = (connectionId: string, isGoodbye: boolean) =>
    connections.disconnect(connectionId, isGoodbye).catch((error: unknown) => {
      unended.set(connectionId, isGoodbye)
      throw error
    })

  const serve = (socket: WebSocket, link: Link, isNew: boolean) => {
    let waiting = 0
    const noteLife = () => {
      link.lastFrameMs = clock.wall()
      link.offsetMs = clock.offsetMs
      link.unanswered = 0
    }
    socket.on('message', (data: RawData, isBinary: boolean) => {
      noteLife()
      waiting += 1
      // Who sends faster than is worked is read no faster.
      if (waiting >= framesWaitingMax) socket.pause()
      link.inTurn(async () => {
        try {
          await act(link, data as Buffer, isBinary)
        } finally {
          waiting -= 1
          if (waiting === framesWaitingMax >> 1) socket.resume()
        }
      })
    })
    socket.on('pong', (data) => {
      noteLife()
      link.ponged(data)
    })
    socket.on('ping', noteLife)
    socket.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
      const why = unreadable[code]
      if (why !== undefined && link.terminalId !== null) link.inTurn(() => cases.hearUnreadable(speakerOf(link), why))
    })
    socket.on('close', (code) => {
      links.remove(link)
      // What was said before the close counts before it.
      const ending = new Promise<void>((done) => {
        link.inTurn(async () => {
          const isGoodbye = link.byOperator || (code === 1000 && !link.dismissed)
          await disconnect(link.connectionId, isGoodbye).finally(done)
        })
      })
      closing.add(ending)
      void ending.finally(() => closing.delete(ending))
    })
    if (link.principal.role === 'desktop') desktops.catchUp(link)
    // One that was never here has nothing to be asked about.
    else if (!isNew) terminals.ask(link)
  }

  const admit = async (request: IncomingMessage): Promise<{ principal: TerminalPrincipal; device: string | null }> => {
    const query = new URLSearchParams((request.url ?? '').split('?')[1] ?? '')
    if (['x-api-key', 'x-group-id'].some((name) => query.getAll(name).length > 1))
      throw refuse('INVALID_REQUEST', 'A query parameter is sent twice; send it once.')
    if ((request.headersDistinct['x-device-id'] ?? []).length > 1)
      throw refuse('INVALID_REQUEST', 'X-Device-Id is sent twice; send it once.')
    const apiKey = headerOf(request, 'x-api-key') ?? query.get('x-api-key') ?? undefined
    const principal = await identity.authenticate(apiKey)
    requireGroup(principal, headerOf(request, 'x-group-id') ?? query.get('x-group-id') ?? undefined)
    const device = headerOf(request, 'x-device-id') ?? null
    if (device !== null && principal.role !== 'terminal')
      throw refuse('GROUP_MISMATCH', 'X-Device-Id is for terminals; this is the key of a desktop.')
    if (device !== null && !deviceId.test(device))
      throw refuse(
        'INVALID_REQUEST',
        'X-Device-Id must be 1 to 64 characters of ASCII, spaces among them, not only one or two dots',
      )
    if (draining) throw new Fault('UNAVAILABLE', 'The server restarts; connect again in a few seconds.', retrySoon)
    if (links.size >= socketsMax)
      throw new Fault('UNAVAILABLE', 'This server holds as many sockets as it can.', retrySoon)
    return { principal, device }
  }

  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const gone = (): void => void socket.destroy()
    socket.on('error', gone)
    const changesBefore = orders.changes
    try {
      if (pathOf(request) !== '/v1') throw new Fault('NOT_FOUND', 'There is nothing at this path.')
      if (!isHandshake(request)) throw refuse('INVALID_REQUEST', noHandshake)
      const { principal, device } = await admit(request)
      const connectionId = newId(clock.now())
      const { terminalId, isNew } = await connections
        .connect(principal, connectionId, device)
        .catch((error: unknown) => {
          // It may be registered all the same, and there is no socket whose close would end it.
          if (isAway(error) && unended.size < socketsMax) unended.set(connectionId, false)
          throw error
        })
      if (draining) {
        await disconnect(connectionId, false)
        return gone()
      }
      let taken = false
      server.handleUpgrade(request, socket, head, (opened) => {
        taken = true
        metrics.requests.inc({ operation: handshake, status: '101' })
        const about = { connectionId, principal, terminalId, deviceId: device }
        const link = new Link(opened, about, clock.wall(), onError, silentPingsMax * pingMs)
        links.add(link)
        serve(opened, link, isNew)
        deliverer.arrived(link)
      })
      if (!taken) await disconnect(connectionId, false)
      else socket.off('error', gone)
      const link = links.find(connectionId)
      if (link !== undefined && orders.changes !== changesBefore) orders.check(link)
    } catch (error) {
      if (!(error instanceof Fault)) onError(error)
      refused(decline(socket, error, clock.now()))
    }
  }

  /** Says goodbye to every socket and takes no new one. */
  const drain = async () => {
    draining = true
    for (const link of links.all()) deliverer.dismiss(link, 'server_restarting')
    const end = performance.now() + stopMsMax
    while (links.size > 0 && performance.now() < end) await new Promise((done) => setTimeout(done, 10))
    for (const link of links.all()) link.terminate()
    while (links.size > 0 && performance.now() < end + stopMsMax) await new Promise((done) => setTimeout(done, 5))
    await Promise.all(closing)
  }

  return {
    connectionOf(groupId, terminalId) {
      const link = links.findTerminal(groupId, terminalId)
      return link === undefined || link.dismissed ? undefined : link.connectionId
    },
    send: (row) => terminals.sendStored(row),
    unsent: noteUnsent,
    attach(http) {
      // Beside the connections of HTTP.
      http.maxConnections += socketsMax
      http.on('upgrade', (request, socket, head) => void upgrade(request, socket, head))
    },
    async [Symbol.asyncDispose]() {
      await drain()
      forget()
      await orders[Symbol.asyncDispose]()
      deliverer.stop()
      await liveness[Symbol.asyncDispose]()
      server.close()
    },
  }
}
