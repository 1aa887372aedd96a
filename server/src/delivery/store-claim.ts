import { arrayOf } from '../kernel/array.ts'
import { statement, type Queries } from '../kernel/db.ts'
import type { DialectName } from './dialects.ts'
import type { HeldDelivery } from './held.ts'

/** How much of what a worker may take now. */
export interface ClaimRequest {
  /** Deliveries in all. */
  readonly rowsMax: number
  /** Destinations that hold all that they may already. */
  readonly full: readonly string[]
  /** Destinations that hold something, and how much more each may. */
  readonly busy: readonly { readonly destinationId: string; readonly room: number }[]
  /** How much any other destination may hold. */
  readonly quickRoom: number
  readonly slowRoom: number
  /** Slow destinations in all. */
  readonly slowLanesMax: number
  readonly leaseMs: number
}

/** A delivery that is ours until its lease runs out. */
export interface ClaimedRow extends HeldDelivery {
  readonly destination_id: string
  readonly attempt_no: number
  readonly setback_count: number
  readonly type: string
  readonly body: string
  /** Whether a lease of somebody else ran out on it. */
  readonly expired: boolean
  /** Business time of the claim, in ms since 1970. */
  readonly claimed_at_ms: number
}

/** A destination as the claim found it. */
export interface LaneRow {
  readonly destination_id: string
  readonly dialect: DialectName
  readonly url: string
  readonly slow: boolean
  readonly failing_since: Date | null
  /** In force when it was read, newest first; `sealed` in base64, the end in ms of business time. */
  readonly secrets: readonly { readonly id: string; readonly sealed: string; readonly expires_at_ms: number | null }[]
}

/** Deliveries in our hands, with their destinations. */
export interface Taken {
  readonly deliveries: readonly ClaimedRow[]
  readonly lanes: ReadonlyMap<string, LaneRow>
}

export interface Claim extends Taken {
  /** There may be more for the asking. */
  readonly more: boolean
  /** A destination got as much as it may hold: more of it may be due. */
  readonly cut: boolean
  /** Lanes wait to be closed. */
  readonly closing: boolean
  /** When to look again, if nothing happens before; in ms. */
  readonly lookInMs: number
}

/** A destination as whoever delivers to it needs it, at `t.now`: for a lateral join. */
export const destinationWhere = (which: string) => `
       select d.dialect, d.url, l.slow, l.failing_since, (
                select json_agg(json_build_object('id', s.id, 'sealed', encode(s.sealed, 'base64'),
                                                  'expires_at_ms', extract(epoch from s.expires_at)::float8 * 1000) order by s.id desc)
                  from delivery.secrets s
                 where s.destination_id = d.id and (s.expires_at is null or s.expires_at > t.now)) as secrets
         from delivery.destinations d
        cross join lateral (select l.slow, l.failing_since from delivery.lanes l where l.destination_id = d.id offset 0) l
        where ${which}
       offset 0`

