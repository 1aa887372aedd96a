// Walks over terminals, tills and two processes, on one fresh platform after the other, with PostgreSQL and with NATS between them in turn.
import { startTestCluster } from '../cluster.ts'
import { soakArguments } from '../faults/soak-arguments.ts'
import { noNats } from '../nats.ts'
import { breakableNats, breakablePostgres, walkTerminals } from '../terminals-walk.ts'

const { rounds, seed, steps } = soakArguments({ rounds: 100, steps: 1_000 })
await using cluster = await startTestCluster()
process.env['KAHA_TEST_CLUSTER'] = cluster.handle

console.log(`${rounds} rounds of ${steps} steps, seed ${seed}`)
if (noNats !== undefined) {
  console.error(`left out: ${noNats}`)
  process.exitCode = 1
}
const lines = [breakablePostgres, ...(noNats === undefined ? [breakableNats] : [])]
for (let round = 0; round < rounds; round += 1) {
  await using held = new AsyncDisposableStack()
  const t = { after: (close: () => Promise<void>) => held.defer(close) }
  const between = await lines[(seed + round) % lines.length]?.(t)
  if (between === undefined) throw new Error('nothing is between the processes')
  // A single round with the seed that is shown repeats its choices.
  await walkTerminals(t, { seed: seed + round, steps, between }, (line) =>
    console.log(`  seed ${seed + round}: ${line}`),
  )
}
