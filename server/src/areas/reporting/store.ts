import { perLevel, type Level } from '../../identity/principal.ts'
import { statement, type Queries, type Statement } from '../../kernel/db.ts'
import type { After, Caller } from './store-transactions.ts'

export interface MerchantRow {
  readonly id: string
  readonly name: string
}

export interface BranchRow extends MerchantRow {
  readonly merchant_id: string
}

export interface SettlementRow {
  readonly batch_number: string
  readonly settled_at: Date
  readonly currency: string
  readonly count: bigint
  readonly gross: bigint
  readonly refunds: bigint
}

export interface ShareRow extends SettlementRow {
  readonly merchant_id: string
  readonly merchant_name: string
}

// A branch key sees the name of the merchant above it, and no other row of that.
const seenMerchants: Readonly<Record<Level, string>> = {
  partner: 'partner_id = $1',
  merchant: 'merchant_id = $1',
  branch: `id = (select own.merchant_id from identity.entity_names own where own.branch_id = $1 and own.level = 'branch')`,
}
const listMerchants = (level: Level): Statement =>
  statement(
    `reporting.listMerchantsOf.${level}`,
    `select id, name from identity.entity_names
      where ${seenMerchants[level]} and level = 'merchant' and ($2::text is null or (name, id) > ($2 collate "C", $3::uuid))
      order by name, id limit $4`,
  )

const listBranches = perLevel(
  'reporting.listBranches',
  (entity) => `
  select id, name, merchant_id from identity.entity_names
   where ${entity} = $1 and level = 'branch' and ($5::uuid is null or merchant_id = $5)
     and ($2::text is null or (name, id) > ($2 collate "C", $3::uuid))
   order by name, id limit $4`,
)

const sums = `sum(s.transaction_count)::bigint as count, sum(s.gross)::bigint as gross, sum(s.refunds)::bigint as refunds`

const listSettlements = perLevel(
  'reporting.listSettlements',
  (entity) => `
  select s.batch_number, s.settled_at, s.currency, ${sums}
    from payments.settlement_report s
   where s.${entity} = $1 and ($2::text is null or (s.batch_number, s.currency) < ($2, $3::text))
   group by s.batch_number, s.settled_at, s.currency
   order by s.batch_number desc, s.currency desc limit $4`,
)

const listShares = perLevel(
  'reporting.listShares',
  (entity) => `
  select s.batch_number, s.settled_at, s.currency, s.merchant_id, m.name as merchant_name, ${sums}
    from payments.settlement_report s join identity.entity_names m on m.id = s.merchant_id
   where s.${entity} = $1 and s.batch_number = $2::text
   group by s.batch_number, s.settled_at, s.currency, s.merchant_id, m.name
   order by s.currency, m.name, s.merchant_id limit $3`,
)

export const reportingStore = {
  listMerchants: (on: Queries, { level, entityId }: Caller, after: After | null, rowsMax: number) =>
    on.run<MerchantRow>(listMerchants(level), [entityId, after?.position ?? null, after?.id ?? null, rowsMax]),
  listBranches: (
    on: Queries,
    { level, entityId }: Caller,
    merchantId: string | null,
    after: After | null,
    rowsMax: number,
  ) =>
    on.run<BranchRow>(listBranches[level], [entityId, after?.position ?? null, after?.id ?? null, rowsMax, merchantId]),
  /** `after` is a batch number and a currency. */
  listSettlements: (on: Queries, { level, entityId }: Caller, after: After | null, rowsMax: number) =>
    on.run<SettlementRow>(listSettlements[level], [entityId, after?.position ?? null, after?.id ?? null, rowsMax]),
  /** What each merchant has in a day's batches, by currency. */
  listShares: (on: Queries, { level, entityId }: Caller, batchNumber: string, rowsMax: number) =>
    on.run<ShareRow>(listShares[level], [entityId, batchNumber, rowsMax]),
}
