import pg from 'pg'
import { connectionConfig } from '../../server/src/kernel/db.ts'
import { newId } from '../../server/src/kernel/ids.ts'
import { eventOf, eventType } from './events.ts'
import type { Target } from './place.ts'

/** One merchant whose branches have an endpoint each, and what happened to them. */
export interface Crowd {
  readonly partnerId: string
  readonly merchantId: string
  readonly branchIds: readonly string[]
  /** When the first event happened, and when the last. */
  readonly from: Date
  readonly to: Date
}

const branches = 10
const days = 21
const dayMs = 86_400_000
const rowsPerStatement = 200_000
/** For one that is open, so many are over; they are older. */
const overShare = 1 / 5

/**
 * Fills a migrated database with open deliveries, one for each event: half are due, half wait for a retry within a day. Older events have been
 * delivered at the first attempt. All as of three weeks, so the same partitions are there however many rows it is.
 */
export async function fill(target: Target, open: number): Promise<Crowd> {
  const client = new pg.Client(connectionConfig(target))
  await client.connect()
  try {
    const crowd = await gather(client)
    const over = Math.round(open * overShare)
    const indexes = await client.query<{ drop: string; make: string }>(queueIndexes)
    for (const { drop } of indexes.rows) await client.query(drop)
    for (let made = 0; made < over + open; made += rowsPerStatement) {
      const last = Math.min(made + rowsPerStatement, over + open)
      await client.query(insertEvents, valuesOf(crowd, { first: made, last, over, all: over + open }))
    }
    for (const { make } of indexes.rows) await client.query(make)
    await client.query(
      `update delivery.lanes l set version = version + 1, look_at = least(look_at,
         (select min(q.run_at) from delivery.queue q where q.destination_id = l.destination_id))`,
    )
    await client.query('vacuum (analyze)')
    await client.query('checkpoint')
    return crowd
  } finally {
    await client.end()
  }
}

// Built when all rows are there: that takes half the time.
const queueIndexes = `
  select 'alter table delivery.queue drop constraint ' || quote_ident(conname) as drop,
         'alter table delivery.queue add constraint ' || quote_ident(conname) || ' ' || pg_get_constraintdef(oid) as make
    from pg_constraint where conrelid = 'delivery.queue'::regclass and contype in ('p', 'u')
  union all
  select 'drop index ' || i.indexrelid::regclass, pg_get_indexdef(i.indexrelid)
    from pg_index i where i.indrelid = 'delivery.queue'::regclass
     and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`

/** The endpoints; nothing happened yet. */
async function gather(client: pg.Client): Promise<Crowd> {
  const to = new Date()
  const from = new Date(to.getTime() - days * dayMs)
  const partnerId = newId(from)
  const merchantId = newId(from)
  const branchIds = Array.from({ length: branches }, () => newId(from))
  await client.query('select delivery.ensure_partitions($1, $2)', [from, new Date(to.getTime() + 7 * dayMs)])
  await client.query(
    `with destination as (
       insert into delivery.destinations (id, dialect, partner_id, merchant_id, branch_id, owner_id, url, types, created_at, updated_at)
       select b.id, 'signed', $1, $2, b.id, b.id, 'http://127.0.0.1/' || b.id, array[$4], $5, $5 from unnest($3::uuid[]) as b (id)
     ),
     lane as (
       insert into delivery.lanes (destination_id) select b.id from unnest($3::uuid[]) as b (id)
     )
     insert into delivery.secrets (id, destination_id, sealed, created_at)
     select gen_random_uuid(), b.id, sha256(b.id::text::bytea), $5 from unnest($3::uuid[]) as b (id)`,
    [partnerId, merchantId, branchIds, eventType, from],
  )
  return { partnerId, merchantId, branchIds, from, to }
}

const insertEvents = `
  with happened as materialized (
    select i, ($4::uuid[])[i % cardinality($4::uuid[]) + 1] as branch_id, h.at,
           (lpad(to_hex(h.ms), 12, '0') || '7' || substr(md5(i::text), 1, 3) || '8' || substr(md5(i::text), 4, 15))::uuid as id
      from generate_series($5::bigint, $6::bigint - 1) i
     cross join lateral (select $9::bigint + i * ($10::bigint - $9::bigint) / $8::bigint as ms offset 0) m
     cross join lateral (select m.ms, to_timestamp(m.ms / 1000.0) as at offset 0) h
  ),
  event as (
    insert into delivery.events (id, dialect, type, partner_id, merchant_id, branch_id, body, created_at)
    select h.id, 'signed', case when i / 20 % 4 = 0 then 'payment.declined' else $1 end, $2, $3, h.branch_id, $11, h.at from happened h
  ),
  over as (
    insert into delivery.deliveries (event_id, destination_id, state, attempt_count, dispatched_at, ended_at)
    select h.id, h.branch_id, 'DELIVERED', 1, h.at, h.at from happened h where h.i < $7::bigint
  ),
  attempted as (
    insert into delivery.attempts (event_id, destination_id, number, started_at, duration_ms, status, request_headers)
    select h.id, h.branch_id, 1, h.at, 20, 204, '{}' from happened h where h.i < $7::bigint
  )
  insert into delivery.queue (event_id, destination_id, attempt_no, run_at, dispatched_at)
  select h.id, h.branch_id, h.i / 10 % 2, case when h.i / 10 % 2 = 0 then h.at else to_timestamp($10::bigint / 1000) + interval '2 hours' + random() * interval '22 hours' end, h.at
    from happened h where h.i >= $7::bigint`

function valuesOf(
  { partnerId, merchantId, branchIds, from, to }: Crowd,
  { first, last, over, all }: { first: number; last: number; over: number; all: number },
): unknown[] {
  const source = { partnerId, merchantId, branchId: branchIds[0] ?? '', path: '', secret: '' }
  const { body } = eventOf(source, from)
  return [eventType, partnerId, merchantId, branchIds, first, last, over, all, from.getTime(), to.getTime(), body]
}
