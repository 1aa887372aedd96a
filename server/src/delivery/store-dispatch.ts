import { statement, type Queries } from '../kernel/db.ts'

/** An event that is ours to dispatch until its lease runs out. */
export interface ClaimedEvent {
  readonly event_id: string
  readonly fence: number
  readonly setback_count: number
}

/** What a dispatch did. */
export interface Dispatched {
  /** Deliveries. */
  readonly queued: number
  /** From each event's change to now, in ms of business time. */
  readonly lags: readonly number[]
}

// Events to deliveries: part of a statement that has the events in `taken`, locked. Subscribed is who is so now. A destination that was
// paused or deleted since the statement began is caught by its lane, which is locked and read anew: what is added here and what such a
// change drops exclude each other. Owners are looked up once per kind of event: a batch is mostly the events of a few branches.
const takenEvents = `
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
     insert into delivery.queue (event_id, destination_id, run_at, dispatched_at)
     select e.id, l.destination_id, m.now, m.now from lane l cross join unnest(l.ids) as e (id) cross join moment m
     on conflict (event_id, destination_id) do nothing
     returning event_id
   ),
   moved as (
     insert into delivery.lanes (destination_id, look_at, version)
     select distinct l.destination_id, least(l.look_at, m.now), l.version + 1 from lane l, moment m
     on conflict (destination_id) do update set look_at = excluded.look_at, version = excluded.version
   ),
   gone as (
     delete from delivery.outbox o where o.event_id = any (array(select t.event_id from taken t))
   ),
   unheard as (
     insert into delivery.unsubscribed (event_id, at)
     select t.event_id, m.now from taken t, moment m where t.event_id not in (select unnest(l.ids) from lane l)
     on conflict (event_id) do nothing
   )
   select (select count(*) from queued)::integer as queued,
          array(select extract(epoch from m.now - t.created_at)::float8 * 1000 from taken t, moment m) as lags`

// The whole way at once, for as long as nothing goes wrong with any of the events.
const dispatchDue = statement(
  'delivery.dispatchDue',
  `with moment as materialized (select kernel.now() as now),
   taken as materialized (
     select o.event_id, o.type, o.dialect, o.branch_id, o.merchant_id, o.partner_id, o.created_at
       from delivery.outbox o
      where o.run_at <= (select now from moment) and (o.lease_until is null or o.lease_until <= clock_timestamp())
      order by o.run_at, o.event_id
      limit $1::integer
        for update skip locked
   ),
   ${takenEvents},
          case when (select count(*) from taken) < $1 then extract(epoch from least(
            (select min(o.run_at) from delivery.outbox o where o.run_at > (select now from moment)) - (select now from moment),
            (select min(o.lease_until) - clock_timestamp() from delivery.outbox o
              where o.run_at <= (select now from moment) and o.lease_until > clock_timestamp()),
            interval '1 minute')) * 1000 else 0 end::float8 as look_in_ms`,
)

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
     returning o.event_id, o.fence, o.setback_count
   )
   select c.* from claimed c order by c.event_id`,
)

const dispatchClaimed = statement(
  'delivery.dispatchClaimed',
  `with moment as materialized (select kernel.now() as now),
   taken as materialized (
     select o.*
       from (select * from unnest($1::uuid[], $2::integer[]) as r (event_id, fence) order by r.event_id) r
      cross join lateral (
        select o.event_id, o.type, o.dialect, o.branch_id, o.merchant_id, o.partner_id, o.created_at
          from delivery.outbox o
         where o.event_id = r.event_id and o.fence = r.fence and o.status = 'SUBMITTING'
           for update
      ) o
   ),
   ${takenEvents}`,
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

export const dispatchStore = {
  /** Queues the deliveries of at most `rowsMax` events that are due; also tells in how many ms there may be others. */
  async dispatchDue(on: Queries, rowsMax: number): Promise<Dispatched & { readonly lookInMs: number }> {
    const [row] = await on.run<Dispatched & { look_in_ms: number }>(dispatchDue, [rowsMax])
    return { queued: row?.queued ?? 0, lags: row?.lags ?? [], lookInMs: row?.look_in_ms ?? 0 }
  },

  /** Takes at most `rowsMax` events that are due, to dispatch them one by one. */
  claim: (on: Queries, rowsMax: number, leaseMs: number) => on.run<ClaimedEvent>(claimEvents, [rowsMax, leaseMs]),

  /** Queues the deliveries of those that are still ours. */
  async dispatchClaimed(on: Queries, events: readonly ClaimedEvent[]): Promise<Dispatched> {
    const columns = [events.map((event) => event.event_id), events.map(({ fence }) => fence)]
    const [row] = await on.run<Dispatched>(dispatchClaimed, columns)
    return row ?? { queued: 0, lags: [] }
  },

  fail: (on: Queries, event: ClaimedEvent, waitMs: number) =>
    on.run(failDispatch, [event.event_id, event.fence, waitMs]),
}
