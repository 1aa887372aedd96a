import { arrayOf, elementsOf } from '../kernel/array.ts'
import { statement, type Db, type Queries } from '../kernel/db.ts'
import type { Hand, Held, HeldDelivery } from './held.ts'
import { destinationWhere, laneOf, type ClaimedRow, type LaneRow, type Line, type Taken } from './store-claim.ts'

/** Deliveries that their dispatch made ours, one hand's after the other's: arrays, as PostgreSQL writes and reads them. */
export interface Handed {
  readonly count: number
  readonly handIds: string
  /** Of each hand. */
  readonly destinationIds: string
  /** How many are in each. */
  readonly counts: string
  readonly eventIds: string
  /** Business time of the dispatch, in ms since 1970. */
  readonly atMs: number
}

// What a claim tells besides, of deliveries that are ours from their dispatch on. Not with the dispatch: the events are partitioned, and the
// dispatch locks.
const readHanded = statement(
  'delivery.readHanded',
  `select e.id, e.type, e.body from delivery.events e where e.id = any ($1::uuid[]) and e.id >= $2 and e.id <= $3`,
)

const readLanes = statement(
  'delivery.readLanes',
  `select c.destination_id, d.*
     from (select kernel.now() as now) t
    cross join unnest($1::uuid[]) as c (destination_id)
    cross join lateral (${destinationWhere('d.id = c.destination_id')}
    ) d`,
)

const renew = statement(
  'delivery.renewHands',
  `with held as materialized (
     select h.id
       from (select * from unnest($1::bigint[]) as r (id) order by r.id) r
      cross join lateral (select h.id from delivery.hands h where h.id = r.id for update) h
   )
   update delivery.hands h set lease_until = clock_timestamp() + $2::integer * interval '1 millisecond'
    where h.id = any (array(select n.id from held n))
   returning h.id, 0 as fence`,
)

// What leaves a hand for the queue is due since its dispatch, for anybody; where the lease has run out, as a row whose lease has.
const queue = statement(
  'delivery.queueHanded',
  `with moment as materialized (select kernel.now() as now),
   hand as materialized (
     select h.*
       from (select r.id from unnest($1::bigint[] || $3::bigint[]) as r (id) group by r.id order by r.id) r
      cross join lateral (select * from delivery.hands h where h.id = r.id for update) h
   ),
   gone as (
     delete from delivery.hands h where h.id = any (array(select n.id from hand n where n.id = any ($3::bigint[])))
   ),
   queued as (
     insert into delivery.queue (event_id, destination_id, run_at, dispatched_at, lease_until)
     select r.event_id, h.destination_id, h.dispatched_at, h.dispatched_at, case when $4::boolean then h.lease_until end
       from (select * from unnest($1::bigint[], $2::uuid[]) as r (id, event_id) order by r.event_id) r
       full join hand h on h.id = r.id
      where h.id is not null and r.id is not null
     on conflict (event_id, destination_id) do nothing
   ),
   lane as materialized (
     select l.destination_id, l.look_at, l.head_at, l.version, h.dispatched_at
       from (select h.destination_id, min(h.dispatched_at) as dispatched_at from hand h group by h.destination_id order by h.destination_id) h
      cross join lateral (select * from delivery.lanes l where l.destination_id = h.destination_id for update) l
   )
   insert into delivery.lanes (destination_id, look_at, head_at, version)
   select l.destination_id, least(l.look_at, m.now), least(l.head_at, l.dispatched_at), l.version + 1 from lane l, moment m
   on conflict (destination_id) do update set look_at = excluded.look_at, head_at = excluded.head_at, version = excluded.version`,
)

const nextExpiry = statement(
  'delivery.nextExpiry',
  'select extract(epoch from min(h.lease_until) - clock_timestamp())::float8 * 1000 as in_ms from delivery.hands h',
)

// Taking over takes three statements in one transaction: hold the hands, read what is open of them, queue that. In one, a partitioned table
// would be read beside rows that are locked (see the migration).
const holdExpired = statement(
  'delivery.holdExpired',
  `select h.id from delivery.hands h where h.lease_until <= clock_timestamp() order by h.id limit $1 for update skip locked`,
)

const holdAll = statement(
  'delivery.holdAll',
  `select h.id
     from (select r.id from unnest($1::bigint[]) as r (id) group by r.id order by r.id) r
    cross join lateral (select h.id from delivery.hands h where h.id = r.id for update) h`,
)

