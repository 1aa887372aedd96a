import { test } from 'node:test'
import { breakablePostgres, walkTerminals } from '../terminals-walk.ts'

const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)
const steps = Number(process.env['KAHA_TEST_STEPS'] ?? 200)

test(`whatever happens to lines, terminals, tills and processes, whoever was told that there is no payment has none, and each payment has one webhook (seed ${seed})`, async (t) => {
  t.diagnostic(`seed ${seed}, ${steps} steps`)
  await walkTerminals(t, { seed, steps, between: await breakablePostgres() }, (line) => t.diagnostic(line))
})
