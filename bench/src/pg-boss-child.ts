// pg-boss with a handler that posts, set so that it never waits while there are jobs.
import { PgBoss } from 'pg-boss'
import pg from 'pg'
import { connectionConfig } from '../../server/src/kernel/db.ts'
import { serve } from './child.ts'
import { posting, type PostJob } from './post.ts'
import type { QueuePlace } from './queues.ts'

const queue = 'post'
const workers = 4
const held = new AsyncDisposableStack()
let boss: PgBoss
let pool: pg.Pool
let poster: ReturnType<typeof posting>
let batchSize = 0

async function open({ target, receiverOrigin, sources, jobsAtOnce }: QueuePlace): Promise<void> {
  pool = new pg.Pool({ ...connectionConfig(target), max: 1 })
  held.defer(() => pool.end())
  poster = held.use(posting(receiverOrigin, sources, jobsAtOnce))
  batchSize = Math.ceil(jobsAtOnce / workers)
  boss = new PgBoss({ host: target.socketDir, user: target.user, database: target.database })
  boss.on('error', (error) => console.error(error))
  await boss.start()
  held.defer(() => boss.stop({ graceful: false }))
  await boss.createQueue(queue)
}

const jobsPerStatement = 1_000

async function append({ jobs }: { jobs: readonly PostJob[] }): Promise<void> {
  await boss.deleteAllJobs(queue)
  for (let added = 0; added < jobs.length; added += jobsPerStatement)
    await boss.insert(
      queue,
      jobs.slice(added, added + jobsPerStatement).map((data) => ({ data })),
    )
  await pool.query('vacuum analyze')
}

async function start(): Promise<void> {
  await boss.work<PostJob>(
    queue,
    { batchSize, localConcurrency: workers, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
    async (jobs) => {
      await Promise.all(jobs.map(({ data }) => poster.post(data)))
    },
  )
}

async function isOver(): Promise<boolean> {
  const { rows } = await pool.query(`select from pgboss.job where name = $1 and state < 'completed' limit 1`, [queue])
  return rows.length === 0
}

async function stop(): Promise<void> {
  await boss.offWork(queue)
}

serve({ open, append, start, isOver, stop }, held)
