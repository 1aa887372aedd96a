import { existsSync, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fullDisk } from '../data-dir.ts'
import { StartFault } from '../fault.ts'
import { spawnAs, type Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { readPidFile } from './pid-file.ts'
import { eventually } from './processes.ts'
import type { ServerLog } from './server-log.ts'

/** The process that PostgreSQL consists of to the outside. */
export interface Postmaster {
  readonly pid: number
  /** The exit code or the signal, once it has ended. */
  readonly ended: Promise<string>
  hasEnded(): boolean
  kill(signal: NodeJS.Signals): void
}

const pollMs = 5
const readyWaitMsMax = 10 * 60_000
const signalWaitMsMax = 5_000

/** The command line overrules postgresql.conf, so that a newer Kaha can change its mind about an older cluster. */
export function serverSettings(options: {
  major: number
  socketDir: string
  sharedBuffersMb: number
  fsync: boolean
  tcpPort: number | undefined
  connectionsMax: number
}): Record<string, string> {
  const durable = options.fsync ? 'on' : 'off'
  return {
    listen_addresses: options.tcpPort === undefined ? '' : '127.0.0.1',
    unix_socket_directories: options.socketDir,
    unix_socket_permissions: '0700',
    port: String(options.tcpPort ?? 5432),
    cluster_name: 'kaha',
    max_connections: String(options.connectionsMax),
    shared_buffers: `${options.sharedBuffersMb}MB`,
    fsync: durable,
    full_page_writes: durable,
    synchronous_commit: 'on',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_destination: 'stderr',
    logging_collector: 'off',
    max_logical_replication_workers: '0',
    log_checkpoints: 'off',
    // Statements and the rows of a broken constraint can carry what no log may hold; the client still gets all of it.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    // Its default starts worker processes, which are of no use to a database this small.
    ...(options.major >= 18 ? { io_method: 'sync' } : {}),
  }
}

/** Starts PostgreSQL; it is not ready yet. */
export function launchPostmaster(options: {
  account: Account
  binaries: Binaries
  cluster: string
  dataPath: string
  settings: Record<string, string>
  serverLog: ServerLog
}): Postmaster {
  const { serverLog } = options
  serverLog.mark()
  const child = spawnAs(
    options.account,
    join(options.binaries.folder, 'postgres'),
    [
      '-D',
      options.dataPath,
      ...Object.entries(options.settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    { cwd: options.cluster, stdio: ['ignore', serverLog.fd, serverLog.fd] },
  )
  let over = false
  const ended = new Promise<string>((resolve) => {
    const end = (how: string): void => {
      over = true
      resolve(how)
    }
    child.on('error', (error) => end(error.message))
    child.on('exit', (code, signal) => end(signal ?? `code ${code}`))
  })
  // Of a folder to start in that is not there the system says the same as of a program.
  if (child.pid === undefined && !existsSync(options.cluster))
    throw new StartFault(`${options.cluster} is gone: put it back, or restore a backup, then start again`)
  if (child.pid === undefined)
    throw new StartFault(
      `${options.binaries.folder}/postgres cannot be started: see that it is there and that this user may run it, or set KAHA_DATABASE_URL`,
    )
  return { pid: child.pid, ended, hasEnded: () => over, kill: (signal) => void child.kill(signal) }
}

/**
 * Resolves when PostgreSQL takes connections, which after a crash is when it has replayed its log. A StartFault quotes the log when it
 * ends instead, or is not ready after ten minutes. Source: the status in postmaster.pid, which pg_ctl reads too.
 */
export async function untilReady(
  postmaster: Postmaster,
  cluster: string,
  serverLog: ServerLog,
  signal: AbortSignal | undefined,
): Promise<void> {
  const giveUpAt = performance.now() + readyWaitMsMax
  const isReady = (): boolean => {
    const told = readPidFile(cluster)
    return told.pid === postmaster.pid && told.isReady
  }
  while (!isReady()) {
    if (postmaster.hasEnded()) {
      const reason = serverLog.lastWords() || (await postmaster.ended)
      throw didNotStart(reason, serverLog.path)
    }
    if (performance.now() > giveUpAt) {
      throw new StartFault(
        `PostgreSQL was not ready after ten minutes (log: ${serverLog.path}): look there, then start again`,
      )
    }
    await delay(pollMs, undefined, { signal })
  }
}

// Where it ends it gives a few back, as that of its postmaster.pid; with as many as these it starts.
const freeBlocksMin = 4

/**
 * Why PostgreSQL did not start. On a full disk it cannot write its own words into its log, which lies there, and no advice is worse than one to
 * give up the data.
 */
export function didNotStart(reason: string, logPath: string, { bavail } = statfsSync(dirname(logPath))): StartFault {
  if (/No space left on device/.test(reason) || bavail < freeBlocksMin) return fullDisk(dirname(logPath))
  return new StartFault(
    `PostgreSQL did not start: ${reason} (log: ${logPath}): mend that or restore a backup, then start again`,
  )
}

/** Stops PostgreSQL: fast; after 5 s by force, which the next start repairs. Resolves when it is gone. */
export async function endPostmaster(postmaster: Postmaster, log: (line: string) => void): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    if (postmaster.hasEnded()) return
    if (signal !== 'SIGINT') log(`PostgreSQL (process ${postmaster.pid}) does not stop; sending ${signal}`)
    postmaster.kill(signal)
    if (await eventually(() => postmaster.hasEnded(), signalWaitMsMax)) return
  }
  await postmaster.ended
}
