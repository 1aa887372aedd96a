import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../scripts/source.ts'
import { freePort } from './free-port.ts'

// A fenced block of a page says by the words after its language what becomes of it:
//   sh run                   its commands run in one shell, in the order of the page
//   file=NAME                is saved there, as the page asks its reader to
//   text shown               what the commands before it printed
//   text shown by npm start  what the running Kaha printed
// The first and the third may end in `with TOOL`: without that tool they are left out. In what is shown, … stands for anything, and spaces do
// not count. It is looked for in all that was printed since the last heading or numbered step, because what runs in the background prints
// when it likes.

interface Block {
  readonly info: string
  readonly text: string
}

const addressInPages = 'http://localhost:8080'
const waitMsMax = 30_000

/** The fenced blocks of a page; a heading, or a step such as `**1. …`, is one without text. */
const blocksOf = (page: string): Block[] =>
  [...page.matchAll(/^```(.*)\n([^]*?)^```$|^(?:\*\*\d+\.|#+) /gm)].map(([, info = 'step', text = '']) => ({
    info,
    text,
  }))

/** A block of a page for this run: with the address of this Kaha, and the port of this receiver, in place of the page's. */
export const adapted = (text: string, of: { address: string; portInPage: string; port: string }): string =>
  // The receiver's port first: the address of this Kaha may well have the same digits in it.
  text.replaceAll(of.portInPage, of.port).replaceAll(addressInPages, of.address)

const packed = (text: string): string => text.replaceAll(/\s+/g, '')

/** Whether the parts between the … follow each other in the output. */
export function shows(output: string, expected: string): boolean {
  const seen = packed(output)
  let from = 0
  for (const part of packed(expected).split('…')) {
    const at = seen.indexOf(part, from)
    if (at === -1) return false
    from = at + part.length
  }
  return true
}

/** A program that runs while the test does, and what it has printed so far. */
interface Program extends AsyncDisposable {
  readonly child: ChildProcess
  readonly output: () => string
  /** Resolves once what it printed satisfies, and fails when it ends before or is silent for too long. */
  readonly until: (satisfied: () => boolean, wanted: string) => Promise<void>
}

export function runs(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Program {
  // A group of its own, so that what it leaves in the background can be ended with it.
  const child = spawn(command, args, { ...options, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  let printed = ''
  let complaints = ''
  child.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (complaints = (complaints + chunk.toString()).slice(-4_000)))
  return {
    child,
    output: () => printed,
    until: (satisfied, wanted) =>
      new Promise((resolve, reject) => {
        const stop = () => {
          clearTimeout(timer)
          child.stdout?.off('data', look)
          child.off('exit', exited)
        }
        const look = () => {
          if (!satisfied()) return
          stop()
          resolve()
        }
        const fail = (reason: string) => {
          stop()
          reject(new Error(`${command} ${reason}; wanted:\n${wanted}\nprinted:\n${printed}\n${complaints}`))
        }
        const exited = (code: number | null) => fail(`ended with code ${code}`)
        const timer = setTimeout(() => fail('did not print it in time'), waitMsMax)
        child.stdout?.on('data', look)
        child.on('exit', exited)
        look()
        if (child.exitCode !== null) exited(child.exitCode)
      }),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        await ended
      }
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // Nothing was left in the background.
      }
    },
  }
}

interface SandboxFile {
  readonly base_url: string
  readonly sandbox_url: string
  readonly metrics_url: string
  readonly partner: { readonly secret_key: string }
}

/** A Kaha as `npm start` runs it, in a folder as a reader of the pages has it. */
export async function started(held: AsyncDisposableStack) {
  const folder = await mkdtemp(join(tmpdir(), 'kaha-docs-'))
  held.defer(() => rm(folder, { recursive: true, force: true }))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:KAHA_|NODE_)/.test(name)))
  const dataDir = join(folder, '.kaha')
  const kaha = held.use(
    runs(process.execPath, [join(root, 'server/src/main.ts'), 'start'], {
      cwd: folder,
      env: { ...env, KAHA_DATA_DIR: dataDir, KAHA_PORT: '0' },
    }),
  )
  await kaha.until(() => kaha.output().includes('Ctrl-C stops.'), 'the greeting')
  const sandbox = JSON.parse(await readFile(join(dataDir, 'sandbox.json'), 'utf8')) as SandboxFile
  return {
    folder,
    kaha,
    sandbox,
    shell: () => runs('sh', [], { cwd: folder, env }),
    /** Resolves when nothing is due and nothing in flight. */
    async idle() {
      const answer = await fetch(`${sandbox.sandbox_url}/clock/advance`, {
        method: 'POST',
        headers: { 'x-api-key': sandbox.partner.secret_key, 'content-type': 'application/json' },
        body: '{"seconds":0}',
      })
      assert.equal(answer.status, 200)
    },
  }
}

/** Whether this machine has a tool. */
export const has = (tool: string): boolean => spawnSync(tool, ['--version']).status === 0

interface Tour {
  readonly page: string
  readonly running: Awaited<ReturnType<typeof started>>
  /** The port of the page's receivers, which is not free on every machine. */
  readonly portInPage: string
}

/** Does what a page asks its reader to do, and fails where it shows what is not so. */
export async function take({ page, running, portInPage }: Tour): Promise<void> {
  const { folder, kaha, sandbox, shell, idle } = running
  const port = String(await freePort())
  await using sh = shell()
  const type = (line: string) => sh.child.stdin?.write(`${line}\n`)
  const here = (text: string) => adapted(text, { address: sandbox.base_url, portInPage, port })
  let stepFrom = 0
  let ran = 0

  const run = async (text: string): Promise<void> => {
    type(here(text))
    // A word of its own on either side of what the platform still does for the block.
    for (const word of [`ran-${ran}`, `settled-${ran}`]) {
      type(`echo ${word}`)
      await sh.until(() => sh.output().includes(`${word}\n`), text)
      await idle()
    }
    ran += 1
  }

  type('set -e')
  for (const { info, text } of blocksOf(page)) {
    const [, file] = /^\w+ file=(\S+)$/.exec(info) ?? []
    const [, what = info, tool] = /^(.*) with (\S+)$/.exec(info) ?? []
    if (tool !== undefined && !has(tool)) continue
    if (file !== undefined) await writeFile(join(folder, file), here(text))
    else if (what === 'step') stepFrom = sh.output().length
    else if (what === 'sh run') await run(text)
    else if (what === 'text shown') await sh.until(() => shows(sh.output().slice(stepFrom), here(text)), here(text))
    else if (what === 'text shown by npm start') await kaha.until(() => shows(kaha.output(), here(text)), here(text))
  }
  assert.ok(ran > 0, 'the page has no block to run')
}
