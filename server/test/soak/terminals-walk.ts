// Walks over terminals, tills and two processes, on one fresh platform after the other, with PostgreSQL and with NATS between them in turn.
// A walk waits for most of its time, so several are under way at once.
import { startTestCluster } from '../cluster.ts'
import { soakArguments } from '../faults/soak-arguments.ts'
import { noNats } from '../nats.ts'
import { breakableNats, breakablePostgres, walkTerminals } from '../terminals-walk.ts'

const { rounds, seed, steps, 'at-once': atOnce } = soakArguments({ rounds: 100, steps: 1_000, 'at-once': 4 })
await using cluster = await startTestCluster()
process.env['KAHA_TEST_CLUSTER'] = cluster.handle

console.log(`${rounds} rounds of ${steps} steps, ${atOnce} at once, seed ${seed}`)
if (noNats !== undefined) {
  console.error(`left out: ${noNats}`)
  process.exitCode = 1
}
const lines = [breakablePostgres, ...(noNats === undefined ? [breakableNats] : [])]

/** One walk. A single round with the seed that is shown repeats its choices. */
async function walk(round: number): Promise<void> {
  await using held = new AsyncDisposableStack()
  const t = { after: (close: () => Promise<void>) => held.defer(close) }
  const between = await lines[(seed + round) % lines.length]?.(t)
  if (between === undefined) throw new Error('nothing is between the processes')
  await walkTerminals(t, { seed: seed + round, steps, between }, (line) =>
    console.log(`  seed ${seed + round}: ${line}`),
  )
}

let next = 0
async function walkOnAndOn(): Promise<void> {
  while (next < rounds) {
    next += 1
    await walk(next - 1).catch((error: unknown) => {
      // No other begins.
      next = rounds
      throw error
    })
  }
}

// Those that are under way when one fails come to their end.
const ends = await Promise.allSettled(Array.from({ length: atOnce }, walkOnAndOn))
for (const end of ends) if (end.status === 'rejected') throw end.reason as Error
