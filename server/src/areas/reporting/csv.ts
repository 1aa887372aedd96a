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

/** One cell (RFC 4180). What a spreadsheet could take for a formula gets a leading apostrophe. */
export function csvCell(value: unknown): string {
  const text = typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
  const guarded = formula.test(text) ? `'${text}` : text
  return special.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}

const csvLine = (cells: readonly unknown[]): string => `${cells.map(csvCell).join(',')}\r\n`

/** Each column as the names that lead to it. */
const paths = transactionColumns.map((column) => column.split('.'))
const valueAt = (row: object, path: readonly string[]): unknown =>
  path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], row)

/** Shown transactions as CSV, a page of them at a time and none before the one before was taken. */
export function transactionsCsv<Row>(pages: AsyncIterable<Row[]>, present: (row: Row) => object): Readable {
  return Readable.from(textOf(pages, present), { objectMode: false, highWaterMark: 64 * 1024 })
}

async function* textOf<Row>(pages: AsyncIterable<Row[]>, present: (row: Row) => object): AsyncGenerator<Buffer> {
  yield Buffer.from(csvLine(transactionColumns))
  for await (const rows of pages) {
    const lines = rows.map((row) => {
      const shown = present(row)
      return csvLine(paths.map((path) => valueAt(shown, path)))
    })
    if (lines.length > 0) yield Buffer.from(lines.join(''))
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
