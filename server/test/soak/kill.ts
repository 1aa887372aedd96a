// Kills the server, PostgreSQL and its connections at random instants under load, and looks for anything that was lost.
import { killUnderLoad, victims } from '../faults/kill.ts'
import { soakArguments } from '../faults/soak-arguments.ts'

const { rounds, seed } = soakArguments({ rounds: 30 })

for (const victim of victims) {
  console.log(`${victim}: ${rounds} rounds, seed ${seed}`)
  const losses = await killUnderLoad({ victim, rounds, seed, say: (line) => console.log(`  ${line}`) })
  for (const loss of losses) console.error(`  ${loss}`)
  if (losses.length > 0) process.exitCode = 1
}
