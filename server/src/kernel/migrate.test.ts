import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../../test/cluster.ts'
import { startMutePostgres } from '../../test/mute-servers.ts'
import { startDeafPooler, startPostgresProxy } from '../../test/postgres-proxy.ts'
import { connectionConfig, createDb, statement, type DbTarget } from './db.ts'
import { StartFault } from './fault.ts'
import { migrate, schemas } from './migrate.ts'
import { sessionNameOf } from './processes.ts'

const beside = (target: DbTarget, database: string): DbTarget => {
  if (!('url' in target)) return { ...target, database }
  const url = new URL(target.url)
  url.pathname = `/${database}`
  return { url: url.href }
}

const as = (target: DbTarget, user: string): DbTarget => {
  if (!('url' in target)) return { ...target, user }
  const url = new URL(target.url)
  url.username = user
  return { url: url.href }
}

/** A database with nothing in it, and a connection to it. */
async function empty(t: TestContext): Promise<{ target: DbTarget; client: pg.Client }> {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const { target: neighbour } = held.use(await freshDatabase())
  const name = `kaha_${randomUUID().replaceAll('-', '').slice(0, 16)}`
  const admin = new pg.Client(connectionConfig(neighbour))
  await admin.connect()
  await admin.query(`create database ${name}`)
  held.defer(async () => {
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  })
  const target = beside(neighbour, name)
  const client = new pg.Client(connectionConfig(target))
  await client.connect()
  held.defer(() => client.end())
  return { target, client }
}

const folder = join(import.meta.dirname, '../../migrations')
const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).toSorted()

test('an empty database gets every migration in order, and a second time none', async (t) => {
  const { target, client } = await empty(t)
  assert.deepEqual(await migrate(target), files)
  assert.deepEqual(await migrate(target), [])
  const { rows } = await client.query('select name from kernel.migrations order by name')
  assert.deepEqual(
    rows.map(({ name }) => name as string),
    files,
  )
})

test('whoever only looks leaves a database as it is, and who begins leaves one of an older program', async (t) => {
  const { target, client } = await empty(t)
  const kernelThere = async () =>
    (await client.query(`select 1 from information_schema.schemata where schema_name = 'kernel'`)).rowCount
  const nothing = 'there is nothing of Kaha in this database: start Kaha with it first, or correct KAHA_DATABASE_URL'
  await assert.rejects(migrate(target, { may: 'look' }), new StartFault(nothing))
  assert.equal(await kernelThere(), 0)
  assert.deepEqual(await migrate(target, { may: 'begin' }), files)
  assert.deepEqual(await migrate(target, { may: 'look' }), [])

  const last = files.at(-1) ?? ''
  await client.query('delete from kernel.migrations where name = $1', [last])
  const older = `the database is of an older Kaha, and lacks ${last}: start this one, or bring the database up to date by \`kaha migrate\``
  for (const may of ['look', 'begin'] as const) await assert.rejects(migrate(target, { may }), new StartFault(older))
  const { rowCount } = await client.query('select name from kernel.migrations')
  assert.equal(rowCount, files.length - 1)
})

test('who waits for another process that migrates says so, and stops waiting when asked to', async (t) => {
  const { target, client } = await empty(t)
  await client.query('select pg_advisory_lock(5242001)')
  const asked = new AbortController()
  const waiting = Promise.withResolvers<void>()
  const migrating = migrate(target, { signal: asked.signal, onWait: () => waiting.resolve() })
  await waiting.promise
  asked.abort()
  await assert.rejects(migrating, { name: 'AbortError' })
  await client.query('select pg_advisory_unlock_all()')
  assert.deepEqual(await migrate(target, { onWait: () => assert.fail('nobody is at it') }), files)
})

test('who waits, and who migrates, is not ended by what the database has for its sessions', async (t) => {
  const { target, client } = await empty(t)
  for (const limit of ['statement_timeout = 1', 'lock_timeout = 1', 'standard_conforming_strings = off'])
    await client.query(`do $$ begin execute format('alter database %I set ${limit}', current_database()); end $$`)
  await client.query('select pg_advisory_lock(5242001)')
  const waiting = Promise.withResolvers<void>()
  const migrating = migrate(target, { onWait: () => waiting.resolve() })
  await waiting.promise
  await client.query('select pg_sleep(0.05)')
  await client.query('select pg_advisory_unlock_all()')
  assert.deepEqual(await migrating, files)
})

test('of several processes that migrate at once one does the work, and the others find it done', async (t) => {
  const { target } = await empty(t)
  const applied = await Promise.all(Array.from({ length: 4 }, () => migrate(target)))
  assert.deepEqual(
    applied.filter(({ length }) => length > 0),
    [files],
  )
})

