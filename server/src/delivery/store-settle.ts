import { arrayOf, numbersOf, sparseColumnOf, textsOf } from '../kernel/array.ts'
import { statement, type Queries } from '../kernel/db.ts'
import type { Held, HeldDelivery } from './held.ts'

/** One attempt that counts, as it is kept. */
export interface AttemptRow {
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
export interface SettledDelivery {
  readonly held: HeldDelivery
  readonly end: 'DELIVERED' | 'EXHAUSTED' | null
  readonly runAt: Date | null
  readonly attempt: AttemptRow | null
}

/** What attempts taught about a destination. What is null stays as it is. */
export interface LaneChange {
  readonly destinationId: string
  /** Where they went: but for `slow`, only if this is still its URL. */
  readonly url: string
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

/** A destination that was open or paused, and that results disabled. */
export interface Disabled {
  readonly destination_id: string
  readonly owner_id: string
  readonly cause: 'gone' | 'failing'
}

/** What became of a batch of results. */
export interface Stored {
  /** Those that were not ours any more, of which nothing is stored. */
  readonly lost: readonly Held[]
  readonly disabled: readonly Disabled[]
}

// A row of the queue is ours while it has our fence and a lease: without one its result was stored before, and only the answer to that
// was lost.
//
// Everything that a batch of results means, in one statement: which of them are still ours, the deliveries, their attempts and the lanes.
// Whatever it shares with others (a heartbeat, a resend, another worker's results for a lane) it locks in one order, first hands, then queue,
// then lanes and destinations, each by id, so no circle of waits can close. That is why results that end deliveries and results that leave
// them waiting are stored apart: rows are deleted without being locked before, which saves a write for each. An event's status needs no row
// of its own: it is read off its deliveries, so nobody waits for anybody who settles another delivery of the same event.
const results = (by: 'fence integer' | 'event_id uuid') => `
       unnest($1::bigint[], $2::${by.split(' ')[1]}[], $3::text[], $4::timestamptz[], $5::float8[], $6::integer[],
              $7::integer[], $8::text[], $9::text[], $10::text[], $11::json[], $12::text[])
         as r (id, ${by.split(' ')[0]}, ended, run_at, started_at, duration_ms, status, error_class, error_message, owner, request_headers, answer)`

const attemptColumns = `to_timestamp(r.started_at / 1000) as started_at, r.duration_ms, r.status, r.error_class, r.error_message, r.owner,
            r.request_headers, r.answer`

// Of a result with its row `q` of the queue, which is null where it is not ours any more.
const heldColumns = `
            r.id, r.fence, q.event_id, q.destination_id, q.dispatched_at, q.ended_before, r.ended, r.run_at,
            q.attempts_before + q.attempt_no + (r.started_at is not null)::integer as attempt_count,
            ${attemptColumns}`

// What is the same of all, given `held`.
const keptAndLearnt = `
   kept as (
     insert into delivery.attempts (event_id, destination_id, number, started_at, duration_ms, status, error_class, error_message, owner,
       request_headers, answer)
     select h.event_id, h.destination_id, h.attempt_count, h.started_at, h.duration_ms, h.status, h.error_class, h.error_message,
            h.owner, h.request_headers, h.answer
       from held h where h.started_at is not null and h.event_id is not null
   ),
   changed as materialized (
     select x.destination_id, min(x.run_at) as run_at, bool_or(x.well) as well, bool_or(x.slow) as slow,
            min(x.failing_since) as failing_since, max(x.disable) as disable, max(x.url) as url, max(x.failing_before) as failing_before,
            bool_or(x.disable is not null and x.failing_before is null) as at_once
       from (
         select h.destination_id, h.run_at, h.ended is not distinct from 'DELIVERED' as well, null::boolean as slow, null::timestamptz as failing_since,
                null::text as disable, null::text as url, null::timestamptz as failing_before
           from held h where h.event_id is not null
         union all
         select c.destination_id, null, false, c.slow, c.failing_since, c.disable, c.url, c.failing_before
           from unnest($13::uuid[], $14::boolean[], $15::timestamptz[], $16::text[], $17::text[], $18::timestamptz[])
                  as c (destination_id, slow, failing_since, disable, url, failing_before)
       ) x
      group by x.destination_id
   ),
   lane as materialized (
     select l.destination_id, l.version, l.state, c.disable, c.at_once, d.owner_id, coalesce(c.slow, l.slow) as slow,
            least(l.look_at, c.run_at) as look_at, least(l.head_at, c.run_at) as head_at,
            case when not c.well then coalesce(l.failing_since, case when d.url = c.url then c.failing_since end) end as failing_since,
            d.url = c.url and (c.at_once or (c.disable is not null and not c.well and l.failing_since <= c.failing_before)) as disabling
       from (select * from changed order by destination_id) c
      cross join lateral (
        select * from delivery.lanes l
         where l.destination_id = c.destination_id
           and (num_nonnulls(c.run_at, c.slow, c.failing_since, c.disable) > 0 or (c.well and l.failing_since is not null))
           for update
      ) l
       -- Held after its lane, so as it is now.
       left join lateral (
         select d.url, d.owner_id from delivery.destinations d where d.id = c.destination_id and num_nonnulls(c.failing_since, c.disable) > 0 for no key update
       ) d on true
   ),
   moved as (
     insert into delivery.lanes (destination_id, version, state, slow, failing_since, look_at, head_at)
     select c.destination_id, c.version + 1, case when c.disabling and c.state in ('OPEN', 'PAUSED') then 'CLOSING' else c.state end, c.slow,
            c.failing_since, case when c.disabling then m.now else c.look_at end, c.head_at
       from lane c, moment m
     on conflict (destination_id) do update
        set version = excluded.version, state = excluded.state, slow = excluded.slow, failing_since = excluded.failing_since,
            look_at = excluded.look_at, head_at = excluded.head_at
   ),
   disabled as (
     update delivery.destinations d
        set state = 'DISABLED', updated_at = (select now from moment), disabled_at = (select now from moment),
            disabled_reason = (array(select c.disable from lane c where c.disabling order by c.destination_id))
              [array_position(array(select c.destination_id from lane c where c.disabling order by c.destination_id), d.id)]
      where exists (select from lane c where c.disabling)
        and d.id = any (array(select c.destination_id from lane c where c.disabling)) and d.deleted_at is null
   )
   select h.id, h.fence, null::uuid as destination_id, null::uuid as owner_id, null as cause from held h where h.event_id is null
   union all
   select null, null, c.destination_id, c.owner_id, case when c.at_once then 'gone' else 'failing' end
     from lane c where c.disabling and c.state in ('OPEN', 'PAUSED')`

// Rows are found by the array, in the order of ids: a condition that `is true` is asked of each, and leads to no other way to find them. The
// join is a full one because PostgreSQL never makes those by a nested loop, which for 500 results takes 250,000 steps. The end of a delivery
// that has not ended before is inserted without looking for an earlier one, which takes a tenth of the statement.
const settleEnded = statement(
  'delivery.settleEnded',
  `with moment as materialized (select kernel.now() as now),
   gone as (
     delete from delivery.queue q
      where q.id = any ($1::bigint[]) and q.lease_until is not null
        and ((q.id, q.fence) in (select r.id, r.fence from unnest($1::bigint[], $2::integer[]) as r (id, fence))) is true
     returning q.*
   ),
   held as materialized (
     select${heldColumns}
       from gone q full join${results('fence integer')} on r.id = q.id
   ),
   recorded as (
     insert into delivery.deliveries (event_id, destination_id, state, attempt_count, dispatched_at, ended_at)
     select h.event_id, h.destination_id, h.ended, h.attempt_count, h.dispatched_at, m.now
       from held h, moment m where not h.ended_before
   ),
   recorded_again as (
     insert into delivery.deliveries (event_id, destination_id, state, attempt_count, dispatched_at, ended_at)
     select h.event_id, h.destination_id, h.ended, h.attempt_count, h.dispatched_at, m.now
       from held h, moment m where h.ended_before
     on conflict (event_id, destination_id) do update
        set state = excluded.state, attempt_count = excluded.attempt_count, dispatched_at = excluded.dispatched_at, ended_at = excluded.ended_at
   ),${keptAndLearnt}`,
)

// After a setback an earlier end is looked for in any case: it could be what the result met.
const settleWaiting = statement(
  'delivery.settleWaiting',
  `with moment as materialized (select kernel.now() as now),
   held as materialized (
     select${heldColumns}, q.attempt_no + (r.started_at is not null)::integer as attempt_no,
            case when r.started_at is null then q.setback_count + 1 else 0 end as setback_count
       from (select * from${results('fence integer')} order by r.id) r
       left join lateral (
         select * from delivery.queue q where q.id = r.id and q.fence = r.fence and q.lease_until is not null for update
       ) q on true
   ),
   waiting as (
     insert into delivery.queue (id, event_id, destination_id, ended_before, dispatched_at, attempt_no, setback_count, run_at)
     select h.id, h.event_id, h.destination_id, h.ended_before or h.setback_count > 0, h.dispatched_at, h.attempt_no, h.setback_count, h.run_at
       from held h where h.event_id is not null
     on conflict (id) do update
        set ended_before = excluded.ended_before, attempt_no = excluded.attempt_no, setback_count = excluded.setback_count,
            run_at = excluded.run_at, lease_until = null
   ),${keptAndLearnt}`,
)

// Results of what is in hands, of either kind: the hands are locked, and what the last of them came for is over. Its row says by itself that
// they are ours. Where it is not known whether they were stored, the caller holds the hands and leaves those out that were.
const settleHanded = statement(
  'delivery.settleHanded',
  `with moment as materialized (select kernel.now() as now),
   hand as materialized (
     select h.*
       from (select distinct r.id from unnest($1::bigint[]) as r (id) order by r.id) r
      cross join lateral (
        select h.id, h.destination_id, h.dispatched_at from delivery.hands h where h.id = r.id for update
      ) h
   ),
   gone as (
     delete from delivery.hands h where h.id = any ($19::bigint[])
   ),
   held as materialized (
     select r.id, 0 as fence, case when h.id is not null then r.event_id end as event_id, h.destination_id, h.dispatched_at, r.ended, r.run_at,
            (r.started_at is not null)::integer as attempt_count,
            ${attemptColumns}
       from${results('event_id uuid')}
       full join hand h on h.id = r.id
   ),
   recorded as (
     insert into delivery.deliveries (event_id, destination_id, state, attempt_count, dispatched_at, ended_at)
     select h.event_id, h.destination_id, h.ended, h.attempt_count, h.dispatched_at, m.now
       from held h, moment m where h.event_id is not null and h.ended is not null
   ),
   waiting as (
     insert into delivery.queue (event_id, destination_id, ended_before, dispatched_at, attempt_no, setback_count, run_at)
     select h.event_id, h.destination_id, h.started_at is null, h.dispatched_at, h.attempt_count, (h.started_at is null)::integer, h.run_at
       from held h where h.event_id is not null and h.ended is null
     on conflict (event_id, destination_id) do nothing
   ),${keptAndLearnt}`,
)

// Leases of attempts that take longer, in the same order as settling.
const renew = statement(
  'delivery.renew',
  `with held as materialized (
     select q.*
       from (select * from unnest($1::bigint[], $2::integer[]) as r (id, fence) order by r.id) r
      cross join lateral (select * from delivery.queue q where q.id = r.id and q.fence = r.fence and q.lease_until is not null for update) q
   )
   insert into delivery.queue (id, event_id, destination_id, run_at, dispatched_at, lease_until)
   select h.id, h.event_id, h.destination_id, h.run_at, h.dispatched_at, clock_timestamp() + $3::integer * interval '1 millisecond' from held h
   on conflict (id) do update set lease_until = excluded.lease_until
   returning id, fence`,
)

// Work that is given back unfinished is due at once, for anybody.
const giveBack = statement(
  'delivery.giveBack',
  `with held as materialized (
     select q.*
       from (select * from unnest($1::bigint[], $2::integer[]) as r (id, fence) order by r.id) r
      cross join lateral (select * from delivery.queue q where q.id = r.id and q.fence = r.fence and q.lease_until is not null for update) q
   ),
   given as (
     insert into delivery.queue (id, event_id, destination_id, run_at, dispatched_at)
     select h.id, h.event_id, h.destination_id, h.run_at, h.dispatched_at from held h
     on conflict (id) do update set lease_until = null
   ),
   lane as materialized (
     select l.*
       from (select distinct h.destination_id from held h order by h.destination_id) h
      cross join lateral (select * from delivery.lanes l where l.destination_id = h.destination_id for update) l
   )
   insert into delivery.lanes (destination_id, look_at, version)
   select l.destination_id, least(l.look_at, kernel.now()), l.version + 1 from lane l
   on conflict (destination_id) do update set look_at = excluded.look_at, version = excluded.version`,
)

// Drops what is queued before a destination that was deleted or disabled, a piece at a time, as CLOSED. What is in flight
// is left to its worker or its lease. A lane is closed by the look that finds nothing, not by the one that takes the last.
const closeLanes = statement(
  'delivery.closeLanes',
  `with moment as materialized (select kernel.now() as now),
   lane as materialized (
     select l.destination_id, l.version from delivery.lanes l
      where l.state = 'CLOSING' and l.look_at <= (select now from moment) order by l.look_at limit 16
   ),
   due as materialized (
     select q.*
       from lane l
      cross join lateral (
        select * from delivery.queue q
         where q.destination_id = l.destination_id and (q.lease_until is null or q.lease_until <= clock_timestamp())
         order by q.run_at
         limit $1::integer
           for update skip locked
      ) q
      limit $1::integer
   ),
   gone as (
     delete from delivery.queue q where q.id = any (array(select d.id from due d))
   ),
   recorded as (
     insert into delivery.deliveries (event_id, destination_id, state, attempt_count, dispatched_at, ended_at)
     select d.event_id, d.destination_id, 'CLOSED', d.attempts_before + d.attempt_no, d.dispatched_at, m.now from due d, moment m
     on conflict (event_id, destination_id) do update
        set state = excluded.state, attempt_count = excluded.attempt_count, dispatched_at = excluded.dispatched_at, ended_at = excluded.ended_at
   ),
   held as materialized (
     select l.destination_id, exists (select from due d where d.destination_id = l.destination_id) as taken,
            exists (select from delivery.queue q where q.destination_id = l.destination_id order by q.run_at limit 1)
              or exists (select from delivery.hands h where h.destination_id = l.destination_id) as left
       from (select * from lane where (select count(*) from due) >= 0 order by destination_id) l
      cross join lateral (
        select from delivery.lanes s where s.destination_id = l.destination_id and s.version = l.version for update skip locked
      ) s
   ),
   looked as (
     insert into delivery.lanes (destination_id, state, look_at)
     select h.destination_id, case when h.left then 'CLOSING' else 'CLOSED' end,
            case when h.taken then m.now when h.left then m.now + interval '1 second' else 'infinity' end
       from held h, moment m
     on conflict (destination_id) do update set state = excluded.state, look_at = excluded.look_at
   )
   select case when exists (select from due) then 0
               when (select count(*) from lane) > (select count(*) from held) then 5
               when exists (select from held h where h.left) then 1000
               else 60000 end as look_in_ms`,
)

const columns = (held: readonly Held[]) => [
  numbersOf('bigint', held, ({ id }) => id),
  numbersOf('integer', held, ({ fence }) => fence),
]

const columnsOfResults = (settlements: readonly SettledDelivery[], changes: readonly LaneChange[]) => [
  sparseColumnOf(settlements, ({ end }) => end),
  sparseColumnOf(settlements, ({ runAt }) => iso(runAt)),
  numbersOf('float8', settlements, ({ attempt }) => attempt?.startedAt.getTime() ?? null),
  numbersOf('integer', settlements, ({ attempt }) => attempt?.durationMs ?? null),
  numbersOf('integer', settlements, ({ attempt }) => attempt?.status ?? null),
  sparseColumnOf(settlements, ({ attempt }) => attempt?.errorClass ?? null),
  sparseColumnOf(settlements, ({ attempt }) => attempt?.errorMessage ?? null),
  sparseColumnOf(settlements, ({ attempt }) => attempt?.owner ?? null),
  textsOf('json', settlements, ({ attempt }) => attempt && JSON.stringify(attempt.requestHeaders)),
  textsOf('text', settlements, ({ attempt }) => attempt?.answer ?? null),
  arrayOf(changes.map((change) => change.destinationId)),
  arrayOf(changes.map((change) => change.slow)),
  arrayOf(changes.map((change) => iso(change.failingSince))),
  arrayOf(changes.map((change) => change.disable?.reason ?? null)),
  arrayOf(changes.map((change) => change.url)),
  arrayOf(changes.map((change) => iso(change.disable?.failingBefore))),
]

const iso = (date: Date | null | undefined): string | null => date?.toISOString() ?? null

const closedAtOnceMax = 1_000

type StoredRow =
  { readonly id: bigint; readonly fence: number; readonly destination_id: null } | (Disabled & { readonly id: null })

function storedOf(rows: readonly StoredRow[]): Stored {
  const [lost, disabled]: [Held[], Disabled[]] = [[], []]
  for (const row of rows) {
    if (row.id !== null) lost.push({ id: row.id, fence: row.fence })
    else disabled.push({ destination_id: row.destination_id, owner_id: row.owner_id, cause: row.cause })
  }
  return { lost, disabled }
}

export const settleStore = {
  /** Stores results that all end their deliveries, or none of them. */
  settle: async (on: Queries, settlements: readonly SettledDelivery[], changes: readonly LaneChange[]) =>
    storedOf(
      await on.run<StoredRow>(settlements[0]?.end == null ? settleWaiting : settleEnded, [
        ...columns(settlements.map(({ held }) => held)),
        ...columnsOfResults(settlements, changes),
      ]),
    ),

  /**
   * The same of deliveries in hands, whatever became of them. `over` are hands of which nothing is open then: their results are among these, or
   * the caller holds them. Lost are hands then.
   */
  settleHanded: async (
    on: Queries,
    settlements: readonly SettledDelivery[],
    changes: readonly LaneChange[],
    over: readonly bigint[],
  ) =>
    storedOf(
      await on.run<StoredRow>(settleHanded, [
        numbersOf('bigint', settlements, ({ held }) => held.id),
        arrayOf(settlements.map(({ held }) => held.event_id)),
        ...columnsOfResults(settlements, changes),
        arrayOf(over),
      ]),
    ),

  /** Resolves to those that are still ours. */
  renew: (on: Queries, held: readonly Held[], leaseMs: number) => on.run<Held>(renew, [...columns(held), leaseMs]),

  giveBack: (on: Queries, held: readonly Held[]) => on.run(giveBack, columns(held)),

  /** Resolves to in how many ms there is more to close: at once while it took something, soon where somebody held a lane. */
  async closeLanes(on: Queries): Promise<number> {
    const [row] = await on.run<{ look_in_ms: number }>(closeLanes, [closedAtOnceMax])
    return row?.look_in_ms ?? 0
  },
}
