import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { postmasterIn } from '../../server/test/faults/database-of.ts'
import { startKahaProcess } from '../../server/test/faults/kaha-process.ts'
import { atMost, type Bound } from './bounds.ts'
import { median } from './compare.ts'
import { childrenOf } from './cpu.ts'
import type { Options } from './options.ts'
import { profiling } from './place.ts'

const restSeconds = 20

/** Start with existing data, against the start of node itself; and what a server at rest holds in memory. */
export async function start({ rounds, profileDir }: Options): Promise<Bound[]> {
  await using held = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'kaha-bench-'))
  held.defer(() => rm(folder, { recursive: true, force: true }))
  const open = async (nodeArgs: readonly string[] = []) =>
    startKahaProcess({ dataDir: join(folder, 'data'), args: [], nodeArgs })
  const first = await open()
  console.log(`  first start, with an empty data directory and the story: ${seconds(first.startMs)}`)
  await first.stop()

  const starts: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const server = await open(await profiling(profileDir))
    const health = await fetch(`${server.sandbox.base_url}/healthz`)
    if (health.status !== 200) throw new Error(`the server answered ${health.status}`)
    await server.stop()
    const bareMs = await bareNode()
    console.log(`  round ${round}: start until sandbox.json ${seconds(server.startMs)}, bare node ${seconds(bareMs)}`)
    starts.push(server.startMs)
  }

  const server = held.use(await open())
  await sleep(restSeconds * 1_000)
  const residentMib = await statusMib(server.pid, 'VmRSS')
  const { pid } = postmasterIn(server.dataDir)
  const postgres = [pid, ...childrenOf(pid)]
  const shared = await Promise.all(postgres.map((one) => proportionalMib(one)))
  console.log(
    `  after ${restSeconds} s at rest: server ${residentMib.toFixed(0)} MiB (most so far ${(await statusMib(server.pid, 'VmHWM')).toFixed(0)}), ` +
      `PostgreSQL ${shared.reduce((sum, one) => sum + one, 0).toFixed(0)} MiB in ${postgres.length} processes`,
  )
  return [
    atMost('start with existing data', median(starts) / 1_000, 2, ' s'),
    atMost('memory of the server process at rest', residentMib, 180, ' MiB'),
  ]
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`

async function bareNode(): Promise<number> {
  const begun = performance.now()
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit')
  return performance.now() - begun
}

/** A figure of /proc/PID/status, there in KiB. */
async function statusMib(pid: number, name: string): Promise<number> {
  return figureMib(await readFile(`/proc/${pid}/status`, 'utf8'), name)
}

/** The process's share of the memory that it uses: pages of several processes count in part. */
async function proportionalMib(pid: number): Promise<number> {
  return figureMib(await readFile(`/proc/${pid}/smaps_rollup`, 'utf8'), 'Pss')
}

function figureMib(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1_024
}
