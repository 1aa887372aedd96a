// Steps the system clock by an hour, forward and backward, while deliveries are made, and looks for anything that this did to them.
import { startTestCluster } from '../cluster.ts'
import { stepClock } from '../faults/clock-steps.ts'
import { soakArguments } from '../faults/soak-arguments.ts'

const { rounds, seed } = soakArguments({ rounds: 200 })
await using cluster = await startTestCluster()
process.env['KAHA_TEST_CLUSTER'] = cluster.handle

console.log(`${rounds} rounds, seed ${seed}`)
const losses = await stepClock({ rounds, seed, say: (line) => console.log(`  ${line}`) })
for (const loss of losses) console.error(`  ${loss}`)
if (losses.length > 0) process.exitCode = 1
