import pino from 'pino'

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

// A write of its own costs a line more than all the rest of it; a line waits this long for others.
const gatherMsMax = 100
const gatherBytes = 4_096
const heldBytesMax = 1024 * 1024

/**
 * Writes asynchronously to an open file. Lines that cannot be written, as where the disk is full, are kept up to 1 MiB until they can, and more of
 * them are dropped: a log stops nobody.
 */
export function logDestination(fd: number): pino.DestinationStream {
  const destination = pino.destination({
    fd,
    sync: false,
    minLength: gatherBytes,
    periodicFlush: gatherMsMax,
    maxLength: heldBytesMax,
    contentMode: 'buffer',
  })
  // Of text all that has gathered would be copied with each line, to be measured. Its types know of text alone.
  const write: (line: never) => boolean = destination.write.bind(destination)
  destination.write = (line) => write(Buffer.from(line) as never)
  const { flushSync } = destination
  // At the end of the process it would try again for ever.
  destination.on('error', () => (destination.flushSync = () => {}))
  destination.on('write', () => (destination.flushSync = flushSync))
  return destination
}

/** JSON lines, on standard error unless another destination is given. */
export function createLog(level: LogLevel, destination?: pino.DestinationStream): Log {
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
