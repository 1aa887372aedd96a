import { perLevel, type Principal } from '../identity/principal.ts'
import { statement, type Queries } from '../kernel/db.ts'
import { recordsOf } from '../kernel/records.ts'
import type { DialectName } from './dialects.ts'

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
  /** Of an event at a terminal. */
  readonly groupId?: string
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
  /** How many events it looks at; 1,000 where it is not said. */
  readonly lookedMax?: number
  readonly dialect?: DialectName
}

/** Events of a filter, newest first. */
export interface EventPage {
  readonly rows: readonly EventRow[]
  /** The id of the last event looked at, where it stopped before `rowsMax` were found and there are more to look at. */
  readonly stoppedAt: string | null
}

const lookedMax = 1_000

const append = statement(
  'delivery.append',
  'select delivery.append_event($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
)

/**
 * The deliveries of an event that are open, in the queue or in hands, with their `attempt_count`, `run_at` and `dispatched_at`: a subquery of
 * statements that lock nothing. `hands` are all that there are, for a statement that has read them.
 */
export const openDeliveries = (event: string, hands = 'delivery.hands') => `(
      select q.destination_id, q.attempts_before + q.attempt_no as attempt_count, q.run_at, q.dispatched_at
        from delivery.queue q where q.event_id = ${event}
      union all
      select h.destination_id, 0, h.dispatched_at, h.dispatched_at
        from ${hands} h
       where h.first_event_id <= ${event} and h.last_event_id >= ${event} and ${event} = any (h.event_ids)
         and not exists (
           select from delivery.deliveries d where d.event_id = ${event} and d.destination_id = h.destination_id offset 0
         )
         and not exists (
           select from delivery.queue q where q.event_id = ${event} and q.destination_id is not distinct from h.destination_id offset 0
         )
    )`

/**
 * Where an event `e` stands, with its `status`, `attempt_count`, `next_attempt_at`, `updated_at` and `delivered_at`: for a lateral join. An event
 * that has a row in no table of work has no status, and does not exist for anybody.
 */
export const eventState = (hands?: string) => `(
      select * from (
        select 1 as place, o.status, 0::bigint as attempt_count, o.run_at as next_attempt_at, o.updated_at, null::timestamptz as delivered_at
          from delivery.outbox o where o.event_id = e.id
        union all
        select 2, 'SUBMITTED',
               sum(o.attempt_count) + coalesce(
                 (select sum(d.attempt_count) from delivery.deliveries d
                   where d.event_id = e.id and d.destination_id <> all (array_agg(o.destination_id))), 0),
               min(o.run_at), max(o.dispatched_at), null
          from ${openDeliveries('e.id', hands)} o having count(*) > 0
        union all
        select 3, case when bool_or(d.state <> 'DELIVERED' and d.latest) then 'EXHAUSTED' else 'DELIVERED' end, sum(d.attempt_count), null,
               max(d.ended_at), case when not bool_or(d.state <> 'DELIVERED' and d.latest) then max(d.ended_at) end
          from (
            select d.state, d.attempt_count, d.ended_at, d.dispatched_at = max(d.dispatched_at) over () as latest
              from delivery.deliveries d where d.event_id = e.id
          ) d
        having count(*) > 0
        union all
        select 4, 'NOT_SUBSCRIBED', 0, null, u.at, null from delivery.unsubscribed u where u.event_id = e.id
      ) s
      order by s.place
      limit 1
    )`

// Every list stands on one index: ids carry the time, so times are a range of it. Said as a range of the whole index. Of the ids alone only the
// lower end is said, which leaves out the partitions that are too old: before version 18 PostgreSQL goes on reading there beyond the end of the
// range. With both ends it takes that for a few rows, and reads everybody's events by their ids to find those of one branch. The entity is
// only asked of each row: looked up by it, a page of a branch would begin at its newest event, wherever the range does.
const ofBranch = (entity: string) => `
      from delivery.events e
     where (e.${entity} = $1) is true and not e.test and e.id >= $4
       and (e.branch_id, e.dialect, e.id) >= ($2::uuid, $3::text, $4::uuid) and (e.branch_id, e.dialect, e.id) < ($2::uuid, $3::text, $5::uuid)
     order by e.branch_id desc, e.dialect desc, e.id desc`

// All of it is in that index.
const listed =
  'e.id, e.dialect, e.type, e.merchant_id, e.branch_id, e.payment_intent_id, e.payment_link_id, e.created_at'

// A filter that hardly anything fits looks at so many events, and tells where it stopped; by a subquery that is run only then. Hands come and
// go quicker than vacuum does: what is left of them is passed once, not for each event.
const listEvents = perLevel(
  'delivery.listEvents',
  (entity) => `
   with hands as materialized (select h.* from delivery.hands h),
   page as materialized (
     select e.id, e.type, s.status, e.merchant_id, e.branch_id, e.payment_intent_id, e.payment_link_id, s.attempt_count::integer,
            s.next_attempt_at, e.created_at, s.updated_at, s.delivered_at
       from (
         select ${listed}${ofBranch(entity)} limit $9
       ) e
      cross join lateral ${eventState('hands')} s
      where ($6::text is null or e.type = $6) and ($7::text[] is null or s.status = any ($7))
      order by e.branch_id desc, e.dialect desc, e.id desc
      limit $8
   )
   select p.*, t.last_looked
     from (
       select case when (select count(*) from page) < $8
                   then (array(select e.id${ofBranch(entity)} offset $9 - 1 limit 2))
               end as last_looked
     ) t
     left join page p on true
    order by p.id desc`,
)

type ListedLine = Omit<EventRow, 'id'> & {
  readonly id: string | null
  readonly last_looked: readonly string[] | null
}

/** Events as `delivery.append_events` takes them. */
export const eventRecords = (events: readonly NewEvent[]): Buffer =>
  recordsOf(
    'delivery.new_event',
    events.map((event) => ({
      id: event.id,
      dialect: event.dialect,
      type: event.type,
      partner_id: event.partnerId,
      merchant_id: event.merchantId,
      branch_id: event.branchId,
      group_id: event.groupId ?? null,
      payment_intent_id: event.paymentIntentId,
      payment_link_id: event.paymentLinkId,
      body: event.body,
      at: event.at,
    })),
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
      event.groupId ?? null,
    ]),

  async list(on: Queries, principal: Principal, filter: EventFilter): Promise<EventPage> {
    const lines = await on.run<ListedLine>(listEvents[principal.level], [
      principal.entityId,
      filter.branchId,
      filter.dialect ?? 'signed',
      filter.from,
      filter.before,
      filter.type,
      filter.statuses,
      filter.rowsMax,
      filter.lookedMax ?? lookedMax,
    ])
    const rows = lines.filter((line): line is ListedLine & EventRow => line.id !== null)
    const [stoppedAt, next] = lines[0]?.last_looked ?? []
    return { rows, stoppedAt: next === undefined ? null : (stoppedAt ?? null) }
  },
}
