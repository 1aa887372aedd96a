import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a postmaster says of itself, as far as it has written it; one that was killed has left it behind. */
export interface PidFile {
  readonly pid: number | undefined
  /** The folder of its Unix socket. */
  readonly socketDir: string | undefined
  /** Whether it takes connections. */
  readonly isReady: boolean
}

/** Where a postmaster says who it is. */
export const pidFilePath = (cluster: string): string => join(cluster, 'postmaster.pid')

/**
 * Reads the file `postmaster.pid` of a cluster; nothing is known where there is none. Line by line: the process id, negative for a server
 * without a postmaster; the data directory; when it was started; the port; the folder of the first Unix socket; the first address; the
 * shared memory; the status, padded with blanks. Source: utils/pidfile.h of PostgreSQL, unchanged since version 10.
 */
export function readPidFile(cluster: string): PidFile {
  const [pid, , , , socketDir, , , status] = linesOf(pidFilePath(cluster))
  return {
    pid: Number(pid) > 0 ? Number(pid) : undefined,
    socketDir: socketDir === '' ? undefined : socketDir,
    isReady: status?.trim() === 'ready',
  }
}

/** The lines of a file, none where it cannot be read. */
export function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return []
  }
}
