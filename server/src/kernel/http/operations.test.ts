import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/cluster.ts'
import { sql } from '../../../test/sql.ts'
import { until } from '../../../test/until.ts'
import type { Bus } from '../bus.ts'
import { createClock } from '../clock.ts'
import { createDb, statement, type DbTarget } from '../db.ts'
import { createLog } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createProbe, logDb, mountOperations } from './operations.ts'
import { createHttp } from './server.ts'

const asRole = (target: DbTarget, role: string): DbTarget => {
  if (!('url' in target)) return { ...target, user: role }
  const url = new URL(target.url)
  url.username = role
  return { url: url.href }
}

test('a process whose database lets no further connection in is ready with those that it has, and not without any', async () => {
  await using database = await freshDatabase()
  await using owner = createDb({ target: database.target, onError: assert.fail })
  const role = `few_${randomBytes(4).toString('hex')}`
  await sql(owner, `create role ${role} login connection limit 1`)
  await sql(owner, `grant usage on schema kernel to ${role}`)
  await sql(owner, `grant select, update on kernel.clock to ${role}`)
  await using held = new AsyncDisposableStack()
  held.defer(async () => {
    await sql(owner, `drop owned by ${role}`)
    await sql(owner, `drop role ${role}`)
  })
  const target = asRole(database.target, role)
  const logged: string[] = []
  const log = createLog('warn', { write: (line) => void logged.push(line) })
  const app = createHttp({
    log,
    metrics: createMetrics(),
    clock: createClock(),
    trustProxy: false,
    prefixOfHost: new Map(),
    takesSockets: () => false,
  })
  held.defer(() => app.close())
  const probe = held.use(createProbe({ target, ...logDb(log) }))
  const db = held.use(createDb({ target, connectionsMax: 1, onError: () => {} }))
  // The one that it may have is one for requests.
  await db.run(statement('test.one', 'select 1'), [])
  const bus = { connected: true } as Bus
  mountOperations(app, { metrics: createMetrics(), db, probe, bus, withMetrics: false, note: null })
  const ready = async () => (await app.inject({ path: '/readyz' })).json() as { ready: boolean; database: boolean }
  assert.deepEqual([(await ready()).ready, (await ready()).database], [true, true])
  assert.ok(logged.some((line) => line.includes('the database lets no further connection in')))
  // Nobody has one any more, nor gets one.
  await sql(owner, `alter role ${role} connection limit 0`)
  await sql(owner, `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`)
  await until('it is not ready', async () => !(await ready()).ready)
})
