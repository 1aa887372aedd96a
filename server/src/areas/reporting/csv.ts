import { Readable } from 'node:stream'
import { AmountDetails, MerchantDetails, TerminalDetails, TransactionReceipt } from '@kaha/contract'

const nested = (name: string, schema: { readonly properties: object }): string[] =>
  Object.keys(schema.properties).map((field) => `${name}.${field}`)

/** The fields of a transaction in the order of the contract; a nested one by its path. */
export const transactionColumns: readonly string[] = [
  'id',
  'status',
  'amount',
  'currency',
  'payment_method',
  'created_at',
  'updated_at',
  'card_brand',
  'card_last_four',
  'correlation_id',
  ...nested('amount_details', AmountDetails),
  ...nested('receipt', TransactionReceipt),
  ...nested('merchant_details', MerchantDetails),
  ...nested('terminal_details', TerminalDetails),
]

const formula = /^[=+\-@\t\r]/
const special = /[",\r\n]/
// Nearly every cell is neither, and one look tells.
const either = /^[=+\-@\t\r]|[",\r\n]/

/** One cell (RFC 4180). What a spreadsheet could take for a formula gets a leading apostrophe. */
export function csvCell(value: unknown): string {
  const text = typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
  if (!either.test(text)) return text
  const guarded = formula.test(text) ? `'${text}` : text
  return special.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}

/** Each column as the one or two names that lead to it. */
const paths = transactionColumns.map((column) => column.split('.') as [string, string?])

type Fields = Readonly<Record<string, unknown>>

function csvLine(shown: object): string {
  let line = ''
  for (const [name, inner] of paths) {
    const value = (shown as Fields)[name]
    line += `${csvCell(inner === undefined ? value : (value as Fields | undefined)?.[inner])},`
  }
  return `${line.slice(0, -1)}\r\n`
}

/** Shown transactions as CSV, a page of them at a time and none before the one before was taken. */
export function transactionsCsv<Row>(pages: AsyncIterable<Row[]>, present: (row: Row) => object): Readable {
  return Readable.from(textOf(pages, present), { objectMode: false, highWaterMark: 64 * 1024 })
}

async function* textOf<Row>(pages: AsyncIterable<Row[]>, present: (row: Row) => object): AsyncGenerator<Buffer> {
  yield Buffer.from(`${transactionColumns.join(',')}\r\n`)
  for await (const rows of pages) {
    let lines = ''
    for (const row of rows) lines += csvLine(present(row))
    if (lines !== '') yield Buffer.from(lines)
  }
}

/** Whether an Accept header asks for CSV rather than JSON (RFC 9110, 12.5.1). */
export function prefersCsv(accept: string | undefined): boolean {
  const weights = new Map(
    (accept ?? '').split(',').map((range): [string, number] => {
      const [type = '', ...parameters] = range
        .toLowerCase()
        .split(';')
        .map((part) => part.trim())
      const q = parameters.find((parameter) => parameter.startsWith('q='))
      return [type, q === undefined ? 1 : Number(q.slice(2))]
    }),
  )
  const csv = weights.get('text/csv') ?? weights.get('text/*') ?? 0
  return csv > 0 && csv >= (weights.get('application/json') ?? weights.get('application/*') ?? 0)
}
