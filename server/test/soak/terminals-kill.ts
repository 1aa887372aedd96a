// Kills either of two processes at random instants while tills pay at one and terminals hang on the other, through PostgreSQL and through NATS.
import { startTestCluster } from '../cluster.ts'
import { soakArguments } from '../faults/soak-arguments.ts'
import { killBetweenTerminals } from '../faults/terminals-kill.ts'
import { betweenByNats, betweenByPostgres } from '../nats.ts'

const { rounds, seed } = soakArguments({ rounds: 30 })

await using cluster = await startTestCluster()
process.env['KAHA_TEST_CLUSTER'] = cluster.handle

for (const [name, between] of [
  ['PostgreSQL', betweenByPostgres],
  ['NATS', betweenByNats],
] as const) {
  console.log(`over ${name}: ${rounds} rounds, seed ${seed}`)
  if (between.missing !== undefined) {
    console.error(`  left out: ${between.missing}`)
    process.exitCode = 1
    continue
  }
  const faults = await killBetweenTerminals({ between, rounds, seed, say: (line) => console.log(`  ${line}`) })
  for (const fault of faults) console.error(`  ${fault}`)
  if (faults.length > 0) process.exitCode = 1
}
