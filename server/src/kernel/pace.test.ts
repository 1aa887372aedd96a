import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPace } from './pace.ts'

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
