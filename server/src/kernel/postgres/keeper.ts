import { setTimeout as delay } from 'node:timers/promises'
import { StartFault } from '../fault.ts'
import { endPostmaster, untilReady, type Postmaster } from './postmaster.ts'
import type { ServerLog } from './server-log.ts'

export interface Keeper extends AsyncDisposable {
  readonly pid: number
}

/** A run that is ready for less is a quick one. */
const quickRunMsMax = 2_000
const failedRunsMax = 5
const failedWaitMsMax = 2_000
const killedWaitMsMax = 250

/**
 * Starts a postmaster, and starts it again whenever it ends, until disposed of. A failed run was never ready, or ended quickly by itself;
 * after five in a row it gives up and calls `onFatal`. Being killed is nobody's failure and is repaired as often as it happens.
 */
export async function keepRunning(options: {
  launch: () => Postmaster
  /** Ends what a postmaster that was killed has left running. */
  clear: () => Promise<void>
  cluster: string
  serverLog: ServerLog
  log: (line: string) => void
  /** What is wrong, until it is repaired. */
  warn: (line: string) => void
  onFatal: ((reason: Error) => void) | undefined
  /** Cancels the first start. */
  signal: AbortSignal | undefined
}): Promise<Keeper> {
  const { cluster, serverLog, log, warn } = options
  const stopping = new AbortController()
  const stopped = new Promise<undefined>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  let postmaster = options.launch()
  const end = async (): Promise<void> => {
    await endPostmaster(postmaster, log)
    await options.clear()
  }
  try {
    await untilReady(postmaster, cluster, serverLog, options.signal)
  } catch (error) {
    await end()
    throw error
  }

  let failedRuns = 0
  let quickRuns = 0

  const watch = async (): Promise<void> => {
    for (;;) {
      const readyAt = performance.now()
      const ending = await Promise.race([postmaster.ended, stopped])
      if (ending === undefined) return
      const quick = performance.now() - readyAt < quickRunMsMax
      quickRuns = quick ? quickRuns + 1 : 0
      failedRuns = quick && ending !== 'SIGKILL' ? failedRuns + 1 : 0
      warn(`PostgreSQL (process ${postmaster.pid}) ended with ${ending}; starting it again`)
      await startAgain()
      log(`PostgreSQL (process ${postmaster.pid}) takes connections again`)
    }
  }

  const startAgain = async (): Promise<void> => {
    for (let lastError: Error | undefined; ;) {
      if (failedRuns >= failedRunsMax) throw fatal(lastError, serverLog)
      await delay(waitMs(failedRuns, quickRuns), undefined, { signal: stopping.signal })
      try {
        await options.clear()
        stopping.signal.throwIfAborted()
        postmaster = options.launch()
        return await untilReady(postmaster, cluster, serverLog, stopping.signal)
      } catch (error) {
        if (stopping.signal.aborted) throw error
        lastError = error as Error
        failedRuns += 1
        warn(lastError.message)
      }
    }
  }

  const watching = watch().catch((error: Error) => {
    if (stopping.signal.aborted) return
    if (options.onFatal === undefined) warn(error.message)
    else options.onFatal(error)
  })

  return {
    get pid() {
      return postmaster.pid
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await watching
      await end()
    },
  }
}

function fatal(lastError: Error | undefined, serverLog: ServerLog): StartFault {
  const reason =
    lastError?.message ??
    `it ended by itself: ${serverLog.lastWords()} (log: ${serverLog.path}): mend that, then start again`
  return new StartFault(`PostgreSQL could not be kept running, given up after ${failedRunsMax} attempts: ${reason}`)
}

/** The first attempt comes at once, for a kill is mostly a single one. */
function waitMs(failedRuns: number, quickRuns: number): number {
  if (failedRuns > 0) return Math.min(50 * 2 ** failedRuns, failedWaitMsMax)
  return Math.min(50 * Math.max(0, quickRuns - 1), killedWaitMsMax)
}
