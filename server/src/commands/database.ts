import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { roles, type Config } from '../config.ts'
import { createClock } from '../kernel/clock.ts'
import { fullDisk, isOfFullDisk } from '../kernel/data-dir.ts'
import { connectionConfig, createDb, type Db, type DbTarget } from '../kernel/db.ts'
import { StartFault } from '../kernel/fault.ts'
import { migrate, type MayMigrate } from '../kernel/migrate.ts'
import { startEmbeddedPostgres } from '../kernel/postgres/embedded.ts'
import { DirectoryHeld, HeldByCommand } from '../kernel/postgres/lock.ts'
import { readPidFile } from '../kernel/postgres/pid-file.ts'
import { refuseUnknownParameters } from './database-parameters.ts'
import { warn } from './words.ts'

export interface OpenDatabase extends AsyncDisposable {
  readonly target: DbTarget
}

const database = 'postgres'
const heldMsMax = 20_000
const lookEveryMs = 100

/** The database of the settings: the one at KAHA_DATABASE_URL, else the embedded one, started here, after commands that have it open. */
export async function openDatabase(
  config: Config,
  options: {
    log: (line: string) => void
    warn?: (line: string) => void
    forCommand?: boolean
    onFatal?: (reason: Error) => void
    signal?: AbortSignal
  },
): Promise<OpenDatabase> {
  if (config.databaseUrl !== null) {
    if (!isAddress(config.databaseUrl)) {
      throw new StartFault(
        'KAHA_DATABASE_URL is no address; it looks like postgres://USER:PASSWORD@HOST:PORT/DATABASE, with signs such as @, :, / and ? in a password or a name written as %40, %3A, %2F and %3F',
      )
    }
    refuseUnknownParameters(new URL(config.databaseUrl))
    return { target: { url: config.databaseUrl }, [Symbol.asyncDispose]: async () => {} }
  }
  if (roles.some((role) => !config.roles.includes(role))) {
    throw new StartFault(
      'a process with some of the roles needs a database that others reach too: set KAHA_DATABASE_URL',
    )
  }
  const begin = () => startEmbeddedPostgres({ dataDir: config.dataDir, ...options })
  const postgres = await (options.forCommand === true ? begin() : whenFree(begin, HeldByCommand, options.signal))
  return {
    target: { socketDir: postgres.socketDir, user: postgres.user, database },
    [Symbol.asyncDispose]: () => postgres.stop(),
  }
}

// Accounts, labels and files may have an @ in their names, and what else there is of settings has none.
const settingsWithAt = /[?&](?:application_name|host|options|password|sslcert|sslkey|sslrootcert|user)=[^&]*/g

/**
 * A password with a bare / or ? ends the host where the password begins: the rest, up to its @, would be a path, and be shown. So does one
 * that has a = after its ?, and what is before that would be shown as a port: only settings by name have an @.
 */
function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { pathname, search, hash } = new URL(text)
  return !`${pathname}${search.replaceAll(settingsWithAt, '')}${hash}`.includes('@')
}

/**
 * The database of a Kaha that runs on the data directory, when one does; else as `openDatabase`. Who has the directory without being reached
 * there, as another command, or a Kaha that starts or stops, is waited for. For commands beside a server. Only with `begins` a new database may be
 * made: in a wrong folder nothing is there, and whoever looks for something there must not be told so.
 */
export async function joinDatabase(config: Config, { begins = false } = {}): Promise<OpenDatabase> {
  if (!begins && config.databaseUrl === null && !existsSync(config.dataDir))
    throw new StartFault(`there is no ${config.dataDir}: start Kaha first, or say in KAHA_DATA_DIR where its data is`)
  return whenFree(async () => {
    try {
      return await openDatabase(config, { log: () => {}, forCommand: true })
    } catch (error) {
      // What a command has opened it closes, whoever has joined it. Where nobody has the directory nobody is joined: a copy that was made while
      // its Kaha ran still names the server of that one.
      const isJoinable = error instanceof DirectoryHeld && !(error instanceof HeldByCommand)
      const running = isJoinable ? await runningOn(config.dataDir) : undefined
      if (running === undefined) throw error
      return { target: running, [Symbol.asyncDispose]: async () => {} }
    }
  }, DirectoryHeld)
}

/** Opens it as soon as nobody of this kind has the data directory; who has it for too long is told of. */
async function whenFree<Opened>(
  open: () => Promise<Opened>,
  holder: typeof DirectoryHeld,
  signal?: AbortSignal,
): Promise<Opened> {
  for (const deadline = performance.now() + heldMsMax; ; await sleep(lookEveryMs, undefined, { signal })) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof holder) || performance.now() > deadline) throw error
    }
  }
}

