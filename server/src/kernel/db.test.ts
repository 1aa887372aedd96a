import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../../test/cluster.ts'
import { startPostgresProxy, type PostgresProxy } from '../../test/postgres-proxy.ts'
import { until } from '../../test/until.ts'
import {
  connectionConfig,
  createDb,
  isAway,
  isFull,
  refusedBy,
  statement,
  type Db,
  type DbOptions,
  type DbTarget,
} from './db.ts'
import { Fault } from './fault.ts'

interface Opened {
  readonly db: Db
  readonly proxy: PostgresProxy
  readonly target: DbTarget
  /** Errors of connections that nobody was using. */
  readonly broken: Error[]
}

/** A database of its own with a table of accounts, reached through a line that can be cut. */
async function opened(t: TestContext, options: Partial<DbOptions> = {}): Promise<Opened> {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const { target } = held.use(await freshDatabase())
  const broken: Error[] = []
  const made = createDb({ target: target, onError: () => {} })
  await made.run(
    statement('test.setUp', 'create table public.accounts (id integer primary key, balance bigint not null)'),
    [],
  )
  await made.run(statement('test.fill', 'insert into public.accounts values (1, 100), (2, 100)'), [])
  await made[Symbol.asyncDispose]()
  const proxy = await startPostgresProxy(target)
  const db = createDb({ target: proxy.target, onError: (error) => broken.push(error), ...options })
  // The line goes first: a pool whose server is silent would wait for it.
  held.use(db)
  held.use(proxy)
  return { db, proxy, target, broken }
}

const read = statement('test.read', 'select balance from public.accounts where id = $1')
const add = statement('test.add', 'update public.accounts set balance = balance + $2 where id = $1 returning balance')
const wait = statement('test.wait', 'select pg_sleep(60)')
const waiting = statement(
  'test.waiting',
  `select count(*) from pg_stat_activity where query like 'select pg_sleep%' and datname = current_database()`,
)
const myPid = statement('test.pid', 'select pg_backend_pid() as pid')

const balance = async (db: Db, id = 1) => (await db.run<{ balance: bigint }>(read, [id]))[0]?.balance

