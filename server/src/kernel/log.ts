import pino from 'pino'
import { logDestination, type LogDestination } from './log-destination.ts'

export type Log = pino.Logger

/**
 * What must never reach a log, whatever code handed it over: card numbers, keys, signing secrets, client secrets.
 * The last net under code that does not log them in the first place.
 */
const secret =
  /(?<![0-9A-Za-z])(?:\d[ -]?){12,18}\d(?![0-9A-Za-z])|(?:sk_(?:test|live)_|tk_|whsec_|cs_)[0-9A-Za-z+/=_-]+/g

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

/** JSON lines, on standard error unless another destination is given. */
export function createLog(level: LogLevel, destination?: LogDestination): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: errorLine, error: errorLine },
    },
    destination ?? logDestination(2),
  )
}
