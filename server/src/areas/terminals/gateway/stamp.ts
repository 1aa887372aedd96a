import type { Clock } from '../../../kernel/clock.ts'
import type { TransactionRow } from '../store-transactions.ts'
import type { Link } from './links.ts'

/** What every message to a socket of a group has. */
export const stamp = (clock: Clock, groupId: string) => ({
  timestamp: clock.now().toISOString(),
  groupId,
  version: 'v1' as const,
})

/** What a message calls the terminal of a payment: its device id, else the connection that it goes to, else what the till called it. */
export const terminalIdOf = (row: TransactionRow, link?: Link) => row.device_id ?? link?.connectionId ?? row.addressed

/** A payment as it is stored; undefined where the group has no such one. */
export type ReadRow = (name: { readonly id: string; readonly groupId: string }) => Promise<TransactionRow | undefined>
