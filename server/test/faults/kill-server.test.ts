import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { killUnderLoad } from './kill.ts'

const seed = randomInt(2 ** 31)

test('A2.sent.same-transaction, A2.sent.once, C4.idempotency.lease: nothing acknowledged is lost and nothing is done twice when the server is killed', async (t) => {
  const losses = await killUnderLoad({ victim: 'server', rounds: 3, seed, say: (line) => t.diagnostic(line) })
  assert.deepEqual(losses, [])
})
