import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { ensurePartitions } from '../delivery/retention.ts'
import { postgresBus } from '../kernel/bus-postgres.ts'
import { createClock } from '../kernel/clock.ts'
import { createDb, statement } from '../kernel/db.ts'
import { createSandboxClock } from './clock.ts'

test('a move of the clock waits while what falls due has all other connections', async (t) => {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const { target } = held.use(await freshDatabase())
  const gotNone = Promise.withResolvers<void>()
  const options = { connectionsMax: 2, acquireWaitMsMax: 50, onAway: () => gotNone.resolve() }
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
