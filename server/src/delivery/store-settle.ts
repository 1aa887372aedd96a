import { statement, type Queries } from '../kernel/db.ts'

/** Fenced names of deliveries. */
export interface Held {
  readonly event_id: string
  readonly destination_id: string
  readonly fence: number
}

/** One attempt that counts, as it is kept. */
export interface AttemptRow {
  readonly id: string
  readonly startedAt: Date
  readonly durationMs: number
  readonly status: number | null
  readonly errorClass: string | null
  readonly errorMessage: string | null
  readonly owner: 'destination' | 'path' | null
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly answer: string | null
}

/** What became of a claimed delivery: it ended, or it waits until `runAt`. Without an attempt it was a setback of ours. */
export interface Settlement {
  readonly held: Held
  readonly end: 'DELIVERED' | 'EXHAUSTED' | 'CLOSED' | null
  readonly runAt: Date | null
  readonly attempt: AttemptRow | null
}

/** What attempts taught about a destination. What is null stays as it is. */
export interface LaneChange {
  readonly destinationId: string
  readonly slow: boolean | null
  /** The first failure, if there was none before. A success takes it away without being told. */
  readonly failingSince: Date | null
  readonly disable: Disabling | null
}

/** Why a destination is disabled from now on. */
export interface Disabling {
  readonly reason: string
  /** Only if it has known nothing but failures since then, whatever another worker has seen meanwhile; null: in any case. */
  readonly failingBefore: Date | null
}

// Everything that a batch of results means, in one statement: which of them are still ours, the deliveries, their attempts, their
// events and the lanes. Whatever it shares with others (two workers settle deliveries of one event; a heartbeat, a resend) it locks
// in one order, first queue, then outbox, lanes and destinations, each by id, so no circle of waits can close. A count is added to what the row
// holds once the lock is had, so that it does not matter who comes first. PostgreSQL runs the parts in no promised order, so the lanes
// read from the events' locks.
const settle = statement(
  'delivery.settle',
  `with moment as materialized (select kernel.now() as now),
   held as materialized (
     select q.event_id, q.destination_id, q.fence, q.attempt_no + (r.attempt_id is not null)::integer as attempt_no, q.created_at, r.ended, r.run_at,
            r.attempt_id, r.started_at, r.duration_ms, r.status, r.error_class, r.error_message, r.owner, r.request_headers, r.answer
       from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::text[], $5::timestamptz[], $6::uuid[], $7::timestamptz[], $8::integer[],
                   $9::integer[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[])
              as r (event_id, destination_id, fence, ended, run_at, attempt_id, started_at, duration_ms,
                    status, error_class, error_message, owner, request_headers, answer)
       join delivery.queue q on q.event_id = r.event_id and q.destination_id = r.destination_id and q.fence = r.fence
      order by q.event_id, q.destination_id
        for update of q
   ),
   waiting as (
     update delivery.queue q
        set attempt_no = h.attempt_no, run_at = h.run_at, lease_until = null,
            setback_count = case when h.attempt_id is null then q.setback_count + 1 else 0 end
       from held h
      where h.ended is null and q.event_id = h.event_id and q.destination_id = h.destination_id
   ),
   gone as (
     delete from delivery.queue q using held h
      where h.ended is not null and q.event_id = h.event_id and q.destination_id = h.destination_id
   ),
   recorded as (
     insert into delivery.deliveries (event_id, destination_id, state, attempt_no, created_at, ended_at)
     select h.event_id, h.destination_id, h.ended, h.attempt_no, h.created_at, m.now from held h, moment m where h.ended is not null
     on conflict (event_id, destination_id) do update
        set state = excluded.state, attempt_no = excluded.attempt_no, created_at = excluded.created_at, ended_at = excluded.ended_at
   ),
   kept as (
     insert into delivery.attempts (id, event_id, destination_id, number, started_at, duration_ms, status, error_class, error_message, owner,
       request_headers, answer)
     select h.attempt_id, h.event_id, h.destination_id, h.attempt_no, h.started_at, h.duration_ms, h.status, h.error_class, h.error_message,
            h.owner, h.request_headers::json, h.answer
       from held h where h.attempt_id is not null
   ),
   tally as materialized (
     select h.event_id, count(h.ended) as ended, count(*) filter (where h.ended <> 'DELIVERED') as failed, count(h.attempt_id) as attempts
       from held h group by h.event_id
   ),
   locked as materialized (
     select o.event_id, o.open_count - t.ended as open, o.failed_count + t.failed as failed, o.attempt_count + t.attempts as attempts
       from tally t join delivery.outbox o on o.event_id = t.event_id
      order by o.event_id
        for update of o
   ),
   counted as (
     update delivery.outbox o set open_count = k.open, failed_count = k.failed, attempt_count = k.attempts
       from locked k
      where k.open > 0 and o.event_id = k.event_id
     returning o.event_id
   ),
   over as (
     delete from delivery.outbox o using locked k where k.open = 0 and o.event_id = k.event_id returning o.event_id
   ),
   told as (
     insert into delivery.outcomes (event_id, status, attempt_count, updated_at, delivered_at)
     select k.event_id, case when k.failed > 0 then 'EXHAUSTED' else 'DELIVERED' end, k.attempts, m.now, case when k.failed = 0 then m.now end
       from locked k, moment m
      where k.open = 0
     on conflict (event_id) do update
        set status = excluded.status, attempt_count = excluded.attempt_count, updated_at = excluded.updated_at, delivered_at = excluded.delivered_at
   ),
   changed as materialized (
     select x.destination_id, min(x.run_at) as run_at, bool_or(x.well) as well, bool_or(x.slow) as slow,
            min(x.failing_since) as failing_since, max(x.disable) as disable, max(x.failing_before) as failing_before
       from (
         select h.destination_id, h.run_at, h.ended = 'DELIVERED' as well, null::boolean as slow, null::timestamptz as failing_since,
                null::text as disable, null::timestamptz as failing_before
           from held h
         union all
         select c.destination_id, null, false, c.slow, c.failing_since, c.disable, c.failing_before
           from unnest($15::uuid[], $16::boolean[], $17::timestamptz[], $18::text[], $19::timestamptz[])
                  as c (destination_id, slow, failing_since, disable, failing_before)
       ) x
      group by x.destination_id
   ),
   lane as materialized (
     select c.*, c.disable is not null and not c.well and (c.failing_before is null or l.failing_since <= c.failing_before) as disabling
       from changed c
       join delivery.lanes l on l.destination_id = c.destination_id
      where (select count(*) from locked) >= 0
        and (num_nonnulls(c.run_at, c.slow, c.failing_since, c.disable) > 0 or (c.well and l.failing_since is not null))
      order by l.destination_id
        for update of l
   ),
   moved as (
     update delivery.lanes l
        set version = l.version + 1,
            look_at = case when c.disabling then m.now else least(l.look_at, c.run_at) end,
            state = case when c.disabling and l.state in ('OPEN', 'PAUSED') then 'CLOSING' else l.state end,
            slow = coalesce(c.slow, l.slow),
            failing_since = case when c.well then null else coalesce(l.failing_since, c.failing_since) end
       from lane c, moment m
      where l.destination_id = c.destination_id
   ),
   disabled as (
     update delivery.destinations d set state = 'DISABLED', disabled_reason = c.disable, updated_at = m.now
       from lane c, moment m
      where c.disabling and d.id = c.destination_id and d.deleted_at is null
   )
   select event_id, destination_id, fence from held`,
)

