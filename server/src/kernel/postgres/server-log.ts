import { closeSync, copyFileSync, existsSync, fstatSync, ftruncateSync, openSync, readSync, renameSync } from 'node:fs'

export interface ServerLog extends Disposable {
  readonly path: string
  /** What PostgreSQL's output is attached to: a file and no pipe, so that its last words are kept when we are killed. */
  readonly fd: number
  /** From here on `lastWords` counts. */
  mark(): void
  /** The last complaints since the mark in one line, or nothing. */
  lastWords(): string
}

const quotedBytesMax = 8 * 1024
const quotedLinesMax = 3

/**
 * Opens PostgreSQL's log. The log of the run before is kept beside it as `.1`; so is the older half when the file outgrows 8 MiB,
 * which is looked at every 10 s. PostgreSQL appends, so that the file may be cut under it.
 */
export function openServerLog(path: string, { bytesMax = 8 * 1024 * 1024, checkEveryMs = 10_000 } = {}): ServerLog {
  const previous = `${path}.1`
  if (existsSync(path)) renameSync(path, previous)
  const fd = openSync(path, 'a+', 0o600)
  let marked = 0
  const timer = setInterval(() => {
    if (fstatSync(fd).size <= bytesMax) return
    copyFileSync(path, previous)
    ftruncateSync(fd)
    marked = 0
  }, checkEveryMs).unref()

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
    [Symbol.dispose]() {
      clearInterval(timer)
      closeSync(fd)
    },
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
