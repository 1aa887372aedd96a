import { closeSync, existsSync, fsyncSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { chmod, mkdtemp, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { StartFault } from '../fault.ts'
import { giveTo, reaches, run, type Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { canSeeProcesses, processesIn, sendSignal } from './processes.ts'
import { complaints } from './server-log.ts'

/** The superuser of the cluster. */
export const databaseUser = 'kaha'

const ownCwd = '/proc/self/cwd'

/** The major version that made the cluster, or nothing when there is no cluster yet. Source: the file PG_VERSION. */
export function clusterMajor(cluster: string): number | undefined {
  if (!existsSync(cluster)) return undefined
  const path = join(cluster, 'PG_VERSION')
  if (existsSync(path)) return Number.parseInt(readFileSync(path, 'utf8'), 10)
  if (readdirSync(cluster).length === 0) return undefined
  throw new StartFault(`the folder ${cluster} holds files but no PostgreSQL database: move it away and start again`)
}

/**
 * The path under which PostgreSQL, started with the cluster as working directory, finds the cluster. Root's data directory is closed to
 * the account that runs PostgreSQL, and so may be every folder above it; but a process keeps its working directory when it gives up
 * its rights, and the name of that asks nothing of the folders above. So the data stay where they were asked for. PostgreSQL before
 * version 16 leaves its working directory while it looks for its own program; nothing is returned where that cannot work.
 */
export function clusterPath(cluster: string, account: Account, major: number): string | undefined {
  if (account.identity.uid === undefined) return cluster
  if (major >= 16 && canSeeProcesses) return ownCwd
  return reaches(account, dirname(cluster)) ? cluster : undefined
}

/**
 * Makes the cluster under a passing name, and gives it its own when it is whole and on disk: a start that is killed in between leaves
 * nothing that the next one could take for a database. Text is UTF-8 and sorts by code point, the same on every system.
 */
export async function createCluster(options: {
  cluster: string
  account: Account
  binaries: Binaries
  fsync: boolean
  signal?: AbortSignal | undefined
}): Promise<void> {
  const { cluster, account, binaries } = options
  const unfinished = await mkdtemp(`${cluster}.new-`)
  try {
    giveTo(account, unfinished)
    const path = clusterPath(unfinished, account, binaries.major)
    const locale =
      binaries.major >= 17
        ? ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
        : ['--locale=C.UTF-8']
    const { code, output } = await run(
      account,
      join(binaries.folder, 'initdb'),
      [
        `--pgdata=${path}`,
        `--username=${databaseUser}`,
        // Whoever may enter the socket's folder, which is closed to all but us, is let in.
        '--auth-local=trust',
        '--auth-host=reject',
        '--encoding=UTF8',
        ...locale,
        '--data-checksums',
        '--no-instructions',
        ...(options.fsync ? [] : ['--no-sync']),
      ],
      { cwd: unfinished, signal: options.signal },
    )
    if (code !== 0)
      throw new StartFault(
        `PostgreSQL could not make its database in ${cluster} (${complaints(output) || 'it does not say why'}): mend that, then start again, or set KAHA_DATABASE_URL`,
      )
    await rename(unfinished, cluster)
    if (options.fsync) syncFolder(dirname(cluster))
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

/** Removes what starts that were killed have left half made; their initdb may still be at it. */
export async function removeUnfinished(cluster: string): Promise<void> {
  const parent = dirname(cluster)
  const names = readdirSync(parent).filter((name) => name.startsWith(`${basename(cluster)}.new-`))
  for (const unfinished of names.map((name) => join(parent, name))) {
    for (const pid of processesIn(unfinished, ['initdb', 'postgres'])) sendSignal(pid, 'SIGKILL')
    await rm(unfinished, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Takes over a cluster that root owns, such as one that was copied back from a backup; any other owner made the account what it is. */
export async function adoptCluster(cluster: string, account: Account): Promise<void> {
  const { uid, mode } = statSync(cluster)
  if (uid === 0 && account.identity.uid !== undefined) giveTo(account, cluster)
  // PostgreSQL refuses a folder that others may enter, which unpacking an archive can leave.
  if ((mode & 0o077) !== 0) await chmod(cluster, 0o700)
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r')
  fsyncSync(fd)
  closeSync(fd)
}
