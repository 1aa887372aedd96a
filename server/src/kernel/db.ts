import { Socket } from 'node:net'
import pg from 'pg'
import { Fault } from './fault.ts'

/** A query by name. Named statements are prepared once per connection. */
export interface Statement {
  readonly name: string
  readonly text: string
}

export const statement = (name: string, text: string): Statement => ({ name, text })

export interface Queries {
  run<Row extends object = Record<string, never>>(statement: Statement, values: readonly unknown[]): Promise<Row[]>
}

/** Deadlocks and serialization failures are tried again, three times in all: nothing of a statement or a transaction that failed so has happened. */
export interface Db extends Queries, AsyncDisposable {
  /** One transaction. `work` must be repeatable, and no network call belongs inside. */
  tx<T>(work: (tx: Queries) => Promise<T>): Promise<T>
  /** Connections open, idle and waited for, and statements run so far. */
  stats(): { total: number; idle: number; waiting: number; statements: number }
}

export type DbTarget =
  { readonly url: string } | { readonly socketDir: string; readonly user: string; readonly database: string }

export interface DbOptions {
  readonly target: DbTarget
  /** How its sessions are called. */
  readonly sessionName?: string | undefined
  readonly connectionsMax?: number | undefined
  readonly acquireWaitMsMax?: number
  readonly statementMsMax?: number
  /** How much longer than a statement may take an answer is waited for. */
  readonly silenceMsMax?: number
  /** Settings of PostgreSQL for all connections. */
  readonly settings?: Readonly<Record<string, string>>
  /** Called with a connection that broke while nobody used it. */
  readonly onError: (error: Error) => void
  /**
   * Called with what keeps the database from what it is asked, the first time at once and then every 10 s at most, each thing that PostgreSQL
   * says for itself; and with how often anything did since the last call.
   */
  readonly onAway?: (error: unknown, times: number) => void
}

const triesMax = 3
const awayToldEveryMs = 10_000
const int8 = 20
const timestamptz = 1184

// int8 is a bigint here, never a float and never text.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === int8) return BigInt
    return oid === timestamptz ? timeOf : pg.types.getTypeParser(oid, format)
  }) as pg.CustomTypesConfig['getTypeParser'],
}

const timeOfAny: (text: string) => Date | number = pg.types.getTypeParser(timestamptz, 'text')

// A time of a session in UTC, but for the two letters as ISO 8601 has it, which a Date reads itself: a page of a list has dozens, and the
// driver's own way takes twice as long. Infinity, other zones and years beyond four digits are left to that.
function timeOf(text: string): Date | number {
  if (text[10] !== ' ' || !text.endsWith('+00')) return timeOfAny(text)
  return new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
}

// What is left out or empty the driver takes from PGPORT, PGSSLMODE and the like, which are meant for another database.
const ofSocket = { port: 5432, ssl: false, sslnegotiation: 'postgres' } satisfies pg.ClientConfig
// Whatever a database has for its sessions: a connection that waits for work, or for hints, is not to end, and our texts are as written. To
// compile a statement takes longer than any of ours, and where it is kept from reading a whole table PostgreSQL takes even a small one for dear.
const always = { idle_session_timeout: '0', standard_conforming_strings: 'on', jit: 'off' }

export function connectionConfig(
  target: DbTarget,
  settings: Readonly<Record<string, string>> = {},
  sessionName = 'kaha',
): pg.ClientConfig {
  const options = Object.entries({ ...always, ...settings })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')
  const where =
    'url' in target
      ? { connectionString: addressWith(target.url, options), options }
      : {
          ...ofSocket,
          host: target.socketDir,
          user: target.user,
          database: target.database,
          options,
        }
  return { ...where, types, application_name: sessionName }
}

const ours = ['application_name', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
const asVerifyFull = ['prefer', 'require', 'verify-ca']

/**
 * What an address says would stand in place of what we do: its options come before ours, and what we say ourselves is left out. Modes of TLS
 * that the driver takes for verify-full are told to it as that; of what it may take them for some day it warns at length.
 */
function addressWith(address: string, options: string): string {
  const url = new URL(address)
  const given = url.searchParams.get('options')
  const isStrict =
    asVerifyFull.includes(url.searchParams.get('sslmode') ?? '') && !url.searchParams.has('uselibpqcompat')
  if (given === null && !isStrict && !ours.some((name) => url.searchParams.has(name))) return address
  if (given !== null) url.searchParams.set('options', `${given} ${options}`)
  if (isStrict) url.searchParams.set('sslmode', 'verify-full')
  for (const name of ours) url.searchParams.delete(name)
  return url.href
}

/**
 * The driver reads the files that an address names for each connection anew, where it makes one. One that cannot be read just now fails that
 * connection: the pool also makes one when another has closed, and what is thrown there would end this process.
 */
class Client extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    try {
      super(config)
    } catch (error) {
      const stream = new Socket()
      stream.connect = () => stream.destroy(error as Error)
      super({ ...ofSocket, stream: () => stream })
    }
  }
}

