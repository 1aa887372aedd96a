import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { sql } from '../../test/sql.ts'
import { ensurePartitions } from '../delivery/retention.ts'
import { postgresBus } from '../kernel/bus-postgres.ts'
import { answerAsWorker } from '../kernel/workers.ts'
import { createClock } from '../kernel/clock.ts'
import { createDb, statement } from '../kernel/db.ts'
import { createSandboxClock } from './clock.ts'

test('a move of the clock waits while what falls due has all other connections', async (t) => {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const { target } = held.use(await freshDatabase())
  const gotNone = Promise.withResolvers<void>()
  const options = { connectionsMax: 2, onAway: () => gotNone.resolve() }
  const db = held.use(createDb({ target, onError: () => {}, ...options }))
  const bus = held.use(await postgresBus({ db, target, debounceMs: 1, onLost: () => {} }))
  const clock = createClock()
  const sandboxClock = createSandboxClock({
    db,
    bus,
    clock,
    ensurePartitions: (around) => ensurePartitions(db, around),
  })

  const isBusy = Promise.withResolvers<void>()
  let begun = 0
  const work = [1, 2].map(() =>
    db.tx(async (tx) => {
      await tx.run(statement('test.work', 'select 1'), [])
      begun += 1
      if (begun === 2) isBusy.resolve()
      await gotNone.promise
    }),
  )
  await isBusy.promise
  await sandboxClock.advanceBy(60_000)
  await Promise.all(work)
  assert.equal(clock.offsetMs, 60_000)
})

test('time in which the process stood still counts for no silence of the workers: it could neither ask nor hear', async (t) => {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const { target } = held.use(await freshDatabase())
  const db = held.use(createDb({ target, onError: () => {} }))
  const bus = held.use(await postgresBus({ db, target, debounceMs: 1, onLost: () => {} }))
  const ensure = (around: Date) => ensurePartitions(db, around)
  const sandboxClock = createSandboxClock({ db, bus, clock: createClock(), ensurePartitions: ensure })
  const ids = [randomUUID(), 'sim-approve']
  await sql(
    db,
    `insert into sandbox.virtual_terminals (group_id, device_id, sealed, created_at, lease_until)
     values ($1, $2, '', now(), now() + interval '1 hour')`,
    ids,
  )
  await sql(
    db,
    `insert into sandbox.terminal_tasks (id, group_id, device_id, task, run_at) values ($1, $1, $2, 'connect', now())`,
    ids,
  )

  const { now } = performance
  let asked = 0
  bus.hear('clock', ([word]) => {
    if (word !== 'who_works') return
    asked += 1
    // It stands still before it hears who answers its first question.
    if (asked === 1) t.mock.method(performance, 'now', () => now.call(performance) + 60_000)
    else if (asked === 2) answerAsWorker(bus)
    else void sql(db, 'delete from sandbox.terminal_tasks')
  })
  await sandboxClock.idle()
  assert.ok(asked > 2)
})
