import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

/** The metrics of one platform. A registry of its own, so that two platforms in one process do not share figures. */
export interface Metrics {
  readonly registry: Registry
  /** What Prometheus reads: those of the platform, and those of the process. */
  text(): Promise<string>
  readonly requests: Counter<'operation' | 'status'>
  readonly requestSeconds: Histogram<'operation'>
  readonly unexpectedErrors: Counter<'where'>
  /** Told as NaN where it cannot be read, or not in time: it must not take the other figures with it. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void
  /** Series that are known stand at 0 from the start: of one that begins with its first count, `increase` of Prometheus sees nothing. */
  counter<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    known?: readonly Readonly<Record<L, string>>[],
  ): Counter<L>
  /** A counter of known series for what happens thousands of times a second: each a plain number, which is read when somebody asks. */
  tallies<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    known: readonly Readonly<Record<L, string>>[],
  ): readonly Tally<L>[]
  histogram<L extends string>(name: string, help: string, labelNames: readonly L[], buckets: number[]): Histogram<L>
}

/** One series. The caller raises `count`. */
export interface Tally<L extends string> {
  readonly labels: Readonly<Record<L, string>>
  count: number
}

const secondsBuckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

// Prometheus gives a scrape 10 s in all, and an answer of the database may take longer.
const readMsUsual = 2_000

let ofProcess: Registry | undefined

/** Process, heap and event loop delay. Once for a process: what observes them never ends, and holds what it writes to. */
function processFigures(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess, prefix: 'kaha_' })
  }
  return ofProcess
}

export function createMetrics({ readMsMax = readMsUsual }: { readonly readMsMax?: number } = {}): Metrics {
  const registry = new Registry()
  const registers = [registry]
  return {
    registry,
    // The library writes Nan, which readers that heed the case of the format's NaN take for no number.
    text: async () => `${await registry.metrics()}${await processFigures().metrics()}`.replaceAll(/ Nan$/gm, ' NaN'),
    requests: new Counter({
      name: 'kaha_http_requests_total',
      help: 'Requests, by operation and status; cut is one whose connection was closed before its answer was written whole.',
      labelNames: ['operation', 'status'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'kaha_http_request_seconds',
      help: 'Time from a request to its answer, by operation.',
      labelNames: ['operation'],
      buckets: secondsBuckets,
      registers,
    }),
    unexpectedErrors: new Counter({
      name: 'kaha_unexpected_errors_total',
      help: 'Errors that nobody expected, by where they came up.',
      labelNames: ['where'],
      registers,
    }),
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          this.set(await inTime(readMsMax, read))
        },
      })
    },
    counter(name, help, labelNames, known = []) {
      const counter = new Counter({ name, help, labelNames: [...labelNames], registers })
      for (const labels of known) counter.inc(labels, 0)
      return counter
    },
    tallies(name, help, labelNames, known) {
      const tallies = known.map((labels) => ({ labels, count: 0 }))
      new Counter({
        name,
        help,
        labelNames: [...labelNames],
        registers,
        collect() {
          this.reset()
          for (const { labels, count } of tallies) this.inc(labels, count)
        },
      })
      return tallies
    },
    histogram: (name, help, labelNames, buckets) =>
      new Histogram({ name, help, labelNames: [...labelNames], buckets, registers }),
  }
}

async function inTime(msMax: number, read: () => number | Promise<number>): Promise<number> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<number>((resolve) => (timer = setTimeout(() => resolve(NaN), msMax)))
  try {
    return await Promise.race([read(), late])
  } catch {
    return NaN
  } finally {
    clearTimeout(timer)
  }
}
