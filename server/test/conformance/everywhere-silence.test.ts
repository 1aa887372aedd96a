import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDb, statement } from '../../src/kernel/db.ts'
import { freshDatabase } from '../cluster.ts'
import { platform } from '../platform.ts'
import { startPostgresProxy } from '../postgres-proxy.ts'
import { sql } from '../sql.ts'
import { until } from '../until.ts'
import { assertRefused, call } from './call.ts'
import { operations, rightCall, subjectsOf } from './operations.ts'
import { keyFor } from './people.ts'

// A database that is there and says nothing, and one that cuts everybody off: an answer all the same, in the area's envelope.

const nothing = statement('test.nothing', 'select 1')

test('while all connections are in use requests are told that, and a load balancer that the database answers', async (t) => {
  const p = await platform(t, { choices: { databaseConnectionsMax: 1 } })
  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const holding = p.kaha.db.tx(async (tx) => {
    await tx.run(nothing, [])
    held.resolve()
    await release.promise
  })
  await held.promise
  try {
    const asked = call(p.url, { path: '/ecom/v1/payment-links', key: p.merchant.secret_key })
    await until('a wait', () => p.kaha.db.stats().waiting > 0)
    const ready = await call(p.url, { path: '/readyz' })
    assert.deepEqual([ready.status, ready.json.ready, ready.json.database], [200, true, true])
    const answer = await asked
    assertRefused('/ecom/v1/payment-links', answer, 503, 'UNAVAILABLE')
    assert.equal(answer.json.error.message, 'No connection to the database came free in time. Try again.')
    assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/)
  } finally {
    release.resolve()
    await holding
  }
})

async function behindALine(t: Parameters<typeof platform>[0]) {
  const database = await freshDatabase()
  t.after(async () => database[Symbol.asyncDispose]())
  const proxy = await startPostgresProxy(database.target)
  const p = await platform(t, { database: proxy.target })
  t.after(async () => proxy[Symbol.asyncDispose]())
  return { ...p, proxy, subjects: await subjectsOf(p), key: p.seed.partner.secret_key }
}

test('every operation answers 503 with Retry-After when the database falls silent, however many ask at once, and serves again afterwards', async (t) => {
  const p = await behindALine(t)
  // A key that was never seen is looked up, so that nothing can be answered from memory.
  const requests = await Promise.all(
    operations.map(async (operation) => {
      const { secretKey: key } = await keyFor(p, { id: p.seed.partner.id, level: 'partner' })
      return { ...(await rightCall(operation, p.subjects)), key }
    }),
  )
  p.proxy.becomes('silent')
  const answers = await Promise.all(requests.map((request) => call(p.url, request)))
  for (const [index, answer] of answers.entries()) {
    assertRefused(requests[index]?.path ?? '', answer, 503, 'UNAVAILABLE')
    assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/)
  }
  // What needs no database is answered meanwhile.
  assert.equal((await call(p.url, { path: '/healthz' })).status, 200)
  assert.equal((await call(p.url, { path: '/readyz' })).status, 503)

  // Why it is away is told the operator, and no caller.
  const told = p.logged.filter((line) => line.includes('the database does not do what it is asked'))
  assert.ok(told.length > 0 && told.length < 10, told.join('\n'))
  assert.match(told[0] ?? '', /"stack":"Error: [^"]+/)

  p.proxy.becomes('passes')
  await until('readiness', async () => (await call(p.url, { path: '/readyz' })).status === 200)
  for (const operation of operations) {
    const answer = await call(p.url, { ...(await rightCall(operation, p.subjects)), key: p.key })
    assert.ok(answer.status in operation.success, `${operation.id}: ${answer.status} ${answer.text}`)
  }
})

test('a load balancer hears that the database is silent before anybody else does, however many ask', async (t) => {
  const p = await behindALine(t)
  assert.equal((await call(p.url, { path: '/readyz' })).status, 200)
  p.proxy.becomes('silent')
  let isTold = false
  // On a connection that was there before, as readiness is asked on one.
  const asked = assert.rejects(p.kaha.db.run(nothing, []).finally(() => (isTold = true)))
  for (const round of ['on a connection', 'on a new one', 'on another']) {
    const answers = await Promise.all([1, 2, 3].map(() => call(p.url, { path: '/readyz' })))
    for (const { status, json } of answers) assert.deepEqual([status, json.database], [503, false], round)
    assert.ok(!isTold, round)
  }
  p.proxy.becomes('passes')
  await until('readiness', async () => (await call(p.url, { path: '/readyz' })).status === 200)
  await asked
})

test('a process whose database takes no changes, as a standby does, is not ready until it does', async (t) => {
  const p = await behindALine(t)
  const readOnly = async (on: boolean) => {
    await sql(
      p.kaha.db,
      `do $$ begin execute format('alter database %I set default_transaction_read_only = ${on}', current_database()); end $$`,
    )
    await sql(
      p.kaha.db,
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    ).catch(() => {})
  }
  const isReady = async () => (await call(p.url, { path: '/readyz' })).json as { ready: boolean }
  assert.equal((await isReady()).ready, true)
  await readOnly(true)
  await until('the change', async () => !(await isReady()).ready)
  const { status, json } = await call(p.url, { path: '/readyz' })
  assert.deepEqual([status, json], [503, { ready: false, database: false, bus: json.bus }])

  // Connections that were made meanwhile take no changes for as long as they live, which ends nobody for us.
  await using operator = createDb({
    target: p.target,
    settings: { default_transaction_read_only: 'off' },
    onError: () => {},
  })
  await sql(
    operator,
    `do $$ begin execute format('alter database %I reset default_transaction_read_only', current_database()); end $$`,
  )
  await until('readiness', async () => (await isReady()).ready)
})

test('connections that are ended under load cost some requests a 503, and no request its answer', async (t) => {
  const p = await behindALine(t)
  const statuses = new Map<number, number>()
  const stop = new AbortController()
  const asking = Array.from({ length: 6 }, async (_, worker) => {
    for (let turn = worker; !stop.signal.aborted; turn += 1) {
      const operation = operations[turn % operations.length]
      if (operation === undefined) continue
      // What some operations need cannot be made while nobody is served.
      const right = await rightCall(operation, p.subjects).catch(() => undefined)
      if (right === undefined) continue
      const request = { ...right, key: p.key }
      const answer = await call(p.url, request)
      if (answer.status === 503) assertRefused(request.path, answer, 503, 'UNAVAILABLE')
      // One endpoint recovers once at a time.
      if (answer.status === 429) assert.equal(operation.id, 'recoverWebhookEndpoint')
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    }
  })
  const seen = (status: number) => statuses.get(status) ?? 0
  for (let round = 1; round <= 5; round += 1) {
    const before = seen(503)
    while (seen(503) === before) {
      await sql(
        p.kaha.db,
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      ).catch(() => {})
    }
    const served = seen(200)
    await until('service', () => seen(200) > served)
  }
  stop.abort()
  await Promise.all(asking)
  // Attempts of the one intent run out, and one that was interrupted is settled later: refusals that have nothing to do with the cut.
  const odd = [...statuses.keys()].filter((status) => ![200, 201, 202, 409, 429, 503].includes(status))
  assert.deepEqual(odd, [])
})
