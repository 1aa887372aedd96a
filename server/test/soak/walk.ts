// Walks over links and intents, beside the model of them, on one fresh platform after the other.
import { startTestCluster } from '../cluster.ts'
import { walkOnce } from '../ecommerce-round.ts'
import { soakArguments } from '../faults/soak-arguments.ts'

const stepsOfRound = 2_000

const { rounds, seed } = soakArguments({ rounds: 50 })
await using cluster = await startTestCluster()
process.env['KAHA_TEST_CLUSTER'] = cluster.handle

console.log(`${rounds} rounds of ${stepsOfRound} steps, seed ${seed}`)
for (let round = 0; round < rounds; round += 1) {
  await using held = new AsyncDisposableStack()
  // A single round with the seed that is shown repeats its choices.
  await walkOnce({ after: (close) => held.defer(close) }, { seed: seed + round, steps: stepsOfRound }, (line) =>
    console.log(`  seed ${seed + round}: ${line}`),
  )
}