// Leases of attempts that take longer, in the same order as settling.
const renew = statement(
  'delivery.renew',
  `with held as materialized (
     select q.event_id, q.destination_id
       from unnest($1::uuid[], $2::uuid[], $3::integer[]) as r (event_id, destination_id, fence)
       join delivery.queue q on q.event_id = r.event_id and q.destination_id = r.destination_id and q.fence = r.fence
      order by q.event_id, q.destination_id
        for update of q
   )
   update delivery.queue q set lease_until = clock_timestamp() + $4::integer * interval '1 millisecond'
     from held h
    where q.event_id = h.event_id and q.destination_id = h.destination_id
   returning q.event_id, q.destination_id, q.fence`,
)

// Work that is given back unfinished is due at once, for anybody.
const giveBack = statement(
  'delivery.giveBack',
  `with held as materialized (
     select q.event_id, q.destination_id
       from unnest($1::uuid[], $2::uuid[], $3::integer[]) as r (event_id, destination_id, fence)
       join delivery.queue q on q.event_id = r.event_id and q.destination_id = r.destination_id and q.fence = r.fence
      order by q.event_id, q.destination_id
        for update of q
   ),
   given as (
     update delivery.queue q set lease_until = null
       from held h
      where q.event_id = h.event_id and q.destination_id = h.destination_id
   ),
   lane as materialized (
     select l.destination_id
       from delivery.lanes l
      where l.destination_id in (select h.destination_id from held h)
      order by l.destination_id
        for update of l
   )
   update delivery.lanes l set look_at = least(l.look_at, kernel.now()), version = l.version + 1
     from lane
    where l.destination_id = lane.destination_id
   returning l.destination_id`,
)