const listOpen = statement(
  'delivery.listOpen',
  `select h.id, e.id as event_id
     from unnest($1::bigint[]) as r (id)
    cross join lateral (select * from delivery.hands h where h.id = r.id offset 0) h
    cross join unnest(h.event_ids) as e (id)
    where not exists (select from delivery.deliveries d where d.event_id = e.id and d.destination_id = h.destination_id offset 0)
      and not exists (
        select from delivery.queue q where q.event_id = e.id and q.destination_id is not distinct from h.destination_id offset 0
      )`,
)

const takenOverMax = 100
// Somebody is at it.
const lockedMs = 5

interface HandedEvent {
  readonly id: string
  readonly type: string
  readonly body: string
}

export const handStore = {
  /** What a dispatch handed over: first attempts. */
  async read(on: Queries, { handIds, destinationIds, counts, eventIds, atMs }: Handed): Promise<Taken> {
    const ids = elementsOf(eventIds)
    const [events, lanes] = await Promise.all([
      on.run<HandedEvent>(readHanded, [eventIds, ...endsOf(ids)]),
      on.run<Omit<LaneRow, 'secrets'> & Line<Pick<LaneRow, 'secrets'>>>(readLanes, [destinationIds]),
    ])
    const eventOf = new Map(events.map((event) => [event.id, event]))
    const [handId, count] = [elementsOf(handIds), elementsOf(counts).map(Number)]
    const deliveries: ClaimedRow[] = []
    let at = 0
    for (const [place, destination_id] of elementsOf(destinationIds).entries()) {
      const end = at + (count[place] ?? 0)
      const hand: Hand = { id: BigInt(handId[place] ?? 0), fence: 0, open: 0 }
      for (; at < end; at += 1) {
        // Retention may have dropped it meanwhile.
        const event = eventOf.get(ids[at] ?? '')
        if (event === undefined) continue
        hand.open += 1
        deliveries.push({
          id: hand.id,
          fence: 0,
          hand,
          event_id: event.id,
          destination_id,
          attempt_no: 0,
          setback_count: 0,
          type: event.type,
          body: event.body,
          expired: false,
          claimed_at_ms: atMs,
        })
      }
    }
    return { deliveries, lanes: new Map(lanes.map((lane) => [lane.destination_id, laneOf(lane)])) }
  },

  /** Resolves to those that are still ours. */
  renew: (on: Queries, hands: readonly Held[], leaseMs: number) =>
    on.run<Held>(renew, [arrayOf(hands.map(({ id }) => id)), leaseMs]),

  /** Queues deliveries that are in hands, for anybody; `over` are hands of which nothing is open then. */
  giveBack: (on: Queries, deliveries: readonly HeldDelivery[], over: readonly bigint[]) =>
    on.run(queue, [
      arrayOf(deliveries.map(({ id }) => id)),
      arrayOf(deliveries.map(({ event_id }) => event_id)),
      arrayOf(over),
      false,
    ]),

  /**
   * Of deliveries that may have left their hands already, those that have: an end or a retry of theirs is stored. In a transaction, which holds
   * the hands from here on. What was in a hand that is gone is not told.
   */
  async left(tx: Queries, deliveries: readonly HeldDelivery[]): Promise<ReadonlySet<HeldDelivery>> {
    const held = new Set(
      (await tx.run<{ id: bigint }>(holdAll, [arrayOf(deliveries.map(({ id }) => id))])).map(({ id }) => id),
    )
    const listed = await tx.run<{ id: bigint; event_id: string }>(listOpen, [arrayOf([...held])])
    const open = new Set(listed.map(({ id, event_id }) => `${id} ${event_id}`))
    return new Set(deliveries.filter(({ id, event_id }) => held.has(id) && !open.has(`${id} ${event_id}`)))
  },

  /** Queues what is open of hands whose lease has run out. Resolves to in how many ms to look again: the first of the others has then. */
  async takeOver(db: Db): Promise<number> {
    const [next] = await db.run<{ in_ms: number | null }>(nextExpiry, [])
    const inMs = next?.in_ms ?? Infinity
    if (inMs > 0) return inMs
    return db.tx(async (tx) => {
      const hands = arrayOf((await tx.run<{ id: bigint }>(holdExpired, [takenOverMax])).map(({ id }) => id))
      if (hands === '{}') return lockedMs
      const open = await tx.run<{ id: bigint; event_id: string }>(listOpen, [hands])
      const ids = open.map(({ id }) => id)
      await tx.run(queue, [arrayOf(ids), arrayOf(open.map(({ event_id }) => event_id)), hands, true])
      return 0
    })
  },
}

/** The least and the greatest. */
function endsOf([one = '', ...others]: readonly string[]): [string, string] {
  let [least, most] = [one, one]
  for (const id of others) {
    if (id < least) least = id
    else if (id > most) most = id
  }
  return [least, most]
}
