import type { Clock } from '../../../kernel/clock.ts'
import type { Connections } from '../connections.ts'
import type { Link, Links } from './links.ts'

// A socket's turn is that of the moment in which it came: it has just spoken, and while thousands come pings would take from their time. As many as
// came in one moment are pinged in one.
const turns = 60
const missedPingsMax = 2
/** A socket that is silent for so many pings is stale. */
export const silentPingsMax = 3
const beatMs = 5_000
const silenceMsMax = 10_000

/** Pings sockets, ends those that say nothing, and notes who said something and that this process is alive. System time. */
export function startLiveness({
  links,
  clock,
  connections,
  onError,
  pingMs,
  dismiss,
  settle,
}: {
  readonly links: Links
  readonly clock: Clock
  readonly connections: Connections
  readonly onError: (error: unknown) => void
  readonly pingMs: number
  readonly dismiss: (link: Link, reason: 'stale_connection_timeout' | 'other') => void
  /** Makes up for what could not be stored when it happened. */
  readonly settle: () => Promise<void>
}): AsyncDisposable & { checkSoon(): void } {
  const turnMs = pingMs / turns
  let turn = 0
  const turnOf = new WeakMap<Link, number>()

  // A process that was asleep has heard nobody meanwhile, and system time may be set.
  let [pingedAt, awakeSince] = [clock.wall(), clock.wall()]
  const pings = setInterval(() => {
    turn = (turn + 1) % turns
    const now = clock.wall()
    if (now - pingedAt > silenceMsMax + turnMs) awakeSince = now
    pingedAt = now
    for (const link of links.all()) {
      const own = turnOf.get(link)
      if (own === undefined) turnOf.set(link, turn)
      // Of one that is read no further for now nothing is heard.
      if (own !== turn || link.isPaused) continue
      const isSilent = now - Math.max(link.lastFrameMs, awakeSince) >= silentPingsMax * pingMs
      if (link.unanswered >= missedPingsMax || isSilent) {
        dismiss(link, 'stale_connection_timeout')
        link.terminate()
        continue
      }
      link.unanswered += 1
      link.ping()
    }
  }, turnMs)

  let beatAt = clock.wall()
  let mustCheck = false
  let flushing: Promise<void> = Promise.resolve()
  // Those that a payment has locked: next time.
  const touch = async () => {
    const said = [...links.all()].flatMap((link) => {
      const { connectionId, terminalId, lastFrameMs, storedFrameMs } = link
      if (terminalId === null || lastFrameMs === storedFrameMs) return []
      return [{ link, lastFrameMs, connectionId, at: new Date(lastFrameMs + link.offsetMs) }]
    })
    const left = new Set((await connections.touch(said)).map(({ connectionId }) => connectionId))
    for (const { link, lastFrameMs } of said) if (!left.has(link.connectionId)) link.storedFrameMs = lastFrameMs
  }
  const beat = async () => {
    const since = beatAt
    beatAt = clock.wall()
    // A process that was silent for long may have been taken for dead: whoever it lost must come anew.
    if (beatAt - since > silenceMsMax) mustCheck = true
    await connections.beat()
  }
  const flush = async () => {
    await settle()
    await touch()
    if (!mustCheck) return
    // What is asked for while the answer is on its way is not in it.
    mustCheck = false
    const missing = await connections.missing([...links.all()].map(({ connectionId }) => connectionId))
    for (const connectionId of missing) {
      const link = links.find(connectionId)
      if (link !== undefined && !link.dismissed) dismiss(link, 'other')
    }
  }
  const failed = (error: unknown) => {
    mustCheck = true
    onError(error)
  }
  // What is left to do may take long, and this process lives meanwhile. Whom it has lost can be told only once it has said that it lives.
  const beats = setInterval(() => {
    const beating = beat()
    beating.catch(() => {})
    flushing = flushing
      .then(() => beating)
      .then(flush)
      .catch(failed)
  }, beatMs)

  return {
    checkSoon() {
      mustCheck = true
    },
    async [Symbol.asyncDispose]() {
      clearInterval(pings)
      clearInterval(beats)
      await flushing
      await connections.leave().catch(onError)
    },
  }
}
