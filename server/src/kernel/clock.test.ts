import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call } from '../../test/conformance/call.ts'
import { freshDatabase } from '../../test/cluster.ts'
import { platform } from '../../test/platform.ts'
import { until } from '../../test/until.ts'
import { createClock } from './clock.ts'
import { createDb, statement, type Queries } from './db.ts'

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

test('how far system time is ahead of the database is read from answers that come in a moment, and from no other', async () => {
  const time = { wall: 60_000, tookMs: 0 }
  const clock = createClock(() => time.wall)
  const database: Queries = {
    async run<Row extends object>() {
      time.wall += time.tookMs
      return [{ offset_ms: 0n, version: 0n, system_time: new Date(50_000) }] as unknown as Row[]
    },
  }
  const readIn = async (tookMs: number) => {
    time.tookMs = tookMs
    await clock.refresh(database)
    return clock.aheadMs
  }
  assert.equal(clock.aheadMs, NaN)
  assert.equal(await readIn(2_000), NaN)
  time.wall = 60_000
  assert.equal(await readIn(100), 10_050)
  // It was set back meanwhile, or forth, or the answer was long in coming.
  assert.equal(await readIn(-30_000), 10_050)
  assert.equal(await readIn(30_000), 10_050)
  time.wall = 50_000
  assert.equal(await readIn(0), 0)
  time.wall = 45_000
  assert.equal(await readIn(0), -5_000)
})

test('a host whose clock is not that of the database is told of once, and once when it is again', async (t) => {
  const time = { aheadMs: -60_000 }
  const p = await platform(t, { choices: { wall: () => Date.now() + time.aheadMs } })
  const said = (words: string) => p.logged.filter((line) => line.includes(words)).length
  const counts = () => [said('is not that of the database'), said('is that of the database again')]
  const skew = async () => {
    const { text } = await call(p.url, { path: '/metrics' })
    return Number(/^kaha_clock_skew_seconds (\S+)$/m.exec(text)?.[1])
  }
  await until('the warning', () => counts()[0] === 1)
  assert.ok((await skew()) < -50)
  time.aheadMs = 0
  await until('the end of it', () => counts()[1] === 1)
  assert.ok(Math.abs(await skew()) < 1)
  time.aheadMs = 60_000
  await until('the next warning', () => counts()[0] === 2)
  assert.deepEqual(counts(), [2, 1])
  assert.ok((await skew()) > 50)
})
