import { masterKeyIn } from '../../server/src/commands/data-dir.ts'
import type { KahaProcess } from '../../server/test/faults/kaha-process.ts'
import { startNats } from '../../server/test/nats.ts'
import { atMost, ratioAtLeast, type Bound } from './bounds.ts'
import { startChild, type Child } from './child.ts'
import { compare, quantile, type Done } from './compare.ts'
import { cpuMsOf } from './cpu.ts'
import type { Options } from './options.ts'
import { openPlace, type Place } from './place.ts'
import { issueTerminals, socketPath } from './terminals.ts'
import type { Crowd } from './terminals-child.ts'
import type { Paid, TillLoad, TillOffer, Tills } from './till-load-child.ts'

/** What is between the process that tills call and the one that terminals hang on. */
export type Between = 'nothing' | 'PostgreSQL' | 'NATS'

const inFlight = 500
const waits = 2_000
const waitMs = 90_000
const joinedAtOnce = 64
// The waits begin one after the other, so that their ends do.
const waitsBegunInSeconds = 20

/** Payments from the till's request to its answer, with the terminal between, against a bare `ws` behind a bare HTTP server. */
export const terminalsPay =
  (between: Between) =>
  async ({ rounds, seconds, profileDir }: Options): Promise<Bound[]> => {
    await using place = await openPlace({ profileDir })
    const servers = await startServers(place, between)
    const [api, gateway] = [servers[0] as KahaProcess, servers.at(-1) as KahaProcess]
    const terminals = await issueTerminals(api, place.target, inFlight + waits)
    const crowd = place.use(startChild('terminals-child.ts'))
    const load = place.use(startChild('till-load-child.ts'))
    const bare = place.use(startChild('bare-socket-child.ts'))
    const bareOrigin = await bare.call<string>('listen')
    const join = (origin: string, those: Crowd['terminals'], approves: boolean) =>
      crowd.call('join', { origin, path: socketPath, terminals: those, approves, atOnce: joinedAtOnce } satisfies Crowd)
    const paying = terminals.slice(0, inFlight)
    await join(gateway.origin, paying, true)
    await join(bareOrigin, paying, true)

    const desktop = api.sandbox.merchants[0]?.terminal_group.desktop
    if (desktop === undefined) throw new Error('the seed has no shop')
    const keys = { apiKey: desktop.api_key, apiSecret: desktop.api_secret }
    const pathOf = (terminal: string) => `/terminal/v1/terminals/${terminal}/payments`
    const ours: Tills = {
      ...keys,
      origin: api.sandbox.base_url,
      paths: paying.map(({ deviceId }) => pathOf(deviceId)),
      status: 200,
    }
    const theirs: Tills = { ...ours, origin: bareOrigin, paths: paying.map((_, index) => pathOf(String(index + 1))) }
    const clients = () => cpuMsOf(load.pid) + cpuMsOf(crowd.pid)
    const subject = {
      name: 'POST payments',
      run: () => load.call<Done>('run', { ...ours, seconds } satisfies TillLoad),
      cpuMs: () => ({
        servers: servers.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0),
        PostgreSQL: place.postgresCpuMs(),
        clients: clients(),
      }),
    }
    const yardstick = {
      name: 'bare ws behind HTTP',
      run: () => load.call<Done>('run', { ...theirs, seconds } satisfies TillLoad),
      cpuMs: () => ({ server: cpuMsOf(bare.pid), clients: clients() }),
    }
    console.log(
      `  ${inFlight} in flight, ${seconds} s a side; ${between === 'nothing' ? 'one process' : `two processes, ${between} between them`}; ` +
        'PostgreSQL with fsync; log level info, to a file',
    )
    const compared = await compare(subject, yardstick, { rounds })
    await assertPaid(place)
    const perSecond = compared.perSecond / 2
    // A database that has run for a while writes its log into files that it has: a new one fills each with zeros first, and all wait.
    await place.client.query('checkpoint')
    const added = await addedMs(load, { ours, theirs, perSecond, seconds: Math.max(seconds, 5) })
    await join(gateway.origin, terminals.slice(inFlight), false)
    const lateMs = await timersLate(place, load, {
      ...ours,
      paths: terminals.slice(inFlight).map(({ deviceId }) => pathOf(deviceId)),
      status: 504,
    })
    return [
      ratioAtLeast('rate of the bare ws behind HTTP', compared, 0.35),
      atMost(`added to a payment at ${perSecond.toFixed(0)} a second, p99`, added, 25, ' ms'),
      atMost(`lateness of a timer with ${waits.toLocaleString('en')} waits open, most`, lateMs, 100, ' ms'),
    ]
  }

