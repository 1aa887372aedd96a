// graphile-worker with a handler that posts: as it is by default with many jobs at once, or tuned.
import { run, runMigrations, Logger, type Runner, type RunnerOptions } from 'graphile-worker'
import pg from 'pg'
import { connectionConfig } from '../../server/src/kernel/db.ts'
import { serve } from './child.ts'
import { posting, type PostJob } from './post.ts'
import type { QueuePlace } from './queues.ts'

const held = new AsyncDisposableStack()
// Its own default, and what it asks for where jobs are many and short.
const connectionsMax = 10
const localQueueSize = 500
const completeBatchMs = 10
let pool: pg.Pool
let options: RunnerOptions
let runner: Runner | undefined

async function open({ target, receiverOrigin, sources, jobsAtOnce, tuned }: QueuePlace): Promise<void> {
  pool = new pg.Pool({ ...connectionConfig(target), max: connectionsMax })
  held.defer(() => pool.end())
  const ignore = () => {}
  pool.on('error', ignore)
  pool.on('connect', (client) => client.on('error', ignore))
  const poster = held.use(posting(receiverOrigin, sources, jobsAtOnce))
  const taskList = { post: (payload: unknown) => poster.post(payload as PostJob) }
  // One line for each job would be much to write for nobody.
  const logger = new Logger(() => () => {})
  const worker = {
    concurrentJobs: jobsAtOnce,
    localQueue: { size: localQueueSize },
    completeJobBatchDelay: completeBatchMs,
  }
  options = {
    pgPool: pool,
    taskList,
    logger,
    noHandleSignals: true,
    crontab: '',
    concurrency: jobsAtOnce,
    ...(tuned ? { preset: { worker } } : {}),
  }
  await runMigrations(options)
}

async function append({ jobs }: { jobs: readonly PostJob[] }): Promise<void> {
  await pool.query(
    `select count(graphile_worker.add_job('post', payload := j))::integer from json_array_elements($1::json) as j`,
    [JSON.stringify(jobs)],
  )
  await pool.query('vacuum analyze graphile_worker._private_jobs')
}

async function start(): Promise<void> {
  runner = await run(options)
}

async function isOver(): Promise<boolean> {
  const { rows } = await pool.query('select from graphile_worker._private_jobs limit 1')
  return rows.length === 0
}

async function stop(): Promise<void> {
  await runner?.stop()
  runner = undefined
}

serve({ open, append, start, isOver, stop }, held)
