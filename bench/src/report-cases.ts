import type { Filled, Reader } from './report-rows.ts'

/** Pages that a reader asks for: one sort and one filter, both ways. */
export interface Case {
  readonly reader: Reader
  readonly sort: string
  readonly filter: string
  /** The parameters of the filter, to be put after others. */
  readonly query: string
}

const sorts = ['created_at', 'updated_at', 'amount']

/** Each sort with each filter, by its frequent, rare and absent values, and what shops combine; at each level that may ask for it. */
export function casesOf(filled: Filled): Case[] {
  return filled.readers.flatMap((reader) =>
    sorts.flatMap((sort) =>
      Object.entries(filtersOf(filled, reader)).map(([filter, query]) => ({
        reader,
        sort,
        filter,
        query: query === '' ? '' : `&${query}`,
      })),
    ),
  )
}

function filtersOf(filled: Filled, { level }: Reader): Record<string, string> {
  return {
    none: '',
    ...(level === 'partner' ? { merchant: `merchant_id=${filled.merchantId}` } : {}),
    ...(level === 'branch' ? {} : placesOf(filled)),
    'method, most': 'payment_method=CARD_NOT_PRESENT',
    'method, some': 'payment_method=QR_PH',
    'method, few': 'payment_method=OTHER',
    'method, none': 'payment_method=MOBILE',
    'brand, most': 'card_brand=VISA',
    'brand, some': 'card_brand=JCB',
    'brand, few': 'card_brand=DISCOVER',
    'status, most': 'status=CAPTURED',
    'status, some': 'status=DECLINED',
    'status, few': 'status=VOIDED',
    'status, open': 'status=PENDING',
    'status, none': 'status=AUTHORIZED',
    'status, refunds': 'status=REFUNDED,PARTIALLY_REFUNDED',
    'status, failures': 'status=DECLINED,FAILED,EXPIRED,CANCELLED',
    ...timesOf(),
    'refunds of 30 days': `status=REFUNDED,PARTIALLY_REFUNDED&date_from=${daysAgo(30)}`,
    'captured of a day': `status=CAPTURED&${between(2, 1)}`,
    'declined by brand': 'status=DECLINED&card_brand=AMEX',
    'failed by method and month': `status=FAILED&payment_method=QR_PH&${between(60, 30)}`,
  }
}

const placesOf = (filled: Filled): Record<string, string> => ({
  'branch, large': `branch_id=${filled.branchId}`,
  'branch, small': `branch_id=${filled.smallBranchId}`,
  code: `activation_code=${filled.activationCode}`,
  'branch, refunds': `branch_id=${filled.smallBranchId}&status=REFUNDED,PARTIALLY_REFUNDED`,
})

const timesOf = (): Record<string, string> => ({
  'from yesterday': `date_from=${daysAgo(1)}`,
  'from 30 days ago': `date_from=${daysAgo(30)}`,
  'to 180 days ago': `date_to=${daysAgo(180)}`,
  'a day': between(181, 180),
  'a month': between(210, 180),
})

const between = (from: number, to: number): string => `date_from=${daysAgo(from)}&date_to=${daysAgo(to)}`
const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString()