/** Ends connections from outside, as an operator or a restart would. */
async function terminate(target: DbTarget, pid?: number): Promise<void> {
  const client = new pg.Client(connectionConfig(target))
  await client.connect()
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and ($1::integer is null or pid = $1)`,
    [pid ?? null],
  )
  await client.end()
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof Fault && error.code === 'UNAVAILABLE' && error.retryAfterSeconds === 1 && isAway(error)

test('eight-byte integers come as bigint, whatever their size', async (t) => {
  const { db } = await opened(t)
  assert.equal(await balance(db), 100n)
  await db.run(add, [1, '9007199254740993'])
  assert.equal(await balance(db), 9_007_199_254_741_093n)
})

test('a time comes as the moment that it is, in whatever zone the session tells it', async (t) => {
  const { db } = await opened(t)
  const told = statement(
    'test.told',
    `select '2026-11-21 20:30:12.123456Z'::timestamptz as micro, '2026-11-21 20:30:12Z'::timestamptz as whole,
            '0044-03-15 00:00:00Z BC'::timestamptz as bc, '12026-11-21 20:30:12.5Z'::timestamptz as far, 'infinity'::timestamptz as never`,
  )
  const setZone = statement('test.setZone', `select set_config('TimeZone', $1, true)`)
  for (const zone of ['UTC', 'Asia/Manila', 'Asia/Kathmandu', 'America/St_Johns']) {
    const [row] = await db.tx(async (tx) => {
      await tx.run(setZone, [zone])
      return tx.run<Record<'micro' | 'whole' | 'bc' | 'far' | 'never', Date | number>>(told, [])
    })
    assert.deepEqual(row?.micro, new Date('2026-11-21T20:30:12.123Z'), zone)
    assert.deepEqual(row.whole, new Date('2026-11-21T20:30:12.000Z'), zone)
    assert.deepEqual(row.bc, new Date('-000043-03-15T00:00:00.000Z'), zone)
    assert.deepEqual(row.far, new Date('+012026-11-21T20:30:12.500Z'), zone)
    assert.equal(row.never, Infinity, zone)
  }
})

test('what a database has for sessions of others changes neither what transactions see nor how long a lock is waited for', async (t) => {
  const { db, target } = await opened(t)
  for (const rule of ['lock_timeout = 1', 'default_transaction_isolation = serializable'])
    await db.run(
      statement('', `do $$ begin execute format('alter database %I set ${rule}', current_database()); end $$`),
      [],
    )
  await using other = createDb({ target, onError: () => {} })
  const doze = statement('test.doze', 'select pg_sleep(0.005)')
  const pay = () =>
    other.tx(async (tx) => [await tx.run(read, [1]), await tx.run(add, [1, -1]), await tx.run(doze, [])])
  await Promise.all(Array.from({ length: 40 }, pay))
  assert.equal(await balance(db), 60n)
})

test('a transaction keeps all of its work or none of it', async (t) => {
  const { db } = await opened(t)
  const moved = await db.tx(async (tx) => {
    await tx.run(add, [1, -10])
    return (await tx.run<{ balance: bigint }>(add, [2, 10]))[0]?.balance
  })
  assert.equal(moved, 110n)
  const thrown = new Error('changed my mind')
  await assert.rejects(
    db.tx(async (tx) => {
      await tx.run(add, [1, -10])
      throw thrown
    }),
    thrown,
  )
  assert.deepEqual([await balance(db, 1), await balance(db, 2)], [90n, 110n])
})

test('where a transaction cannot begin, nothing of it is done', async (t) => {
  const { db } = await opened(t, { connectionsMax: 1 })
  const pay = () => db.tx((tx) => tx.run(add, [1, -10]))
  await pay()
  await pay()
  await db.run(statement('test.forget', 'deallocate "kernel.begin"'), [])
  await assert.rejects(pay(), /kernel\.begin/)
  const inAnyCase = db.tx(async (tx) => {
    await Promise.allSettled([tx.run(add, [1, -10]), tx.run(add, [1, -10])])
    await tx.run(add, [1, -10]).catch(() => {})
  })
  await assert.rejects(inAnyCase, /kernel\.begin/)
  assert.equal(await balance(db), 80n)
  assert.equal(await db.tx(async () => 'nothing asked'), 'nothing asked')
})

test('a commit that PostgreSQL turned into a rollback is an error, not a success', async (t) => {
  const { db } = await opened(t)
  await assert.rejects(
    db.tx(async (tx) => {
      await tx.run(add, [1, -10])
      await tx.run(statement('test.wrong', 'select 1 / 0'), []).catch(() => {})
    }),
    /rolled back by the server/,
  )
  assert.equal(await balance(db), 100n)
})

test('a deadlock is resolved by doing the work again', async (t) => {
  const { db } = await opened(t)
  let tries = 0
  const both = Promise.withResolvers<void>()
  let arrived = 0
  const move = (from: number, to: number) =>
    db.tx(async (tx) => {
      tries += 1
      await tx.run(add, [from, -1])
      arrived += 1
      if (arrived === 2) both.resolve()
      await both.promise
      await tx.run(add, [to, 1])
    })
  await Promise.all([move(1, 2), move(2, 1)])
  assert.ok(tries > 2)
  assert.deepEqual([await balance(db, 1), await balance(db, 2)], [100n, 100n])
})

test('work that conflicts every time is given up after three tries', async (t) => {
  const { db } = await opened(t)
  const conflict = statement('test.conflict', `do $$ begin raise sqlstate '40001'; end $$`)
  let tries = 0
  const failing = db.tx(async (tx) => {
    tries += 1
    await tx.run(conflict, [])
  })
  await assert.rejects(failing, (error: Error & { code?: string }) => error.code === '40001' && !isAway(error))
  assert.equal(tries, 3)
})

test('other errors are not tried again', async (t) => {
  const { db } = await opened(t)
  let tries = 0
  const failing = db.tx(async (tx) => {
    tries += 1
    await tx.run(statement('test.double', 'insert into public.accounts values (1, 1)'), [])
  })
  await assert.rejects(failing, (error) => refusedBy(error) === 'accounts_pkey')
  assert.equal(tries, 1)
})

test('an index that cannot hold a row has not refused it, though the error names it', async (t) => {
  const { db } = await opened(t)
  await db.run(statement('test.setUpNames', 'create table public.names (name text unique)'), [])
  const name = randomBytes(4_000).toString('base64')
  const failing = db.run(statement('test.tooLong', 'insert into public.names values ($1)'), [name])
  await assert.rejects(failing, (error: Error & { code?: string; constraint?: string }) => {
    assert.deepEqual([error.code, error.constraint], ['54000', 'names_name_key'])
    return refusedBy(error) === undefined
  })
})

test('a value that the driver cannot write fails its statement and no other', async (t) => {
  const { db } = await opened(t, { connectionsMax: 1 })
  const unwritable = {
    toJSON: () => {
      throw new RangeError('nested too deep')
    },
  }
  assert.equal(await balance(db), 100n)
  await assert.rejects(db.run(read, [unwritable]), /nested too deep/)
  assert.equal(await balance(db), 100n)
  const inTransaction = db.tx(async (tx) => {
    await tx.run(add, [1, 5])
    await tx.run(read, [unwritable])
  })
  await assert.rejects(inTransaction, /nested too deep/)
  await assert.rejects(
    db.tx((tx) => tx.run(read, [unwritable])),
    /nested too deep/,
  )
  assert.equal(await balance(db), 100n)
})

test('a statement that takes too long is ended and told as an outage, and its connection serves again', async (t) => {
  const { db } = await opened(t, {
    statementMsMax: 100,
    silenceMsMax: 30_000,
    acquireWaitMsMax: 30_000,
    connectionsMax: 1,
  })
  await assert.rejects(db.run(wait, []), (error: Error & { code?: string }) => error.code === 'UNAVAILABLE')
  await assert.rejects(
    db.tx((tx) => tx.run(wait, [])),
    (error: Error & { code?: string }) => error.code === 'UNAVAILABLE',
  )
  assert.equal(await balance(db), 100n)
})

test('a connection that is ended under a statement or a transaction makes it unavailable, and the next one serves', async (t) => {
  const { db, target } = await opened(t)
  const pidOf = async (rows: Promise<{ pid: number }[]>) => (await rows)[0]?.pid

  const running = assert.rejects(db.run(wait, []), isUnavailable)
  await until('a statement that waits', async () => {
    const [row] = await db.run<{ count: bigint }>(waiting, [])
    return row?.count === 1n
  })
  await terminate(target)
  await running

  const inStatement = db.tx(async (tx) => {
    const pid = await pidOf(tx.run<{ pid: number }>(myPid, []))
    await Promise.all([tx.run(wait, []), terminate(target, pid)])
  })
  await assert.rejects(inStatement, isUnavailable)

  const betweenStatements = db.tx(async (tx) => {
    await tx.run(add, [1, 1])
    await terminate(target, await pidOf(tx.run<{ pid: number }>(myPid, [])))
    await new Promise((resolve) => setImmediate(resolve))
    await tx.run(add, [1, 1])
  })
  await assert.rejects(betweenStatements, isUnavailable)
  assert.equal(await balance(db), 100n)
})

test('idle connections that the server ends are told of and replaced', async (t) => {
  const { db, target, broken } = await opened(t)
  await balance(db)
  await terminate(target)
  await until('news of the broken connection', () => broken.length > 0)
  assert.equal(await balance(db), 100n)
})

test('a server that cuts every connection makes all work unavailable, and is used again when it is back', async (t) => {
  const { db, proxy } = await opened(t)
  await balance(db)
  proxy.becomes('closed')
  await assert.rejects(db.run(read, [1]), isUnavailable)
  await assert.rejects(
    db.tx((tx) => tx.run(read, [1])),
    isUnavailable,
  )
  proxy.becomes('passes')
  assert.equal(await balance(db), 100n)
})

test('a server that falls silent makes all work unavailable in a bounded time, and is used again when it is back', async (t) => {
  const { db, proxy } = await opened(t, { statementMsMax: 1_000, silenceMsMax: 100, connectionsMax: 2 })
  await Promise.all([balance(db), balance(db)])
  proxy.becomes('silent')
  const all = await Promise.allSettled([
    db.run(read, [1]),
    db.tx((tx) => tx.run(read, [1])),
    db.run(read, [1]),
    db.tx((tx) => tx.run(read, [1])),
  ])
  for (const one of all)
    assert.ok(one.status === 'rejected' && isUnavailable(one.reason), String(Object.values(one)[1]))
  proxy.becomes('passes')
  assert.equal(await balance(db), 100n)
  assert.equal(db.stats().waiting, 0)
})

test('a line that falls silent under a transaction makes it unavailable', async (t) => {
  const { db, proxy } = await opened(t, { statementMsMax: 1_000, silenceMsMax: 100 })
  const cut = db.tx(async (tx) => {
    await tx.run(add, [1, 1])
    proxy.becomes('silent')
    await tx.run(add, [1, 1])
  })
  await assert.rejects(cut, isUnavailable)
  const cutAtCommit = db.tx(async () => {
    proxy.becomes('silent')
  })
  await assert.rejects(cutAtCommit, (error) => isUnavailable(error) && !isFull(error))
  proxy.becomes('passes')
  assert.equal(await balance(db), 100n)
})

test('who waits for a connection longer than the bound is told that none came free, not that the database is away', async (t) => {
  const { db } = await opened(t, { connectionsMax: 1, acquireWaitMsMax: 1_000 })
  const release = Promise.withResolvers<void>()
  const began = Promise.withResolvers<void>()
  const busy = db.tx(async (tx) => {
    await tx.run(read, [1])
    began.resolve()
    await release.promise
  })
  await began.promise
  const late = assert.rejects(
    db.run(read, [1]),
    (error: Error) => isUnavailable(error) && isFull(error) && !error.message.includes('away'),
  )
  assert.equal(db.stats().waiting, 1)
  await late
  release.resolve()
  await busy
  assert.deepEqual({ ...db.stats(), statements: 0 }, { total: 1, idle: 1, waiting: 0, statements: 0 })
})

test('a Fault that work throws comes out as it is', async (t) => {
  const { db } = await opened(t)
  const refusal = new Fault('CONFLICT', 'There is one already.')
  await assert.rejects(
    db.tx(async () => {
      throw refusal
    }),
    refusal,
  )
  assert.ok(!isAway(refusal) && !isAway(new Error('x')) && !isAway(undefined))
})

test('whatever the system says of a connection is an outage, and what a program does wrong is none', () => {
  const withCode = (code: string) => Object.assign(new Error('x'), { code })
  for (const code of ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EAGAIN', 'EMFILE', 'EAI_AGAIN', '57P01', '53300'])
    assert.ok(isAway(withCode(code)), code)
  for (const code of ['ERR_INVALID_ARG_TYPE', '42601', '23505', '40001']) assert.ok(!isAway(withCode(code)), code)
})

test('what keeps the database away is told once however many ask, beside what PostgreSQL says of it, and not of what the database refuses by itself', async (t) => {
  const told: [unknown, number][] = []
  const { db, proxy } = await opened(t, { onAway: (error, times) => told.push([error, times]) })
  await assert.rejects(db.run(statement('test.wrong', 'select * from public.nothing'), []), /nothing/)
  assert.equal(told.length, 0)
  proxy.becomes('closed')
  for (const outcome of await Promise.allSettled([balance(db), balance(db), db.tx((tx) => tx.run(add, [1, 1]))]))
    assert.ok(outcome.status === 'rejected' && isUnavailable(outcome.reason))
  proxy.becomes('passes')
  const end = () => db.run(statement('test.end', 'select pg_terminate_backend(pg_backend_pid())'), [])
  for (let time = 0; time < 2; time += 1) await assert.rejects(end, isUnavailable)
  const said = told.map(([error, times]) => `${error instanceof Fault}, ${error instanceof pg.DatabaseError}, ${times}`)
  assert.deepEqual(said, ['false, false, 1', 'false, true, 3'])
})
