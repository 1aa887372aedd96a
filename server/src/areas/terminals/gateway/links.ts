import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import type { TerminalPrincipal } from '../../../identity/terminal-keys.ts'
import { framesOf } from './frames.ts'

const bufferedBytesMax = 1024 * 1024
const drainedBytesMax = 512 * 1024
const drainLookMs = 20
const confirmationsMax = 1_000
const tellingsMax = 10_000

/** Whose socket it is. */
type About = Pick<Link, 'connectionId' | 'principal' | 'terminalId' | 'deviceId'>

/**
 * One open socket of this process, and what belongs to it. A class: there are many thousands, and functions of its own would make each a tenth
 * larger, with all that is held for it.
 */
export class Link {
  readonly connectionId: string
  readonly principal: TerminalPrincipal
  /** Of a terminal: which one it is. */
  readonly terminalId: string | null
  readonly deviceId: string | null
  /** System time of the last frame. */
  lastFrameMs: number
  /** How far business time was ahead of it then. */
  offsetMs = 0
  /** System time of the last frame that is stored, or of the beginning. */
  storedFrameMs: number
  /** Pings since the last frame. */
  unanswered = 0
  /** It was told that its time is over, for whatever reason: nothing that it says counts any more. */
  dismissed = false
  /** An operator closed it. */
  byOperator = false
  readonly #socket: WebSocket
  readonly #onError: (error: unknown) => void
  readonly #stalledMsMax: number
  #asked: Set<string> | undefined
  #told: Set<string> | undefined
  #awaited: Map<string, number> | undefined
  #last: Promise<void> | undefined
  #tellings = 0
  // One ping for all that was sent before it, and none while one is under way: clients take many at once for an attack.
  #unconfirmed: (() => void)[] | undefined
  #underWay: { readonly name: string; readonly calls: readonly (() => void)[] } | undefined
  #pings = 0

  /** `stalledMsMax`: how long a line may take nothing. */
  constructor(
    socket: WebSocket,
    { connectionId, principal, terminalId, deviceId }: About,
    nowMs: number,
    onError: (error: unknown) => void,
    stalledMsMax: number,
  ) {
    this.connectionId = connectionId
    this.principal = principal
    this.terminalId = terminalId
    this.deviceId = deviceId
    this.lastFrameMs = nowMs
    this.storedFrameMs = nowMs
    this.#socket = socket
    this.#onError = onError
    this.#stalledMsMax = stalledMsMax
  }

  /** Payments that this connection was asked about. */
  get asked(): Set<string> {
    return (this.#asked ??= new Set())
  }

  /** What a desktop was pushed, and may be found among what it missed until it has seen it: a payment's id and the push. */
  get told(): Set<string> {
    return (this.#told ??= new Set())
  }

  /** Payments that a desktop began over this line and was told no end of, and when that was, in ms of business time. */
  get awaited(): Map<string, number> {
    return (this.#awaited ??= new Map())
  }

  send(message: Readonly<Record<string, unknown>>): boolean {
    const socket = this.#socket
    if (socket.readyState !== socket.OPEN) return false
    // Whoever does not read is not waited for.
    if (socket.bufferedAmount > bufferedBytesMax) {
      this.#leave()
      return false
    }
    for (const { part, fin } of framesOf(JSON.stringify(message))) socket.send(part, { binary: false, fin })
    return true
  }

  /** Others have their turn, and this one goes on when most of what was sent has left. A line that takes nothing of it for long is closed. */
  async drained(): Promise<void> {
    const socket = this.#socket
    await turn()
    let least = Infinity
    let since = 0
    while (socket.readyState === socket.OPEN && socket.bufferedAmount > drainedBytesMax) {
      const now = performance.now()
      if (socket.bufferedAmount < least) {
        least = socket.bufferedAmount
        since = now
        // What it is to be told meanwhile waits, and it may send for ever.
      } else if (now - since > this.#stalledMsMax) return this.#leave()
      await sleep(drainLookMs)
    }
  }

  /** Work of this link, one piece after the other. */
  inTurn(work: () => Promise<void>): void {
    this.#last = (this.#last ?? Promise.resolve()).then(work).catch(this.#onError)
  }

  /** The same for what others have it told. A line for which too much waits is closed: whoever comes back is told what it missed. */
  tellInTurn(work: () => Promise<void>): void {
    if (this.#tellings >= tellingsMax) return this.#leave()
    this.#tellings += 1
    this.inTurn(async () => {
      try {
        await work()
      } finally {
        this.#tellings -= 1
      }
    })
  }

  /** More has come than is worked on: it is read no further for now. */
  get isPaused(): boolean {
    return this.#socket.isPaused
  }

  ping(): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
  }

  /** Calls back when everything that was sent before has arrived. False where nobody will be called back. */
  confirm(then: () => void): boolean {
    const waiting = this.#unconfirmed?.length ?? 0
    if (this.#socket.readyState !== this.#socket.OPEN || waiting >= confirmationsMax) return false
    ;(this.#unconfirmed ??= []).push(then)
    this.#askNext()
    return true
  }

  /** A pong that came: those are called back whose ping it answers. */
  ponged(data: Buffer): void {
    if (this.#underWay?.name !== data.toString()) return
    const { calls } = this.#underWay
    this.#underWay = undefined
    this.#askNext()
    for (const call of calls) call()
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason)
  }

  terminate(): void {
    this.#socket.terminate()
  }

  #leave(): void {
    this.#socket.close(4000, 'other')
    this.#socket.terminate()
  }

  #askNext(): void {
    if (this.#underWay !== undefined || this.#unconfirmed === undefined) return
    this.#underWay = { name: String((this.#pings += 1)), calls: this.#unconfirmed }
    this.#unconfirmed = undefined
    this.#socket.ping(this.#underWay.name)
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
    /** Still here, and not told that its time is over. */
    isOpen: (link: Link): boolean => byConnection.get(link.connectionId) === link && !link.dismissed,
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
