import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './until.ts'

type Hooks = { after(close: () => Promise<void>): void }

/** What is between the processes of one installation: settings that all of them have. */
export interface Between {
  /** Why it is left out, where it is. */
  readonly missing?: string | undefined
  /** Begins what they name, which ends after the test. */
  settings(t: Hooks): Promise<Record<string, string>>
}

// Debian keeps it where only administrators look.
const path = `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin`
const env = { ...process.env, PATH: path }

/** Why what needs a broker is left out; undefined where there is one. */
export const noNats: string | undefined =
  spawnSync('nats-server', ['--version'], { env }).error === undefined
    ? undefined
    : 'NATS between processes: there is no nats-server'

/** A NATS broker on a free port of this machine. */
export interface NatsServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
  /** kill -9, and nothing until it is started again. */
  kill(): Promise<void>
  /** On the port that it had. */
  startAgain(): Promise<void>
}

export async function startNats(args: readonly string[] = []): Promise<NatsServer> {
  const folder = await mkdtemp(join(tmpdir(), 'kaha-nats-'))
  const start = async (port: number) => {
    const child = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port), '--ports_file_dir', folder, ...args], {
      env,
      stdio: 'ignore',
    })
    const file = join(folder, `nats-server_${child.pid}.ports`)
    let found = ''
    await until('the port of the broker', async () => {
      if (child.exitCode !== null) throw new Error(`nats-server ended with code ${child.exitCode}`)
      found = await readFile(file, 'utf8').catch(() => '')
      return found.endsWith('}')
    })
    const [url = ''] = (JSON.parse(found) as { nats: string[] }).nats
    return { child, port: Number(new URL(url).port) }
  }
  let { child, port } = await start(-1)
  const end = async (one: ChildProcess) => {
    if (one.exitCode !== null || one.signalCode !== null) return
    const ended = once(one, 'exit')
    one.kill('SIGKILL')
    await ended
  }
  return {
    port,
    url: `nats://127.0.0.1:${port}`,
    kill: () => end(child),
    async startAgain() {
      ;({ child } = await start(port))
    },
    async [Symbol.asyncDispose]() {
      await end(child)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export const betweenByPostgres: Between = { settings: async () => ({}) }

export const betweenByNats: Between = {
  missing: noNats,
  async settings({ after }) {
    const broker = await startNats()
    after(async () => broker[Symbol.asyncDispose]())
    return { KAHA_NATS_URL: broker.url }
  },
}
