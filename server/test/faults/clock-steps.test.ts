import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { stepClock } from './clock-steps.ts'

const seed = randomInt(2 ** 31)

test('X0.clocks.business.retries: a system clock that is stepped by an hour, forward or backward, loses no delivery, ends no lease and moves no retry', async (t) => {
  assert.deepEqual(await stepClock({ rounds: 6, seed, say: (line) => t.diagnostic(line) }), [])
})
