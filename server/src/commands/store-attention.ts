import { statement, type Queries } from '../kernel/db.ts'

/** Something that a person must see to, or has seen to, of whichever room. */
export interface AttentionRow {
  readonly id: string
  readonly cause: string
  readonly detail: string
  readonly at: Date
  readonly merchant_id: string
  /** Null, as is its name, of money whose payment is not known any more. */
  readonly branch_id: string | null
  readonly branch: string | null
  /** The merchant's name for it. */
  readonly payment: string
  /** Null, as is the currency, where what was said of it is no amount. */
  readonly amount: bigint | null
  readonly currency: string | null
  /** Null, as is the note, while it is open. */
  readonly settled_at: Date | null
  readonly note: string | null
}

const listed = (which: string, order: string) =>
  `select a.id, a.cause, a.detail, a.at, a.merchant_id, a.branch_id, b.name as branch, a.payment, a.amount, a.currency, a.settled_at, a.note
     from (select * from terminals.attention_report union all select * from qr.unmatched_report) a
     left join identity.entity_names b on b.id = a.branch_id
    where a.settled_at is ${which} order by ${order} limit $1`

const listOpen = statement('commands.listOpenAttention', listed('null', 'a.at, a.id'))
const listSettled = statement('commands.listSettledAttention', listed('not null', 'a.settled_at desc, a.id desc'))
const settleAttention = statement(
  'commands.settleAttention',
  'select terminals.settle_attention($1, $2) or qr.settle_unmatched($1, $2) as settled',
)

export const attentionStore = {
  /** What is open, the oldest first. */
  list: (on: Queries, rowsMax: number) => on.run<AttentionRow>(listOpen, [rowsMax]),
  /** What was settled and is kept, the latest first. */
  listSettled: (on: Queries, rowsMax: number) => on.run<AttentionRow>(listSettled, [rowsMax]),
  /** False where nothing of this id is open. */
  settle: async (on: Queries, id: string, note: string): Promise<boolean> =>
    (await on.run<{ settled: boolean }>(settleAttention, [id, note]))[0]?.settled ?? false,
}
