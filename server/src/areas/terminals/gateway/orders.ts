import type { TerminalIdentity } from '../../../identity/terminal-keys.ts'
import type { Bus } from '../../../kernel/bus.ts'
import type { Log } from '../../../kernel/log.ts'
import { startLoop } from '../../../kernel/loop.ts'
import type { Connections } from '../connections.ts'
import type { Link, Links } from './links.ts'

// However an operator's word was lost, what he wants is done after a second.
const lookMs = 1_000
const keysAtOnceMax = 1_000

/** Closes sockets whose key does not count any more, and those that an operator wants closed. */
export function startOrders({
  bus,
  log,
  identity,
  connections,
  links,
  dismiss,
}: {
  readonly bus: Bus
  readonly log: Log
  readonly identity: TerminalIdentity
  readonly connections: Connections
  readonly links: Links
  readonly dismiss: (link: Link) => void
}): AsyncDisposable & {
  /** How often keys have changed. */
  readonly changes: number
  /** For a socket whose key may have been stopped since it was asked for. */
  check(link: Link): void
} {
  let changes = 0
  let seen: bigint | undefined
  // Sockets that could not be looked at when they came.
  const unlooked = new Set<Link>()

  const look = async (those: readonly Link[]) => {
    for (let from = 0; from < those.length; from += keysAtOnceMax) {
      const some = those.slice(from, from + keysAtOnceMax)
      const stopped = new Set(await identity.stopped(some.map(({ principal }) => principal.keyId)))
      for (const link of some) if (stopped.has(link.principal.keyId) && !link.dismissed) dismiss(link)
    }
  }

  const loop = startLoop('terminals.orders', { log, bus, wokenBy: ['keys'] }, async () => {
    const version = await identity.changes()
    if (version !== seen) {
      // So that no key is taken from memory as it was before; and other processes may not have heard of it either.
      bus.hint('keys')
      // Whoever asked to be let in before and is let in after this is looked at by itself.
      changes += 1
      await look([...links.all()])
      seen = version
    }
    const left = [...unlooked]
    await look(left)
    for (const link of left) unlooked.delete(link)
    for (const connectionId of await connections.toClose()) {
      const link = links.find(connectionId)
      if (link !== undefined && !link.dismissed) dismiss(link)
    }
    return lookMs
  })

  return {
    get changes() {
      return changes
    },
    check(link) {
      look([link]).catch(() => void unlooked.add(link))
    },
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  }
}
