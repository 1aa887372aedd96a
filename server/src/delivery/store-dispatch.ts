import { arrayOf, elementsOf } from '../kernel/array.ts'
import { statement, type Queries } from '../kernel/db.ts'
import type { ClaimRequest } from './store-claim.ts'
import type { Handed } from './store-hands.ts'

/** An event that is ours to dispatch until its lease runs out. */
export interface ClaimedEvent {
  readonly event_id: string
  readonly fence: number
  readonly setback_count: number
}

/** What a dispatch did. */
export interface Dispatched {
  /** Deliveries that are for any worker to claim. */
  readonly queued: number
  /** From each event's change to now, in ms of business time. */
  readonly lags: readonly number[]
}

export interface DispatchedDue extends Dispatched {
  /** Deliveries that are the caller's own already, as a claim would have made them. */
  readonly handed: Handed
  /** In how many ms there may be other events. */
  readonly lookInMs: number
}

// Events to deliveries: part of a statement that has the events in `taken`, locked. Subscribed is who is so now. A destination that was
// paused or deleted since the statement began is caught by its lane, which is locked and read anew: what is added here and what such a
// change drops exclude each other. Owners are looked up once per kind of event: a batch is mostly the events of a few branches.
//
// Deliveries that are `handed`, the first so many of a kind for a lane by its `room`, are in the hands of the caller from the beginning,
// which saves their claim. Never where others of the lane are due: they would be overtaken for as long as events come.
const dispatchTaken = (room: string, roomOfAll: string, lease: string) => `
   kind as materialized (
     select row_number() over () as kind, t.type, t.dialect, t.branch_id, t.merchant_id, t.partner_id, t.group_id, array_agg(t.event_id) as ids
       from taken t group by t.type, t.dialect, t.branch_id, t.merchant_id, t.partner_id, t.group_id
   ),
   matched as materialized (
     select d.id as destination_id, k.kind, k.ids
       from kind k
      cross join lateral (values (k.branch_id), (k.merchant_id), (k.partner_id), (k.group_id)) as owner (id)
      cross join lateral (
        select d.id
          from delivery.destinations d
         where d.owner_id = owner.id and d.dialect = k.dialect and d.deleted_at is null and d.state = 'ENABLED' and k.type = any (d.types)
        offset 0
      ) d
   ),
   lane as materialized (
     select k.kind, k.ids, l.*
       from (select * from matched order by destination_id) k
      cross join lateral (
        select l.destination_id, l.look_at, l.head_at, l.version, l.slow
          from delivery.lanes l where l.destination_id = k.destination_id and l.state || '' = 'OPEN' for update
      ) l
   ),
   part as materialized (
     select l.destination_id, l.look_at, l.head_at, l.version, l.kind, l.ids,
            greatest(0, least(l.fits, ${roomOfAll} - sum(l.fits) over (rows unbounded preceding) + l.fits))::integer as room
       from (
         select l.*, greatest(0, least(cardinality(l.ids), ${room} - l.earlier)) as fits
           from (
             select l.*, sum(cardinality(l.ids)) over (partition by l.destination_id rows unbounded preceding) - cardinality(l.ids) as earlier
               from lane l
           ) l
          cross join moment m
       ) l
   ),
   handed as (
     insert into delivery.hands (destination_id, event_ids, dispatched_at, lease_until)
     select h.destination_id, h.ids, m.now, clock_timestamp() + ${lease}
       from (
         select p.destination_id, array_agg(e.id order by e.id) as ids
           from part p cross join unnest(p.ids[:p.room]) as e (id) group by p.destination_id
       ) h
      cross join moment m
     returning id, destination_id, event_ids
   ),
   queued as (
     insert into delivery.queue (event_id, destination_id, ended_before, run_at, dispatched_at)
     select e.id, p.destination_id, false, m.now, m.now
       from moment m cross join part p cross join unnest(p.ids[p.room + 1:]) as e (id)
     returning id
   ),
   moved as (
     insert into delivery.lanes (destination_id, look_at, head_at, version)
     select l.destination_id, least(l.look_at, m.now), least(l.head_at, m.now), l.version + 1
       from (
         select distinct p.destination_id, p.look_at, p.head_at, p.version from part p where p.room < cardinality(p.ids)
       ) l
      cross join moment m
     on conflict (destination_id) do update set look_at = excluded.look_at, head_at = excluded.head_at, version = excluded.version
   ),
   gone as (
     delete from delivery.outbox o where o.event_id = any (array(select t.event_id from taken t))
   ),
   unheard as (
     insert into delivery.unsubscribed (event_id, at)
     select e.id, m.now from moment m cross join kind k cross join unnest(k.ids) as e (id)
      where k.kind not in (select p.kind from part p)
     on conflict (event_id) do nothing
   )
   select (select count(*) from queued)::integer as queued,
          array(select (date_part('epoch', m.now - t.created_at) * 1000)::bigint from taken t, moment m)::text as lags`