const begin = { name: 'kernel.begin', text: 'begin' }

/** Makes `begin` go along with a query, before it: where that fails, the query is not run. The connection has prepared it. */
function beginWith(query: pg.Query): void {
  const submit = query.submit.bind(query)
  query.submit = (connection) => {
    connection.stream.cork()
    connection.bind({ statement: begin.name }, true)
    connection.execute(null, true)
    const refusal = submit(connection)
    connection.stream.uncork()
    return refusal
  }
}

export function createDb(options: DbOptions): Db {
  const statementMsMax = options.statementMsMax ?? 10_000
  // The server ends a statement that takes too long; this ends the waiting for a server that says nothing any more.
  const answerMsMax = statementMsMax + (options.silenceMsMax ?? 1_000)
  const settings = {
    statement_timeout: String(statementMsMax),
    idle_in_transaction_session_timeout: String(statementMsMax),
    // A database may have others for all its sessions: of a stricter one payments for one link would conflict, and a wait for a lock be a defect.
    default_transaction_isolation: String.raw`read\ committed`,
    lock_timeout: '0',
    // Whatever a server's own is: a week there is an hour longer or shorter twice a year.
    timezone: 'UTC',
    // The text NULL in an array would be a text, or no time.
    array_nulls: 'on',
    // Of the other styles the driver reads a day for a month.
    datestyle: 'ISO',
    ...options.settings,
  }
  const pool = new pg.Pool({
    ...connectionConfig(options.target, settings, options.sessionName),
    Client,
    max: options.connectionsMax ?? 8,
    connectionTimeoutMillis: options.acquireWaitMsMax ?? 2_000,
    idleTimeoutMillis: 60_000,
  })
  const hasBegun = new WeakSet<pg.PoolClient>()
  // Closed when they are given back, which rolls back as well: those that are silent or on their way out, and those whose driver failed
  // halfway, for it may have closed a statement that it takes for a prepared one.
  const spoiled = new WeakSet<pg.PoolClient>()
  let closing = false
  // Without a listener an idle connection that the server ends would end this process. On the way out nobody need hear of it.
  pool.on('error', (error) => {
    if (!closing) options.onError(error)
  })
  // The pool listens only to connections that nobody uses. One that breaks in use, or in the moment before, fails its next statement.
  pool.on('connect', (client) => client.on('error', () => {}))
  let statements = 0

  // A callback and a timer of our own: with the driver's promise, or its query_timeout, V8 keeps each query with its rows until a full
  // collection, which costs a page of 20 rows a fifth more CPU.
  const ask = <Row extends object>(client: pg.PoolClient, query: pg.QueryConfig, begins = false) =>
    new Promise<pg.QueryResult<Row>>((resolve, reject) => {
      const fail = (error: Error) => {
        if (!(error instanceof pg.DatabaseError) || isAway(error)) spoiled.add(client)
        reject(error)
      }
      const silence = setTimeout(() => fail(new Error('Query read timeout')), answerMsMax)
      const asked = new pg.Query<Row>(query, (error, result) => {
        clearTimeout(silence)
        if (error) fail(error)
        // Of two commands there are two results.
        else resolve(begins ? (result as unknown as pg.QueryResult<Row>[])[1]! : result)
      })
      if (begins) beginWith(asked)
      client.query(asked)
    })

  const runOn = async <Row extends object>(
    client: pg.PoolClient,
    query: Statement,
    values: readonly unknown[],
    begins = false,
  ) => {
    statements += 1
    return (await ask<Row>(client, { name: query.name, text: query.text, values: values as unknown[] }, begins)).rows
  }

  let awayTimes = 0
  // What PostgreSQL itself says, such as that a password is wrong, is not hidden by how the line broke before that.
  const awayToldAt = new Map<string, number>()
  const tellAway = (error: unknown) => {
    awayTimes += 1
    const at = performance.now()
    const said = error instanceof pg.DatabaseError ? codeOf(error) : ''
    if (closing || at - (awayToldAt.get(said) ?? -Infinity) < awayToldEveryMs) return
    options.onAway?.(error, awayTimes)
    awayTimes = 0
    awayToldAt.set(said, at)
  }

  // Nothing has been sent where that fails, whatever it fails with, such as a certificate that has ended.
  const connect = () =>
    pool.connect().catch((error: unknown) => {
      tellAway(error)
      throw unavailable(error)
    })

  const alone = async <Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]> => {
    const client = await connect()
    try {
      return await runOn<Row>(client, query, values)
    } finally {
      client.release(spoiled.has(client))
    }
  }

  const once = async <T>(work: (tx: Queries) => Promise<T>): Promise<T> => {
    const client = await connect()
    try {
      // The first transaction of a connection prepares it; from then on it costs no way of its own. What follows waits for that,
      // and is not done where it has failed.
      let beginning: Promise<unknown> | undefined
      if (!hasBegun.has(client)) {
        beginning = ask(client, begin)
        await beginning
        hasBegun.add(client)
      }
      const result = await work({
        async run<Row extends object>(query: Statement, values: readonly unknown[]) {
          if (beginning !== undefined) {
            await beginning
            return runOn<Row>(client, query, values)
          }
          const first = runOn<Row>(client, query, values, true)
          beginning = first
          return first
        },
      })
      if (beginning === undefined) return result
      await beginning
      const { command } = await ask(client, { text: 'commit' })
      // COMMIT of an aborted transaction resolves, with the tag ROLLBACK.
      if (command !== 'COMMIT') throw new Error('the transaction was rolled back by the server')
      return result
    } catch (error) {
      if (!spoiled.has(client)) await ask(client, { text: 'rollback' }).catch(() => spoiled.add(client))
      throw error
    } finally {
      client.release(spoiled.has(client))
    }
  }

  const repeated = async <T>(work: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await work()
      } catch (error) {
        if (tries < triesMax && isConflict(error)) continue
        const fault = asFault(error)
        if (fault !== error) tellAway(error)
        throw fault
      }
    }
  }

  return {
    run: (query, values) => repeated(() => alone(query, values)),
    tx: (work) => repeated(() => once(work)),
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount, statements }),
    async [Symbol.asyncDispose]() {
      closing = true
      await pool.end()
    },
  }
}

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : ''

