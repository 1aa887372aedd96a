import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createKaha } from '@kaha/sdk'
import flags from '../../node-flags.json' with { type: 'json' }
import type { Seed } from '../../src/sandbox/seed.ts'
import { eventually } from './eventually.ts'

/** What a client finds in sandbox.json. */
export type SandboxFile = Seed & { readonly pid: number; readonly base_url: string; readonly sandbox_url: string }

/** A Kaha as people run it: a process of its own, on a data directory that it shares with nobody. */
export interface KahaProcess extends AsyncDisposable {
  readonly pid: number
  readonly dataDir: string
  /** Of a process with the role `api`; others write none. */
  readonly sandbox: SandboxFile
  /** Where this very process listens. */
  readonly origin: string
  /** From the call until it served. */
  readonly startMs: number
  hasEnded(): boolean
  /** Standard output and error, in one file. */
  readonly logPath: string
  /** kill -9; resolves when the process is gone. */
  kill(): Promise<void>
  /** Asks it to stop; resolves to the exit code. */
  stop(): Promise<number | null>
}

export interface KahaProcessOptions {
  readonly dataDir: string
  readonly settings?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  /** For node itself. */
  readonly nodeArgs?: readonly string[]
  /** In place of the server's own program. */
  readonly program?: string
}

export const serverMain = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

const startMsMax = 30_000
const stopMsMax = 15_000

/** The environment without anybody's settings, and with these. */
export function environmentWith(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const plain = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('KAHA_') && name !== 'NODE_TEST_CONTEXT',
  )
  return { ...Object.fromEntries(plain), ...settings }
}

/** Starts `kaha start --empty` as `npm start` does, on any free port and resolves when it serves. Rejects with what it said when it ends instead. */
export async function startKahaProcess(options: KahaProcessOptions): Promise<KahaProcess> {
  const { dataDir, settings = {}, args = ['--empty'], nodeArgs = [], program = serverMain } = options
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const logPath = `${dataDir}.log`
  const log = openSync(logPath, 'a')
  const loggedBytes = fstatSync(log).size
  const hasApi = settings['KAHA_ROLES']?.split(',').includes('api') ?? true
  const begun = performance.now()
  const child = spawn(process.execPath, [...flags, ...nodeArgs, program, 'start', ...args], {
    env: environmentWith({ KAHA_PORT: '0', KAHA_DATA_DIR: dataDir, KAHA_RATE_LIMIT: '0', ...settings }),
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const kill = () => end(child, 'SIGKILL')
  try {
    const looking = { waitMsMax: startMsMax, pollMs: 5 }
    const sandbox = hasApi ? await eventually(() => sandboxOf(child, dataDir), looking) : undefined
    const origin = sandbox?.base_url ?? (await eventually(() => originSaid(child, logPath, loggedBytes), looking))
    return {
      pid: child.pid ?? 0,
      dataDir,
      get sandbox() {
        if (sandbox === undefined) throw new Error('a process without the role api tells of no sandbox')
        return sandbox
      },
      origin,
      startMs: performance.now() - begun,
      logPath,
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
      kill: async () => void (await kill()),
      stop: () => end(child, 'SIGTERM'),
      [Symbol.asyncDispose]: async () => {
        const stopped = await Promise.race([end(child, 'SIGTERM').then(() => true), later(stopMsMax)])
        if (stopped !== true) await kill()
      },
    }
  } catch (error) {
    await kill()
    throw new Error(`Kaha did not start: ${await lastWords(logPath)}`, { cause: error })
  }
}

/** The end of what a process said. */
export async function lastWords(logPath: string): Promise<string> {
  return (await readFile(logPath, 'utf8').catch(() => '')).slice(-2_000)
}

/** Lets nothing be due and nothing be in flight, now and so many seconds later. */
export async function comeToRest({ sandbox, logPath }: KahaProcess, seconds: number): Promise<void> {
  const partner = createKaha({ baseUrl: sandbox.base_url, apiKey: sandbox.partner.secret_key })
  try {
    await partner.sandbox.advanceClock({ seconds: 0 })
    await partner.sandbox.advanceClock({ seconds })
  } catch (error) {
    throw new Error(`it never came to rest: ${await lastWords(logPath)}`, { cause: error })
  }
}

async function sandboxOf(child: ChildProcess, dataDir: string): Promise<SandboxFile | undefined> {
  failWhereEnded(child)
  const text = await readFile(join(dataDir, 'sandbox.json'), 'utf8').catch(() => '{}')
  const file = JSON.parse(text) as SandboxFile
  // One that was killed leaves its file behind.
  return file.pid === child.pid ? file : undefined
}

/** Where a process listens that has greeted. */
async function originSaid(child: ChildProcess, logPath: string, fromByte: number): Promise<string | undefined> {
  failWhereEnded(child)
  const said = (await readFile(logPath)).subarray(fromByte).toString()
  const [, place] = /^This process has .* listens on (.*)\.$[^]*^Ctrl-C stops/m.exec(said) ?? []
  return place === undefined ? undefined : `http://${place}`
}

function failWhereEnded({ exitCode, signalCode }: ChildProcess): void {
  if (exitCode !== null || signalCode !== null) throw new Error('the process ended')
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
  return child.exitCode
}

const later = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref()
  })
