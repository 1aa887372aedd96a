import { statement, type Queries } from '../kernel/db.ts'
import { openDeliveries, type NewEvent } from './store-events.ts'

/** Where the search for missed events goes on: from one branch of the list on, after one event of it. */
export interface Place {
  readonly branchIds: readonly string[]
  /** Of the first of these branches. */
  readonly afterId: string
}

export interface Wanted {
  readonly destinationId: string
  readonly dialect: string
  readonly types: readonly string[]
  /** Ids from this one on, and below that one: times are ranges of ids. */
  readonly from: string
  readonly before: string
}

/** What one look found. */
export interface Missed {
  readonly looked: number
  readonly last_branch_id: string
  readonly last_id: string
  readonly event_ids: readonly string[]
  readonly attempts_before: readonly number[]
  /** Of each the dispatch that is under way, as PostgreSQL writes its time, to the microsecond; null where there is none. */
  readonly dispatched_at: readonly (string | null)[]
}

// A piece of the events, branch after branch by the index of each, and those of it that neither reached the destination nor are on
// their way to it. The piece is bounded before it is sifted, so that no statement is long however few were missed. `is not distinct from`
// keeps PostgreSQL from the other index of the queue, that of the lane, in which a hundred thousand rows may stand.
const findMissed = statement(
  'delivery.findMissed',
  `with piece as materialized (
     select b.place, b.id as branch_id, e.id, e.type
       from unnest($4::uuid[]) with ordinality as b (id, place)
      cross join lateral (
        select e.id, e.type
          from delivery.events e
         where e.branch_id = b.id and e.dialect = $2 and not e.test and e.id >= $5 and e.id < $6
           and e.id > case when b.place = 1 then $7::uuid else '00000000-0000-0000-0000-000000000000' end
         order by e.id
         limit $8
      ) e
      order by b.place, e.id
      limit $8
   ),
   hands as materialized (select h.* from delivery.hands h),
   handed as materialized (
     select e.id from hands h cross join unnest(h.event_ids) as e (id) where h.destination_id = $1
   ),
   missed as materialized (
     select p.id, coalesce(d.attempt_count, 0) as attempts_before,
            (select max(o.dispatched_at) from ${openDeliveries('p.id', 'hands')} o)::text as dispatched_at
       from piece p
       left join lateral (
         select d.state, d.attempt_count from delivery.deliveries d where d.event_id = p.id and d.destination_id = $1 offset 0
       ) d on true
      where p.type = any ($3::text[]) and d.state is distinct from 'DELIVERED'
        and not exists (select from delivery.queue q where q.event_id = p.id and q.destination_id is not distinct from $1 offset 0)
        and (d.state is not null or p.id not in (select h.id from handed h))
        and not exists (select from delivery.outbox o where o.event_id = p.id offset 0)
   )
   select (select count(*) from piece)::integer as looked, p.branch_id as last_branch_id, p.id as last_id,
          array(select m.id from missed m order by m.id) as event_ids, array(select m.attempts_before from missed m order by m.id) as attempts_before,
          array(select m.dispatched_at from missed m order by m.id) as dispatched_at
     from (select p.branch_id, p.id from piece p order by p.place desc, p.id desc limit 1) p`,
)

// Between the look and this an event can have been resent and acknowledged; it is then delivered once more, under the same webhook-id.
const queueMissed = statement(
  'delivery.queueMissed',
  `with moment as materialized (select kernel.now() as now),
   lane as materialized (
     select l.destination_id, l.look_at, l.head_at, l.version
       from delivery.lanes l where l.destination_id = $1 and l.state || '' = 'OPEN' for update
   ),
   queued as (
     insert into delivery.queue (event_id, destination_id, attempts_before, run_at, dispatched_at)
     select r.event_id, l.destination_id, r.attempts_before, m.now,
            coalesce(greatest((select max(q.dispatched_at) from delivery.queue q where q.event_id = r.event_id), r.dispatched_at), m.now)
       from lane l
      cross join (
        select * from unnest($2::uuid[], $3::integer[], $4::timestamptz[]) as r (event_id, attempts_before, dispatched_at) order by r.event_id
      ) r
      cross join moment m
     on conflict (event_id, destination_id) do nothing
     returning event_id
   ),
   moved as (
     insert into delivery.lanes (destination_id, look_at, head_at, version)
     select l.destination_id, least(l.look_at, m.now), least(l.head_at, m.now), l.version + 1 from lane l, moment m
     on conflict (destination_id) do update set look_at = excluded.look_at, head_at = excluded.head_at, version = excluded.version
   )
   select exists (select from lane) as open, (select count(*) from queued)::integer as queued`,
)

const insertTest = statement(
  'delivery.insertTest',
  `insert into delivery.events (id, dialect, type, partner_id, merchant_id, branch_id, body, test, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, true, $8)`,
)

export interface QueuedFor {
  /** Whether the destination takes deliveries at all. */
  readonly open: boolean
  readonly queued: number
}

export const recoverStore = {
  /** Looks at no more than `rowsMax` events; undefined when there are none any more. */
  missed: async (on: Queries, wanted: Wanted, place: Place, rowsMax: number) =>
    (
      await on.run<Missed>(findMissed, [
        wanted.destinationId,
        wanted.dialect,
        wanted.types,
        place.branchIds,
        wanted.from,
        wanted.before,
        place.afterId,
        rowsMax,
      ])
    )[0],

  /** Queues events for one destination, but for those that are queued for it already. */
  async queue(
    on: Queries,
    destinationId: string,
    eventIds: readonly string[],
    attemptsBefore: readonly number[],
    /** Of dispatches that are under way, as `missed` tells them. */
    dispatchedAt: readonly (string | null)[] = [],
  ): Promise<QueuedFor> {
    const [row] = await on.run<QueuedFor>(queueMissed, [destinationId, eventIds, attemptsBefore, dispatchedAt])
    return row ?? { open: false, queued: 0 }
  },

  /** Writes an event that goes through no dispatch. */
  insertTest: (tx: Queries, event: Omit<NewEvent, 'paymentIntentId' | 'paymentLinkId'>) =>
    tx.run(insertTest, [
      event.id,
      event.dialect,
      event.type,
      event.partnerId,
      event.merchantId,
      event.branchId,
      event.body,
      event.at,
    ]),
}
