import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { connectionConfig, type DbTarget, type Queries } from './db.ts'
import { StartFault } from './fault.ts'
import { listProcesses } from './processes.ts'

const folder = join(import.meta.dirname, '../../migrations')
const lockId = 5_242_001
const serverVersionMin = 150_000
// Whatever the database has for its sessions: a large table takes as long as it takes, and so does whoever is at it.
const unlimited = { statement_timeout: '0', lock_timeout: '0', idle_in_transaction_session_timeout: '0' }
// Nobody else sets it: where it is not there, nothing that our sessions ask for has arrived.
const heard = 'kaha.heard'

/** What migrations make. */
export const schemas = ['kernel', 'identity', 'delivery', 'payments', 'ecommerce', 'sandbox', 'terminals', 'qr']

/** What may be done to a schema that is not this program's: bring up an older one, make one where there is none, or neither. */
export type MayMigrate = 'upgrade' | 'begin' | 'look'

/**
 * Brings the schema up to this program's version, one transaction per file, and resolves to the names applied. Safe to run from
 * several processes at once: an advisory lock lets one through. Throws a StartFault when the database is older than PostgreSQL 15,
 * keeps text as anything but UTF-8, does not hear what sessions ask for, is newer than this program, was given another text of a file
 * than the one here, or is not as it must be for what `may` allows: to bring it up takes whoever owns it. `onWait` is called where another
 * process has the lock, and `onOlder` before the schema changes under processes that work with it, with their names; the signal ends the
 * wait, and a migration that is under way, of which nothing is kept.
 */
export async function migrate(
  target: DbTarget,
  {
    signal,
    may = 'upgrade',
    onWait = () => {},
    onOlder = () => {},
    answerMsMax = 5_000,
  }: {
    signal?: AbortSignal | undefined
    may?: MayMigrate
    onWait?: () => void
    onOlder?: (names: readonly string[]) => void
    answerMsMax?: number
  } = {},
): Promise<string[]> {
  const client = new pg.Client({
    ...connectionConfig(target, { ...unlimited, [heard]: 'yes' }),
    connectionTimeoutMillis: answerMsMax,
  })
  // A connection that breaks also fails the query in hand, and that is where it is told.
  client.on('error', () => {})
  const stop = () => void client.end()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    await client.connect().catch(refuseAncient)
    await refuseUnfit(client, answerMsMax)
    const tryLock = soon(answerMsMax, 'select pg_try_advisory_lock($1) as taken', [lockId])
    const { rows } = await client.query<{ taken: boolean }>(tryLock)
    if (rows[0]?.taken !== true) {
      onWait()
      await client.query('select pg_advisory_lock($1)', [lockId])
    }
    return await applyMissing(client, may, onOlder)
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener('abort', stop)
    await client.end()
  }
}

/** A query whose answer is waited for so long: a pooler takes a connection though it has none to the database. From the lock on nothing is bounded. */
function soon(answerMsMax: number, text: string, values: unknown[] = []): pg.QueryConfig {
  const query = { text, values, query_timeout: answerMsMax }
  return query
}

/** PostgreSQL has what we ask for its sessions from version 14 on, and ends the connection of who asks for what it has not: its version cannot be asked for. */
function refuseAncient(error: unknown): never {
  if (error instanceof pg.DatabaseError && error.code === '42704' && error.message.includes('idle_session_timeout')) {
    throw new StartFault(
      'the database is PostgreSQL 13 or older; Kaha needs 15 or newer: upgrade it, or unset KAHA_DATABASE_URL',
      { cause: error },
    )
  }
  throw error
}

async function refuseUnfit(client: pg.Client, answerMsMax: number): Promise<void> {
  const { rows } = await client.query<{ number: string; version: string; encoding: string; is_heard: boolean }>(
    soon(
      answerMsMax,
      `select current_setting('server_version_num') as number, current_setting('server_version') as version,
              current_setting('server_encoding') as encoding, current_setting('${heard}', true) is not null as is_heard`,
    ),
  )
  if (Number(rows[0]?.number) < serverVersionMin) {
    throw new StartFault(
      `the database is PostgreSQL ${rows[0]?.version}; Kaha needs 15 or newer: upgrade it, or unset KAHA_DATABASE_URL`,
    )
  }
  // A name that it has no signs for could not be stored: its payment would fail.
  if (rows[0]?.encoding !== 'UTF8') {
    throw new StartFault(
      `the database keeps text as ${rows[0]?.encoding}; Kaha needs UTF8: make one with \`create database NAME encoding 'UTF8' template template0\``,
    )
  }
  // Without its time limits and its isolation level a payment would hang, or fail where it need not.
  if (!rows[0].is_heard) {
    throw new StartFault(
      'what Kaha asks for its sessions does not reach the database, as through PgBouncer, which drops or refuses it: let KAHA_DATABASE_URL lead to PostgreSQL itself',
    )
  }
}

