import { randomBytes } from 'node:crypto'
import type pg from 'pg'

/** A caller of the filled platform, and what it may name in a filter. */
export interface Reader {
  readonly level: 'partner' | 'merchant' | 'branch'
  readonly key: string
}

/** What the rows were made for: the largest entity of each level, one above the other, and its names. */
export interface Filled {
  readonly readers: readonly Reader[]
  readonly merchantId: string
  readonly branchId: string
  readonly smallBranchId: string
  readonly activationCode: string
}

const spanDays = 365
const partners = 3
const merchants = 300
const branches = 900

/**
 * So many transactions of a year that ends now, in the order of time as they come in use: over three partners, 300 merchants and 900
 * branches, one of which has a tenth of all. Made in the database itself; the indexes are built when all rows are there.
 */
export async function fillReport(client: pg.Client, rows: number): Promise<Filled> {
  await client.query(entities)
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid = 'payments.transactions'::regclass and not indisprimary`,
  )
  for (const { name } of indexes) await client.query(`drop index ${name}`)
  // One sort of an index in memory, and no checkpoint amid them.
  await client.query(`set maintenance_work_mem = '1GB'`)
  await client.query(`alter system set max_wal_size = '16GB'`)
  await client.query('select pg_reload_conf()')
  for (let from = 1; from <= rows; from += rowsAtOnce)
    await client.query(transactions(from, Math.min(rows, from + rowsAtOnce - 1), rows))
  for (const { definition } of indexes) await client.query(definition)
  await client.query('vacuum analyze payments.transactions')
  await client.query('analyze identity.entities')
  await client.query('checkpoint')
  return keysOf(client)
}

const rowsAtOnce = 500_000

const uuidOf = (kind: number, number: string): string =>
  `('0197${String(kind).padStart(4, '0')}-0000-7000-8000-' || lpad(to_hex(${number}), 12, '0'))::uuid`
const partnerOf = (merchant: string): string => `(case when ${merchant} <= 150 then 1 else 2 + ${merchant} % 2 end)`
const merchantOf = (branch: string): string =>
  `(case when ${branch} <= 20 then 1 else 2 + (${branch} - 21) % ${merchants - 1} end)`

const entities = `
  insert into identity.entities (id, level, partner_id, name, created_at)
  select ${uuidOf(1, 'p')}, 'partner', ${uuidOf(1, 'p')}, 'Partner ' || p, now() from generate_series(1, ${partners}) p;
  insert into identity.entities (id, level, partner_id, merchant_id, name, created_at)
  select ${uuidOf(2, 'm')}, 'merchant', ${uuidOf(1, partnerOf('m'))}, ${uuidOf(2, 'm')}, 'Merchant ' || m, now()
    from generate_series(1, ${merchants}) m;
  insert into identity.entities (id, level, partner_id, merchant_id, branch_id, name, reference_number, created_at)
  select ${uuidOf(3, 'b')}, 'branch', ${uuidOf(1, partnerOf(merchantOf('b')))}, ${uuidOf(2, merchantOf('b'))}, ${uuidOf(3, 'b')},
         'Branch ' || b, 'REPORT-' || b, now()
    from generate_series(1, ${branches}) b;
  insert into identity.activation_codes (code, branch_id, created_at)
  select 'REPORT-' || b, ${uuidOf(3, 'b')}, now() from generate_series(1, ${branches}) b`

// Everything of a row follows from its number, so that a run can be repeated. h1 to h5 are evenly spread from 0 to 1. `offset 0` keeps each
// step by itself: what one expression makes of another would otherwise be made again for each of its uses.
const chance = (seed: number): string => `(hashint8extended(n, ${seed}) & 16777215)::float8 / 16777216 as h${seed}`
const transactions = (from: number, to: number, of: number): string => `
  with branches as materialized (
    select row_number() over (order by id) as b, partner_id, merchant_id, id as branch_id from identity.entities where level = 'branch'
  )
  insert into payments.transactions (id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method, card_brand,
    card_last_four, correlation_id, amount_authorized, amount_received, amount_refunded, amount_refunded_settled, approval_code,
    reference_number, receipt_number, settlement_status, captured_at, settled_at, batch_number, created_at, updated_at)
  select (lpad(to_hex((extract(epoch from created_at) * 1000)::bigint), 12, '0') || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid,
         partner_id, merchant_id, branch_id, status, amount, 'PHP', payment_method,
         case when is_card then brand end, case when is_card then lpad((n % 10000)::text, 4, '0') end,
         hash::uuid, received, received, refunded, case when is_settled then refunded else 0 end,
         case when is_paid then lpad((n % 1000000)::text, 6, '0') end,
         case when is_paid then 'R' || n end, case when is_paid then lpad(n::text, 10, '0') end,
         case when not is_paid then 'NOT_APPLICABLE' when is_settled then 'SETTLED' else 'UNSETTLED' end,
         case when is_paid then created_at end, case when is_settled then settles_at end,
         case when is_settled then to_char(settles_at at time zone 'Asia/Manila', 'YYYY-MM-DD') end,
         created_at, case when is_settled then settles_at else created_at + interval '1 second' end
    from (
      select *, md5(n::text) as hash, case when is_paid then amount else 0 end as received, is_paid and settles_at <= now() as is_settled,
             case status when 'REFUNDED' then amount when 'PARTIALLY_REFUNDED' then amount / 2 else 0 end as refunded
        from (
          select *, status in ('CAPTURED', 'REFUNDED', 'PARTIALLY_REFUNDED') as is_paid, payment_method like 'CARD%' as is_card,
                 payments.settlement_after(created_at) as settles_at
            from (
              select n, date_trunc('milliseconds', now() - (${of} - n) * (interval '${spanDays} days' / ${of})) as created_at,
                     case when h1 < 0.1 then 1 when h1 < 0.2 then 2 + floor(h2 * 19) else 21 + floor(h2 * ${branches - 20}) end::bigint as b,
                     case when h3 < 0.8 then 'CAPTURED' when h3 < 0.9 then 'DECLINED' when h3 < 0.93 then 'FAILED'
                          when h3 < 0.955 then 'EXPIRED' when h3 < 0.97 then 'CANCELLED' when h3 < 0.985 then 'REFUNDED'
                          when h3 < 0.995 then 'PARTIALLY_REFUNDED' when h3 < 0.999 then 'VOIDED'
                          when n > ${of} - ${of} / 1000 then 'PENDING' else 'DECLINED' end as status,
                     case when h4 < 0.75 then 'CARD_NOT_PRESENT' when h4 < 0.9 then 'CARD_PRESENT' when h4 < 0.995 then 'QR_PH'
                          when h4 < 0.999 then 'CASH' else 'OTHER' end as payment_method,
                     case when h5 < 0.5 then 'VISA' when h5 < 0.9 then 'MASTERCARD' when h5 < 0.95 then 'JCB' when h5 < 0.98 then 'AMEX'
                          when h5 < 0.998 then 'UNIONPAY' else 'DISCOVER' end as brand,
                     (1 + floor(power(1 - h2, 3) * 5000)::bigint) * 100 as amount
                from (select n, ${[1, 2, 3, 4, 5].map(chance).join(', ')} from generate_series(${from}::bigint, ${to}) n offset 0) chances
              offset 0
            ) chosen
          offset 0
        ) told
      offset 0
    ) whole join branches using (b)`

async function keysOf(client: pg.Client): Promise<Filled> {
  const { rows } = await client.query<{ level: Reader['level']; id: string }>(
    `select level, id from identity.entities
      where id in (${uuidOf(1, '1')}, ${uuidOf(2, '1')}, ${uuidOf(3, '1')}) order by level desc`,
  )
  const idOf = (level: Reader['level']): string => rows.find((row) => row.level === level)?.id ?? ''
  const readers = []
  for (const { level, id } of rows) {
    const key = `sk_test_${randomBytes(12).toString('hex')}`
    await client.query(
      `insert into identity.keys (id, hash, last_four, entity_id, scopes, created_at, updated_at)
       values (gen_random_uuid(), sha256($1), right($2, 4), $3, '{reports.read}', now(), now())`,
      [Buffer.from(key), key, id],
    )
    readers.push({ level, key })
  }
  const small = await client.query<{ id: string }>(`select ${uuidOf(3, '20')} as id`)
  return {
    readers,
    merchantId: idOf('merchant'),
    branchId: idOf('branch'),
    smallBranchId: small.rows[0]?.id ?? '',
    activationCode: 'REPORT-1',
  }
}
