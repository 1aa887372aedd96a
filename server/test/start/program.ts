import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createKaha } from '@kaha/sdk'
import { removeFolder, serversIn } from '../../src/kernel/postgres/test-setup.ts'
import type { Seed } from '../../src/sandbox/seed.ts'

export { freePort } from '../free-port.ts'
export { serversIn }

const root = join(import.meta.dirname, '../../..')
const main = join(root, 'server/src/main.ts')
const waitMsMax = 30_000
// Node keeps what it has compiled here, by content: these tests start the program some fifty times.
const compileCache = join(root, 'node_modules/.cache/kaha-start-tests')

/** `kaha` in a process of its own. */
export interface Program {
  readonly child: ChildProcess
  readonly pid: number
  /** Everything that it has said so far. */
  stdout(): string
  stderr(): string
  /** Resolves when it has said that on standard output; rejects with all that it said when it ends first. */
  says(words: RegExp): Promise<void>
  /** Its exit code, or the signal that ended it, once it has ended. */
  readonly ended: Promise<number | NodeJS.Signals>
}

export interface Run {
  readonly args?: readonly string[]
  readonly settings?: Readonly<Record<string, string>>
  /** Instead of the server's program. */
  readonly command?: readonly string[]
  readonly identity?: { readonly uid?: number; readonly gid?: number }
}

type Closing = Pick<TestContext, 'after'> | { after(close: () => unknown): void }

/** Starts `kaha` with no settings but the given ones. It leads a process group, as under a shell, and is killed after the test. */
export function launch(t: Closing, { args = [], settings = {}, command, identity = {} }: Run): Program {
  const [program = '', ...before] = command ?? [process.execPath, main]
  const child = spawn(program, [...before, ...args], {
    cwd: root,
    detached: true,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_COMPILE_CACHE: compileCache,
      KAHA_PORT: '0',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...identity,
  })
  const { pid = 0 } = child
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = once(child, 'close').then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals)
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-pid, 'SIGKILL')
    await ended
  })
  return {
    child,
    pid,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    says: (words) =>
      new Promise((resolve, reject) => {
        const fail = (how: string) => reject(new Error(`it ${how} without saying ${words}\n${stdout}\n${stderr}`))
        const timer = setTimeout(() => fail(`ran for ${waitMsMax / 1000} s`), waitMsMax)
        const look = () => {
          if (!words.test(stdout)) return
          clearTimeout(timer)
          resolve()
        }
        child.stdout?.on('data', look)
        const failAtItsEnd = async () => {
          const how = await ended
          clearTimeout(timer)
          fail(`ended with ${how}`)
        }
        void failAtItsEnd()
        look()
      }),
  }
}

/** Starts a sandbox; resolves when it has greeted. */
export async function start(t: Closing, dataDir: string, run: Run = {}): Promise<Program & { sandbox: SandboxFile }> {
  const program = launch(t, {
    ...run,
    args: ['start', ...(run.args ?? [])],
    settings: { KAHA_DATA_DIR: dataDir, ...run.settings },
  })
  await program.says(/Ctrl-C stops/)
  return { ...program, sandbox: sandboxIn(dataDir) }
}

/** Stops a program as a person does; resolves to how it ended. */
export async function stop(
  { child, ended }: Program,
  signal: NodeJS.Signals = 'SIGINT',
): Promise<number | NodeJS.Signals> {
  child.kill(signal)
  return ended
}

/** Runs a command to its end. */
export async function finish(
  t: Closing,
  run: Run,
): Promise<{ code: number | NodeJS.Signals; stdout: string; stderr: string }> {
  const program = launch(t, run)
  const timer = setTimeout(() => process.kill(-program.pid, 'SIGKILL'), waitMsMax)
  const code = await program.ended
  clearTimeout(timer)
  return { code, stdout: program.stdout(), stderr: program.stderr() }
}

/** Commands under these settings. */
export function commandsUnder(t: Closing, settings: Readonly<Record<string, string>>) {
  return {
    /** Resolves to what a command printed, and fails where it failed. */
    async kaha(...args: readonly string[]): Promise<string> {
      const { code, stdout, stderr } = await finish(t, { args, settings })
      assert.equal(code, 0, stderr)
      return stdout
    },
    /** A command fails with one line, which is like this one. */
    async refused(line: RegExp, ...args: readonly string[]): Promise<void> {
      const { code, stdout, stderr } = await finish(t, { args, settings })
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.match(stderr, /^kaha: [^\n]+\n$/)
      assert.match(stderr, line)
    },
  }
}

/** What `sandbox.json` says, as design and documents promise it. */
export interface SandboxFile extends Seed {
  readonly version: number
  readonly pid: number
  readonly base_url: string
  readonly terminal_url: string
  readonly terminal_ws_url: string
  readonly webhooks_url: string
  readonly qr_url: string
  readonly checkout_url: string
  readonly dashboard_url: string
  readonly sandbox_url: string
  readonly metrics_url: string
}

export const sandboxIn = (dataDir: string): SandboxFile =>
  JSON.parse(readFileSync(join(dataDir, 'sandbox.json'), 'utf8')) as SandboxFile

/** A folder that is gone after the test, with whatever still runs in it. */
export function folder(t: Closing): string {
  const path = mkdtempSync(join(tmpdir(), 'kaha-start-'))
  t.after(() => removeFolder(path))
  return path
}

/** Every secret in the file. */
export const keysIn = ({ partner, merchants, dashboard }: SandboxFile): string[] => [
  partner.secret_key,
  dashboard.password,
  ...merchants.flatMap(({ secret_key, encryption_key, branches, terminal_group: { desktop, terminals } }) => [
    secret_key,
    encryption_key,
    ...branches.flatMap((branch) => [branch.secret_key, branch.activation_code]),
    ...[desktop, ...terminals].flatMap(({ api_key, api_secret }) => [api_key, api_secret]),
  ]),
]

/** The first merchant's client. */
export const merchantOf = ({ base_url, merchants: [merchant] }: SandboxFile) =>
  createKaha({ baseUrl: base_url, apiKey: merchant?.secret_key ?? '' })
