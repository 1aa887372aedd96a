import { write, writeSync } from 'node:fs'

// A write of its own costs a line more than all the rest of it; a line waits this long for others.
const gatherMsMax = 100
const gatherBytes = 4_096
const heldBytesMax = 1024 * 1024
const retryMs = 100
const leaveMsMax = 500

/** Where lines of a log go. */
export interface LogDestination {
  write(line: string): void
}

/**
 * Writes asynchronously to an open file. Lines that cannot be written, as where the disk is full or nobody reads a pipe, are kept up to 1 MiB until they
 * can, and more of them are dropped. What is left at the end of the process is tried for half a second: a log stops nobody, and keeps nobody from ending.
 */
export function logDestination(fd: number): LogDestination {
  let lines: string[] = []
  let heldBytes = 0
  // What is being written, or could not be and is tried again.
  let under: Buffer | undefined
  let isUnderWay = false
  let timer: NodeJS.Timeout | undefined

  const later = (ms: number) => void (timer ??= setTimeout(next, ms).unref())
  const gathered = () => {
    const all = Buffer.from(lines.join(''))
    lines = []
    return all
  }
  const next = () => {
    clearTimeout(timer)
    timer = undefined
    const bytes = (under ??= gathered())
    isUnderWay = true
    write(fd, bytes, (error, count) => {
      isUnderWay = false
      heldBytes -= count
      const left = bytes.subarray(count)
      under = left.length > 0 ? left : undefined
      if (error !== null) later(retryMs)
      else if (under !== undefined || heldBytes >= gatherBytes) next()
      else if (lines.length > 0) later(gatherMsMax)
    })
  }

  process.once('exit', () => {
    const until = performance.now() + leaveMsMax
    // How far a write that is under way has come, nobody knows.
    const rest = isUnderWay || under === undefined ? [] : [under]
    for (let bytes = Buffer.concat([...rest, gathered()]); bytes.length > 0 && performance.now() < until;) {
      try {
        bytes = bytes.subarray(writeSync(fd, bytes))
      } catch (error) {
        if (!isBusy(error)) return
        Atomics.wait(pause, 0, 0, retryMs)
      }
    }
  })

  return {
    write(line) {
      const bytes = Buffer.byteLength(line)
      if (heldBytes + bytes > heldBytesMax) return
      lines.push(line)
      heldBytes += bytes
      if (under !== undefined) return
      if (heldBytes >= gatherBytes) next()
      else later(gatherMsMax)
    },
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4))

/** A pipe that is full. */
const isBusy = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EAGAIN'