// Drops what is queued before a destination that was deleted or disabled, a piece at a time, and tells the events. What is in flight
// is left to its worker or its lease. A lane is closed by the look that finds nothing, not by the one that takes the last.
const closeLanes = statement(
  'delivery.closeLanes',
  `with moment as materialized (select kernel.now() as now),
   lane as materialized (
     select l.destination_id, l.version from delivery.lanes l, moment m
      where l.state = 'CLOSING' and l.look_at <= m.now order by l.look_at limit 16
   ),
   due as materialized (
     select q.* from lane l cross join lateral (
       select q.event_id, q.destination_id, q.attempt_no, q.created_at
         from delivery.queue q
        where q.destination_id = l.destination_id and (q.lease_until is null or q.lease_until <= clock_timestamp())
        limit $1::integer
          for update skip locked
     ) q limit $1::integer
   ),
   gone as (
     delete from delivery.queue q using due d where q.event_id = d.event_id and q.destination_id = d.destination_id
   ),
   recorded as (
     insert into delivery.deliveries (event_id, destination_id, state, attempt_no, created_at, ended_at)
     select d.event_id, d.destination_id, 'CLOSED', d.attempt_no, d.created_at, m.now from due d, moment m
     on conflict (event_id, destination_id) do update
        set state = excluded.state, attempt_no = excluded.attempt_no, created_at = excluded.created_at, ended_at = excluded.ended_at
   ),
   locked as materialized (
     select o.event_id, o.open_count - t.ended as open, o.failed_count + t.ended as failed, o.attempt_count
       from (select d.event_id, count(*) as ended from due d group by d.event_id) t
       join delivery.outbox o on o.event_id = t.event_id
      order by o.event_id
        for update of o
   ),
   counted as (
     update delivery.outbox o set open_count = k.open, failed_count = k.failed from locked k where k.open > 0 and o.event_id = k.event_id
   ),
   over as (
     delete from delivery.outbox o using locked k where k.open = 0 and o.event_id = k.event_id
   ),
   told as (
     insert into delivery.outcomes (event_id, status, attempt_count, updated_at)
     select k.event_id, 'EXHAUSTED', k.attempt_count, m.now from locked k, moment m where k.open = 0
     on conflict (event_id) do update
        set status = excluded.status, attempt_count = excluded.attempt_count, updated_at = excluded.updated_at, delivered_at = null
   ),
   held as materialized (
     select l.destination_id, exists (select from delivery.queue q where q.destination_id = l.destination_id) as left,
            exists (select from due d where d.destination_id = l.destination_id) as taken
       from lane l join delivery.lanes s on s.destination_id = l.destination_id and s.version = l.version
      where (select count(*) from locked) >= 0
      order by l.destination_id
        for update of s skip locked
   )
   update delivery.lanes l
      set state = case when h.left then 'CLOSING' else 'CLOSED' end,
          look_at = case when h.taken then m.now when h.left then m.now + interval '1 second' else 'infinity' end
     from held h, moment m
    where l.destination_id = h.destination_id
   returning h.taken`,
)

/** One text for each. */
export const nameOf = (held: Held): string => `${held.event_id} ${held.destination_id} ${held.fence}`

const columns = (held: readonly Held[]) => [
  held.map((row) => row.event_id),
  held.map((row) => row.destination_id),
  held.map((row) => row.fence),
]

const iso = (date: Date | null | undefined): string | null => date?.toISOString() ?? null

const closedAtOnceMax = 1_000

export const settleStore = {
  /** Resolves to those that were still ours; of the others nothing is stored. */
  settle: (on: Queries, settlements: readonly Settlement[], changes: readonly LaneChange[]) => {
    const attempts = settlements.map(({ attempt }) => attempt)
    return on.run<Held>(settle, [
      ...columns(settlements.map(({ held }) => held)),
      settlements.map(({ end }) => end),
      settlements.map(({ runAt }) => iso(runAt)),
      attempts.map((attempt) => attempt?.id ?? null),
      attempts.map((attempt) => iso(attempt?.startedAt)),
      attempts.map((attempt) => attempt?.durationMs ?? null),
      attempts.map((attempt) => attempt?.status ?? null),
      attempts.map((attempt) => attempt?.errorClass ?? null),
      attempts.map((attempt) => attempt?.errorMessage ?? null),
      attempts.map((attempt) => attempt?.owner ?? null),
      attempts.map((attempt) => (attempt === null ? null : JSON.stringify(attempt.requestHeaders))),
      attempts.map((attempt) => attempt?.answer ?? null),
      changes.map((change) => change.destinationId),
      changes.map((change) => change.slow),
      changes.map((change) => iso(change.failingSince)),
      changes.map((change) => change.disable?.reason ?? null),
      changes.map((change) => iso(change.disable?.failingBefore)),
    ])
  },

  /** Resolves to those that are still ours. */
  renew: (on: Queries, held: readonly Held[], leaseMs: number) =>
    on.run<Held>(renew, [...columns(held), leaseMs]),

  giveBack: (on: Queries, held: readonly Held[]) => on.run(giveBack, columns(held)),

  /** True while it took something, so that there may be more. */
  closeLanes: async (on: Queries) => (await on.run<{ taken: boolean }>(closeLanes, [closedAtOnceMax])).some(({ taken }) => taken),
}