/** One that has all roles, or one that tills call and one for terminals. */
async function startServers(place: Place, between: Between): Promise<KahaProcess[]> {
  if (between === 'nothing') return [await place.startServer()]
  const nats = between === 'NATS' ? { KAHA_NATS_URL: place.use(await startNats()).url } : {}
  const first = await place.startServer({ ...nats, KAHA_ROLES: 'api,worker' })
  const key = (await masterKeyIn(first.dataDir)).toString('base64')
  return [first, await place.startServer({ ...nats, KAHA_ROLES: 'gateway', KAHA_MASTER_KEY: key })]
}

/** Everything that was begun is completed, and told. */
async function assertPaid({ client }: Place): Promise<void> {
  const { rows } = await client.query<{ open: string }>(
    `select count(*) as open from terminals.transactions t
      where t.state <> 'COMPLETED' or t.announced is null
         or not exists (select from payments.transactions p where p.id = t.id and p.status = 'CAPTURED')`,
  )
  if (Number(rows[0]?.open) > 0) throw new Error(`${rows[0]?.open} payments are not completed`)
}

// Of a rate: every till opens its connection at the start of it.
const warmUpSeconds = 1

/** What a payment takes longer than with the yardstick, at the same even rate; p99, in ms. */
async function addedMs(
  load: Child,
  {
    ours,
    theirs,
    perSecond,
    seconds,
  }: { readonly ours: Tills; readonly theirs: Tills; readonly perSecond: number; readonly seconds: number },
): Promise<number> {
  const p99: number[] = []
  for (const [name, tills] of [
    ['POST payments', ours],
    ['bare ws behind HTTP', theirs],
  ] as const) {
    const offer: TillOffer = { ...tills, perSecond, seconds: warmUpSeconds + seconds }
    const paid = await load.call<Paid[]>('offer', offer)
    const countedFrom = Math.min(...paid.map(([begun]) => begun)) + warmUpSeconds * 1_000
    const took = paid.filter(([begun]) => begun >= countedFrom).map(([begun, answered]) => answered - begun)
    p99.push(quantile(took, 0.99))
    console.log(
      `    ${name} at ${perSecond.toFixed(0)} a second: p50 ${quantile(took, 0.5).toFixed(1)} ms, p99 ${quantile(took, 0.99).toFixed(1)} ms`,
    )
  }
  return (p99[0] ?? Number.NaN) - (p99[1] ?? 0)
}

/** Payments of terminals that say nothing: how long after the 90 seconds their tills are told; the most, in ms. */
async function timersLate({ client }: Place, load: Child, tills: Tills): Promise<number> {
  const perSecond = tills.paths.length / waitsBegunInSeconds
  const paid = await load.call<Paid[]>('offer', {
    ...tills,
    perSecond,
    seconds: waitsBegunInSeconds,
  } satisfies TillOffer)
  const { rows } = await client.query<{ wait_ms: number }>(
    `select extract(epoch from created_at)::float8 * 1000 + $1 as wait_ms from terminals.transactions where given_up = 'TIMEOUT' order by id`,
    [waitMs],
  )
  if (rows.length !== paid.length) throw new Error(`${rows.length} payments were given up`)
  const answered = paid.map(([, at]) => at).toSorted((a, b) => a - b)
  const late = rows.map(({ wait_ms }) => wait_ms).toSorted((a, b) => a - b)
  const lateMs = late.map((at, index) => (answered[index] ?? Number.NaN) - at)
  console.log(
    `    timers late: p50 ${quantile(lateMs, 0.5).toFixed(1)} ms, p99 ${quantile(lateMs, 0.99).toFixed(1)} ms, most ${quantile(lateMs, 1).toFixed(1)} ms`,
  )
  return quantile(lateMs, 1)
}
