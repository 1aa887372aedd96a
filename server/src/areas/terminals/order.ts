import { hash } from 'node:crypto'
import { alike, holdsAll, parseAsWritten } from '../../kernel/json-digits.ts'
import { inKeyOrder } from '../../kernel/json-order.ts'
import { amountMax, currencyOf, decimalToMinor, minorToDecimal } from '../../kernel/money.ts'
import { refuse } from './errors.ts'

/** A price as the request has it: text, or a number with the digits that it was written with. */
export type Written = { readonly text: string; readonly isNumber: boolean }

export interface OrderLine {
  readonly price: Written
  readonly quantity: Written
  readonly tax: Written | null
  readonly discount: Written | null
}

/** What a payment request asks for, before it is looked at closely. */
export interface PaymentAsked {
  readonly transactionId: string | undefined
  readonly amount: Written
  readonly currency: string
  readonly paymentMethod: string
  readonly lines: readonly OrderLine[] | undefined
  readonly webhookMode: boolean
  /** The known fields, in one order, as they are given back. */
  readonly request: Readonly<Record<string, unknown>>
}

export interface Order extends PaymentAsked {
  readonly amountMinor: bigint
  /** The request without its transactionId, as JSON: a number in one form of all that it can be written in. */
  readonly text: string
  /** Of the request and nothing else: that of a repeat which came in the same order is the same. */
  readonly hash: Buffer
}

const quantityDecimals = 3
// What a frame to the terminal holds is 64 KiB, with the rest of the message. Numbers that only their text holds are read anew, one by one,
// whenever the payment is shown.
const textBytesMax = 60 * 1024
const longNumbersBytesMax = 8 * 1024
const significantDigitsMax = 15
const amountField = 'amount'

const bad = (field: string, rule: string, message: string) =>
  refuse('INVALID_AMOUNT', `${field}: ${message}`, field, rule)

const mayBeText = (field: string): boolean => field === amountField || field.endsWith('.price')

/** A decimal, free of signs and exponents; a number with digits that it can hold exactly. */
function plain({ text, isNumber }: Written, field: string): string {
  if (!/^(0|[1-9]\d*)(\.\d+)?$/.test(text)) throw bad(field, 'decimal', 'must be a plain decimal, as in 150.00.')
  const digits = text.replace('.', '').replace(/^0+/, '')
  if (isNumber && digits.length > significantDigitsMax)
    throw bad(
      field,
      'digits',
      `has more digits than a number can hold; ${mayBeText(field) ? 'send it as a string' : 'round it'}.`,
    )
  return text
}

function minorOf(written: Written, currency: string, field: string): bigint {
  const read = decimalToMinor(plain(written, field), currency)
  if ('minor' in read) {
    if (read.minor > amountMax)
      throw bad(field, 'maximum', `is more than ${minorToDecimal(amountMax, currency)} ${currency}.`)
    return read.minor
  }
  if (read.refusal === 'decimal_places') throw bad(field, 'decimal_places', 'has more decimals than the currency.')
  if (read.refusal === 'integer_digits_max')
    throw bad(field, 'integer_digits', 'has more than 12 digits before the point.')
  throw bad(field, 'decimal', 'must be a plain decimal, as in 150.00.')
}

/** Price × quantity, rounded half up to the currency's decimals. */
function lineMinor({ price, quantity }: OrderLine, currency: string, field: string): bigint {
  const text = plain(quantity, `${field}.quantity`)
  const [whole = '', fraction = ''] = text.split('.')
  if (fraction.length > quantityDecimals) throw bad(`${field}.quantity`, 'decimal_places', 'has more than 3 decimals.')
  const thousandths = BigInt(whole + fraction.padEnd(quantityDecimals, '0'))
  if (thousandths === 0n) throw bad(`${field}.quantity`, 'minimum', 'must be over 0.')
  // Any decimals of a price count until the line is rounded.
  const [units = '', parts = ''] = plain(price, `${field}.price`).split('.')
  if (units.length + parts.length > 32) throw bad(`${field}.price`, 'digits', 'has too many digits.')
  const scale = 10n ** BigInt(parts.length + quantityDecimals)
  const product = BigInt(units + parts) * thousandths * 10n ** BigInt(currencyOf(currency)?.digits ?? 0)
  return (product * 2n + scale) / (scale * 2n)
}

/** Checks amount, currency and sums. Throws INVALID_AMOUNT or INVALID_REQUEST. */
export function checkOrder(asked: PaymentAsked, currencies: readonly string[]): Order {
  const { currency } = asked
  if (!currencies.includes(currency) || currencyOf(currency) === undefined)
    throw refuse('INVALID_REQUEST', `currency: must be one of ${currencies.join(', ')}.`, 'currency', 'one_of')
  const amountMinor = minorOf(asked.amount, currency, amountField)
  if (amountMinor === 0n) throw bad(amountField, 'minimum', 'must be over 0.')
  if (asked.lines !== undefined && asked.lines.length > 0) {
    let lines = 0n
    let tax = 0n
    let discount = 0n
    for (const [index, line] of asked.lines.entries()) {
      const field = `products.${index}`
      lines += lineMinor(line, currency, field)
      if (line.tax !== null) tax += minorOf(line.tax, currency, `${field}.tax`)
      if (line.discount !== null) discount += minorOf(line.discount, currency, `${field}.discount`)
    }
    if (amountMinor !== lines && amountMinor !== lines + tax - discount)
      throw bad(amountField, 'sum', 'is not the sum of the products, nor that sum with tax and discount.')
  }
  const { transactionId: _, ...rest } = asked.request
  // The numbers of all else are as memory writes them.
  const text = 'metadata' in rest ? JSON.stringify(rest, alike) : JSON.stringify(rest)
  checkSize(text, rest)
  return { ...asked, amountMinor, text, hash: hash('sha256', text, 'buffer') }
}

/** Whether a request, as it is stored, is this one, in whatever order a till keeps the keys of its metadata. */
export function isRequestOf(stored: string, { text }: Pick<Order, 'text'>): boolean {
  const { transactionId: _, ...rest } = parseAsWritten(stored) as Readonly<Record<string, unknown>>
  return inOneOrder(rest) === inOneOrder(parseAsWritten(text))
}

const inOneOrder = (request: unknown): string => JSON.stringify(inKeyOrder(request), alike)

/** Refuses a request whose JSON is more than a terminal can be sent. */
export function checkBytes(text: string): number {
  const bytes = Buffer.byteLength(text)
  if (bytes > textBytesMax)
    throw refuse(
      'INVALID_REQUEST',
      'The payment is larger than the 60 KiB that a terminal is sent; leave something out.',
    )
  return bytes
}

function checkSize(text: string, request: object): void {
  if (checkBytes(text) > longNumbersBytesMax && !holdsAll(request))
    throw refuse(
      'INVALID_REQUEST',
      'metadata: has numbers with more digits than are kept in as much; send them as strings.',
      'metadata',
      'digits',
    )
}
