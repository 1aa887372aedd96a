import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import type { TerminalPrincipal } from '../../../identity/terminal-keys.ts'
import { framesOf } from './frames.ts'

/** One open socket of this process, and what belongs to it. */
export interface Link {
  readonly connectionId: string
  readonly principal: TerminalPrincipal
  /** Of a terminal: which one it is. */
  readonly terminalId: string | null
  readonly deviceId: string | null
  /** System time of the last frame. */
  lastFrameMs: number
  /** System time of the last frame that is stored, or of the beginning. */
  storedFrameMs: number
  /** Pings since the last frame. */
  unanswered: number
  /** Another connection took its place. */
  replaced: boolean
  /** An operator closed it. */
  byOperator: boolean
  /** Payments that this connection was asked about. */
  readonly asked: Set<string>
  /** What a desktop was pushed as it came to pass, and may be found among what it missed: a payment's id and the push. */
  readonly told: Set<string>
  send(message: Readonly<Record<string, unknown>>): boolean
  /** Others have their turn, and this one goes on when most of what was sent has left. A line that takes nothing of it for long is closed. */
  drained(): Promise<void>
  /** Work of this link, one piece after the other. */
  inTurn(work: () => Promise<void>): void
  ping(): void
  /** Calls back when everything that was sent before has arrived. False where nobody will be called back. */
  confirm(then: () => void): boolean
  close(code: number, reason: string): void
  terminate(): void
}

const bufferedBytesMax = 1024 * 1024
const closeMsMax = 2_000
const drainedBytesMax = 512 * 1024
const drainLookMs = 20
const confirmationsMax = 1_000

export function createLink(
  socket: WebSocket,
  about: Pick<Link, 'connectionId' | 'principal' | 'terminalId' | 'deviceId'>,
  nowMs: number,
  onError: (error: unknown) => void,
  /** How long a line may take nothing. */
  stalledMsMax: number,
): Link {
  let last: Promise<void> = Promise.resolve()
  // One ping for all that was sent before it, and none while one is under way: clients take many at once for an attack.
  let unconfirmed: (() => void)[] = []
  let underWay: { readonly name: string; readonly calls: (() => void)[] } | undefined
  let pings = 0
  const leave = () => {
    socket.close(4000, 'other')
    socket.terminate()
  }
  const askNext = () => {
    if (underWay !== undefined || unconfirmed.length === 0) return
    underWay = { name: String((pings += 1)), calls: unconfirmed }
    unconfirmed = []
    socket.ping(underWay.name)
  }
  socket.on('pong', (data) => {
    if (underWay?.name !== data.toString()) return
    const { calls } = underWay
    underWay = undefined
    askNext()
    for (const call of calls) call()
  })
  return {
    ...about,
    lastFrameMs: nowMs,
    storedFrameMs: nowMs,
    unanswered: 0,
    replaced: false,
    byOperator: false,
    asked: new Set(),
    told: new Set(),
    send(message) {
      if (socket.readyState !== socket.OPEN) return false
      // Whoever does not read is not waited for.
      if (socket.bufferedAmount > bufferedBytesMax) {
        leave()
        return false
      }
      for (const { part, fin } of framesOf(JSON.stringify(message))) socket.send(part, { binary: false, fin })
      return true
    },
    async drained() {
      await turn()
      let least = Infinity
      let since = 0
      while (socket.readyState === socket.OPEN && socket.bufferedAmount > drainedBytesMax) {
        const now = performance.now()
        if (socket.bufferedAmount < least) {
          least = socket.bufferedAmount
          since = now
          // What it is to be told meanwhile waits, and it may send for ever.
        } else if (now - since > stalledMsMax) return leave()
        await sleep(drainLookMs)
      }
    },
    inTurn(work) {
      last = last.then(work).catch(onError)
    },
    ping() {
      if (socket.readyState === socket.OPEN) socket.ping()
    },
    confirm(then) {
      if (socket.readyState !== socket.OPEN || unconfirmed.length >= confirmationsMax) return false
      unconfirmed.push(then)
      askNext()
      return true
    },
    close(code, reason) {
      socket.close(code, reason)
      setTimeout(() => socket.terminate(), closeMsMax).unref()
    },
    terminate() {
      socket.terminate()
    },
  }
}

const nameOf = ({ principal }: Link, deviceId: string) => `${principal.groupId} ${deviceId}`

/** The sockets of this process, by connection, by device and by group. */
export function createLinks() {
  const byConnection = new Map<string, Link>()
  const terminals = new Map<string, Link>()
  const desktops = new Map<string, Set<Link>>()
  return {
    get size() {
      return byConnection.size
    },
    all: () => byConnection.values(),
    find: (connectionId: string) => byConnection.get(connectionId),
    /** Of a group, by its device id or its connection id. */
    findTerminal(groupId: string, terminalId: string): Link | undefined {
      const link = terminals.get(`${groupId} ${terminalId}`) ?? byConnection.get(terminalId)
      return link?.terminalId !== null && link?.principal.groupId === groupId ? link : undefined
    },
    desktopsOf: (groupId: string): Iterable<Link> => desktops.get(groupId) ?? [],
    add(link: Link) {
      byConnection.set(link.connectionId, link)
      if (link.deviceId !== null) terminals.set(nameOf(link, link.deviceId), link)
      if (link.principal.role !== 'desktop') return
      const set = desktops.get(link.principal.groupId) ?? new Set()
      desktops.set(link.principal.groupId, set.add(link))
    },
    remove(link: Link) {
      byConnection.delete(link.connectionId)
      const device = nameOf(link, link.deviceId ?? '')
      if (terminals.get(device) === link) terminals.delete(device)
      const set = desktops.get(link.principal.groupId)
      set?.delete(link)
      if (set?.size === 0) desktops.delete(link.principal.groupId)
    },
  }
}

export type Links = ReturnType<typeof createLinks>
