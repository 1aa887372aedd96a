import { fstatSync, readSync } from 'node:fs'
import { openLogFile, type LogFile, type LogFileOptions } from '../log-file.ts'

/** What PostgreSQL's output is attached to: a file and no pipe, so that its last words are kept when we are killed. */
export interface ServerLog extends LogFile {
  readonly path: string
  /** From here on `lastWords` counts. */
  mark(): void
  /** The last complaints since the mark in one line, or nothing. */
  lastWords(): string
}

const quotedBytesMax = 8 * 1024
const quotedLinesMax = 3

/** Opens PostgreSQL's log. What runs before wrote stays in it: a look by a command is a run, too, and takes away nothing of a crash. */
export function openServerLog(path: string, bounds: Omit<LogFileOptions, 'onCut'> = {}): ServerLog {
  let marked = 0
  const file = openLogFile(path, { ...bounds, onCut: () => (marked = 0) })
  const { fd } = file

  return {
    path,
    fd,
    mark() {
      marked = fstatSync(fd).size
    },
    lastWords() {
      const { size } = fstatSync(fd)
      const start = Math.max(marked, size - quotedBytesMax)
      const buffer = Buffer.alloc(Math.max(0, size - start))
      readSync(fd, buffer, 0, buffer.length, start)
      return complaints(buffer.toString('utf8'))
    },
    [Symbol.dispose]: () => file[Symbol.dispose](),
  }
}

/** The lines that matter in PostgreSQL's output, without their prefixes, on one line. */
export function complaints(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const loud = lines.filter((line) => /\b(ERROR|FATAL|PANIC|error|fatal)\b/.test(line))
  return (loud.length > 0 ? loud : lines)
    .slice(-quotedLinesMax)
    .map((line) =>
      line
        .replace(/^.*?\[\d+\] /, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .join('; ')
}
