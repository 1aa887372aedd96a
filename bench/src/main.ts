// `npm run bench -- NAME`: measures what was promised, each beside a yardstick in the same run.
import { resolve } from 'node:path'
import { argumentsOf } from '../../scripts/arguments.ts'
import { tell, type Bound } from './bounds.ts'
import { checkoutPay } from './checkout-pay.ts'
import { createLink } from './create-link.ts'
import { deliver } from './deliver.ts'
import { dispatch } from './dispatch.ts'
import { listLinks } from './list-links.ts'
import { offered } from './offered.ts'
import type { Options } from './options.ts'
import { qrCreate } from './qr-create.ts'
import { queues } from './queues.ts'
import { reportCsv } from './report-csv.ts'
import { reportPage } from './report-page.ts'
import { scale } from './scale.ts'
import { start } from './start.ts'
import { terminalsIdle } from './terminals-idle.ts'
import { terminalsPay } from './terminals-pay.ts'

interface Benchmark {
  readonly says: string
  run(options: Options): Promise<Bound[]>
  /** Where it measures by time, and not as long as the others. */
  readonly seconds?: number
  /** How many of what, where that can be chosen. */
  readonly size?: { readonly count: number; readonly of: string }
}

const benchmarks: Readonly<Record<string, Benchmark>> = {
  'create-link': { says: 'payment links created over HTTP, against a bare pg loop', run: createLink },
  'list-links': { says: 'a page of 20 links, against a bare Fastify route with the same query', run: listLinks },
  'checkout-pay': {
    says: 'card payments confirmed over HTTP, against a bare pg loop that writes the same rows',
    run: checkoutPay,
    size: { count: 4_000, of: 'payments' },
  },
  'qr-create': {
    says: 'QR Ph codes made over HTTP, against a bare loop of their cryptography, picture and transaction; and how soon one is',
    run: qrCreate,
    size: { count: 4_000, of: 'codes' },
  },
  deliver: {
    says: 'events delivered, against a bare undici loop; and the latency of one',
    run: deliver,
    size: { count: 20_000, of: 'events' },
  },
  dispatch: {
    says: 'events to queued deliveries, against a bare pg loop that moves the same rows',
    run: dispatch,
    size: { count: 50_000, of: 'events' },
  },
  offered: {
    says: 'how soon events arrive that come at an even rate',
    run: offered,
    seconds: 300,
    size: { count: 1_000, of: 'events a second' },
  },
  queues: {
    says: 'events delivered, against graphile-worker and pg-boss with a handler that posts them',
    run: queues,
    size: { count: 20_000, of: 'events' },
  },
  scale: {
    says: 'claims and lists of events with very many rows, against the same with 10,000',
    run: scale,
    size: { count: 5_000_000, of: 'open deliveries' },
  },
  'report-page': {
    says: 'pages of transactions by each sort and filter among very many, against the same among 10,000',
    run: reportPage,
    size: { count: 5_000_000, of: 'transactions' },
  },
  'report-csv': {
    says: 'transactions exported as CSV, and the memory that it takes',
    run: reportCsv,
    size: { count: 500_000, of: 'transactions' },
  },
  'terminals-idle': {
    says: 'terminals connected and idle, against bare ws',
    run: terminalsIdle,
    size: { count: 18_000, of: 'terminals' },
  },
  'terminals-pay': {
    says: 'payments at terminals over HTTP, against bare ws behind a bare HTTP server',
    run: terminalsPay('nothing'),
  },
  'terminals-pay-postgres': {
    says: 'the same across two processes, PostgreSQL between them',
    run: terminalsPay('PostgreSQL'),
  },
  'terminals-pay-nats': { says: 'the same across two processes, NATS between them', run: terminalsPay('NATS') },
  start: { says: 'start with existing data, and memory at rest', run: start },
}

const secondsDefault = 5
const sizes = Object.entries(benchmarks).flatMap(([name, { size }]) =>
  size === undefined ? [] : [`${name} ${size.count.toLocaleString('en')} ${size.of}`],
)
const lasting = Object.entries(benchmarks).flatMap(([name, { seconds }]) =>
  seconds === undefined ? [] : [`; ${name} ${seconds}`],
)

const nameWidth = Math.max(...Object.keys(benchmarks).map((name) => name.length))

const usage = `npm run bench -- NAME [options]

${Object.entries(benchmarks)
  .map(([name, { says }]) => `  ${name.padEnd(nameWidth)} ${says}`)
  .join('\n')}
  ${'all'.padEnd(nameWidth)} every one of them

  --rounds N     how often all sides are measured (5)
  --seconds S    how long each time (${secondsDefault}${lasting.join('')})
  --size N       how many: ${sizes.join(', ')}
  --no-bound     exit code 0 whatever comes out
  --profile DIR  leave CPU profiles of the measured server there`

process.exitCode = await main()

async function main(): Promise<number> {
  const { values, positionals } = argumentsOf(usage, {
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string' },
      size: { type: 'string' },
      'no-bound': { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  })
  const [name, ...more] = positionals
  const names = name === 'all' ? Object.keys(benchmarks) : [name ?? '']
  const rounds = Number(values.rounds)
  const seconds = values.seconds === undefined ? undefined : Number(values.seconds)
  const size = values.size === undefined ? undefined : Number(values.size)
  const profileDir = values.profile === undefined ? undefined : resolve(values.profile)
  const fits = rounds >= 1 && (seconds ?? 1) > 0 && Number.isInteger(size ?? 1) && (size ?? 1) > 0
  if (!fits || more.length > 0 || names.some((one) => benchmarks[one] === undefined)) {
    console.log(usage)
    return name === undefined && fits ? 0 : 1
  }
  const bounds: Bound[] = []
  for (const one of names) {
    const benchmark = benchmarks[one]
    if (benchmark === undefined) continue
    console.log(`${one}: ${benchmark.says}`)
    const found = await benchmark.run({
      rounds,
      seconds: seconds ?? benchmark.seconds ?? secondsDefault,
      size: size ?? benchmark.size?.count ?? 0,
      profileDir,
    })
    found.forEach(tell)
    bounds.push(...found)
  }
  return values['no-bound'] || bounds.every(({ holds }) => holds) ? 0 : 1
}
