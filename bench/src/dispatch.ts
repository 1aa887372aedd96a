import { eventually } from '../../server/test/faults/eventually.ts'
import { atLeast, type Bound } from './bounds.ts'
import { compare } from './compare.ts'
import { cpuMsOf } from './cpu.ts'
import type { Source } from './events.ts'
import type { Options } from './options.ts'
import { openPlace, type Place } from './place.ts'
import { openWorker } from './worker.ts'

const endpoints = 10
// As many as the engine dispatches at once.
const eventsPerStatement = 500

/** Events to queued deliveries, against a bare loop that moves the same rows and need not find out where they go. */
export async function dispatch({ rounds, size: eventsCount, profileDir }: Options): Promise<Bound[]> {
  await using place = await openPlace({ profileDir: undefined })
  // Nothing is sent.
  const receivers = { receiverOrigin: 'http://127.0.0.1:9', endpoints, inHandMax: 0 }
  const { worker, sources } = await openWorker(place, profileDir, receivers)

  let events: readonly { readonly id: string; readonly path: string }[] = []
  const prepare = async () => {
    await place.client.query('truncate delivery.queue, delivery.outbox')
    await place.client.query(`update delivery.lanes set look_at = 'infinity'`)
    events = await worker.call('append', { events: eventsCount })
    await place.client.query('checkpoint')
  }
  const subject = {
    name: 'dispatcher',
    prepare,
    async run() {
      const begun = performance.now()
      await worker.call('start')
      await eventually(async () => (await place.client.query(anyUndispatched)).rows.length === 0, { pollMs: 10 })
      const seconds = (performance.now() - begun) / 1_000
      await worker.call('stop')
      await expectQueued(place, eventsCount)
      return { count: eventsCount, seconds }
    },
    cpuMs: () => ({ worker: cpuMsOf(worker.pid), PostgreSQL: place.postgresCpuMs() }),
  }
  const destinations = await destinationsOf(place, sources)
  const yardstick = {
    name: 'bare pg loop',
    prepare,
    async run() {
      const moves = events.map(({ id, path }) => ({ id, destinationId: destinations.get(path) ?? '' }))
      const seconds = await moveAll(place, moves)
      await expectQueued(place, eventsCount)
      return { count: eventsCount, seconds }
    },
    cpuMs: () => ({ loop: cpuMsOf(process.pid), PostgreSQL: place.postgresCpuMs() }),
  }
  console.log(
    `  ${eventsCount.toLocaleString('en')} events of ${endpoints} branches, a delivery each; PostgreSQL with fsync`,
  )
  const { perSecond } = await compare(subject, yardstick, { rounds })
  return [atLeast('deliveries queued', perSecond, 13_000, '/s')]
}

async function destinationsOf(place: Place, sources: readonly Source[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await place.client.query<{ id: string; owner_id: string }>(
    'select id, owner_id from delivery.destinations',
  )
  const byOwner = new Map(rows.map(({ id, owner_id }) => [owner_id, id]))
  return new Map(sources.map(({ path, branchId }) => [path, byOwner.get(branchId) ?? '']))
}

// By index, for all of the table is dead rows soon.
const anyUndispatched = 'select from delivery.outbox order by run_at limit 1'

async function expectQueued({ client }: Place, events: number): Promise<void> {
  const { rows } = await client.query<{ queued: number; left: number }>(
    'select (select count(*) from delivery.queue)::integer as queued, (select count(*) from delivery.outbox)::integer as left',
  )
  const [found] = rows
  if (found?.queued !== events || found.left !== 0)
    throw new Error(`of ${events} events ${found?.queued} were queued and ${found?.left} were left`)
}

interface Move {
  readonly id: string
  readonly destinationId: string
}

const move = {
  name: 'bench.move',
  text: `with gone as (delete from delivery.outbox where event_id = any ($1::uuid[]))
   insert into delivery.queue (event_id, destination_id, run_at, dispatched_at)
   select m.event_id, m.destination_id, n.now, n.now from unnest($1::uuid[], $2::uuid[]) as m (event_id, destination_id), (select kernel.now() as now) n`,
}

/** Seconds. */
async function moveAll({ client }: Place, moves: readonly Move[]): Promise<number> {
  const begun = performance.now()
  for (let moved = 0; moved < moves.length; moved += eventsPerStatement) {
    const batch = moves.slice(moved, moved + eventsPerStatement)
    await client.query({ ...move, values: [batch.map(({ id }) => id), batch.map((one) => one.destinationId)] })
  }
  return (performance.now() - begun) / 1_000
}
