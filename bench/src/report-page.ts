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
const ratioMax = 1.5
// The p99 of one round is two pages of a hundred: what is this near the bound or over it is told from chance by more rounds.
const ratioDoubted = 0.9 * ratioMax
const roundsTimes = 3

/** Pages of transactions among very many, against the same pages among 10,000: by each sort, with each filter, at each level of key. */
export async function reportPage({ rounds, size, profileDir }: Options): Promise<Bound[]> {
  await using held = new AsyncDisposableStack()
  const few = await openReport(held, rowsFew, undefined)
  const many = await openReport(held, size, profileDir)
  console.log(
    `  ${samples} pages of each case a round, of both in turn: ${orders.join(' and ')}, the first ${pages} each; PostgreSQL with fsync; log level info, to a file`,
  )
  const found: Asked[] = []
  for (const [index, one] of many.cases.entries()) {
    const other = few.cases[index]
    if (other === undefined) throw new Error('both have the same cases')
    const asked: Asked = { of: one, sides: [timesOf(few.client, other), timesOf(many.client, one)], rounds: [] }
    await inTurn(asked.sides, orders.length * pages)
    for (let round = 1; round <= rounds; round += 1) await ask(asked)
    found.push(asked)
  }
  const doubted = found.filter((one) => ratioOf(one) > ratioDoubted)
  console.log(
    `  ${doubted.length} cases are over ${ratioDoubted.toFixed(2)}, and have ${roundsTimes * rounds} rounds in all`,
  )
  await askAgain(doubted, (roundsTimes - 1) * rounds)
  const worst = found.toSorted((a, b) => ratioOf(b) - ratioOf(a))
  const over = worst.filter((one) => ratioOf(one) > ratioMax)
  console.log(`  ${found.length} cases, of which ${over.length} are over; the worst:`)
  for (const one of worst.slice(0, Math.max(listedMax, over.length))) console.log(`    ${sentenceOf(one)}`)
  const slowest = found.reduce((a, b) => (middleOf(b, 'own') > middleOf(a, 'own') ? b : a))
  console.log(`  the slowest: ${sentenceOf(slowest)}`)
  return ['created_at', 'updated_at', 'amount'].map((sort) =>
    atMost(
      `p99 by ${sort}, of the case where it grows most, times that at ${rowsFew.toLocaleString('en')}`,
      Math.max(...found.filter(({ of }) => of.sort === sort).map(ratioOf)),
      ratioMax,
    ),
  )
}

/** A case, and the p99 in ms of each of its rounds so far. */
interface Asked {
  readonly of: Case
  readonly sides: readonly AsyncGenerator<number, never, undefined>[]
  readonly rounds: { readonly base: number; readonly own: number }[]
}

const middleOf = ({ rounds }: Asked, side: 'base' | 'own'): number => median(rounds.map((round) => round[side]))

const ratioOf = ({ rounds }: Asked): number => median(rounds.map(({ base, own }) => own / base))

const sentenceOf = (one: Asked): string =>
  `${one.of.reader.level}, by ${one.of.sort}, ${one.of.filter}: ${middleOf(one, 'own').toFixed(1)} ms against ` +
  `${middleOf(one, 'base').toFixed(1)} ms, ratio ${ratioOf(one).toFixed(2)} of ${one.rounds.length} rounds`

/** One round more. */
async function ask({ sides, rounds }: Asked): Promise<void> {
  const [base, own] = (await inTurn(sides, samples)).map((times) => quantile(times, 0.99))
  if (base === undefined || own === undefined) throw new Error('there are two sides')
  rounds.push({ base, own })
}

/**
 * So many rounds more of each, whatever these find, and all that it ever had count: to end with the first good middle would be to choose
 * it. A round of each in turn: what the machine does for some seconds meets one round of a case and not all.
 */
async function askAgain(doubted: readonly Asked[], rounds: number): Promise<void> {
  for (let round = 1; round <= rounds; round += 1) {
    for (const one of doubted) await ask(one)
  }
}

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
