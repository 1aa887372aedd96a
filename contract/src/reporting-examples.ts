import type { Static } from 'typebox'
import { exampleIds } from './example-ids.ts'
import type { Branch, Merchant, Settlement, SettlementDetail, Transaction, TransactionDetail } from './reporting.ts'

// What the key of a merchant sees of ORDER-1002 on the day after it was paid and one of its two cups given back.

const lastPage = { page_size: 20, has_more: false, next_cursor: null }

const merchant: Static<typeof Merchant> = { id: exampleIds.merchant, name: 'Kapihan ni Aling Nena' }

export const merchantPage = { data: [merchant], pagination: lastPage }

const branch: Static<typeof Branch> = {
  id: exampleIds.branch,
  name: 'Kapihan ni Aling Nena, Makati',
  merchant_id: exampleIds.merchant,
}

export const branchPage = {
  data: [branch, { ...branch, id: exampleIds.otherBranch, name: 'Kapihan ni Aling Nena, Quezon City' }],
  pagination: lastPage,
}

const transaction: Static<typeof Transaction> = {
  id: exampleIds.ownAttempt,
  status: 'PARTIALLY_REFUNDED',
  amount: 9_800,
  currency: 'PHP',
  payment_method: 'CARD_NOT_PRESENT',
  created_at: '2026-01-15T10:31:00.000Z',
  updated_at: '2026-01-15T16:00:00.000Z',
  card_brand: 'VISA',
  card_last_four: '4242',
  correlation_id: exampleIds.ownRequest,
  amount_details: {
    amount_authorized: 9_800,
    amount_capturable: 0,
    amount_received: 9_800,
    amount_refunded: 4_900,
    original_amount: 9_800,
    tax_amount: 0,
    final_amount: 9_800,
  },
  receipt: {
    receipt_number: '0000000042',
    auth_number: '482913',
    batch_number: '2026-01-16',
    approval_code: '482913',
    reference_number: 'BNMKLPQWRTYS',
  },
  merchant_details: {
    merchant_name: merchant.name,
    merchant_id: merchant.id,
    partner_name: 'Kaha Sandbox',
    branch_id: branch.id,
    branch_name: branch.name,
  },
}

export const transactionPage = { data: [transaction], pagination: { ...lastPage, page_size: 10 } }

const { amount_details: amounts, merchant_details: merchantDetails } = transaction
const quoted = (text: string): string => `"${text}"`
const columns: readonly (readonly [name: string, cell: string | number])[] = [
  ['id', transaction.id],
  ['status', transaction.status],
  ['amount', transaction.amount],
  ['currency', transaction.currency],
  ['payment_method', transaction.payment_method],
  ['created_at', transaction.created_at],
  ['updated_at', transaction.updated_at],
  ['card_brand', 'VISA'],
  ['card_last_four', '4242'],
  ['correlation_id', exampleIds.ownRequest],
  ...Object.entries(amounts).map(([name, value]) => [`amount_details.${name}`, value] as const),
  ...Object.entries(transaction.receipt ?? {}).map(([name, value]) => [`receipt.${name}`, value] as const),
  ['merchant_details.merchant_name', quoted(merchantDetails.merchant_name)],
  ['merchant_details.merchant_id', merchantDetails.merchant_id],
  ['merchant_details.partner_name', quoted(merchantDetails.partner_name)],
  ['merchant_details.branch_id', merchantDetails.branch_id],
  ['merchant_details.branch_name', quoted(merchantDetails.branch_name)],
  ['terminal_details.terminal_name', ''],
  ['terminal_details.activation_code', ''],
  ['terminal_details.serial_number', ''],
]
const lineOf = (cells: readonly (string | number)[]) => `${cells.join(',')}\r\n`

export const transactionsAsCsv = lineOf(columns.map(([name]) => name)) + lineOf(columns.map(([, cell]) => cell))

export const transactionDetail: { data: Static<typeof TransactionDetail> } = {
  data: {
    ...transaction,
    partner_name: merchantDetails.partner_name,
    activation_code: 'QWER-TYPS-DFGH-JKLZ',
    approval_code: '482913',
    reference_number: 'BNMKLPQWRTYS',
    settlement_status: 'SETTLED',
    settled_at: '2026-01-15T16:00:00.000Z',
    events: [
      {
        event_type: 'CREATED',
        created_at: '2026-01-15T10:31:00.000Z',
        amount: '9800',
        description: `A payment of intent ${exampleIds.ownIntent} was begun.`,
        reason: null,
      },
      {
        event_type: 'CAPTURED',
        created_at: '2026-01-15T10:31:00.000Z',
        amount: '9800',
        description: 'The payment succeeded: the money was received.',
        reason: null,
      },
      {
        event_type: 'REFUND_REQUESTED',
        created_at: '2026-01-15T11:00:00.000Z',
        amount: '4900',
        description: `Refund ${exampleIds.refund} was asked for.`,
        reason: 'One of two cups broke',
      },
      {
        event_type: 'REFUNDED',
        created_at: '2026-01-15T11:00:00.000Z',
        amount: '4900',
        description: `Refund ${exampleIds.refund} was made.`,
        reason: 'One of two cups broke',
      },
      {
        event_type: 'SETTLED',
        created_at: '2026-01-15T16:00:00.000Z',
        amount: '9800',
        description: 'The payment was settled.',
        reason: null,
      },
    ],
  },
}

const totals = { count: 1, gross: 9_800, refunds: 4_900, net: 4_900 }

const settlement: Static<typeof Settlement> = {
  batch_number: '2026-01-16',
  settled_at: '2026-01-15T16:00:00.000Z',
  currency: 'PHP',
  ...totals,
}

export const settlementPage = { data: [settlement], pagination: lastPage }

export const settlementDetail: { data: Static<typeof SettlementDetail> } = {
  data: {
    ...settlement,
    merchants: [{ merchant_id: merchant.id, merchant_name: merchant.name, ...totals }],
  },
}
