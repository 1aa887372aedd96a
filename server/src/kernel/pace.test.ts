import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPace, onceIn } from './pace.ts'

test('a timer rests until the next is due, and not at all while it moves what is due', () => {
  const pace = createPace()
  for (const waitMs of [0, 0, 7, 1_000, Infinity]) assert.equal(pace({ moved: true, waitMs }), waitMs)
  for (const waitMs of [1, 1_000, Infinity]) assert.equal(pace({ moved: false, waitMs }), waitMs)
})

test('a timer that can move nothing of what is due rests ever longer, up to 5 s, until it can', () => {
  const pace = createPace()
  const rests = Array.from({ length: 9 }, () => pace({ moved: false, waitMs: 0 }))
  assert.deepEqual(rests, [50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
  assert.equal(pace({ moved: true, waitMs: 0 }), 0)
  assert.equal(pace({ moved: false, waitMs: 0 }), 50)
  assert.equal(pace({ moved: false, waitMs: 3 }), 3)
  assert.equal(pace({ moved: false, waitMs: 0 }), 50)
})

/** A clock that is set by hand, and work that notes when it was done and fails when told to. */
function dial() {
  const at = { now: 10_000 }
  const failing = { now: false }
  const done: number[] = []
  const work = async (now: number) => {
    if (failing.now) throw new Error('broken')
    done.push(now)
  }
  return { at, failing, done, work, clock: { now: () => new Date(at.now) } }
}

test('work that is due once in a time is done at once, and then when that time has passed', async () => {
  const { at, done, work, clock } = dial()
  const turn = onceIn(1_000, clock, work)
  assert.equal(await turn(), 1_000)
  at.now += 999
  assert.equal(await turn(), 1)
  at.now += 1
  assert.equal(await turn(), 1_000)
  assert.deepEqual(done, [10_000, 11_000])
})

test('work that was done before its first turn is not due at once', async () => {
  const { at, done, work, clock } = dial()
  const turn = onceIn(1_000, clock, work, { doneAt: at.now - 400 })
  assert.equal(await turn(), 600)
  at.now += 600
  assert.equal(await turn(), 1_000)
  assert.deepEqual(done, [10_600])
})

test('work that failed is due until it is done', async () => {
  const { at, failing, done, work, clock } = dial()
  const turn = onceIn(1_000, clock, work)
  failing.now = true
  for (let tries = 0; tries < 2; tries += 1) await assert.rejects(turn(), /broken/)
  failing.now = false
  at.now += 5
  assert.equal(await turn(), 1_000)
  assert.deepEqual(done, [10_005])
})

test('work whose failure would be there again waits for its next time', async () => {
  const { at, failing, done, work, clock } = dial()
  const turn = onceIn(1_000, clock, work, { isRepeated: () => false })
  failing.now = true
  await assert.rejects(turn(), /broken/)
  failing.now = false
  at.now += 400
  assert.equal(await turn(), 600)
  at.now += 600
  assert.equal(await turn(), 1_000)
  assert.deepEqual(done, [11_000])
})
