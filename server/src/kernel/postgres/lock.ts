import { chmodSync, closeSync, lstatSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { leaveToOwner, unlockableDataDir, unusableDataDir } from '../data-dir.ts'
import { StartFault } from '../fault.ts'
import { linesOf } from './pid-file.ts'

export interface DirectoryLock extends Disposable {
  /** The process that held the lock last and did not give it back: it was killed. */
  readonly killedOwner: number | undefined
}

/** Another process has the data directory. */
export class DirectoryHeld extends StartFault {}

/** A command, which gives it back by itself. */
export class HeldByCommand extends DirectoryHeld {}

const sqliteBusy = 5
const command = 'command'
const pidFileIn = (dataDir: string): string => join(dataDir, 'kaha.pid')

/** Whether whoever has the data directory, or had it last and was killed, is a command. */
const isHeldByCommand = (dataDir: string): boolean => linesOf(pidFileIn(dataDir))[1] === command

/**
 * Takes a data directory for this process, for as long as a command takes or until it is stopped; a DirectoryHeld names the process that has it
 * already, where that one has written down its id.
 *
 * Node offers no file locks of its own, but its SQLite holds one (fcntl) for as long as a transaction is open. The kernel drops it
 * with the process, so that nothing stale is left by kill -9, and it also holds between containers that share a volume, where
 * process ids mean nothing. Nobody else in this process may open the file `lock`: closing it would drop the lock.
 */
export function lockDirectory(dataDir: string, { forCommand = false } = {}): DirectoryLock {
  const pidFile = pidFileIn(dataDir)
  const lockFile = join(dataDir, 'lock')
  let lock: DatabaseSync | undefined
  try {
    closeToOthers(lockFile)
    lock = new DatabaseSync(lockFile)
    lock.exec('pragma journal_mode = off; begin exclusive')
  } catch (error) {
    lock?.close()
    if ((error as { errcode?: number }).errcode !== sqliteBusy) throw unlockableDataDir(dataDir, error)
    const owner = readPid(pidFile)
    if (owner !== undefined && isHeldByCommand(dataDir))
      throw new HeldByCommand(
        `the data directory ${dataDir} is in use by another command of Kaha (process ${owner}), which ends by itself: try again then`,
      )
    throw new DirectoryHeld(
      `the data directory ${dataDir} is in use by another Kaha${owner === undefined ? '' : ` (process ${owner})`}: ` +
        'stop it first, or set KAHA_DATA_DIR to another folder',
    )
  }
  const killedOwner = readPid(pidFile)
  try {
    writeFileSync(pidFile, `${process.pid}\n${forCommand ? `${command}\n` : ''}`, { mode: 0o600 })
    leaveToOwner(pidFile)
  } catch (error) {
    lock.close()
    throw unusableDataDir(dataDir, error)
  }
  return {
    killedOwner,
    [Symbol.dispose]() {
      rmSync(pidFile, { force: true })
      lock.close()
    },
  }
}

/**
 * Makes the file of the lock for the owner of its folder alone, and closes one that is there: whoever can read it can hold it. SQLite makes its
 * journal like the file itself. One that is there is not opened: this process may hold it.
 */
function closeToOthers(lockFile: string): void {
  if (lstatSync(lockFile, { throwIfNoEntry: false }) === undefined) closeSync(openSync(lockFile, 'a', 0o600))
  const { mode } = lstatSync(lockFile)
  if ((mode & 0o077) !== 0) chmodSync(lockFile, 0o600)
  leaveToOwner(lockFile)
}

/** The process id on the first line of a file, if there is one. */
function readPid(path: string): number | undefined {
  const pid = Number.parseInt(linesOf(path)[0] ?? '', 10)
  return pid > 0 ? pid : undefined
}
