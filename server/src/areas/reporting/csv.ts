import { Readable } from 'node:stream'
import { transactionColumns } from './store-csv.ts'

type Pages = AsyncIterable<readonly { readonly lines: string }[]>

/**
 * Lines below their header, a page of them at a time and none before the one before was taken. Disposes of the pages however it ends,
 * also where nothing was taken.
 */
export function transactionsCsv(pages: Pages & AsyncDisposable): Readable {
  const stream = Readable.from(textOf(pages), { highWaterMark: 1 })
  return stream.once('close', () => void pages[Symbol.asyncDispose]())
}

async function* textOf(pages: Pages): AsyncGenerator<string> {
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
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0
  return csv > 0 && csv >= json
}
