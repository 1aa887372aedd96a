import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import pg from 'pg'
import { freshDatabase, startTestCluster, targetOf } from '../../test/cluster.ts'
import { urlOf } from '../../test/faults/database-of.ts'
import { postgresBus } from './bus-postgres.ts'
import { connectionConfig, createDb, isAway, statement, type Db, type DbTarget } from './db.ts'
import { Fault } from './fault.ts'

const environment = {
  PGHOST: '/nowhere',
  PGPORT: '1',
  PGUSER: 'nobody',
  PGDATABASE: 'nothing',
  PGSSLMODE: 'require',
  PGSSLNEGOTIATION: 'direct',
  PGOPTIONS: '-c search_path=nowhere',
  PGAPPNAME: 'psql',
}

test('what the environment says for psql and others does not count for the embedded database', async (t) => {
  // Not the run's own, which may be on TCP.
  await using cluster = await startTestCluster({ quick: true })
  const target = targetOf(JSON.parse(cluster.handle) as DbTarget, 'postgres')
  Object.assign(process.env, environment)
  t.after(() => Object.keys(environment).forEach((name) => delete process.env[name]))
  const shown = `select current_setting('search_path') as path, current_setting('application_name') as name`
  const asThere = [{ path: '"$user", public', name: 'kaha' }]
  await using db = createDb({ target, onError: assert.fail })
  assert.deepEqual(await db.run(statement('test.shown', shown), []), asThere)
  const client = new pg.Client(connectionConfig(target))
  await client.connect()
  assert.deepEqual((await client.query(shown)).rows, asThere)
  await client.end()
})

test('a database with which no TLS comes about is away, whatever it answers instead', async (t) => {
  for (const answer of ['N', 'Sno TLS at all\n']) {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write(answer))
    })
    t.after(() => server.close())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const told: unknown[] = []
    const url = `postgres://kaha@127.0.0.1:${(server.address() as AddressInfo).port}/kaha?ssl=true`
    await using db = createDb({ target: { url }, onError: assert.fail, onAway: (error) => told.push(error) })
    const one = statement('test.one', 'select 1')
    for (const asked of [db.run(one, []), db.tx((tx) => tx.run(one, []))])
      await assert.rejects(asked, (error) => {
        assert.ok(error instanceof Fault && isAway(error), String(error))
        assert.equal(error.code, 'UNAVAILABLE')
        return true
      })
    assert.equal(told.length, 1)
    assert.ok(!(told[0] instanceof Fault))
  }
})

test('what we say of our sessions stands whatever an address says of it', async () => {
  await using database = await freshDatabase()
  const { target } = database
  const url = new URL(urlOf(target))
  const said = {
    application_name: 'shop',
    statement_timeout: '1',
    lock_timeout: '1',
    idle_in_transaction_session_timeout: '1',
  }
  for (const [name, value] of Object.entries(said)) url.searchParams.set(name, value)
  await using db = createDb({ target: { url: url.href }, sessionName: 'kaha api one', onError: assert.fail })
  const shown = statement(
    'test.shown',
    `select ${Object.keys(said)
      .map((name) => `current_setting('${name}') as ${name}`)
      .join()}`,
  )
  assert.deepEqual(await db.run(shown, []), [
    {
      application_name: 'kaha api one',
      statement_timeout: '10s',
      lock_timeout: '0',
      idle_in_transaction_session_timeout: '10s',
    },
  ])
})

test('options of an address stand beside the limits of a statement, not in their place', async () => {
  await using database = await freshDatabase()
  const { target } = database
  const url = `${urlOf(target)}${urlOf(target).includes('?') ? '&' : '?'}options=-c%20geqo%3Doff`
  await using db = createDb({ target: { url }, onError: assert.fail })
  const shown = statement(
    'test.shown',
    `select current_setting('statement_timeout') as limit_, current_setting('geqo') as geqo`,
  )
  assert.deepEqual(await db.run(shown, []), [{ limit_: '10s', geqo: 'off' }])
})