// Serialization failure and deadlock: nothing happened, and the same work may go through now.
const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(codeOf(error))

/** Whether something that may be there once was there already: somebody else has stored it since it was looked for. */
export const isDuplicate = (error: unknown): boolean => codeOf(error) === '23505'

/** Whether it waited for a lock for as long as its `lock_timeout` lets it: somebody else has what it needs. */
export const isLockedOut = (error: unknown): boolean => codeOf(error) === '55P03'

// Whatever the system says of a connection, by its codes with an E.
const awayCodes = /^(08\w{3}|57P0[1-4]|57014|25P03|25006|53100|53200|53300|E[A-Z]+|EAI_AGAIN)$/
const awayMessages =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|not queryable/

// PostgreSQL ends the connection, or did not let it in: whatever the code, the next one may find it well.
const isFatal = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && (error.severity === 'FATAL' || error.severity === 'PANIC')

/**
 * Whether it is the database that could not do something, and not what was asked of it: it could not be reached or went away, so that the
 * outcome of a commit may be unknown, or no connection to it came free.
 */
export function isAway(error: unknown): boolean {
  if (error instanceof Fault) return error.code === 'UNAVAILABLE'
  if (isFatal(error)) return true
  return awayCodes.test(codeOf(error)) || (error instanceof Error && awayMessages.test(error.message))
}

/**
 * Does it, and once more where the database went away: the answer to COMMIT may have been lost. `work` must be repeatable, so that what has
 * happened does not happen again.
 */
export const surely = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    if (!isAway(error)) throw error
    return work()
  })

/** Whether the database lets no further connection in; those that there are may do well. */
export const isCrowded = (error: unknown): boolean => codeOf(error instanceof Fault ? error.cause : error) === '53300'

// The pool's words for a wait among its own; of a connection that it could not make in time it says something else.
const noneFree = 'timeout exceeded when trying to connect'

/** Whether it failed for want of a free connection alone, so that nothing was sent to the database and nothing has happened. */
export function isFull(error: unknown): boolean {
  const cause = error instanceof Fault ? error.cause : error
  return cause instanceof Error && cause.message === noneFree
}

const asFault = (error: unknown): unknown => (error instanceof Fault || !isAway(error) ? error : unavailable(error))

function unavailable(error: unknown): Fault {
  const message = isFull(error)
    ? 'No connection to the database came free in time. Try again.'
    : 'The database is away for a moment. Try again.'
  return new Fault('UNAVAILABLE', message, { retryAfterSeconds: 1, cause: error })
}

/** The `wait_ms` of a statement that asks when something is due: milliseconds, Infinity where nothing is. */
export const waitOf = async (on: Queries, query: Statement): Promise<number> => {
  const [row] = await on.run<{ wait_ms: number | null }>(query, [])
  return row?.wait_ms == null ? Infinity : Math.max(0, row.wait_ms)
}

// A constraint that a row breaks, and what our functions raise in the name of one. Other errors name one too: an index that cannot hold a row.
const refusalCodes = /^(23\w{3}|P0001)$/

/** The name of the constraint that refused a row, if one did. */
export function refusedBy(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && refusalCodes.test(codeOf(error)) ? error.constraint : undefined
}
