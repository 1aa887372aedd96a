import type { Branch, Merchant, Settlement, SettlementDetail, Transaction, TransactionDetail } from '@kaha/contract'
import type { Static } from 'typebox'
import { minorToNumber } from '../../kernel/money.ts'
import type { HistoryRow, TransactionRow } from './store-transactions.ts'
import type { BranchRow, MerchantRow, SettlementRow, ShareRow } from './store.ts'
import type { TransactionStory } from './service.ts'

type Shown = Static<typeof Transaction>
type Detail = Static<typeof TransactionDetail>

export const presentMerchant = ({ id, name }: MerchantRow): Static<typeof Merchant> => ({ id, name })

export const presentBranch = ({ id, name, merchant_id }: BranchRow): Static<typeof Branch> => ({
  id,
  name,
  merchant_id,
})

/** Without the fields that have no value. */
type Valued<Fields> = { [Name in keyof Fields]?: NonNullable<Fields[Name]> }
function valued<Fields extends object>(fields: Fields): Valued<Fields> {
  const found: Valued<Fields> = {}
  for (const name in fields) if (fields[name] != null) found[name] = fields[name]
  return found
}

// A sum that a JSON number could not hold exactly was refused before.
const exact = minorToNumber

export function presentTransaction(row: TransactionRow): Shown {
  const amount = exact(row.amount)
  return {
    id: row.id,
    status: row.status as Shown['status'],
    amount,
    currency: row.currency,
    payment_method: row.payment_method as Shown['payment_method'],
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    ...valued({
      card_brand: row.card_brand as Shown['card_brand'] | null,
      card_last_four: row.card_last_four,
      correlation_id: row.correlation_id,
    }),
    amount_details: {
      amount_authorized: exact(row.amount_authorized),
      amount_capturable: row.status === 'AUTHORIZED' ? exact(row.amount_authorized - row.amount_received) : 0,
      amount_received: exact(row.amount_received),
      amount_refunded: exact(row.amount_refunded),
      original_amount: amount,
      tax_amount: 0,
      final_amount: amount,
    },
    ...receiptOf(row),
    merchant_details: {
      merchant_name: row.merchant_name,
      merchant_id: row.merchant_id,
      partner_name: row.partner_name,
      branch_id: row.branch_id,
      branch_name: row.branch_name,
    },
    ...terminalOf(row),
  }
}

/** A sale at a terminal has its reference from the beginning; what else there is comes with the money, and stays when that is given back. */
function receiptOf(row: TransactionRow): Pick<Shown, 'receipt'> {
  const receipt = valued({
    receipt_number: row.receipt_number,
    auth_number: row.approval_code,
    batch_number: row.batch_number,
    approval_code: row.approval_code,
    reference_number: row.reference_number,
  })
  return Object.keys(receipt).length === 0 ? {} : { receipt }
}

const terminalOf = (row: TransactionRow): Pick<Shown, 'terminal_details'> =>
  row.terminal_device_id === null
    ? {}
    : {
        terminal_details: valued({
          terminal_name: row.terminal_device_id,
          activation_code: row.activation_code,
          serial_number: row.terminal_device_id,
        }),
      }

export function presentDetail({ row, history }: TransactionStory): { data: Detail } {
  return {
    data: {
      ...presentTransaction(row),
      partner_name: row.partner_name,
      ...valued({
        activation_code: row.activation_code,
        approval_code: row.approval_code,
        reference_number: row.reference_number,
      }),
      settlement_status: row.settlement_status as Detail['settlement_status'],
      settled_at: row.settled_at?.toISOString() ?? null,
      events: eventsOf(row, history).map(presentEvent),
    },
  }
}

// As the lapses of payments and of terminals have them.
const lapsedStatuses: ReadonlySet<string> = new Set(['DECLINED', 'EXPIRED', 'FAILED', 'CANCELLED'])

/** The rows of the past, and a deadline that has passed without being stored yet. */
function eventsOf(row: TransactionRow, history: readonly HistoryRow[]): readonly HistoryRow[] {
  const isLapsed = lapsedStatuses.has(row.status) && !history.some(({ type }) => type === row.status)
  if (!isLapsed) return history
  const reason = row.status === 'DECLINED' ? 'VERIFICATION_REJECTED' : null
  return [...history, { type: row.status, at: row.updated_at, amount: row.amount, reason, about_id: null }]
}

type Event = Detail['events'][number]

const descriptions: Readonly<Record<Event['event_type'], string>> = {
  CREATED: 'The payment was begun.',
  CAPTURED: 'The payment succeeded: the money was received.',
  DECLINED: 'The payment was declined.',
  FAILED: 'The payment failed; no money was taken.',
  EXPIRED: 'The time to pay was over before the payment was made.',
  CANCELLED: 'The payment was cancelled before it was made.',
  VOIDED: 'The payment was voided: it is undone whole, and none of its money is kept.',
  REFUND_REQUESTED: 'Refund {about} was asked for.',
  REFUNDED: 'Refund {about} was made.',
  REFUND_FAILED: 'Refund {about} failed; the money stayed.',
  SETTLED: 'The payment was settled.',
}
const begunForIntent = 'A payment of intent {about} was begun.'

/** With the id that leads from a transaction to its intent, or to a refund: no field of the contract names them. */
const describe = (type: Event['event_type'], aboutId: string | null): string =>
  aboutId === null
    ? descriptions[type]
    : (type === 'CREATED' ? begunForIntent : descriptions[type]).replace('{about}', aboutId)

function presentEvent({ type, at, amount, reason, about_id }: HistoryRow): Event {
  const event_type = type as Event['event_type']
  return {
    event_type,
    created_at: at.toISOString(),
    amount: String(amount),
    description: describe(event_type, about_id),
    reason,
  }
}

const totalsOf = (rows: readonly SettlementRow[]) => {
  const sum = (of: (row: SettlementRow) => bigint) => rows.reduce((total, row) => total + of(row), 0n)
  const [gross, refunds] = [sum((row) => row.gross), sum((row) => row.refunds)]
  return {
    count: exact(sum((row) => row.count)),
    gross: exact(gross),
    refunds: exact(refunds),
    net: exact(gross - refunds),
  }
}

export const presentSettlement = (row: SettlementRow): Static<typeof Settlement> => ({
  batch_number: row.batch_number,
  settled_at: row.settled_at.toISOString(),
  currency: row.currency,
  ...totalsOf([row]),
})

export function presentSettlementDetail(shares: readonly ShareRow[]): { data: Static<typeof SettlementDetail> } {
  const [first] = shares
  if (first === undefined) throw new Error('a settlement has no share')
  return {
    data: {
      ...presentSettlement(first),
      ...totalsOf(shares),
      merchants: shares.map((share) => ({
        merchant_id: share.merchant_id,
        merchant_name: share.merchant_name,
        ...totalsOf([share]),
      })),
    },
  }
}
