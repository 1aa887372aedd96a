import type { Bus } from '../../kernel/bus.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Cursors } from '../../kernel/cursor.ts'
import type { Db } from '../../kernel/db.ts'
import type { Log } from '../../kernel/log.ts'
import type { Ledger } from './ledger.ts'
import type { TransactionRow } from './store-transactions.ts'
import type { Waits } from './waits.ts'

/** Sockets of terminals in this process. */
export interface Sending {
  /** The connection here of a terminal, by its device id or its connection id; undefined where it is not here, or another took its place. */
  connectionOf(groupId: string, terminalId: string): string | undefined
  /** Writes a payment to the socket that it was stored with, in the moment in which that is committed. */
  send(row: TransactionRow): void
  /** Payments that may be stored as sent to sockets here, and are not: the outcome of their commit is unknown. They end when that is known. */
  unsent(ids: readonly string[]): void
}

/** What the use cases of this room are made of. */
export interface TerminalsDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly cursors: Cursors
  readonly ledger: Ledger
  readonly waits: Waits
  readonly sending: Sending
  /** Whether the group has an endpoint that is active. */
  readonly hasActiveWebhook: (groupId: string) => Promise<boolean>
  readonly settings: { readonly currencies: readonly string[] }
}
