import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { killWorkers } from './workers.ts'

const seed = randomInt(2 ** 31)

test('A2.attempts.ours: no delivery is lost when workers are killed, none arrives again but those that were in flight, and no attempt is spent by it', async (t) => {
  const { losses } = await killWorkers({ rounds: 3, seed, measured: false, say: (line) => t.diagnostic(line) })
  assert.deepEqual(losses, [])
})
