import { statement, waitOf, type Queries } from '../kernel/db.ts'

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

// What was given back before the batch's midnight. A batch may be made well after it, and what came since is of a later one. A void gives
// back all that was settled, at the last that happened to its row.
const givenBackByThen = `(case t.status
       when 'VOIDED' then case when t.updated_at < $2 then t.amount_refunded else 0 end
       else (select coalesce(sum(r.amount), 0)::bigint from payments.refunds r
              where r.transaction_id = t.id and r.state = 'SUCCEEDED' and r.state_at < $2) end)`

// One statement marks transactions and adds them up, so that a batch is the sum of its transactions whatever happens in between. A refund
// that is stored while a row is being marked is left for the next batch.
const settleRows = statement(
  'payments.settleRows',
  `with paid as materialized (
     select t.id, true as is_new, t.amount_refunded_settled as counted, t.status, t.amount_refunded, t.updated_at from payments.transactions t
      where t.settlement_status = 'UNSETTLED' and t.captured_at < $2 order by t.captured_at limit $3 for update
   ), refunded as materialized (
     select t.id, false as is_new, t.amount_refunded_settled as counted, t.status, t.amount_refunded, t.updated_at from payments.transactions t
      where t.settlement_status = 'SETTLED' and t.amount_refunded > t.amount_refunded_settled
        and ${givenBackByThen} > t.amount_refunded_settled
      order by t.updated_at limit $3 for update
   ), due as (
     select t.id, t.is_new, t.counted, case when t.amount_refunded > 0 then ${givenBackByThen} else 0 end as refunded
       from (select * from paid union all select * from refunded) t
   ), settled as (
     update payments.transactions t
        set settlement_status = 'SETTLED', amount_refunded_settled = due.refunded,
            settled_at = coalesce(t.settled_at, $2), batch_number = coalesce(t.batch_number, $1::text),
            updated_at = case when due.is_new then greatest(t.updated_at, $2) else t.updated_at end
       from due where t.id = due.id
     returning t.partner_id, t.merchant_id, t.branch_id, t.currency, due.is_new, t.amount_received, due.refunded - due.counted as refunded
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
  nextSettlement: (on: Queries) => waitOf(on, nextSettlement),
}
