import { Readable } from 'node:stream'
import { transactionColumns } from './store-csv.ts'

/** Lines below their header, a page of them at a time and none before the one before was taken. */
export function transactionsCsv(pages: AsyncIterable<readonly { readonly lines: string }[]>): Readable {
  return Readable.from(textOf(pages), { highWaterMark: 1 })
}

async function* textOf(pages: AsyncIterable<readonly { readonly lines: string }[]>): AsyncGenerator<string> {
  yield `${transactionColumns.join(',')}\r\n`
  for await (const page of pages) for (const { lines } of page) yield lines
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
