import { perLevel, type Principal } from '../identity/principal.ts'
import { statement, type Db, type Queries } from '../kernel/db.ts'
import type { DialectName } from './dialects.ts'
import { byIndex } from './store-plan.ts'

export type EventStatus =
  'PENDING' | 'SUBMITTING' | 'SUBMIT_FAILED' | 'SUBMITTED' | 'DELIVERED' | 'EXHAUSTED' | 'NOT_SUBSCRIBED'

export interface EventRow {
  readonly id: string
  readonly type: string
  readonly status: EventStatus
  readonly merchant_id: string
  readonly branch_id: string
  readonly payment_intent_id: string | null
  readonly payment_link_id: string | null
  /** Over all destinations. */
  readonly attempt_count: number
  readonly next_attempt_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly delivered_at: Date | null
}

/** An event for the outbox. The id is of the time `at`, in business time; a partition is found by it. */
export interface NewEvent {
  readonly id: string
  readonly dialect: DialectName
  readonly type: string
  readonly partnerId: string
  readonly merchantId: string
  readonly branchId: string
  readonly paymentIntentId: string | null
  readonly paymentLinkId: string | null
  /** Made once, sent unchanged on every attempt. */
  readonly body: string
  readonly at: Date
}

export interface EventFilter {
  readonly branchId: string
  readonly type: string | null
  readonly statuses: readonly string[] | null
  /** Ids from this one on, and below that one: times are ranges of ids. */
  readonly from: string
  readonly before: string
  readonly rowsMax: number
  readonly dialect?: DialectName
}

/** An event that is ours to dispatch until its lease runs out. */
export interface ClaimedEvent {
  readonly event_id: string
  readonly fence: number
  readonly setback_count: number
  /** From its payment's change to this claim, in business time. */
  readonly lag_ms: number
}

const append = statement('delivery.append', 'select delivery.append_event($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)')

const claimEvents = statement(
  'delivery.claimEvents',
  `with moment as materialized (select kernel.now() as now),
   due as materialized (
     select o.event_id
       from delivery.outbox o
      where o.run_at <= (select now from moment) and (o.lease_until is null or o.lease_until <= clock_timestamp())
      order by o.run_at, o.event_id
      limit $1::integer
        for update skip locked
   ),
   claimed as (
     update delivery.outbox o
        set status = 'SUBMITTING', fence = o.fence + 1, lease_until = clock_timestamp() + $2::integer * interval '1 millisecond',
            updated_at = m.now
       from moment m
      where o.event_id = any (array(select d.event_id from due d))
     returning o.event_id, o.fence, o.setback_count, extract(epoch from m.now - o.created_at)::float8 * 1000 as lag_ms
   )
   select c.*,
          case when (select count(*) from due) < $1 then extract(epoch from least(
            (select min(o.run_at) from delivery.outbox o where o.run_at > m.now) - m.now,
            (select min(o.lease_until) - clock_timestamp() from delivery.outbox o where o.run_at <= m.now and o.lease_until > clock_timestamp()),
            interval '1 minute')) * 1000 else 0 end::float8 as look_in_ms
     from moment m left join claimed c on true
    order by c.event_id`,
)

// Events to deliveries. Subscribed is who is so now. A destination that was paused or deleted since this statement began is caught by its
// lane, which is locked and read anew: what is added here and what such a change drops exclude each other. Owners are looked up once per
// kind of event: a batch is mostly the events of a few branches.
const dispatch = statement(
  'delivery.dispatch',
  `with moment as materialized (select kernel.now() as now),
   taken as materialized (
     select o.*
       from (select * from unnest($1::uuid[], $2::integer[]) as r (event_id, fence) order by r.event_id) r
      cross join lateral (
        select o.event_id, o.type, o.dialect, o.branch_id, o.merchant_id, o.partner_id, o.attempt_count
          from delivery.outbox o
         where o.event_id = r.event_id and o.fence = r.fence and o.status = 'SUBMITTING'
           for update
      ) o
   ),
   matched as materialized (
     select d.id as destination_id, k.ids
       from (
         select t.type, t.dialect, t.branch_id, t.merchant_id, t.partner_id, array_agg(t.event_id) as ids
           from taken t group by t.type, t.dialect, t.branch_id, t.merchant_id, t.partner_id
       ) k
      cross join lateral (values (k.branch_id), (k.merchant_id), (k.partner_id)) as owner (id)
      cross join lateral (
        select d.id
          from delivery.destinations d
         where d.owner_id = owner.id and d.dialect = k.dialect and d.deleted_at is null and d.state = 'ENABLED' and k.type = any (d.types)
        offset 0
      ) d
   ),
   lane as materialized (
     select k.ids, l.*
       from (select * from matched order by destination_id) k
      cross join lateral (
        select l.destination_id, l.look_at, l.version
          from delivery.lanes l where l.destination_id = k.destination_id and l.state || '' = 'OPEN' for update
      ) l
   ),
   queued as (
     insert into delivery.queue (event_id, destination_id, run_at, created_at)
     select e.id, l.destination_id, m.now, m.now from lane l cross join unnest(l.ids) as e (id) cross join moment m
     on conflict (event_id, destination_id) do nothing
     returning event_id
   ),
   moved as (
     insert into delivery.lanes (destination_id, look_at, version)
     select distinct l.destination_id, least(l.look_at, m.now), l.version + 1 from lane l, moment m
     on conflict (destination_id) do update set look_at = excluded.look_at, version = excluded.version
   ),
   tally as materialized (
     select x.event_id, max(x.attempt_count) as attempt_count, count(*) - 1 as open
       from (select t.event_id, t.attempt_count from taken t union all select q.event_id, 0 from queued q) x
      group by x.event_id
   ),
   counts as materialized (
     select array_agg(t.event_id) as ids, array_agg(t.open) as open from tally t where t.open > 0
   ),
   submitted as (
     update delivery.outbox o
        set status = 'SUBMITTED', failed_count = 0, setback_count = 0, run_at = null, lease_until = null, updated_at = (select now from moment),
            open_count = ((select open from counts))[array_position((select ids from counts), o.event_id)]
      where o.event_id = any ((select ids from counts)::uuid[])
   ),
   over as (
     delete from delivery.outbox o where o.event_id = any (array(select t.event_id from tally t where t.open = 0))
   ),
   recorded as (
     insert into delivery.outcomes (event_id, status, attempt_count, updated_at)
     select t.event_id, 'NOT_SUBSCRIBED', t.attempt_count, m.now from tally t, moment m where t.open = 0
     on conflict (event_id) do update
        set status = excluded.status, attempt_count = excluded.attempt_count, updated_at = excluded.updated_at, delivered_at = null
   )
   select coalesce(sum(t.open), 0)::integer as queued from tally t`,
)

