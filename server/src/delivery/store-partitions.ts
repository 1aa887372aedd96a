import { statement, type Queries } from '../kernel/db.ts'

const ensure = statement('delivery.ensurePartitions', 'select delivery.ensure_partitions($1, $2)')

const drop = statement('delivery.dropPartitions', 'select delivery.drop_partitions($1, $2) as dropped')

// What waits before a paused destination can be as old as the events that are about to be dropped, and nothing else can.
const dropOldQueue = statement(
  'delivery.dropOldQueue',
  `delete from delivery.queue q
    using (
      select w.event_id, w.destination_id from delivery.queue w
       where w.event_id < kernel.uuid_floor(date_trunc('week', $1::timestamptz at time zone 'UTC') at time zone 'UTC')
       limit $2::integer
    ) old
    where q.event_id = old.event_id and q.destination_id = old.destination_id
   returning q.event_id`,
)

export const partitionStore = {
  ensure: (on: Queries, from: Date, to: Date) => on.run(ensure, [from, to]),
  /** Drops the partitions of a table that ended by then; resolves to their names. */
  drop: async (on: Queries, parent: 'events' | 'deliveries' | 'attempts', endedBy: Date) =>
    (await on.run<{ dropped: string[] }>(drop, [parent, endedBy]))[0]?.dropped ?? [],
  /** Resolves to how many it dropped, at most `rowsMax`. */
  dropOldQueue: async (on: Queries, before: Date, rowsMax: number) => (await on.run(dropOldQueue, [before, rowsMax])).length,
}