test('a migration that fails leaves nothing behind, and the next start goes on from there', async (t) => {
  const { target, client } = await empty(t)
  // In the way of the second file.
  await client.query('create schema identity')
  await assert.rejects(migrate(target), /schema "identity" already exists/)
  const { rows } = await client.query('select name from kernel.migrations')
  assert.deepEqual(
    rows.map(({ name }) => name as string),
    files.slice(0, 1),
  )
  await client.query('drop schema identity')
  assert.deepEqual(await migrate(target), files.slice(1))
})

test('who changes the schema under processes that work with it is told their names', async (t) => {
  const { target, client } = await empty(t)
  await using db = createDb({
    target,
    sessionName: sessionNameOf(['api', 'worker'], '12.ab@till'),
    onError: assert.fail,
  })
  const work = () => db.run(statement('works', 'select 1 as one'), [])
  await work()
  const told: (readonly string[])[] = []
  const onOlder = (names: readonly string[]) => void told.push(names)
  // In the way of the second file. A database with nothing in it has nobody who is older.
  await client.query('create schema identity')
  await assert.rejects(migrate(target, { onOlder }), /schema "identity" already exists/)
  assert.deepEqual(told, [])
  await client.query('drop schema identity')
  await work()
  assert.deepEqual(await migrate(target, { onOlder }), files.slice(1))
  assert.deepEqual(told, [['12.ab@till']])
  assert.deepEqual(await migrate(target, { onOlder }), [])
  assert.equal(told.length, 1)
})

test('a migration whose name cannot be kept leaves nothing behind, either', async (t) => {
  const { target, client } = await empty(t)
  await client.query('create schema kernel')
  await client.query(
    `create table kernel.migrations (
       name text primary key constraint planted check (name <> '${files[1]}'), applied_at timestamptz default now())`,
  )
  await assert.rejects(migrate(target), /planted/)
  const { rows } = await client.query(`select to_regnamespace('identity') as schema`)
  assert.deepEqual(rows, [{ schema: null }])
  await client.query('alter table kernel.migrations drop constraint planted')
  assert.deepEqual(await migrate(target), files.slice(1))
})

test('a database of a newer version is refused in words', async (t) => {
  const { target, client } = await empty(t)
  await migrate(target)
  await client.query(`insert into kernel.migrations (name) values ('9998_soon.sql'), ('9999_from_the_future.sql')`)
  await assert.rejects(
    migrate(target),
    (error) => error instanceof StartFault && /newer or another Kaha \(9999_from_the_future\.sql\)/.test(error.message),
  )
})

test('a database that was given another file of a name is refused, whatever is to be done with it', async (t) => {
  const { target, client } = await empty(t)
  await migrate(target)
  const [first = '', second = ''] = files
  const { rows } = await client.query<{ sha256: string }>('select sha256 from kernel.migrations where name = $1', [
    first,
  ])
  const digest = createHash('sha256').update(await readFile(join(folder, first)))
  assert.equal(rows[0]?.sha256, digest.digest('hex'))

  await client.query(`update kernel.migrations set sha256 = repeat('0', 64) where name = $1`, [second])
  const another = `the database was migrated by another Kaha, whose ${second} is not this one's: start that version, or use another database`
  for (const may of ['look', 'begin', 'upgrade'] as const)
    await assert.rejects(migrate(target, { may }), new StartFault(another))
  await client.query('delete from kernel.migrations where name = $1', [files.at(-1)])
  await assert.rejects(migrate(target), new StartFault(another))
})

test('a database of before its files were kept account of is taken as it is, and left so where nothing is missing', async (t) => {
  const { target, client } = await empty(t)
  await client.query(`
    create schema kernel;
    create table kernel.migrations (name text primary key, applied_at timestamptz not null default clock_timestamp())`)
  assert.deepEqual(await migrate(target), files)
  const accounted = async () => {
    const text = `select count(to_jsonb(m) ->> 'sha256')::integer as kept from kernel.migrations m`
    return (await client.query<{ kept: number }>(text)).rows[0]?.kept
  }
  assert.equal(await accounted(), files.length)

  await client.query('alter table kernel.migrations drop column sha256')
  for (const may of ['look', 'begin', 'upgrade'] as const) assert.deepEqual(await migrate(target, { may }), [])
  assert.equal(await accounted(), 0)
})

test('a server that cannot be reached is an error of the connection, and comes in time', async () => {
  await assert.rejects(migrate({ url: 'postgres://kaha@127.0.0.1:1/none' }), { code: 'ECONNREFUSED' })
})

test('a server that lets us in and then says nothing is found out in time', async () => {
  await using mute = await startMutePostgres()
  const target = { url: `postgres://kaha@127.0.0.1:${mute.port}/kaha` }
  await assert.rejects(migrate(target, { answerMsMax: 200 }), /timeout/)
})

