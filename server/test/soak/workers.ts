// Kills worker processes at random instants under load, two on one database, and measures how soon their work goes on.
import { startTestCluster } from '../cluster.ts'
import { quantile } from '../../../bench/src/compare.ts'
import { soakArguments } from '../faults/soak-arguments.ts'
import { killWorkers } from '../faults/workers.ts'

const { rounds, seed } = soakArguments({ rounds: 50 })
const resumedMsMax = 20_000

await using cluster = await startTestCluster()
process.env['KAHA_TEST_CLUSTER'] = cluster.handle

console.log(`${rounds} rounds, seed ${seed}`)
const { losses, resumedMs } = await killWorkers({
  rounds,
  seed,
  measured: true,
  say: (line) => console.log(`  ${line}`),
})
const [p50, most] = [0.5, 1].map((part) => quantile(resumedMs, part))
console.log(
  `from a kill until all that was in hand is delivered: p50 ${((p50 ?? NaN) / 1_000).toFixed(1)} s, ` +
    `most ${((most ?? NaN) / 1_000).toFixed(1)} s, at most ${resumedMsMax / 1_000} s`,
)
for (const loss of losses) console.error(`  ${loss}`)
if (losses.length > 0 || !((most ?? NaN) <= resumedMsMax)) process.exitCode = 1
