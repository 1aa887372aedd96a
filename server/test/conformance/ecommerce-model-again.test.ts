import { test } from 'node:test'
import { walkOnce } from '../ecommerce-round.ts'

// A third of the steps, in a file of its own: one alone would take too long on a busy machine.
const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff) + 1
const steps = Number(process.env['KAHA_TEST_STEPS'] ?? 700)

test(`on another platform too, links and intents do as the model says, step by step, whatever payers, crowds, merchants, sweepers and the clock do (seed ${seed})`, async (t) => {
  t.diagnostic(`seed ${seed}, ${steps} steps`)
  await walkOnce(t, { seed, steps }, (line) => t.diagnostic(line))
})
