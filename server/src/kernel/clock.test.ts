import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { createClock } from './clock.ts'
import { createDb, statement } from './db.ts'

const move = statement('test.move', 'update kernel.clock set offset_ms = $1, version = version + 1')

test('business time is system time plus the offset in the database, once that was read', async (t) => {
  const database = await freshDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const db = createDb({ target: database.target, onError: () => {} })
  t.after(() => db[Symbol.asyncDispose]())
  let wall = 1_000_000
  const clock = createClock(() => wall)
  assert.deepEqual([clock.now(), clock.offsetMs], [new Date(1_000_000), 0])
  assert.equal(await clock.refresh(db), true)
  assert.equal(await clock.refresh(db), false)

  await db.run(move, [86_400_000])
  assert.deepEqual(clock.now(), new Date(1_000_000))
  assert.equal(await clock.refresh(db), true)
  wall += 5
  assert.deepEqual(clock.now(), new Date(1_000_005 + 86_400_000))
  assert.deepEqual([clock.wall(), clock.offsetMs], [1_000_005, 86_400_000])
})

test('the database and a process agree on business time', async (t) => {
  const database = await freshDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const db = createDb({ target: database.target, onError: () => {} })
  t.after(() => db[Symbol.asyncDispose]())
  const clock = createClock()
  await db.run(move, [7 * 86_400_000])
  await clock.refresh(db)
  const before = clock.now()
  const [row] = await db.run<{ now: Date }>(statement('test.now', 'select kernel.now() as now'), [])
  assert.ok(row !== undefined && before <= row.now && row.now <= clock.now())
})

test('the offset cannot be negative', async (t) => {
  const database = await freshDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const db = createDb({ target: database.target, onError: () => {} })
  t.after(() => db[Symbol.asyncDispose]())
  await assert.rejects(db.run(move, [-1]), /check/)
})
