// Delivers to 10,000 endpoints while 10,000 and then 1,000,000 deliveries wait, and compares what a claim takes.
import { quantile } from '../../../bench/src/compare.ts'
import { startTestCluster } from '../cluster.ts'
import { deliverInCrowd, type Course } from '../faults/crowd.ts'
import { soakArguments } from '../faults/soak-arguments.ts'

const { endpoints, waiting, events } = soakArguments({ endpoints: 10_000, waiting: 1_000_000, events: 3 })
const claimRatioMax = 1.5
const rssGrowthMbMax = 100

await using cluster = await startTestCluster()
process.env['KAHA_TEST_CLUSTER'] = cluster.handle

const { courses, losses } = await deliverInCrowd({
  endpoints,
  branches: Math.ceil(endpoints / 100),
  origins: 50,
  waiting: [endpoints, waiting],
  eventsPerBranch: events,
  inHandMax: 2_048,
  say: (line) => console.log(line),
})
for (const course of courses) {
  const { claimMs, rowsRead, delivered, rssMb } = course
  console.log(
    `${course.waiting} wait, ${delivered} delivered: ${claimMs.length} claims, ${claimQuantiles(course)}; ` +
      `${(rowsRead / delivered).toFixed(1)} rows read for each; at most ${rssMb} MB`,
  )
}
const [few, many] = courses
if (few === undefined || many === undefined) throw new Error('a course is missing')
const ratioOf = (part: number) => quantile(many.claimMs, part) / quantile(few.claimMs, part)
console.log(
  `a claim takes ${ratioOf(0.5).toFixed(2)} times as long at p50, ${ratioOf(0.99).toFixed(2)} at p99, at most ${claimRatioMax}; ` +
    `memory grew by ${many.rssMb - few.rssMb} MB, at most ${rssGrowthMbMax}`,
)
for (const loss of losses) console.error(loss)
const isFlat = ratioOf(0.5) <= claimRatioMax && ratioOf(0.99) <= claimRatioMax
if (losses.length > 0 || !isFlat || many.rssMb - few.rssMb > rssGrowthMbMax) process.exitCode = 1

function claimQuantiles({ claimMs }: Course): string {
  return `p50 ${quantile(claimMs, 0.5).toFixed(1)} ms, p99 ${quantile(claimMs, 0.99).toFixed(1)} ms`
}