async function runningOn(dataDir: string): Promise<DbTarget | undefined> {
  const { socketDir } = readPidFile(join(dataDir, 'postgres'))
  if (socketDir === undefined) return undefined
  const target = { socketDir, user: 'kaha', database }
  const client = new pg.Client({ ...connectionConfig(target), connectionTimeoutMillis: 1_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return target
  } catch (error) {
    // It runs: who would stop it could not start it again.
    if (isOfFullDisk(error)) throw fullDisk(dataDir, error)
    return undefined
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * Work of a command on the database of the settings, beside a running server or without one. The schema of another version is left as it is; only
 * with `begins` a new database is given one.
 */
export async function withDatabase(
  config: Config,
  { begins }: { readonly begins: boolean },
  work: (db: Db) => Promise<void>,
): Promise<void> {
  await using joined = await joinDatabase(config, { begins })
  await migrateOrExplain(joined.target, { may: begins ? 'begin' : 'look' })
  await using db = createDb({ target: joined.target, connectionsMax: 1, onError: () => {} })
  await work(db)
}

/** Migrates, and says in one line why a database could not be reached, and that another process is at it. */
export async function migrateOrExplain(
  target: DbTarget,
  {
    signal,
    may = 'upgrade',
    tell = warn,
  }: {
    readonly signal?: AbortSignal | undefined
    readonly may?: MayMigrate
    readonly tell?: (line: string) => void
  } = {},
): Promise<string[]> {
  try {
    return await migrate(target, {
      signal,
      may,
      onWait: () => tell('another process brings the schema up to date; this one goes on when it has'),
      onOlder: (names) =>
        tell(
          `the schema changes under processes of the older version (${names.join(', ')}): stop them, for what they call may have changed; they go on saying that they are ready`,
        ),
    })
  } catch (error) {
    if (error instanceof StartFault || signal?.aborted === true) throw error
    if (!('url' in target)) throw isLost(error) ? lostFault(error) : error
    throw new StartFault(refusalOf(error, new URL(target.url)), { cause: error })
  }
}

// Shut down, starting up, or gone with its socket.
const isLost = (error: unknown): error is Error =>
  error instanceof Error &&
  'code' in error &&
  /^(57P0[123]|ECONNREFUSED|ECONNRESET|EPIPE|ENOENT)$/.test(String(error.code))

const lostFault = (cause: Error) =>
  new StartFault(
    `the database is lost (${cause.message}): the Kaha that runs it starts or stops; try again when it has`,
    {
      cause,
    },
  )

/** Why a database cannot be used, in one line without the password. */
function refusalOf(error: unknown, { hostname, host, port, pathname }: URL): string {
  const { code, message, syscall } = error as { code?: string; message: string; syscall?: string }
  const place = `${hostname}:${port === '' ? 5432 : port}${pathname}`
  if (code === '28P01' || code === '28000' || message.includes('password must be a'))
    return `the database at ${place} refuses this user or password: correct KAHA_DATABASE_URL`
  if (code === '3D000')
    return `there is no database ${pathname.slice(1)} at ${host}: create it, or correct KAHA_DATABASE_URL`
  if (code === '42501')
    return (
      `the user in KAHA_DATABASE_URL may not do in the database at ${place} what Kaha needs (${message}): ` +
      (message.includes('for database')
        ? 'make that user its owner'
        : "make that user the owner of Kaha's schemas and of all in them, or restore it as that user")
    )
  if (code === '25006')
    return `the database at ${place} takes no changes, as a standby does: correct KAHA_DATABASE_URL to the one that takes them`
  if (code === '53300')
    return `the database at ${place} lets nobody else in (${message}): let it have more connections, or end some`
  // EPROTO and the codes with ERR_ are of a TLS that did not come about.
  const isReached = code === undefined ? !unreached.test(message) : !/^(E(?!RR_|PROTO$)[A-Z_]+|57P03)$/.test(code)
  // A file that the address names, such as a certificate.
  if (isReached || syscall === 'open')
    return `the database at ${place} cannot be used (${message}): mend that, or correct KAHA_DATABASE_URL`
  return `the database at ${place} cannot be reached (${code ?? 'no answer'}): start it, or correct KAHA_DATABASE_URL`
}

const unreached = /timeout|terminated/i

/** Business time, as the database has it. */
export async function timeIn(db: Db): Promise<Date> {
  const clock = createClock()
  await clock.refresh(db)
  return clock.now()
}
