import type { CreateTerminalPayment } from '@kaha/contract'
import type { Static } from 'typebox'
import type { Asked, Written } from './order.ts'

type Body = Static<typeof CreateTerminalPayment>
type Exact = { readonly digits: string }
type ExactTree = { readonly [name: string]: unknown }

const isExact = (value: unknown): value is Exact => typeof value === 'object' && value !== null && 'digits' in value

/** The same JSON with the digits of each number as they were written: a number in memory has lost some of them. */
const withDigits = (text: string): unknown =>
  JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? ({ digits: context?.source ?? String(value) } satisfies Exact) : value,
  )

/** A price or a quantity, with the digits that it was sent with. */
function written(value: unknown): Written {
  if (isExact(value)) return { text: value.digits, isNumber: true }
  return { text: String(value), isNumber: false }
}

const picked = (from: Readonly<Record<string, unknown>>, names: readonly string[]) =>
  Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])))

const productFields = ['id', 'name', 'price', 'quantity', 'category', 'sku', 'brand', 'tax', 'discount'] as const
const customerFields = ['customerId', 'email', 'phone'] as const

/** A payment request, with what tills send beside it left aside. `text` is the JSON that `body` was read from. */
export function readAsked(body: Body, text: string, path: readonly string[] = []): Asked {
  let tree = withDigits(text)
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
    request: {
      ...picked(body, ['transactionId', 'amount', 'currency', 'paymentMethod']),
      ...(body.products === undefined ? {} : { products: body.products.map((line) => picked(line, productFields)) }),
      ...(body.customerInfo === undefined ? {} : { customerInfo: picked(body.customerInfo, customerFields) }),
      ...picked(body, ['metadata']),
    },
  }
}
