import { existsSync, lchownSync, mkdirSync, mkdtempSync, realpathSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StartFault } from './fault.ts'

const sqliteFull = 13
const postgresFull = '53100'

/** What the system says of a disk on which nothing is free, or SQLite or PostgreSQL. */
export const isOfFullDisk = (cause: unknown): boolean => {
  const { code, errcode } = cause as { code?: unknown; errcode?: unknown }
  return code === 'ENOSPC' || code === postgresFull || errcode === sqliteFull
}

/** The one line about a disk on which nothing is free: what lies there is as good as ever, and is not to be left or replaced. */
export const fullDisk = (dataDir: string, cause?: unknown): StartFault =>
  new StartFault(`the disk of ${dataDir} is full: free some space, and start again`, { cause })

const unusable =
  (done: string, folder: string) =>
  (path: string, cause: unknown): StartFault =>
    isOfFullDisk(cause)
      ? fullDisk(path, cause)
      : new StartFault(
          `the data directory ${path} cannot be ${done} (${(cause as Error).message}): set KAHA_DATA_DIR to a folder ${folder}`,
          { cause },
        )

/** The one line about a data directory in which nothing can be kept. */
export const unusableDataDir = unusable('used', 'that you may write')

/** The one line about a data directory that cannot be taken for one process. */
export const unlockableDataDir = unusable('locked', 'on a local disk')

/** Makes the data directory where it is missing, closed to everybody else; gives its real path. A StartFault where it cannot. */
export function makeDataDir(path: string): string {
  try {
    makeFolder(path)
    return realpathSync(path)
  } catch (error) {
    throw unusableDataDir(path, error)
  }
}

/** The same, and tries whether it can keep anything. A StartFault where it can keep nothing. */
export function openDataDir(path: string): string {
  const made = makeDataDir(path)
  try {
    // Its mode does not tell: root may write everywhere, a read-only disk and /proc included, until it tries.
    rmdirSync(mkdtempSync(join(path, '.kaha-')))
    return made
  } catch (error) {
    throw unusableDataDir(path, error)
  }
}

/** One folder after the other: Node's recursive mkdir tries for ever where a folder that is there answers ENOENT, as /proc does. */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process that starts at the same time has made it.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

/** Root leaves no file behind that would keep out the user who owns its folder. */
export function leaveToOwner(path: string): void {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  lchownSync(path, uid, gid)
}
