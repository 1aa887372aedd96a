import { closeSync, copyFileSync, fstatSync, ftruncateSync, openSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { leaveToOwner, unusableDataDir } from './data-dir.ts'

export interface LogFile extends Disposable {
  /** For appending and reading. */
  readonly fd: number
}

export interface LogFileOptions {
  readonly bytesMax?: number
  readonly checkEveryMs?: number
  /** Called when the file has been cut, and begins at 0 again. */
  readonly onCut?: () => void
}

/**
 * Opens a log that does not outgrow its bound by much: what is over 8 MiB, which is looked at now and every 10 s, becomes `.1` beside it, in the
 * place of the one before. Whoever appends to it, other processes too, goes on with what is cut under them; a line that comes in the very
 * moment of a cut may be lost.
 */
export function openLogFile(path: string, options: LogFileOptions = {}): LogFile {
  const { bytesMax = 8 * 1024 * 1024, checkEveryMs = 10_000, onCut = () => {} } = options
  const previous = `${path}.1`
  const fd = opened(path, previous, bytesMax)
  const timer = setInterval(() => {
    if (fstatSync(fd).size <= bytesMax) return
    try {
      copyFileSync(path, previous)
      leaveToOwner(previous)
    } catch {
      // Most likely the disk is full; the bound holds all the same.
    }
    ftruncateSync(fd)
    onCut()
  }, checkEveryMs).unref()
  return {
    fd,
    [Symbol.dispose]() {
      clearInterval(timer)
      closeSync(fd)
    },
  }
}

function opened(path: string, previous: string, bytesMax: number): number {
  try {
    // No copy: it may be of a time without a bound.
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > bytesMax) renameSync(path, previous)
    const fd = openSync(path, 'a+', 0o600)
    leaveToOwner(path)
    return fd
  } catch (error) {
    throw unusableDataDir(dirname(path), error)
  }
}
