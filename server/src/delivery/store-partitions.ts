import { statement, type Queries } from '../kernel/db.ts'

const ensure = statement('delivery.ensurePartitions', 'select delivery.ensure_partitions($1, $2)')

const drop = statement('delivery.dropPartitions', 'select delivery.drop_partitions($1, $2) as dropped')

// What waits before a paused destination can be as old as the events that are about to be dropped, and so can an event that could not be
// dispatched; nothing else can.
const dropOldOpen = statement(
  'delivery.dropOldOpen',
  `with floor as materialized (
     select kernel.uuid_floor(date_trunc('week', $1::timestamptz at time zone 'UTC') at time zone 'UTC') as id
   ),
   old as materialized (
     select q.event_id, q.destination_id from delivery.queue q where q.event_id < (select id from floor)
      order by q.event_id, q.destination_id limit $2::integer for update
   ),
   gone as (
     delete from delivery.queue q using old where q.event_id = old.event_id and q.destination_id = old.destination_id
   ),
   over as (
     delete from delivery.outbox o where o.event_id < (select id from floor)
   )
   select event_id from old`,
)

export const partitionStore = {
  ensure: (on: Queries, from: Date, to: Date) => on.run(ensure, [from, to]),
  /** Drops the partitions of a table that ended by then; resolves to their names. */
  drop: async (on: Queries, parent: 'events' | 'unsubscribed' | 'deliveries' | 'attempts', endedBy: Date) =>
    (await on.run<{ dropped: string[] }>(drop, [parent, endedBy]))[0]?.dropped ?? [],
  /** Drops open deliveries of events that old, at most `rowsMax`; true when all is done. */
  dropOldOpen: async (on: Queries, before: Date, rowsMax: number) =>
    (await on.run(dropOldOpen, [before, rowsMax])).length === 0,
}
