import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { betweenByNats as between } from '../nats.ts'
import { killBetweenTerminals } from './terminals-kill.ts'

const seed = randomInt(2 ** 31)

test('no till is told that there is no payment while its money is kept when either of two processes is killed that talk through NATS', async (t) => {
  if (between.missing !== undefined) return t.skip(between.missing)
  const faults = await killBetweenTerminals({ between, rounds: 1, seed, say: (line) => t.diagnostic(line) })
  assert.deepEqual(faults, [])
})