// The whole way at once, for as long as nothing goes wrong with any of the events.
const dispatchDue = statement(
  'delivery.dispatchDue',
  `with moment as materialized (select kernel.now() as now, $7::integer * interval '1 millisecond' as lease),
   busy as materialized (
     select b.destination_id, b.room from unnest($4::uuid[], $5::integer[]) as b (destination_id, room)
     union all
     select f.destination_id, 0 from unnest($3::uuid[]) as f (destination_id)
   ),
   taken as materialized (
     select o.event_id, o.type, o.dialect, o.branch_id, o.merchant_id, o.partner_id, o.group_id, o.created_at
       from delivery.outbox o
      where o.run_at <= (select now from moment) and (o.lease_until is null or o.lease_until <= clock_timestamp())
      order by o.run_at
      limit $1::integer
        for update skip locked
   ),
   ${dispatchTaken(
     `case when l.slow or l.look_at <= m.now then 0
           else coalesce((select b.room from busy b where b.destination_id = l.destination_id), $6::integer) end`,
     '$2::integer',
     'm.lease',
   )},
          handed.*, (select extract(epoch from m.now)::float8 * 1000 from moment m) as handed_at_ms,
          case when (select count(*) from taken) < $1 then extract(epoch from least(
            (select min(o.run_at) from delivery.outbox o where o.run_at > (select now from moment)) - (select now from moment),
            (select min(o.lease_until) - clock_timestamp() from delivery.outbox o
              where o.run_at <= (select now from moment) and o.lease_until > clock_timestamp()),
            interval '1 minute')) * 1000 else 0 end::float8 as look_in_ms
     from (
       select sum(cardinality(h.event_ids))::integer as handed_count, array_agg(h.id)::text as hand_ids,
              array_agg(h.destination_id)::text as handed_destination_ids, array_agg(cardinality(h.event_ids))::text as handed_counts,
              '{' || string_agg(array_to_string(h.event_ids, ','), ',') || '}' as handed_event_ids
         from handed h
     ) handed`,
)

const claimEvents = statement(
  'delivery.claimEvents',
  `with moment as materialized (select kernel.now() as now),
   due as materialized (
     select o.event_id
       from delivery.outbox o
      where o.run_at <= (select now from moment) and (o.lease_until is null or o.lease_until <= clock_timestamp())
      order by o.run_at
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
        select o.event_id, o.type, o.dialect, o.branch_id, o.merchant_id, o.partner_id, o.group_id, o.created_at
          from delivery.outbox o
         where o.event_id = r.event_id and o.fence = r.fence and o.status = 'SUBMITTING'
           for update
      ) o
   ),
   ${dispatchTaken('0', '0', `interval '0'`)}`,
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

interface DispatchedLine {
  readonly queued: number
  readonly lags: string
}

type DispatchedDueLine = DispatchedLine & {
  readonly handed_count: number | null
  readonly hand_ids: string | null
  readonly handed_event_ids: string | null
  readonly handed_destination_ids: string | null
  readonly handed_counts: string | null
  readonly handed_at_ms: number
  readonly look_in_ms: number
}

/** How much of what is dispatched may be handed over: that of a claim, but for slow destinations. */
export type HandRequest = Pick<ClaimRequest, 'rowsMax' | 'full' | 'busy' | 'quickRoom' | 'leaseMs'>

const none: HandRequest = { rowsMax: 0, full: [], busy: [], quickRoom: 0, leaseMs: 0 }

export const dispatchStore = {
  /** Makes the deliveries of at most `rowsMax` events that are due, and hands over those that the request has room for. */
  async dispatchDue(on: Queries, rowsMax: number, room: HandRequest = none): Promise<DispatchedDue> {
    const [row] = await on.run<DispatchedDueLine>(dispatchDue, [
      rowsMax,
      room.rowsMax,
      arrayOf(room.full),
      arrayOf(room.busy.map((lane) => lane.destinationId)),
      arrayOf(room.busy.map((lane) => lane.room)),
      room.quickRoom,
      room.leaseMs,
    ])
    const handed = {
      count: row?.handed_count ?? 0,
      handIds: row?.hand_ids ?? '{}',
      eventIds: row?.handed_event_ids ?? '{}',
      destinationIds: row?.handed_destination_ids ?? '{}',
      counts: row?.handed_counts ?? '{}',
      atMs: row?.handed_at_ms ?? 0,
    }
    return { ...dispatchedOf(row), handed, lookInMs: row?.look_in_ms ?? 0 }
  },

  /** Takes at most `rowsMax` events that are due, to dispatch them one by one. */
  claim: (on: Queries, rowsMax: number, leaseMs: number) => on.run<ClaimedEvent>(claimEvents, [rowsMax, leaseMs]),

  /** Queues the deliveries of those that are still ours. */
  async dispatchClaimed(on: Queries, events: readonly ClaimedEvent[]): Promise<Dispatched> {
    const columns = [events.map((event) => event.event_id), events.map(({ fence }) => fence)]
    const [row] = await on.run<DispatchedLine>(dispatchClaimed, columns)
    return dispatchedOf(row)
  },

  fail: (on: Queries, event: ClaimedEvent, waitMs: number) =>
    on.run(failDispatch, [event.event_id, event.fence, waitMs]),
}

const dispatchedOf = (line: DispatchedLine | undefined): Dispatched => ({
  queued: line?.queued ?? 0,
  lags: elementsOf(line?.lags ?? '{}').map(Number),
})
