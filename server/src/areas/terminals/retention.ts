import type { TransactionRow } from './store-transactions.ts'

const day = 24 * 3_600_000
const retentionMs = { http: 30 * day, socket: 7 * day } as const

/** Whether a payment is gone from this API. Its id stays taken. */
export const isPastRetention = (row: Pick<TransactionRow, 'ended_at' | 'way'>, now: Date): boolean =>
  row.ended_at !== null && now.getTime() >= row.ended_at.getTime() + retentionMs[row.way]
