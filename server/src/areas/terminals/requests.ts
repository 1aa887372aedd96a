import type { CreateTerminalPayment } from '@kaha/contract'
import type { Static } from 'typebox'
import { digitsOf } from '../../kernel/json-digits.ts'
import { checkBytes, type PaymentAsked, type Written } from './order.ts'

type Body = Static<typeof CreateTerminalPayment>
type ExactTree = { readonly [name: string]: unknown }

/** A price or a quantity, with the digits that it was sent with. */
function written(value: unknown): Written {
  const digits = digitsOf(value)
  return digits === undefined ? { text: String(value), isNumber: false } : { text: digits, isNumber: true }
}

function picked(from: Readonly<Record<string, unknown>>, names: readonly string[]) {
  const those: Record<string, unknown> = {}
  for (const name of names) if (from[name] !== undefined) those[name] = from[name]
  return those
}

const requestFields = [
  'transactionId',
  'amount',
  'currency',
  'paymentMethod',
  'products',
  'customerInfo',
  'metadata',
] as const
const productFields = ['id', 'name', 'price', 'quantity', 'category', 'sku', 'brand', 'tax', 'discount'] as const
const customerFields = ['customerId', 'email', 'phone'] as const

/** A payment request, with what tills send beside it left aside. `asWritten` gives it with the digits of its numbers as they were written. */
export function readPayment(body: Body, asWritten: () => unknown): PaymentAsked {
  const { products, customerInfo } = body
  const known = picked(body, requestFields)
  if (products !== undefined) known['products'] = products.map((line) => picked(line, productFields))
  if (customerInfo !== undefined) known['customerInfo'] = picked(customerInfo, customerFields)
  // Before its numbers are looked at one by one.
  checkBytes(JSON.stringify(known))
  const exact = asWritten() as ExactTree
  const lines = exact['products'] as readonly ExactTree[] | undefined
  const { transactionId, webhookMode } = body
  return {
    transactionId,
    amount: written(exact['amount']),
    currency: body.currency,
    paymentMethod: body.paymentMethod,
    lines: lines?.map(({ price, quantity, tax, discount }) => ({
      price: written(price),
      quantity: written(quantity),
      tax: tax === undefined ? null : written(tax),
      discount: discount === undefined ? null : written(discount),
    })),
    webhookMode: webhookMode === true,
    request: exact['metadata'] === undefined ? known : { ...known, metadata: exact['metadata'] },
  }
}
