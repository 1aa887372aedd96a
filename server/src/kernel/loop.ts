import type { Bus, Topic } from './bus.ts'
import { isAway } from './db.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

const idleMsMax = 5_000
const firstBackOffMs = 50

/** A piece of work that is done again and again until it is stopped. */
export interface Loop extends AsyncDisposable {
  /** Looks again now. */
  wake(): void
}

const counters = new WeakMap<Log, ReturnType<Metrics['counter']>>()

/**
 * The same log, and every loop that is started with it is counted: at 0 from its start, and one more with each turn that fails. Whoever
 * starts a loop must have a log, so that none is left out.
 */
export function countLoops(log: Log, metrics: Metrics): Log {
  const counted = log.child({})
  const name = 'kaha_loop_failures_total'
  counters.set(counted, metrics.counter(name, 'Failed turns of the work behind requests, by loop.', ['loop']))
  return counted
}

/** What a loop is started with: where it tells of its failures and, if any, the topics whose hints wake it. */
export type LoopParts = { readonly log: Log } & (
  { readonly bus: Bus; readonly wokenBy: readonly Topic[] } | { readonly bus?: never; readonly wokenBy?: never }
)

/**
 * Runs `turn` until disposed. A turn does what is due and resolves to how long nothing else will be (in ms; 0 to go on at once);
 * a wake ends the wait, and polling every 5 s stands behind lost hints. A turn that fails is tried again with back-off.
 */
export function startLoop(name: string, parts: LoopParts, turn: () => Promise<number>): Loop {
  const stop = new AbortController()
  const { log } = parts
  const failures = counters.get(log)
  failures?.inc({ loop: name }, 0)
  let woken = false
  let backOffMs = 0
  let endPause = () => {}

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(end, Math.min(ms, idleMsMax))
      endPause = end
    })

  const run = async () => {
    while (!stop.signal.aborted) {
      woken = false
      try {
        const waitMs = await turn()
        backOffMs = 0
        if (!woken && !stop.signal.aborted && waitMs > 0) await pause(waitMs)
      } catch (error) {
        backOffMs = Math.min(idleMsMax, Math.max(firstBackOffMs, backOffMs * 2))
        if (!isAway(error)) {
          failures?.inc({ loop: name })
          log.error({ err: error, loop: name }, 'a turn failed; it is tried again')
        }
        if (!stop.signal.aborted) await pause(backOffMs)
      }
    }
  }

  const wake = () => {
    woken = true
    // Not a back-off.
    if (backOffMs === 0) endPause()
  }

  const unlisten = parts.wokenBy === undefined ? [] : parts.wokenBy.map((topic) => parts.bus.listen(topic, wake))
  const ended = run()
  return {
    wake,
    async [Symbol.asyncDispose]() {
      for (const stopListening of unlisten) stopListening()
      stop.abort()
      endPause()
      await ended
    },
  }
}
