import { attentionStore } from '../src/commands/store-attention.ts'
import type { Db } from '../src/kernel/db.ts'

const listedMax = 1_000

/** What a person must see to of a payment, a line each, as `kaha attention list` has it: the cause, and what happened. */
export async function attentionOf(db: Db, payment: string): Promise<string> {
  const all = await attentionStore.list(db, listedMax)
  return all.flatMap((one) => (one.payment === payment ? [`${one.cause}: ${one.detail}`] : [])).join('\n')
}
