// Delivers to 50 endpoints of which four are bad, and to the good ones alone, in turns, and compares how soon the good ones are reached.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quantile } from '../../../bench/src/compare.ts'
import { startTestCluster } from '../cluster.ts'
import { deliverBeside } from '../faults/fairness.ts'
import { soakArguments } from '../faults/soak-arguments.ts'
import { startWorkerProcess } from '../faults/worker-process.ts'

const { rounds, events, rate } = soakArguments({ rounds: 3, events: 2_000, rate: 20 })
const goodEndpoints = 46
const ratioMax = 2
const lateMsMax = 120_000
// Of a worker as it starts.
const inHandMax = 2_048

await using cluster = await startTestCluster()
process.env['KAHA_TEST_CLUSTER'] = cluster.handle
await using held = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'kaha-fairness-'))
held.defer(() => rm(folder, { recursive: true, force: true }))

let runs = 0
async function p99(withBad: boolean): Promise<number> {
  runs += 1
  const dataDir = join(folder, `worker-${runs}`)
  const { losses, latenciesMs, hanging } = await deliverBeside({
    events,
    goodEndpoints,
    withBad,
    eventsPerSecond: rate,
    inHandMax,
    waitMsMax: lateMsMax,
    startWorker: (room) => startWorkerProcess(room, dataDir),
  })
  const [p50, last, most] = [0.5, 0.99, 1].map((part) => quantile(latenciesMs, part))
  const beside = withBad ? `four bad beside them, ${hanging.begun} attempts hung` : 'alone'
  console.log(
    `  ${latenciesMs.length} deliveries to ${goodEndpoints} good endpoints, ${beside}: ` +
      `p50 ${p50?.toFixed(1)} ms, p99 ${last?.toFixed(1)} ms, most ${most?.toFixed(0)} ms, ${losses.length} losses`,
  )
  for (const loss of losses) console.error(`  ${loss}`)
  if (losses.length > 0) process.exitCode = 1
  return last ?? Number.NaN
}

console.log(`${events} events to each endpoint, ${rate} a second; from the commit to the receiver`)
const ratios: number[] = []
for (let round = 1; round <= rounds; round += 1) {
  const alone = await p99(false)
  const beside = await p99(true)
  ratios.push(beside / alone)
  console.log(`round ${round}: p99 beside bad endpoints ${(beside / alone).toFixed(2)} times that without them`)
}
const ratio = quantile(ratios, 0.5)
console.log(`median ${ratio.toFixed(2)} of ${rounds}, at most ${ratioMax}`)
if (!(ratio <= ratioMax)) process.exitCode = 1