// The claim, and the reason for lanes. Measured on 2 cores with bodies of 700 bytes: 244 deliveries of 50 destinations in 8 ms, and in
// 8 ms with a million due deliveries of one dead destination at the head of the queue; their settlement takes 12 ms either way.
//
// Lanes take turns: whichever was looked at longest ago comes first, slow ones before others. That order is said for itself, for a join keeps
// none. A lane is not locked while it is searched, so several workers share a busy one; rows that one has locked the others skip. Afterwards
// the lane's next look is set: now where it was left with more (so lanes take turns), else at its first retry or the end of its first
// lease, which is what finds the work of a worker that died. That needs the lane as it was (`version`): work added meanwhile wins. A lane
// that somebody holds is left as it is and looked at again: waiting for it here could close a circle of waits. What is due and when to look
// next are told by one instant: a lease that ran out between two would be missed by both, for as long as another lease. A lane is read from
// its `head_at` on, past the index entries of what is over. For the form of it all see store-plan.ts. The events, a partitioned table, are
// read at the very end: see the migration for what could happen elsewhere.
const claimDue = statement(
  'delivery.claimDue',
  `with moment as materialized (select kernel.now() as now, clock_timestamp() as instant, $8::integer * interval '1 millisecond' as lease),
   lane as materialized (
     select row_number() over (order by l.slow desc, l.look_at) as place, l.slow, l.destination_id, l.head_at, l.version,
            coalesce(b.room, l.room) as room
       from (
         (select s.slow, s.look_at, s.destination_id, s.head_at, s.version, $5::integer as room from delivery.lanes s
           where s.state = 'OPEN' and s.slow and s.look_at <= (select now from moment) and s.destination_id <> all ($2::uuid[])
           order by s.look_at limit $6::integer)
         union all
         (select q.slow, q.look_at, q.destination_id, q.head_at, q.version, $7::integer as room from delivery.lanes q
           where q.state = 'OPEN' and not q.slow and q.look_at <= (select now from moment) and q.destination_id <> all ($2::uuid[])
           order by q.look_at limit $1::integer)
       ) l
       left join unnest($3::uuid[], $4::integer[]) as b (destination_id, room) on b.destination_id = l.destination_id
   ),
   -- A lane without anything due has one line without a delivery.
   due as materialized (
     select l.place, l.destination_id, l.head_at, l.version, l.room, d.*
       from (select * from lane order by place) l
       left join lateral (
         select q.id, q.event_id, q.attempt_no, q.setback_count, q.run_at, q.fence + 1 as fence, q.lease_until is not null as expired
           from delivery.queue q
          where q.destination_id = l.destination_id and q.run_at >= l.head_at and q.run_at <= (select now from moment)
            and (q.lease_until is null or q.lease_until <= (select instant from moment))
          order by q.run_at
          limit l.room
            for update skip locked
       ) d on true
      limit $1::integer
   ),
   claimed as (
     update delivery.queue q set fence = q.fence + 1, lease_until = clock_timestamp() + (select lease from moment)
      where q.id = any (array(select d.id from due d))
   ),
   -- Where the limit cut, the last lane was not searched to its end.
   searched as materialized (
     select d.destination_id, d.head_at, d.version, d.room, count(d.id) as taken
       from due d
      where d.place < (select case when count(*) < $1 then 'infinity'::float8 else max(place) end from due)
      group by d.destination_id, d.head_at, d.version, d.room
   ),
   held as materialized (
     select s.*
       from (select * from searched order by destination_id) s
      cross join lateral (
        select from delivery.lanes l where l.destination_id = s.destination_id and l.version = s.version for update skip locked
      ) l
   ),
   next as materialized (
     select h.destination_id,
            case when h.taken = h.room then m.now
            else least(
              (select q.run_at from delivery.queue q
                where q.destination_id = h.destination_id and q.run_at > m.now order by q.run_at limit 1),
              (select m.now + min(case when q.lease_until > m.instant then q.lease_until - m.instant else m.lease end)
                 from (
                   select q.lease_until from delivery.queue q
                    where q.destination_id = h.destination_id and q.run_at >= h.head_at and q.run_at <= m.now order by q.run_at offset 0
                 ) q),
              'infinity')
            end as look_at,
            least(
              (select q.run_at from delivery.queue q
                where q.destination_id = h.destination_id and q.run_at >= h.head_at order by q.run_at limit 1),
              m.now - interval '10 seconds') as head_at
       from held h, moment m
   ),
   looked as (
     insert into delivery.lanes (destination_id, look_at, head_at) select n.destination_id, n.look_at, n.head_at from next n
     on conflict (destination_id) do update set look_at = excluded.look_at, head_at = excluded.head_at
   ),
   told as materialized (
     select (select count(*) from due) = $1
              or exists (select from lane l having count(*) filter (where l.slow) = nullif($6, 0)) as more,
            exists (select from searched s where s.taken = s.room) as cut,
            exists (select from delivery.lanes l where l.state = 'CLOSING' and l.look_at <= m.now) as closing,
            case when (select count(*) from searched) > (select count(*) from held) then 5
            else extract(epoch from least(
              (select min(n.look_at) from next n where n.look_at > m.now),
              (select min(l.look_at) from delivery.lanes l where l.state = 'OPEN' and l.slow and l.look_at > m.now),
              (select min(l.look_at) from delivery.lanes l where l.state = 'OPEN' and not l.slow and l.look_at > m.now),
              (select min(l.look_at) from delivery.lanes l where l.state = 'CLOSING' and l.slow and l.look_at > m.now),
              (select min(l.look_at) from delivery.lanes l where l.state = 'CLOSING' and not l.slow and l.look_at > m.now),
              m.now + interval '1 minute') - m.now) * 1000
            end::float8 as look_in_ms,
            m.now
       from moment m
   )
   select t.more, t.cut, t.closing, t.look_in_ms, extract(epoch from t.now)::float8 * 1000 as claimed_at_ms,
          c.id, c.fence, c.event_id, c.destination_id, c.attempt_no, c.setback_count, c.expired, c.type, c.body,
          d.dialect, d.url, d.slow, d.failing_since, d.secrets
     from told t
     left join (
       -- Retention may have dropped an event between two of its deliveries.
       select c.*, e.type, e.body, row_number() over (partition by c.place order by c.run_at, c.id) = 1 as first
         from due c
        cross join lateral (select e.type, e.body from delivery.events e where e.id = c.event_id offset 0) e
        where c.id is not null
     ) c on true
     -- Told with the first delivery of each.
     left join lateral (${destinationWhere('c.first and d.id = c.destination_id')}
     ) d on true
    order by c.place, c.run_at, c.id`,
)