const failDispatch = statement(
  'delivery.failDispatch',
  `update delivery.outbox o
      set status = 'SUBMIT_FAILED', setback_count = o.setback_count + 1, lease_until = null, updated_at = m.now,
          run_at = m.now + $3::integer * interval '1 millisecond'
     from (select kernel.now() as now) m
    where o.event_id = $1 and o.fence = $2 and o.status = 'SUBMITTING'
   returning o.event_id`,
)

// Every list stands on one index: ids carry the time, so times are a range of it, and the partitions outside are not touched.
const listEvents = perLevel(
  'delivery.listEvents',
  (entity) => `
   select e.id, e.type, s.status, e.merchant_id, e.branch_id, e.payment_intent_id, e.payment_link_id, s.attempt_count,
          coalesce(s.run_at, (select min(q.run_at) from delivery.queue q where q.event_id = e.id)) as next_attempt_at,
          e.created_at, s.updated_at, s.delivered_at
     from delivery.events e
    cross join lateral (
      select * from (
        select 1 as place, o.status, o.attempt_count, o.run_at, o.updated_at, null::timestamptz as delivered_at
          from delivery.outbox o where o.event_id = e.id
        union all
        select 2, x.status, x.attempt_count, null, x.updated_at, x.delivered_at
          from delivery.outcomes x where x.event_id = e.id
      ) s
      order by s.place
      limit 1
    ) s
    where e.${entity} = $1 and e.branch_id = $2 and e.dialect = $3 and not e.test and e.id >= $4 and e.id < $5
      and ($6::text is null or e.type = $6) and ($7::text[] is null or s.status = any ($7))
    order by e.id desc
    limit $8`,
)

export const eventStore = {
  append: (on: Queries, event: NewEvent) =>
    on.run(append, [
      event.id,
      event.dialect,
      event.type,
      event.partnerId,
      event.merchantId,
      event.branchId,
      event.paymentIntentId,
      event.paymentLinkId,
      event.body,
      event.at,
    ]),

  /** At most `rowsMax` events, and in how many ms there may be others. */
  async claim(
    on: Queries,
    rowsMax: number,
    leaseMs: number,
  ): Promise<{ events: readonly ClaimedEvent[]; lookInMs: number }> {
    const lines = await on.run<
      { [Column in keyof ClaimedEvent]: ClaimedEvent[Column] | null } & { look_in_ms: number }
    >(claimEvents, [rowsMax, leaseMs])
    return {
      events: lines.filter((line) => line.event_id !== null) as readonly ClaimedEvent[],
      lookInMs: lines[0]?.look_in_ms ?? 0,
    }
  },

  /** Queues the deliveries of those that are still ours; resolves to how many. */
  async dispatch(db: Db, events: readonly ClaimedEvent[]): Promise<number> {
    const [row] = await byIndex<{ queued: number }>(db, dispatch, [
      events.map((event) => event.event_id),
      events.map(({ fence }) => fence),
    ])
    return row?.queued ?? 0
  },

  failDispatch: (on: Queries, event: ClaimedEvent, waitMs: number) =>
    on.run(failDispatch, [event.event_id, event.fence, waitMs]),

  list: (db: Db, principal: Principal, filter: EventFilter) =>
    byIndex<EventRow>(db, listEvents[principal.level], [
      principal.entityId,
      filter.branchId,
      filter.dialect ?? 'signed',
      filter.from,
      filter.before,
      filter.type,
      filter.statuses,
      filter.rowsMax,
    ]),
}
