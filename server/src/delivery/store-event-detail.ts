import { perLevel, type Principal } from '../identity/principal.ts'
import { statement, type Db, type Queries } from '../kernel/db.ts'
import type { DialectName } from './dialects.ts'
import { eventState, openDeliveries, type EventRow } from './store-events.ts'

/** An event with what a list leaves out. */
export interface EventRecord extends EventRow {
  readonly dialect: DialectName
  readonly partner_id: string
  readonly test: boolean
  /** The bytes that are signed and sent. */
  readonly body: string
}

/** One event on its way to one destination. */
export interface DeliveryRow {
  readonly destination_id: string
  readonly url: string
  readonly status: 'PENDING' | 'DELIVERED' | 'EXHAUSTED' | 'CLOSED'
  /** Of all dispatches. */
  readonly attempt_count: number
  readonly next_attempt_at: Date | null
  readonly dispatched_at: Date
  readonly ended_at: Date | null
}

/** One attempt as it was kept. */
export interface AttemptRecord {
  readonly destination_id: string
  readonly number: number
  readonly started_at: Date
  readonly duration_ms: number
  readonly status: number | null
  readonly error_class: string | null
  readonly error_message: string | null
  readonly owner: 'destination' | 'path' | null
  readonly request_headers: Record<string, string>
  /** The first 16 KiB; no text that acts on a terminal. */
  readonly answer: string | null
}

export interface EventDetail {
  readonly event: EventRecord
  /** To the destinations that the principal sees; the latest dispatch first. */
  readonly deliveries: readonly (DeliveryRow & { readonly attempts: readonly AttemptRecord[] })[]
}

const deliveriesShownMax = 50
const attemptsShownMax = 20

const findEvent = perLevel(
  'delivery.findEvent',
  (entity) => `
   select e.id, e.dialect, e.type, s.status, e.partner_id, e.merchant_id, e.branch_id, e.payment_intent_id, e.payment_link_id, e.test, e.body,
          s.attempt_count::integer, s.next_attempt_at, e.created_at, s.updated_at, s.delivered_at
     from delivery.events e
    cross join lateral ${eventState()} s
    where e.id = $2 and e.${entity} = $1 and e.dialect = $3`,
)

// This one names no entity: it runs after the scoped one found nothing, and tells only whether 403 or 404 is the answer.
const eventExists = statement(
  'delivery.eventExists',
  `select exists (
     select from delivery.events e cross join lateral ${eventState()} s where e.id = $1 and e.dialect = $2
   ) as found`,
)

// An event of a branch goes to endpoints of its merchant and its partner too, which are not the branch's to see.
const listDeliveries = perLevel(
  'delivery.listDeliveries',
  (entity) => `
   select x.destination_id, d.url, x.status, x.attempt_count, x.next_attempt_at, x.dispatched_at, x.ended_at
     from (
       select w.destination_id, 'PENDING' as status, w.attempt_count, w.run_at as next_attempt_at, w.dispatched_at,
              null::timestamptz as ended_at
         from ${openDeliveries('$2')} w
       union all
       select o.destination_id, o.state, o.attempt_count, null, o.dispatched_at, o.ended_at
         from delivery.deliveries o
        where o.event_id = $2
          and not exists (
            select from delivery.queue q where q.event_id = o.event_id and q.destination_id is not distinct from o.destination_id offset 0
          )
     ) x
    cross join lateral (
      select d.url from delivery.destinations d where d.id = x.destination_id and d.${entity} = $1 offset 0
    ) d
    order by x.dispatched_at desc, x.destination_id desc
    limit $3`,
)

const listAttempts = statement(
  'delivery.listAttempts',
  `select a.*
     from unnest($2::uuid[]) as r (destination_id)
    cross join lateral (
      select a.destination_id, a.number, a.started_at, a.duration_ms, a.status, a.error_class, a.error_message, a.owner, a.request_headers,
             a.answer
        from delivery.attempts a
       where a.event_id = $1 and a.destination_id = r.destination_id
       order by a.started_at desc, a.number desc
       limit $3
    ) a
    order by a.destination_id, a.started_at desc, a.number desc`,
)

// All that is told of an event is of one moment: a delivery ends between two statements.
const oneMoment = statement('delivery.oneMoment', 'set transaction isolation level repeatable read, read only')

const find = async (on: Queries, principal: Principal, id: string, dialect: DialectName) =>
  (await on.run<EventRecord>(findEvent[principal.level], [principal.entityId, id, dialect]))[0]

export const eventDetailStore = {
  find,

  exists: async (on: Queries, id: string, dialect: DialectName) =>
    (await on.run<{ found: boolean }>(eventExists, [id, dialect]))[0]?.found ?? false,

  detail: (db: Db, principal: Principal, id: string, dialect: DialectName): Promise<EventDetail | undefined> =>
    db.tx(async (tx) => {
      await tx.run(oneMoment, [])
      const event = await find(tx, principal, id, dialect)
      if (event === undefined) return undefined
      const of = [principal.entityId, id, deliveriesShownMax]
      const deliveries = await tx.run<DeliveryRow>(listDeliveries[principal.level], of)
      const destinations = deliveries.map((delivery) => delivery.destination_id)
      const attempts = await tx.run<AttemptRecord>(listAttempts, [id, destinations, attemptsShownMax])
      const attemptsOf = Map.groupBy(attempts, (attempt) => attempt.destination_id)
      return {
        event,
        deliveries: deliveries.map((row) => ({ ...row, attempts: attemptsOf.get(row.destination_id) ?? [] })),
      }
    }),
}
