import { refusedBy, statement, type Queries } from '../../kernel/db.ts'
import { recordsOf } from '../../kernel/records.ts'
import type { ConnectionStatus } from './store-connections.ts'
import type { TransactionRow } from './store-transactions.ts'

/** What is stored of a payment as it is asked for. */
type Wanted = Pick<
  TransactionRow,
  | 'id'
  | 'group_id'
  | 'transaction_id'
  | 'addressed'
  | 'partner_id'
  | 'merchant_id'
  | 'key_id'
  | 'way'
  | 'webhook_mode'
  | 'request_hash'
  | 'request'
  | 'amount'
  | 'currency'
  | 'payment_method'
  | 'created_at'
  | 'wait_at'
>

/** A payment that is asked for. */
export interface Offered {
  readonly wanted: Wanted
  /** Where it is addressed by something else than its device id. */
  readonly terminal_id: string | null
  /** Its transactionId is the till's. */
  readonly is_chosen: boolean
  /** The connection in this process that it is written to at once, if that is the terminal's. */
  readonly here: string | null
  /** Until when it must be written elsewhere. */
  readonly reach_at: Date
  /** Of a signed request: what makes it itself, and until when it could come again. */
  readonly signature: Buffer | null
  readonly signed_until: Date | null
}

/** The terminal of one that was asked for, locked, and what stands against the payment. */
export interface Looked {
  readonly terminal: string
  readonly device: string | null
  readonly branch: string
  readonly connection: string
  readonly status: ConnectionStatus
  /** The payment that has this transactionId, or this signature. */
  readonly repeats: string | null
  readonly is_busy: boolean
  readonly is_added: boolean
}

// One call for all of it: each way to the database and back would be waited for with the terminals locked.
const takePayments = statement(
  'terminals.takePayments',
  `select place, terminal, device, branch, connection, standing as status, repeats, is_busy, is_added from terminals.take_payments($1, $2)`,
)

export const takingStore = {
  /**
   * Stores those that may begin; for each in its place what was found, undefined where its group has no such terminal. `isPast` where one of
   * them took an id in the moment in which its former payment went: nothing of any is stored.
   */
  async take(
    on: Queries,
    all: readonly Offered[],
    busyAfter: Date,
  ): Promise<{ readonly isPast: boolean; readonly looked: readonly (Looked | undefined)[] }> {
    const asked = all.map(({ wanted, ...one }, place) => ({ ...wanted, ...one, place }))
    const looked: (Looked | undefined)[] = all.map(() => undefined)
    try {
      const rows = await on.run<Looked & { readonly place: number; readonly terminal: string | null }>(takePayments, [
        recordsOf('terminals.asked_payment', asked),
        busyAfter,
      ])
      for (const { place, ...row } of rows) if (row.terminal !== null) looked[place] = row
    } catch (error) {
      if (refusedBy(error) !== 'transaction_id_is_new') throw error
      return { isPast: true, looked: [] }
    }
    return { isPast: false, looked }
  },
}
