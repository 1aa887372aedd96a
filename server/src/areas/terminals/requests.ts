import type { CreateTerminalPayment } from '@kaha/contract'
import type { Static } from 'typebox'
import { digitsOf, parseAsWritten } from '../../kernel/json-digits.ts'
import { checkBytes, type Asked, type Written } from './order.ts'

type Body = Static<typeof CreateTerminalPayment>
type ExactTree = { readonly [name: string]: unknown }

/** A price or a quantity, with the digits that it was sent with. */
function written(value: unknown): Written {
  const digits = digitsOf(value)
  return digits === undefined ? { text: String(value), isNumber: false } : { text: digits, isNumber: true }
}

const picked = (from: Readonly<Record<string, unknown>>, names: readonly string[]) =>
  Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])))

const productFields = ['id', 'name', 'price', 'quantity', 'category', 'sku', 'brand', 'tax', 'discount'] as const
const customerFields = ['customerId', 'email', 'phone'] as const

/** A payment request, with what tills send beside it left aside. `text` is the JSON that `body` was read from. */
export function readAsked(body: Body, text: string, path: readonly string[] = []): Asked {
  const { products, customerInfo } = body
  const known = {
    ...picked(body, ['transactionId', 'amount', 'currency', 'paymentMethod']),
    ...(products === undefined ? {} : { products: products.map((line) => picked(line, productFields)) }),
    ...(customerInfo === undefined ? {} : { customerInfo: picked(customerInfo, customerFields) }),
    ...picked(body, ['metadata']),
  }
  // Before its numbers are looked at one by one.
  checkBytes(JSON.stringify(known))
  let tree = parseAsWritten(text)
  for (const name of path) tree = (tree as ExactTree)[name]
  const exact = tree as ExactTree
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
    request: { ...known, ...picked(exact, ['metadata']) },
  }
}
