import pino from 'pino'

export type Log = pino.Logger

/**
 * What must never reach a log, whatever code handed it over: card numbers, keys, signing secrets, client secrets.
 * The last net under code that does not log them in the first place.
 */
const secret = /(?<![0-9A-Za-z])(?:\d[ -]?){12,18}\d(?![0-9A-Za-z])|(?:sk_(?:test|live)_|whsec_|cs_)[0-9A-Za-z+/=_-]+/g

export const scrub = (text: string): string => text.replace(secret, '[removed]')

export interface ErrorLine {
  readonly type: string
  readonly code?: string
  readonly stack: string
}

function errorLine(error: unknown): ErrorLine {
  if (!(error instanceof Error)) return { type: typeof error, stack: scrub(String(error)) }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause = error.cause instanceof Error ? `\ncaused by: ${error.cause.stack ?? error.cause.message}` : ''
  return { type: error.name, ...code, stack: scrub(`${error.stack ?? error.message}${cause}`) }
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

// A write of its own costs a line more than all the rest of it; a line waits this long for others.
const gatherMsMax = 100
const gatherBytes = 4_096

/** JSON lines on standard error, written asynchronously; `destination` is for tests. */
export function createLog(level: LogLevel, destination?: pino.DestinationStream): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: errorLine, error: errorLine },
    },
    destination ?? pino.destination({ fd: 2, sync: false, minLength: gatherBytes, periodicFlush: gatherMsMax }),
  )
}
