import { perLevel, type Principal } from '../identity/principal.ts'
import { statement, type Queries } from '../kernel/db.ts'
import type { EventRecord } from './store-event-detail.ts'
import { openDeliveries } from './store-events.ts'

/** A destination that somebody wants an event sent to, deleted ones too. */
export interface Target {
  readonly id: string
  readonly owner_id: string
  readonly state: 'ENABLED' | 'DISABLED'
  readonly deleted: boolean
}

const findTarget = perLevel(
  'delivery.findTarget',
  (entity) => `
   select d.id, d.owner_id, d.state, d.deleted_at is not null as deleted
     from delivery.destinations d where d.id = $2 and d.${entity} = $1 and d.dialect = $3`,
)

// As the dispatch finds them, of those that the principal sees.
const listSubscribed = perLevel(
  'delivery.listSubscribed',
  (entity) => `
   select d.id
     from unnest($2::uuid[]) as owner (id)
    cross join lateral (
      select d.id
        from delivery.destinations d
       where d.owner_id = owner.id and d.${entity} is not distinct from $1 and d.dialect = $3 and d.deleted_at is null and d.state = 'ENABLED' and $4 = any (d.types)
      offset 0
    ) d
    order by d.id`,
)

const listEarlier = perLevel(
  'delivery.listEarlier',
  (entity) => `
   select d.id
     from (
       select w.destination_id from ${openDeliveries('$2')} w
       union
       select o.destination_id from delivery.deliveries o where o.event_id = $2
     ) x
    cross join lateral (
      select d.id from delivery.destinations d
       where d.id = x.destination_id and d.${entity} = $1 and d.deleted_at is null and d.state = 'ENABLED'
      offset 0
    ) d
    order by d.id`,
)

// A resend takes five statements in one transaction: wait for other resends of the event, hold what is open, in hands and in the queue, read
// what is over, queue. In one, a partitioned table would be read beside rows that are locked (see the migration). While the open ones are held
// nobody settles them, so what is read as over is. They are held in the order in which settling holds them.
//
// Without the first, of two resends that find nothing open one has the lane and waits for the row that the other has just made, and a third
// has that row and waits for the lane.
const takeTurn = statement(
  'delivery.takeTurn',
  `select from (select pg_advisory_xact_lock(hashtextextended('delivery.resend ' || $1::uuid, 0))) turn`,
)

const holdHands = statement(
  'delivery.holdHands',
  `select h.id, h.destination_id
     from (
       select h.id from delivery.hands h
        where h.first_event_id <= $1 and h.last_event_id >= $1 and $1 = any (h.event_ids)
        order by h.id
     ) o
    cross join lateral (
      select h.id, h.destination_id from delivery.hands h where h.id = o.id for update
    ) h`,
)

const holdQueued = statement(
  'delivery.holdQueued',
  `select q.destination_id
     from (select q.id from delivery.queue q where q.event_id = $1 order by q.id) o
    cross join lateral (select q.destination_id from delivery.queue q where q.id = o.id for update) q`,
)

const listEnded = statement(
  'delivery.listEnded',
  `select d.destination_id, d.attempt_count
     from unnest($2::uuid[]) as r (destination_id)
    cross join lateral (
      select d.destination_id, d.attempt_count from delivery.deliveries d
       where d.event_id = $1 and d.destination_id = r.destination_id
      offset 0
    ) d`,
)

// The lane decides: one that is not open takes nothing, whatever the destination seemed to be a moment ago. An attempt in flight is left to
// its worker, and what is open of a hand to whoever takes that over, even where its lease has run out: queued beside the hand, it could end
// by both. The resend joins a dispatch that is going on, so that the status of the event tells of both.
const resend = statement(
  'delivery.resend',
  `with moment as materialized (select kernel.now() as now),
   dispatch as materialized (
     select coalesce(greatest(
              (select max(q.dispatched_at) from delivery.queue q where q.event_id = $1),
              (select max(h.dispatched_at) from delivery.hands h where h.id = any ($4::bigint[]))), m.now) as at
       from moment m
   ),
   lane as materialized (
     select r.attempts_before, l.*
       from (select * from unnest($2::uuid[], $3::integer[]) as r (destination_id, attempts_before) order by r.destination_id) r
      cross join lateral (
        select l.destination_id, l.look_at, l.head_at, l.version
          from delivery.lanes l where l.destination_id = r.destination_id and l.state || '' = 'OPEN' for update
      ) l
   ),
   queued as (
     insert into delivery.queue as q (event_id, destination_id, attempts_before, run_at, dispatched_at)
     select $1, l.destination_id, l.attempts_before, m.now, d.at from lane l, moment m, dispatch d
      where l.destination_id <> all ($5::uuid[])
     on conflict (event_id, destination_id) do update
        set attempts_before = q.attempts_before + q.attempt_no, attempt_no = 0, setback_count = 0, run_at = excluded.run_at, lease_until = null
      where q.lease_until is null or q.lease_until <= clock_timestamp()
   ),
   moved as (
     insert into delivery.lanes (destination_id, look_at, head_at, version)
     select l.destination_id, least(l.look_at, m.now), least(l.head_at, m.now), l.version + 1 from lane l, moment m
     on conflict (destination_id) do update set look_at = excluded.look_at, head_at = excluded.head_at, version = excluded.version
   )
   select l.destination_id from lane l`,
)

const ids = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id)

export const resendStore = {
  /** One that the principal sees. */
  target: async (on: Queries, principal: Principal, id: string, dialect: string) =>
    (await on.run<Target>(findTarget[principal.level], [principal.entityId, id, dialect]))[0],

  /** ENABLED ones of the event's entity and of those above it that subscribe to its type now. */
  subscribed: async (on: Queries, principal: Principal, { dialect, type, ...event }: EventRecord) => {
    const owners = [event.branch_id, event.merchant_id, event.partner_id]
    return ids(
      await on.run<{ id: string }>(listSubscribed[principal.level], [principal.entityId, owners, dialect, type]),
    )
  },

  /** ENABLED ones that this event was queued for before. */
  earlier: async (on: Queries, principal: Principal, event: EventRecord) =>
    ids(await on.run<{ id: string }>(listEarlier[principal.level], [principal.entityId, event.id])),

  /** In a transaction. Resolves to how many of these destinations took it. */
  async resend(tx: Queries, eventId: string, destinationIds: readonly string[]): Promise<number> {
    await tx.run(takeTurn, [eventId])
    const hands = await tx.run<{ id: bigint; destination_id: string }>(holdHands, [eventId])
    const queued = await tx.run<{ destination_id: string }>(holdQueued, [eventId])
    const asked = new Set([...destinationIds, ...hands.map((hand) => hand.destination_id)])
    const ended = await tx.run<{ destination_id: string; attempt_count: number }>(listEnded, [eventId, [...asked]])
    const attemptsOf = new Map(ended.map((row) => [row.destination_id, row.attempt_count]))
    const attemptsBefore = destinationIds.map((id) => attemptsOf.get(id) ?? 0)
    const left = new Set([...queued, ...ended].map((row) => row.destination_id))
    const inHands = hands.filter((hand) => !left.has(hand.destination_id))
    const resent = await tx.run(resend, [
      eventId,
      destinationIds,
      attemptsBefore,
      inHands.map(({ id }) => id),
      inHands.map((hand) => hand.destination_id),
    ])
    return resent.length
  },
}
