import type { Announcement, TransactionState } from '../../src/areas/terminals/machine.ts'
import type { CardTerminal } from './card-terminal.ts'
import type { Query } from './database-of.ts'

/** What a till was told of a payment, in the end. */
export type Told = 'paid' | 'not paid' | 'never begun' | 'paid, void unknown' | 'voided'

interface Row {
  readonly transaction_id: string
  readonly device_id: string
  readonly state: TransactionState
  readonly announced: Announcement | null
  readonly void_cause: string | null
  readonly void_state: string | null
}

interface Payload {
  readonly data: { readonly transactionId: string }
}

/** The ends of the table, and what may have been announced of each. */
const ends: Partial<Record<TransactionState, readonly Announcement[]>> = {
  COMPLETED: ['payment.completed'],
  FAILED: ['payment.failed', 'payment.timeout'],
  CANCELLED: ['payment.cancelled', 'payment.timeout'],
  VOIDED: ['payment.completed', 'payment.failed', 'payment.cancelled', 'payment.timeout'],
}

const statesOf: Readonly<Record<Told, readonly TransactionState[]>> = {
  paid: ['COMPLETED'],
  'not paid': ['FAILED', 'CANCELLED', 'VOIDED'],
  'never begun': [],
  'paid, void unknown': ['COMPLETED', 'VOIDED'],
  voided: ['VOIDED'],
}

/** Where what tills were told, what the platform has written down and what the terminals hold do not agree, a sentence each. */
export async function moneyFaults({
  query,
  told,
  terminals,
}: {
  readonly query: Query
  readonly told: ReadonlyMap<string, Told>
  readonly terminals: readonly CardTerminal[]
}): Promise<string[]> {
  const rows = await query<Row>(
    'select transaction_id, device_id, state, announced, void_cause, void_state from terminals.transactions',
  )
  const events = await query<{ type: string; body: string }>(
    "select type, body from delivery.events where dialect = 'terminal'",
  )
  const eventsOf = Map.groupBy(events, ({ body }) => (JSON.parse(body) as Payload).data.transactionId)
  const byId = new Map(rows.map((row) => [row.transaction_id, row]))
  const dealt = new Map(terminals.flatMap((terminal) => [...terminal.dealt]))
  const faults: string[] = []
  for (const [id, what] of told) {
    const state = byId.get(id)?.state
    const isRight = state === undefined ? what === 'never begun' : statesOf[what].includes(state)
    if (!isRight) faults.push(`${id}: the till was told ${what}, and it is ${state ?? 'nowhere'}`)
    if ((what === 'not paid' || what === 'never begun' || what === 'voided') && dealt.get(id)?.holdsMoney === true)
      faults.push(`${id}: the till was told ${what}, and the terminal holds the money`)
  }
  for (const { transaction_id: id, state, announced, void_cause, void_state } of rows) {
    if (!told.has(id)) faults.push(`${id}: no till was told of it`)
    const announceable = ends[state]
    if (announceable === undefined) faults.push(`${id}: it has not ended, and is ${state}`)
    else if (announced === null || !announceable.includes(announced))
      faults.push(`${id}: it is ${state}, and ${announced ?? 'nothing'} was announced`)
    const types = (eventsOf.get(id) ?? []).map(({ type }) => type)
    if (types.length !== 1 || types[0] !== announced)
      faults.push(`${id}: ${announced ?? 'nothing'} was announced, and its events are ${types.join(', ') || 'none'}`)
    const holdsMoney = dealt.get(id)?.holdsMoney === true
    if (holdsMoney !== (state === 'COMPLETED'))
      faults.push(
        `${id}: it is ${state} (${void_cause ?? 'no'} void, ${void_state ?? 'not asked'}), and the terminal holds ${holdsMoney ? 'the' : 'no'} money`,
      )
  }
  return faults
}
