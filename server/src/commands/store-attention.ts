import { statement, type Queries } from '../kernel/db.ts'

/** Something that a person must see to, of whichever room. */
export interface AttentionRow {
  readonly id: string
  readonly cause: string
  readonly detail: string
  readonly at: Date
  readonly merchant_id: string
  /** The merchant's name for it. */
  readonly payment: string
  /** Null, as is the currency, where what was said of it is no amount. */
  readonly amount: bigint | null
  readonly currency: string | null
}

const listAttention = statement(
  'commands.listAttention',
  `select id, cause, detail, at, merchant_id, payment, amount, currency
     from (select * from terminals.list_attention($1) union all select * from qr.list_unmatched($1)) a
    order by at, id limit $1`,
)
const settleAttention = statement(
  'commands.settleAttention',
  'select terminals.settle_attention($1, $2) or qr.settle_unmatched($1, $2) as settled',
)

export const attentionStore = {
  /** What is open, the oldest first. */
  list: (on: Queries, rowsMax: number) => on.run<AttentionRow>(listAttention, [rowsMax]),
  /** False where nothing of this id is open. */
  settle: async (on: Queries, id: string, note: string): Promise<boolean> =>
    (await on.run<{ settled: boolean }>(settleAttention, [id, note]))[0]?.settled ?? false,
}
