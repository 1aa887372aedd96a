import { setTimeout as sleep } from 'node:timers/promises'
import { isAway } from './db.ts'
import type { Log } from './log.ts'

const idleMsMax = 5_000
const firstBackOffMs = 50

/** A piece of work that is done again and again until it is stopped. */
export interface Loop extends AsyncDisposable {
  /** Looks again now. */
  wake(): void
}

/**
 * Runs `turn` until disposed. A turn does what is due and resolves to how long nothing else will be (in ms; 0 to go on at once);
 * a wake ends the wait, and polling every 5 s stands behind lost hints. A turn that fails is tried again with back-off.
 */
export function startLoop(name: string, log: Log, turn: () => Promise<number>): Loop {
  const stopping = new AbortController()
  let waiting = new AbortController()
  let woken = false
  let backOffMs = 0

  const pause = async (ms: number) => {
    if (woken || stopping.signal.aborted || ms <= 0) return
    waiting = new AbortController()
    await sleep(Math.min(ms, idleMsMax), undefined, {
      signal: AbortSignal.any([waiting.signal, stopping.signal]),
    }).catch(() => {})
  }

  const run = async () => {
    while (!stopping.signal.aborted) {
      woken = false
      try {
        const waitMs = await turn()
        backOffMs = 0
        await pause(waitMs)
      } catch (error) {
        backOffMs = Math.min(idleMsMax, Math.max(firstBackOffMs, backOffMs * 2))
        if (!isAway(error)) log.error({ err: error, loop: name }, 'a turn failed; it is tried again')
        await sleep(backOffMs, undefined, { signal: stopping.signal }).catch(() => {})
      }
    }
  }

  const ended = run()
  return {
    wake() {
      woken = true
      waiting.abort()
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await ended
    },
  }
}