/**
 * Partitions are made while Kaha runs, and only owners make them: where somebody else restored the database, payments would fail a few weeks
 * later. What others have made beside Kaha's tables, as a view of theirs, is none of this, and a partition is whoever's made it.
 */
async function refuseForeign(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ place: string; owner: string; user: string }>(
    `with foreign_to_us as (
       select format('the schema %I', n.nspname) as place, n.nspowner as owner
         from pg_namespace n where n.nspname = any($1) and not has_schema_privilege(n.oid, 'CREATE')
       union all
       select format('%I.%I', n.nspname, c.relname), c.relowner
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = any($1) and c.relkind in ('r', 'p') and not c.relispartition and not pg_has_role(c.relowner, 'USAGE')
     )
     select f.place, pg_get_userbyid(f.owner) as owner, current_user as user from foreign_to_us f order by f.place limit 1`,
    [schemas],
  )
  if (rows[0] === undefined) return
  const { place, owner, user } = rows[0]
  throw new StartFault(
    `${place} in the database belongs to ${owner}, and Kaha is there as ${user}, who may not change it, as migrations and new partitions do: restore it as ${user}, or make ${user} the owner of Kaha's schemas and of all in them`,
  )
}

async function applyMissing(
  client: pg.Client,
  may: MayMigrate,
  onOlder: (names: readonly string[]) => void,
): Promise<string[]> {
  const { rows: found } = await client.query<{ is_there: boolean }>(
    `select to_regclass('kernel.migrations') is not null as is_there`,
  )
  const isThere = found[0]?.is_there === true
  // Of a table that has no such column yet, too.
  const { rows } = isThere
    ? await client.query<{ name: string; sha256: string | null }>(
        `select m.name, to_jsonb(m) ->> 'sha256' as sha256 from kernel.migrations m order by m.name`,
      )
    : { rows: [] as const }
  const applied = new Set<string>(rows.map(({ name }) => name))
  if (applied.size === 0 && may === 'look')
    throw new StartFault(
      'there is nothing of Kaha in this database: start Kaha with it first, or correct KAHA_DATABASE_URL',
    )
  if (!isThere) {
    await client.query(`create schema if not exists kernel`)
    await client.query(
      `create table kernel.migrations (name text primary key, applied_at timestamptz not null default clock_timestamp())`,
    )
  }
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).toSorted()
  const unknown = [...applied].filter((name) => !files.includes(name))
  if (unknown.length > 0) {
    throw new StartFault(
      `the database was migrated by a newer or another Kaha (${unknown.at(-1)}): start that version, or use another database`,
    )
  }
  for (const { name, sha256 } of rows) {
    // What was given to it before files were kept account of is taken for this one's.
    if (sha256 !== null && sha256 !== digestOf(await readFile(join(folder, name))))
      throw new StartFault(
        `the database was migrated by another Kaha, whose ${name} is not this one's: start that version, or use another database`,
      )
  }
  if (may === 'upgrade') await refuseForeign(client)
  const missing = files.filter((name) => !applied.has(name))
  if (missing[0] !== undefined && applied.size > 0 && may !== 'upgrade')
    throw new StartFault(
      `the database is of an older Kaha, and lacks ${missing[0]}: start this one, or bring the database up to date by \`kaha migrate\``,
    )
  if (missing.length > 0 && applied.size > 0) {
    const names = await processNames(client)
    if (names.length > 0) onOlder(names)
  }
  if (missing.length > 0) await client.query('alter table kernel.migrations add column if not exists sha256 text')
  for (const name of missing) {
    const file = await readFile(join(folder, name))
    await client.query('begin')
    await client.query(file.toString()).catch((error: unknown) => {
      if (!(error instanceof pg.DatabaseError)) throw error
      throw new StartFault(
        `the migration ${name} was refused (${error.message}), and nothing of it is kept: mend that, and start again`,
        { cause: error },
      )
    })
    await client.query('insert into kernel.migrations (name, sha256) values ($1, $2)', [name, digestOf(file)])
    await client.query('commit')
  }
  return missing
}

const digestOf = (file: Buffer): string => createHash('sha256').update(file).digest('hex')

/** Of those that have started: whoever waits for a migration is not among them. */
async function processNames(client: pg.Client): Promise<string[]> {
  const run: Queries['run'] = async (statement, values) => (await client.query(statement.text, [...values])).rows
  return (await listProcesses({ run })).map(({ name }) => name)
}
