import { test } from 'node:test'
import { walkOnce } from '../ecommerce-round.ts'

const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)
const steps = Number(process.env['KAHA_TEST_STEPS'] ?? 700)

test(`links and intents do as the model says, step by step, whatever payers, crowds, merchants, sweepers and the clock do (seed ${seed})`, async (t) => {
  t.diagnostic(`seed ${seed}, ${steps} steps`)
  await walkOnce(t, { seed, steps }, (line) => t.diagnostic(line))
})