// Lanes in the order of their next look, so this is bounded however many there are; an older one may stand behind the thousandth.
const oldestDue = statement(
  'delivery.oldestDue',
  `select coalesce(extract(epoch from greatest(
            max(m.now - q.run_at) filter (where not l.slow),
            (select max(kernel.now() - h.dispatched_at) from delivery.hands h where h.lease_until <= clock_timestamp()))), 0)::float8 as due,
          coalesce(extract(epoch from max(m.now - q.run_at) filter (where l.slow)), 0)::float8 as throttled,
          greatest(extract(epoch from kernel.now() - (select min(o.run_at) from delivery.outbox o)), 0)::float8 as undispatched
     from (select kernel.now() as now) m
    cross join lateral (
      select l.destination_id, l.slow, l.head_at from delivery.lanes l where l.state = 'OPEN' and l.look_at <= m.now order by l.look_at limit 1000
    ) l
    cross join lateral (
      select q.run_at from delivery.queue q
       where q.destination_id = l.destination_id and q.run_at >= l.head_at and q.run_at <= m.now
         and (q.lease_until is null or q.lease_until <= clock_timestamp())
       order by q.run_at
       limit 1
    ) q`,
)

/** Ages in seconds. */
export interface OldestDue {
  readonly due: number
  /** Of destinations that fail or are slow. */
  readonly throttled: number
  /** Of events that wait to be dispatched. */
  readonly undispatched: number
}

export type Line<Columns> = { readonly [Column in keyof Columns]: Columns[Column] | null }

type ClaimedLine = Line<ClaimedRow & LaneRow> & {
  readonly more: boolean
  readonly cut: boolean
  readonly closing: boolean
  readonly look_in_ms: number
}

export const claimStore = {
  async claimDue(on: Queries, request: ClaimRequest): Promise<Claim> {
    const lines = await on.run<ClaimedLine>(claimDue, [
      request.rowsMax,
      arrayOf(request.full),
      arrayOf(request.busy.map((lane) => lane.destinationId)),
      arrayOf(request.busy.map((lane) => lane.room)),
      request.slowRoom,
      request.slowLanesMax,
      request.quickRoom,
      request.leaseMs,
    ])
    const [told] = lines
    return {
      ...takenOf(lines),
      more: told?.more ?? false,
      cut: told?.cut ?? false,
      closing: told?.closing ?? false,
      lookInMs: told?.look_in_ms ?? 0,
    }
  },

  /** Ages in seconds of what is due and in nobody's hands. */
  oldestDue: async (on: Queries) =>
    (await on.run<OldestDue>(oldestDue, []))[0] ?? { due: 0, throttled: 0, undispatched: 0 },
}

export const laneOf = (line: Omit<LaneRow, 'secrets'> & Line<Pick<LaneRow, 'secrets'>>): LaneRow => ({
  ...line,
  secrets: line.secrets ?? [],
})

function takenOf(lines: readonly ClaimedLine[]): Taken {
  const deliveries: ClaimedRow[] = []
  const lanes = new Map<string, LaneRow>()
  for (const line of lines) {
    if (line.id === null) continue
    const told = line as ClaimedRow & LaneRow
    const { id, fence, event_id, destination_id, attempt_no, setback_count, type, body, expired, claimed_at_ms } = told
    deliveries.push({
      id,
      fence,
      hand: null,
      event_id,
      destination_id,
      attempt_no,
      setback_count,
      type,
      body,
      expired,
      claimed_at_ms,
    })
    if (line.url !== null) lanes.set(destination_id, laneOf(told))
  }
  return { deliveries, lanes }
}
