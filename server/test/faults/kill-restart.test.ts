import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { killUnderLoad } from './kill.ts'

const seed = randomInt(2 ** 31)

test('A2.sent.same-transaction, A2.sent.once: nothing acknowledged is lost and nothing is done twice when PostgreSQL is restarted', async (t) => {
  const losses = await killUnderLoad({ victim: 'restart', rounds: 3, seed, say: (line) => t.diagnostic(line) })
  assert.deepEqual(losses, [])
})
