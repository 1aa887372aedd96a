import { statement, type Queries } from '../kernel/db.ts'

/** A batch that is being made. */
export interface OpenBatch {
  /** Its day, as in 2026-01-15. */
  readonly number: string
  readonly at: Date
}

// Unique by its day, and one at a time: who comes second waits, and finds it there.
const openBatch = statement(
  'payments.openBatch',
  `insert into payments.settlement_days (batch_number, settled_at)
   select to_char(due.at at time zone 'Asia/Manila', 'YYYY-MM-DD'), due.at from (select payments.next_settlement_due() as at) due
    where due.at <= kernel.now()
   on conflict do nothing`,
)

const lockOpenBatch = statement(
  'payments.lockOpenBatch',
  `select batch_number as number, settled_at as at from payments.settlement_days where closed_at is null for update`,
)

// One statement marks transactions and adds them up, so that a batch is the sum of its transactions whatever happens in between. A refund
// that comes while a row is being marked either is in the row that is counted, or is left for the next batch.
const settleRows = statement(
  'payments.settleRows',
  `with paid as materialized (
     select id, true as is_new, amount_refunded_settled from payments.transactions
      where settlement_status = 'UNSETTLED' and captured_at < $2 order by captured_at limit $3 for update
   ), refunded as materialized (
     select id, false as is_new, amount_refunded_settled from payments.transactions
      where settlement_status = 'SETTLED' and amount_refunded > amount_refunded_settled and updated_at < $2
      order by updated_at limit $3 for update
   ), before as (
     select * from paid union all select * from refunded
   ), settled as (
     update payments.transactions t
        set settlement_status = 'SETTLED', amount_refunded_settled = t.amount_refunded,
            settled_at = coalesce(t.settled_at, $2), batch_number = coalesce(t.batch_number, $1::text),
            updated_at = case when b.is_new then greatest(t.updated_at, $2) else t.updated_at end
       from before b where t.id = b.id
     returning t.partner_id, t.merchant_id, t.branch_id, t.currency, b.is_new, t.amount_received,
               t.amount_refunded - b.amount_refunded_settled as refunded
   ), added as (
     insert into payments.settlement_shares as s
       (partner_id, merchant_id, branch_id, batch_number, currency, transaction_count, gross, refunds)
     select partner_id, merchant_id, branch_id, $1::text, currency, count(*) filter (where is_new),
            coalesce(sum(amount_received) filter (where is_new), 0), sum(refunded)
       from settled group by partner_id, merchant_id, branch_id, currency
     on conflict (branch_id, batch_number, currency) do update
        set transaction_count = s.transaction_count + excluded.transaction_count, gross = s.gross + excluded.gross,
            refunds = s.refunds + excluded.refunds
   )
   select count(*)::integer as rows from settled`,
)

const closeBatch = statement(
  'payments.closeBatch',
  `update payments.settlement_days set closed_at = kernel.now() where batch_number = $1::text`,
)

const nextSettlement = statement(
  'payments.nextSettlement',
  `select ceil(1000 * extract(epoch from payments.next_settlement_due() - kernel.now()))::float8 as wait_ms`,
)

export const settlementStore = {
  /** The batch that is due, locked until the transaction ends; undefined when none is, or another process has just closed it. */
  openBatch: async (tx: Queries): Promise<OpenBatch | undefined> => {
    await tx.run(openBatch, [])
    return (await tx.run<{ number: string; at: Date }>(lockOpenBatch, []))[0]
  },
  /** How many rows went into the batch, up to `rowsMax` payments and as many refunds of earlier ones. */
  settleRows: async (tx: Queries, batch: OpenBatch, rowsMax: number): Promise<number> =>
    (await tx.run<{ rows: number }>(settleRows, [batch.number, batch.at, rowsMax]))[0]?.rows ?? 0,
  closeBatch: (tx: Queries, batch: OpenBatch) => tx.run(closeBatch, [batch.number]),
  /** Milliseconds until the next is due; Infinity while there is nothing to settle. */
  nextSettlement: async (on: Queries): Promise<number> => {
    const [row] = await on.run<{ wait_ms: number | null }>(nextSettlement, [])
    return row?.wait_ms == null ? Infinity : Math.max(0, row.wait_ms)
  },
}
