import type { Clock } from '../../../kernel/clock.ts'
import type { Connections } from '../connections.ts'
import type { Link, Links } from './links.ts'

// Sockets are gone through in parts, so that thousands are not pinged in one moment.
const parts = 15
const missedPingsMax = 2
const silentPingsMax = 3
const beatMs = 5_000

/** Pings sockets, ends those that say nothing, and notes who said something and that this process is alive. System time. */
export function startLiveness({
  links,
  clock,
  connections,
  onError,
  pingMs,
  dismiss,
}: {
  readonly links: Links
  readonly clock: Clock
  readonly connections: Connections
  readonly onError: (error: unknown) => void
  readonly pingMs: number
  readonly dismiss: (link: Link) => void
}): AsyncDisposable {
  let turn = 0
  const parted = new WeakMap<Link, number>()
  let next = 0
  const partOf = (link: Link): number => {
    const known = parted.get(link)
    if (known !== undefined) return known
    next = (next + 1) % parts
    parted.set(link, next)
    return next
  }

  const pings = setInterval(() => {
    turn = (turn + 1) % parts
    const now = clock.wall()
    for (const link of links.all()) {
      if (partOf(link) !== turn) continue
      const isSilent = now - link.lastFrameMs >= silentPingsMax * pingMs
      if (link.unanswered >= missedPingsMax || isSilent) {
        dismiss(link)
        link.terminate()
        continue
      }
      link.unanswered += 1
      link.ping()
    }
  }, pingMs / parts)

  let flushedAt = clock.wall()
  let flushing: Promise<void> = Promise.resolve()
  const flush = async () => {
    const since = flushedAt
    flushedAt = clock.wall()
    const seen = [...links.all()]
      .filter(({ terminalId, lastFrameMs }) => terminalId !== null && lastFrameMs >= since)
      .map(({ connectionId, lastFrameMs }) => ({ connectionId, at: new Date(lastFrameMs + clock.offsetMs) }))
    await connections.beat()
    await connections.touch(seen)
  }
  const beats = setInterval(() => {
    flushing = flushing.then(flush).catch(onError)
  }, beatMs)

  return {
    async [Symbol.asyncDispose]() {
      clearInterval(pings)
      clearInterval(beats)
      await flushing
      await connections.leave().catch(onError)
    },
  }
}