test('a file of an address that cannot be read for a moment fails the connections of that moment, and nothing else', async (t) => {
  await using database = await freshDatabase()
  const home = await mkdtemp(join(tmpdir(), 'kaha-ca-'))
  t.after(() => rm(home, { recursive: true }))
  const ca = join(home, 'ca.pem')
  await writeFile(ca, 'read, and of no use without TLS')
  const url = new URL(urlOf(database.target))
  url.searchParams.set('sslmode', 'disable')
  url.searchParams.set('sslrootcert', ca)
  const told: unknown[] = []
  await using db = createDb({
    target: { url: url.href },
    connectionsMax: 1,
    acquireWaitMsMax: 30_000,
    onError: assert.fail,
    onAway: (error) => told.push(error),
  })
  const one = statement('test.one', 'select 1 as one')
  const unavailable = (error: unknown) => error instanceof Fault && error.code === 'UNAVAILABLE'
  let waiting = Promise.resolve()
  const ended = db.tx(async (tx) => {
    await tx.run(one, [])
    await rm(ca)
    waiting = assert.rejects(db.run(one, []), unavailable)
    // The pool has only now a place, for whoever waits.
    await tx.run(statement('test.end', 'select pg_terminate_backend(pg_backend_pid())'), [])
  })
  await assert.rejects(ended, unavailable)
  await waiting
  await assert.rejects(db.run(one, []), unavailable)
  assert.equal(db.stats().total, 0)
  await writeFile(ca, 'renewed')
  assert.deepEqual(await db.run(one, []), [{ one: 1 }])
  // That PostgreSQL ended the one, and that there was no file for the next.
  const said = told.map((error) => (error instanceof Error && 'code' in error ? error.code : error))
  assert.deepEqual(said, ['57P01', 'ENOENT'])
})

test('a connection that waits for work is not ended by a limit that the database has for idle ones, nor is the line for hints, and no statement is compiled', async () => {
  await using database = await freshDatabase()
  const { target } = database
  await using before = createDb({ target, onError: assert.fail })
  for (const rule of ['idle_session_timeout = 200', 'standard_conforming_strings = off', 'jit = on'])
    await before.run(
      statement('', `do $$ begin execute format('alter database %I set ${rule}', current_database()); end $$`),
      [],
    )
  await using db = createDb({ target, onError: assert.fail })
  const shown = `select current_setting('idle_session_timeout') as idle, current_setting('standard_conforming_strings') as plain, current_setting('jit') as jit`
  assert.deepEqual(await db.run(statement('test.shown', shown), []), [{ idle: '0', plain: 'on', jit: 'off' }])
  const lost: Error[] = []
  await using bus = await postgresBus({ db, target, pingMs: 60_000, onLost: (error) => lost.push(error) })
  // Who came later and has the database's own limit is ended after the line would have been.
  const other = new pg.Client('url' in target ? target.url : { ...target, host: target.socketDir })
  const ended = new Promise((resolve) => other.on('error', resolve))
  await other.connect()
  await ended
  assert.deepEqual([lost, bus.connected], [[], true])
})

test('modes of TLS that mean verify-full are told to the driver as that, without a warning of what they once may mean', async (t) => {
  const warnings: Error[] = []
  const note = (warning: Error) => void warnings.push(warning)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  const told = (query: string) => {
    const config = connectionConfig({ url: `postgres://kaha@db.example/shop?${query}` })
    void new pg.Client(config)
    return new URL(config.connectionString ?? '').search
  }
  for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full'])
    assert.equal(told(`sslmode=${mode}`), '?sslmode=verify-full')
  assert.equal(told('sslmode=require&lock_timeout=1'), '?sslmode=verify-full')
  for (const other of ['sslmode=disable', 'sslmode=require&uselibpqcompat=true']) assert.equal(told(other), `?${other}`)
  await new Promise(setImmediate)
  assert.deepEqual(warnings, [])
})

/** A database that has this rule for all sessions, through a pool of its own. */
async function under(t: TestContext, rule: string): Promise<Db> {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const { target } = held.use(await freshDatabase())
  const client = new pg.Client(connectionConfig(target))
  await client.connect()
  await client.query(`do $$ begin execute format('alter database %I set ${rule}', current_database()); end $$`)
  await client.end()
  return held.use(createDb({ target, onError: assert.fail }))
}

test('a time comes as the moment that it is, however the database writes times for others', async (t) => {
  const db = await under(t, `datestyle to ''SQL, DMY''`)
  const told = statement('test.styled', `select '2026-11-12 20:30:12.123Z'::timestamptz as at`)
  assert.deepEqual(await db.run(told, []), [{ at: new Date('2026-11-12T20:30:12.123Z') }])
})

test('what is null in an array is null, however the database reads arrays of others', async (t) => {
  const db = await under(t, 'array_nulls = off')
  const told = statement('test.array', 'select one from unnest($1::timestamptz[]) one')
  assert.deepEqual(await db.run(told, [[null]]), [{ one: null }])
})
