import { Client } from 'undici'
import { atMost, type Bound } from './bounds.ts'
import { median, quantile } from './compare.ts'
import type { Options } from './options.ts'
import { openPlace } from './place.ts'
import { casesOf, type Case } from './report-cases.ts'
import { fillReport } from './report-rows.ts'

const rowsFew = 10_000
const orders = ['desc', 'asc']
const pages = 3
const samples = 100
const listedMax = 15

/** Pages of transactions among very many, against the same pages among 10,000: by each sort, with each filter, at each level of key. */
export async function reportPage({ rounds, size, profileDir }: Options): Promise<Bound[]> {
  await using held = new AsyncDisposableStack()
  const few = await openReport(held, rowsFew, undefined)
  const many = await openReport(held, size, profileDir)
  console.log(
    `  ${samples} pages of each case a round, of both in turn: ${orders.join(' and ')}, the first ${pages} each; PostgreSQL with fsync; log level info, to a file`,
  )
  const found: Found[] = []
  for (const [index, one] of many.cases.entries()) {
    const other = few.cases[index]
    if (other === undefined) throw new Error('both have the same cases')
    const sides = [timesOf(few.client, other), timesOf(many.client, one)] as const
    await inTurn(sides, orders.length * pages)
    const rows = []
    for (let round = 1; round <= rounds; round += 1) {
      const [base, own] = (await inTurn(sides, samples)).map((times) => quantile(times, 0.99))
      if (base === undefined || own === undefined) throw new Error('there are two sides')
      rows.push({ base, own, ratio: own / base })
    }
    found.push({
      of: one,
      baseMs: median(rows.map(({ base }) => base)),
      ownMs: median(rows.map(({ own }) => own)),
      ratio: median(rows.map(({ ratio }) => ratio)),
    })
  }
  const worst = found.toSorted((a, b) => b.ratio - a.ratio)
  const over = worst.filter(({ ratio }) => ratio > ratioMax)
  console.log(`  ${found.length} cases, of which ${over.length} are over; the worst:`)
  for (const one of worst.slice(0, Math.max(listedMax, over.length))) console.log(`    ${sentenceOf(one)}`)
  const slowest = found.reduce((a, b) => (b.ownMs > a.ownMs ? b : a))
  console.log(`  the slowest: ${sentenceOf(slowest)}`)
  return ['created_at', 'updated_at', 'amount'].map((sort) =>
    atMost(
      `p99 by ${sort}, of the case where it grows most, times that at ${rowsFew.toLocaleString('en')}`,
      Math.max(...found.filter(({ of }) => of.sort === sort).map(({ ratio }) => ratio)),
      ratioMax,
    ),
  )
}

const ratioMax = 1.5

interface Found {
  readonly of: Case
  readonly baseMs: number
  readonly ownMs: number
  readonly ratio: number
}

const sentenceOf = ({ of, baseMs, ownMs, ratio }: Found): string =>
  `${of.reader.level}, by ${of.sort}, ${of.filter}: ${ownMs.toFixed(1)} ms against ${baseMs.toFixed(1)} ms, ratio ${ratio.toFixed(2)}`

async function openReport(held: AsyncDisposableStack, rows: number, profileDir: string | undefined) {
  const place = held.use(await openPlace({ profileDir }))
  const begun = performance.now()
  const filled = await fillReport(place.client, rows)
  const server = await place.startServer()
  const client = new Client(server.sandbox.base_url)
  held.defer(() => client.close())
  console.log(
    `  ${rows.toLocaleString('en')} transactions, made in ${((performance.now() - begun) / 1_000).toFixed(0)} s`,
  )
  return { client, cases: casesOf(filled) }
}

/**
 * How long so many pages of each side took, in ms, one of each in turn: what else the machine does meets both alike. As many of each, for
 * the longest of many are longer than those of few.
 */
async function inTurn(sides: readonly AsyncGenerator<number, never, undefined>[], times: number): Promise<number[][]> {
  const found = sides.map((): number[] => [])
  for (let time = 0; time < times; time += 1) {
    for (const [index, side] of sides.entries()) found[index]?.push((await side.next()).value)
  }
  return found
}

/** How long each page takes, in ms: both orders, the first pages of each, over and over. */
async function* timesOf(client: Client, { reader, sort, query }: Case): AsyncGenerator<number, never, undefined> {
  for (;;) {
    for (const order of orders) {
      let cursor: string | null = ''
      for (let page = 0; page < pages && cursor !== null; page += 1) {
        const begun = performance.now()
        const { statusCode, body } = await client.request({
          method: 'GET',
          path: `/reports/v1/transactions?sort_by=${sort}&sort_order=${order}${query}${cursor}`,
          headers: { 'x-api-key': reader.key },
        })
        const text = await body.text()
        const ms = performance.now() - begun
        if (statusCode !== 200) throw new Error(`${query} was answered ${text}`)
        const { pagination } = JSON.parse(text) as { pagination: { next_cursor: string | null } }
        cursor = pagination.next_cursor === null ? null : `&cursor=${encodeURIComponent(pagination.next_cursor)}`
        yield ms
      }
    }
  }
}