test('a database of before PostgreSQL 15 is refused by its version before anything is done', async (t) => {
  const { target, client } = await empty(t)
  const asked = `current_setting('server_version_num')`
  await using old = await startPostgresProxy(target, (chunk) => {
    const at = chunk.indexOf(asked)
    if (at > 0) chunk.write(`'140022'`.padEnd(asked.length), at)
  })
  for (const may of ['look', 'begin', 'upgrade'] as const)
    await assert.rejects(migrate(old.target, { may }), (error) => {
      assert.ok(error instanceof StartFault)
      assert.match(error.message, /^the database is PostgreSQL [^;]+; Kaha needs 15 or newer: upgrade it, /)
      return true
    })
  const made = await client.query(`select to_regnamespace('kernel') is not null as is_there`)
  assert.deepEqual(made.rows, [{ is_there: false }])
})

test('a pooler that drops what sessions ask for is refused before anything is done, and one that hands it on is not', async (t) => {
  const { target, client } = await empty(t)
  await using deaf = await startDeafPooler(target)
  const dropped =
    'what Kaha asks for its sessions does not reach the database, as through PgBouncer, which drops or refuses it: let KAHA_DATABASE_URL lead to PostgreSQL itself'
  for (const may of ['look', 'begin', 'upgrade'] as const)
    await assert.rejects(migrate(deaf.target, { may }), new StartFault(dropped))
  const made = await client.query(`select to_regnamespace('kernel') is not null as is_there`)
  assert.deepEqual(made.rows, [{ is_there: false }])
  await using line = await startPostgresProxy(target)
  assert.deepEqual(await migrate(line.target), files)
})

test('a database that somebody else owns is refused before it is worked with; for a look, and for one of the owners, it will do', async (t) => {
  const { target, client } = await empty(t)
  await migrate(target)
  const made = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspname !~ '^pg_' and nspname not in ('public', 'information_schema') order by 1`,
  )
  assert.deepEqual(
    made.rows.map(({ name }) => name),
    schemas.toSorted(),
  )
  const role = `guest_${randomUUID().slice(0, 8)}`
  await client.query(`create role ${role} login`)
  await using held = new AsyncDisposableStack()
  held.defer(async () => void (await client.query(`drop owned by ${role}; drop role ${role}`)))
  await client.query(`
    grant usage on schema ${schemas.join()} to ${role};
    grant all on all tables in schema ${schemas.join()} to ${role}`)
  const asGuest = as(target, role)
  assert.deepEqual(await migrate(asGuest, { may: 'look' }), [])
  const { rows } = await client.query<{ owner: string }>('select current_user as owner')
  await assert.rejects(migrate(asGuest), (error) => {
    assert.ok(error instanceof StartFault)
    assert.match(
      error.message,
      /^delivery\.\w+ in the database belongs to \w+, and Kaha is there as guest_\w+, who .* make guest_\w+ the owner/,
    )
    return error.message.includes(` belongs to ${rows[0]?.owner},`)
  })
  const tables = await client.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any($1) and c.relkind in ('r', 'p')`,
    [schemas],
  )
  for (const { name } of tables.rows) await client.query(`alter table ${name} owner to ${role}`)
  await assert.rejects(
    migrate(asGuest),
    /: the schema delivery in the database belongs to \w+, and Kaha is there as guest_/,
  )
  for (const { name } of tables.rows) await client.query(`alter table ${name} owner to current_user`)
  await client.query(`grant ${rows[0]?.owner} to ${role}`)
  assert.deepEqual(await migrate(asGuest), [])
})

test('owners and their members go on with what each of them makes, and with what others have made beside it', async (t) => {
  const { target, client } = await empty(t)
  const [owner, member, stranger] = ['owner', 'member', 'stranger'].map((name) => `${name}_${randomUUID().slice(0, 8)}`)
  await client.query(
    `create role ${owner} login; create role ${member} login in role ${owner}; create role ${stranger}`,
  )
  await using held = new AsyncDisposableStack()
  held.defer(async () => {
    const all = `${owner}, ${member}, ${stranger}`
    await client.query(`drop owned by ${all} cascade`)
    await client.query(`drop role ${all}`)
  })
  await client.query(
    `grant create on database ${(await client.query('select current_database() as name')).rows[0]?.name} to ${owner}`,
  )
  await migrate(as(target, owner ?? ''))
  assert.deepEqual(await migrate(as(target, member ?? '')), [])

  const byMember = new pg.Client(connectionConfig(as(target, member ?? '')))
  await byMember.connect()
  held.defer(() => byMember.end())
  const made = await byMember.query<{ number: number }>(
    `select delivery.ensure_partitions('2031-01-06', '2031-01-13') as number`,
  )
  assert.deepEqual(made.rows, [{ number: 4 }])
  const partitions = `select distinct pg_get_userbyid(relowner) as name from pg_class where relname like '%2031w02' and relispartition`
  assert.deepEqual((await client.query(partitions)).rows, [{ name: owner }])

  // Those of before were left to who made them.
  await client.query(`alter table delivery.events_2031w02 owner to ${member}`)
  await client.query(
    `create view payments.of_theirs as select 1 as one; alter view payments.of_theirs owner to ${stranger}`,
  )
  for (const user of [owner, member]) assert.deepEqual(await migrate(as(target, user ?? '')), [])
})
