import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { atMost, ratioAtLeast, type Bound } from './bounds.ts'
import { startChild, type Child } from './child.ts'
import { compare, median, type Done } from './compare.ts'
import { cpuMsOf } from './cpu.ts'
import type { Options } from './options.ts'
import { openPlace, type Place } from './place.ts'
import { issueTerminals, socketPath } from './terminals.ts'
import type { Crowd } from './terminals-child.ts'

const handshakesAtOnce = 256
// Code that has not run yet is not what a socket costs.
const warmUpTerminals = 1_000
const crowds = 2
// Longer than it takes to ping them all once.
const settleMs = 20_000
const kibibytesMax = 12

/** Terminals that are connected and say nothing: what one costs in memory, and how soon all of them are there. */
export async function terminalsIdle({ rounds, size, profileDir }: Options): Promise<Bound[]> {
  await using place = await openPlace({ profileDir })
  const first = await place.startServer()
  const terminals = await issueTerminals(first, place.target, size)
  await first.stop()
  const joining = Array.from({ length: crowds }, () => place.use(startChild('terminals-child.ts')))
  const subject = sideOf('gateway', async () => {
    await forgetSockets(place)
    const server = await place.startServer()
    const end = () => server.kill()
    return { pid: server.pid, origin: server.sandbox.base_url, end }
  })
  const yardstick = sideOf('bare ws', async () => {
    const server = startChild('bare-socket-child.ts')
    const origin = await server.call<string>('listen')
    return { pid: server.pid, origin, end: async () => server[Symbol.asyncDispose]() }
  })
  console.log(
    `  ${size.toLocaleString('en')} terminals, ${handshakesAtOnce} handshakes at once, memory ${settleMs / 1_000} s later; PostgreSQL with fsync`,
  )
  const compared = await compare(subject.side, yardstick.side, { rounds, warmUps: 0 })
  const [own, bare] = [subject, yardstick].map(({ kibibytes }) => median(kibibytes))
  console.log(`  memory of one: gateway ${own?.toFixed(1)} KiB, bare ws ${bare?.toFixed(1)} KiB`)
  return [
    ratioAtLeast('rate of the handshakes of bare ws', compared, 0.5),
    atMost('memory of a connected terminal above that of the process', own ?? Number.NaN, kibibytesMax, ' KiB'),
  ]

  function sideOf(name: string, start: () => Promise<Served>) {
    const kibibytes: number[] = []
    let cpuMs = 0
    let served: Served | undefined
    let base = 0
    const side = {
      name,
      async prepare() {
        served = await start()
        base = residentKibibytes(served.pid)
        await joinAll(joining, served.origin, terminals.slice(0, warmUpTerminals))
        await leaveAll(joining)
        await sleep(1_000)
      },
      async run(): Promise<Done> {
        if (served === undefined) throw new Error('nothing was started')
        const cpuBefore = cpuMsOf(served.pid)
        const begun = performance.now()
        await joinAll(joining, served.origin, terminals)
        const seconds = (performance.now() - begun) / 1_000
        cpuMs += cpuMsOf(served.pid) - cpuBefore
        await sleep(settleMs)
        const open = await Promise.all(joining.map((one) => one.call<number>('count')))
        if (open.reduce((sum, one) => sum + one, 0) !== size) throw new Error('terminals have lost their sockets')
        kibibytes.push((residentKibibytes(served.pid) - base) / size)
        console.log(`    ${name}: ${kibibytes.at(-1)?.toFixed(1)} KiB each above ${(base / 1_024).toFixed(0)} MiB`)
        await served.end()
        await leaveAll(joining)
        return { count: size, seconds }
      },
      cpuMs: () => ({
        server: cpuMs,
        PostgreSQL: place.postgresCpuMs(),
        clients: joining.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0),
      }),
    }
    return { side, kibibytes }
  }
}

interface Served {
  readonly pid: number
  readonly origin: string
  end(): Promise<unknown>
}

/** Each child takes its part. */
async function joinAll(joining: readonly Child[], origin: string, terminals: Crowd['terminals']): Promise<void> {
  const part = Math.ceil(terminals.length / joining.length)
  await Promise.all(
    joining.map((child, index) =>
      child.call<Done>('join', {
        origin,
        path: socketPath,
        approves: false,
        terminals: terminals.slice(index * part, (index + 1) * part),
        atOnce: handshakesAtOnce / joining.length,
      } satisfies Crowd),
    ),
  )
}

const leaveAll = (joining: readonly Child[]) => Promise.all(joining.map((child) => child.call('leave')))

/** What a process that was ended left behind: nobody is to mend it while others are measured. */
async function forgetSockets({ client }: Place): Promise<void> {
  await client.query('delete from terminals.sockets')
  await client.query(`update terminals.terminals set status = 'offline', offline_at = null where status <> 'offline'`)
  await client.query('vacuum analyze terminals.terminals, terminals.sockets')
}

function residentKibibytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}
