import { eventually } from '../../server/test/faults/eventually.ts'
import { ratioAtLeast, type Bound } from './bounds.ts'
import { startChild, type Child } from './child.ts'
import { comparisonWith, compareAll, type Side } from './compare.ts'
import { cpuMsOf } from './cpu.ts'
import { deliverAll } from './deliver.ts'
import type { Source } from './events.ts'
import type { Options } from './options.ts'
import { openPlace, type Target } from './place.ts'
import type { PostJob } from './post.ts'
import { openWorker } from './worker.ts'

/** Where a queue of jobs works, and what for. */
export interface QueuePlace {
  readonly target: Target
  readonly receiverOrigin: string
  readonly sources: readonly Source[]
  readonly jobsAtOnce: number
  /** As fast as its documents tell to make it. */
  readonly tuned: boolean
}

const endpoints = 10
// As many as the engine opens to one receiver.
const jobsAtOnce = 64

/**
 * The same events to the same receiver, by the engine and by the queues that people take for this. The engine begins with events and leaves
 * deliveries and attempts behind; the others begin with jobs and leave nothing, or that a job was done.
 */
export async function queues({ rounds, size: eventsCount, profileDir }: Options): Promise<Bound[]> {
  await using place = await openPlace({ profileDir: undefined })
  const receiver = place.use(startChild('receiver-child.ts'))
  const receiverOrigin = await receiver.call<string>('listen')
  const { worker, sources } = await openWorker(place, profileDir, { receiverOrigin, endpoints })

  let events: PostJob[] = []
  const engine = {
    name: 'delivery engine',
    async prepare() {
      events = await worker.call<PostJob[]>('append', { events: eventsCount })
      await place.client.query('checkpoint')
    },
    async run() {
      const seconds = await deliverAll(place, worker, receiver, eventsCount)
      await worker.call('stop')
      return { count: eventsCount, seconds }
    },
    cpuMs: () => ({ worker: cpuMsOf(worker.pid), PostgreSQL: place.postgresCpuMs() }),
  }
  const sideOf = async (name: string, program: string, tuned = false): Promise<Side> => {
    const child = place.use(startChild(program))
    const own = await place.createDatabase(name.replace(/\W/g, '_'))
    await child.call('open', { target: own, receiverOrigin, sources, jobsAtOnce, tuned } satisfies QueuePlace)
    return {
      name,
      async prepare() {
        await child.call('append', { jobs: events })
        await place.client.query('checkpoint')
      },
      run: async () => ({ count: events.length, seconds: await postAll(child, receiver, events.length) }),
      cpuMs: () => ({ worker: cpuMsOf(child.pid), PostgreSQL: place.postgresCpuMs() }),
    }
  }
  const graphile = await sideOf('graphile-worker', 'graphile-worker-child.ts')
  const tuned = await sideOf('graphile-worker tuned', 'graphile-worker-child.ts', true)
  const boss = await sideOf('pg-boss', 'pg-boss-child.ts')
  console.log(
    `  ${eventsCount.toLocaleString('en')} events to ${endpoints} endpoints, ${jobsAtOnce} at once; PostgreSQL with fsync, a database each`,
  )
  const compared = await compareAll(engine, [graphile, tuned, boss], { rounds })
  return [
    ratioAtLeast('rate of graphile-worker as it comes', comparisonWith(compared, graphile), 2.5),
    ratioAtLeast('rate of graphile-worker tuned', comparisonWith(compared, tuned), 1),
    ratioAtLeast('rate of pg-boss', comparisonWith(compared, boss), 2.5),
  ]
}

/** Seconds from the start of the workers until all jobs have arrived and the queue holds none of them any more. */
async function postAll(child: Child, receiver: Child, jobs: number): Promise<number> {
  await receiver.call('expect', { events: jobs, bodies: false })
  const begun = performance.now()
  await child.call('start')
  await receiver.call('until')
  await eventually(() => child.call<boolean>('isOver'), { waitMsMax: 60_000, pollMs: 5, what: 'the last job' })
  const seconds = (performance.now() - begun) / 1_000
  await child.call('stop')
  return seconds
}
