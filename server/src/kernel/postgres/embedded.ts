import { join } from 'node:path'
import { makeDataDir, openDataDir } from '../data-dir.ts'
import { StartFault } from '../fault.ts'
import { chooseAccount, namespaceAccount, type Account } from './account.ts'
import { chooseBinaries, type Binaries } from './binaries.ts'
import { adoptCluster, clusterMajor, clusterPath, createCluster, databaseUser, removeUnfinished } from './cluster.ts'
import { keepRunning } from './keeper.ts'
import { clearLeftovers } from './leftovers.ts'
import { DirectoryHeld, lockDirectory, type DirectoryLock } from './lock.ts'
import { launchPostmaster, serverSettings } from './postmaster.ts'
import { openServerLog } from './server-log.ts'
import { makeSocketFolder } from './socket-folder.ts'
import { startWatchdog } from './watchdog.ts'

/** A PostgreSQL of our own. It takes connections on a Unix socket in `socketDir`, without a password, on port 5432. */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** Stays the same when PostgreSQL is started again. */
  readonly socketDir: string
  /** A superuser; the database `postgres` is there to begin with. */
  readonly user: string
  /** Of the postmaster that runs now, or ran last. */
  readonly pid: number
  readonly dataDir: string
  /** Stops PostgreSQL and gives the data directory back. A second call waits for the first. */
  stop(): Promise<void>
}

export interface EmbeddedPostgresOptions {
  /** Kaha's data directory; PostgreSQL's files are in `postgres` below it, its log is `postgres.log`. Made when missing. */
  dataDir: string
  log: (line: string) => void
  /** What is wrong with it, until it is repaired. Default `log`. */
  warn?: (line: string) => void
  /** False trades what a power cut leaves for speed: for tests alone. Default true. */
  fsync?: boolean
  sharedBuffersMb?: number
  /** It runs for a command, which stops it soon: others are told so. */
  forCommand?: boolean
  /** Cancels the start. */
  signal?: AbortSignal
  /** Called once, when PostgreSQL ended by itself and could not be brought back. */
  onFatal?: (reason: Error) => void
  /** Enough for one Kaha and the commands beside it; a test run has many. Default 40. */
  connectionsMax?: number
  /** Listens on this port of 127.0.0.1 as well, and names the socket by it; whom it lets in there is the caller's to say. For tests alone. */
  tcpPort?: number
  /** A folder with `bin`, `lib` and `share`, in place of the npm package's. */
  nativeDir?: string
}

/**
 * Starts PostgreSQL in the data directory and keeps it running until `stop`; the first start makes the database. When the postmaster is
 * killed it is started again on the same socket, and when we are killed it stops. A StartFault says in one line why it cannot start.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log, signal } = options
  const fsync = options.fsync ?? true
  await using starting = new AsyncDisposableStack()

  const dataDir = makeDataDir(options.dataDir)
  const cluster = join(dataDir, 'postgres')
  const { killedOwner } = starting.use(lockUsable(dataDir, options))
  const { account, binaries, dataPath } = await choose(dataDir, cluster, options.nativeDir)
  signal?.throwIfAborted()

  await removeUnfinished(cluster)
  if (clusterMajor(cluster) === undefined) await createCluster({ cluster, account, binaries, fsync, signal })
  else await adoptCluster(cluster, account)
  await clearLeftovers({ cluster, killedOwner, log })

  const socketDir = starting.use(makeSocketFolder(account)).path
  const serverLog = starting.use(openServerLog(join(dataDir, 'postgres.log')))
  const watchdog = starting.use(startWatchdog({ account, cluster, socketDir, log }))
  const sharedBuffersMb = options.sharedBuffersMb ?? 48
  const settings = serverSettings({
    major: binaries.major,
    socketDir,
    sharedBuffersMb,
    fsync,
    tcpPort: options.tcpPort,
    connectionsMax: options.connectionsMax ?? 40,
  })
  const keeper = starting.use(
    await keepRunning({
      launch: () => {
        const postmaster = launchPostmaster({ account, binaries, cluster, dataPath, settings, serverLog })
        watchdog.guard(postmaster.pid)
        return postmaster
      },
      clear: () => clearLeftovers({ cluster, socketDir, log }),
      cluster,
      serverLog,
      log,
      warn: options.warn ?? log,
      onFatal: options.onFatal,
      signal,
    }),
  )

  const opened = starting.move()
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => (stopped ??= opened.disposeAsync())
  return {
    socketDir,
    user: databaseUser,
    get pid() {
      return keeper.pid
    },
    dataDir,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Who runs which programs, and the path under which they find the cluster. */
/** Who has the directory is told of first: beside a server that runs on a full disk nothing need be kept. Then, that nothing can be. */
function lockUsable(dataDir: string, options: { forCommand?: boolean }): DirectoryLock {
  try {
    return lockDirectory(dataDir, options)
  } catch (error) {
    if (!(error instanceof DirectoryHeld)) openDataDir(dataDir)
    throw error
  }
}

async function choose(
  dataDir: string,
  cluster: string,
  nativeDir: string | undefined,
): Promise<{ account: Account; binaries: Binaries; dataPath: string }> {
  const major = clusterMajor(cluster)
  const account = await chooseAccount(dataDir, cluster)
  const binaries = await chooseBinaries({ account, dataDir, cluster, clusterMajor: major, nativeDir })
  const dataPath = clusterPath(cluster, account, binaries.major)
  if (dataPath !== undefined) return { account, binaries, dataPath }

  const ourselves = major === undefined ? await namespaceAccount() : undefined
  if (ourselves) return { account: ourselves, binaries, dataPath: cluster }
  throw new StartFault(
    `the user ${account.name}, who is to run PostgreSQL, cannot reach the data directory ${dataDir}: ` +
      'set KAHA_DATA_DIR to a folder that this user may enter, or start Kaha as an ordinary user',
  )
}
