import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { listFiles, readFiles, root } from '../../scripts/source.ts'
import { settings } from '../src/config.ts'

// A fenced block of the README says by the words after its language what becomes of it:
//   sh run                   its commands run in one shell, in the order of the page
//   js file=NAME             is saved there, as the page asks its reader to
//   text shown               what the commands before it printed
//   text shown by npm start  what the running Kaha printed
// In what is shown, … stands for anything, and spaces do not count. It is looked for in all that was printed since the step of the
// tour began, because what runs in the background prints when it likes.

interface Block {
  readonly info: string
  readonly text: string
}

const pages = readFiles(['README.md', 'CHANGELOG.md', ...listFiles(['docs'], ['.md'])])
const readme = pages.get('README.md') ?? ''
const addressInPage = 'http://localhost:8080'
const portInPage = '4567'
const waitMsMax = 30_000

/** The fenced blocks of a page; a step, such as `**1. …`, is one without text. */
const blocksOf = (page: string): Block[] =>
  [...page.matchAll(/^```(.*)\n([^]*?)^```$|^\*\*\d+\. /gm)].map(([, info = 'step', text = '']) => ({ info, text }))

const packed = (text: string): string => text.replaceAll(/\s+/g, '')

/** Whether the parts between the … follow each other in the output. */
function shows(output: string, expected: string): boolean {
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

function runs(command: string, args: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }): Program {
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

interface SandboxFile {
  readonly base_url: string
  readonly sandbox_url: string
  readonly metrics_url: string
  readonly partner: { readonly secret_key: string }
}

/** A Kaha as `npm start` runs it, in a folder as a reader of the README has it. */
async function started(held: AsyncDisposableStack) {
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
    shell: () => held.use(runs('sh', [], { cwd: folder, env })),
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

const held = new AsyncDisposableStack()
let running: Awaited<ReturnType<typeof started>>
before(async () => {
  running = await started(held)
})
after(() => held.disposeAsync())

test('the page on operating lists every metric of our own that is served, and no other', async () => {
  const { sandbox } = running
  const text = await (await fetch(sandbox.metrics_url)).text()
  const own = [...text.matchAll(/^# HELP (kaha_(?!process_|nodejs_)\w+)/gm)].flatMap(([, name]) => name ?? [])
  const told = new Set((pages.get('docs/operating.md') ?? '').match(/kaha_(?!process_|nodejs_)\w+/g))
  assert.deepEqual(
    own.filter((name) => !told.has(name)),
    [],
  )
  assert.deepEqual(
    [...told].filter((name) => !text.includes(name)),
    [],
  )
})

test('every command of the README runs, and shows what the README says, and Ctrl-C stops Kaha', async (t) => {
  if (spawnSync('curl', ['--version']).error !== undefined) return t.skip('the tour of the README: there is no curl')
  const { folder, kaha, sandbox, shell, idle } = running
  const port = String(await freePort())
  const sh = shell()
  const type = (line: string) => sh.child.stdin?.write(`${line}\n`)
  const here = (text: string) => text.replaceAll(addressInPage, sandbox.base_url).replaceAll(portInPage, port)
  let stepFrom = 0
  let ran = 0

  type('set -e')
  for (const { info, text } of blocksOf(readme)) {
    const [, file] = /^js file=(\S+)$/.exec(info) ?? []
    if (file !== undefined) await writeFile(join(folder, file), here(text))
    else if (info === 'step') stepFrom = sh.output().length
    else if (info === 'sh run') {
      type(here(text))
      // A word of its own on either side of what the platform still does for the block.
      for (const word of [`ran-${ran}`, `settled-${ran}`]) {
        type(`echo ${word}`)
        await sh.until(() => sh.output().includes(`${word}\n`), text)
        await idle()
      }
      ran += 1
    } else if (info === 'text shown') {
      await sh.until(() => shows(sh.output().slice(stepFrom), here(text)), text)
    } else if (info === 'text shown by npm start') {
      await kaha.until(() => shows(kaha.output(), here(text)), text)
    }
  }
  assert.ok(ran > 0, 'the README has no block to run')

  kaha.child.kill('SIGINT')
  const [code] = kaha.child.exitCode === null ? await once(kaha.child, 'exit') : [kaha.child.exitCode]
  assert.equal(code, 0)
})

test('a command that fails, and output that is not there, fail the test of the README', async (t) => {
  const failing = runs('sh', [], { cwd: tmpdir(), env: {} })
  t.after(() => failing[Symbol.asyncDispose]())
  failing.child.stdin?.write('set -e\nfalse\necho never\n')
  await assert.rejects(
    failing.until(() => failing.output().includes('never'), 'never'),
    /ended with code 1/,
  )
  assert.equal(shows('{"id":"1","status":"ACTIVE"}', '{"id":"…","status":"EXPIRED"}'), false)
  assert.equal(shows('b a', 'a … b'), false)
  assert.equal(shows('{"id":"1",\n "status":"ACTIVE"}', '{"id":"…","status":"ACTIVE"}'), true)
})

test('settings, npm scripts and folders that the documents name exist', async () => {
  const known = new Set(settings.map(({ name }) => name))
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const wrong: string[] = []
  for (const [page, text] of pages) {
    for (const [name] of text.matchAll(/\bKAHA_[A-Z_0-9]+\b/g)) if (!known.has(name)) wrong.push(`${page}: ${name}`)
    for (const [whole, name = ''] of text.matchAll(/\bnpm (?:run )?(\w+)(?= --|`|$)/gm)) {
      const isOfNpm = ['ci', 'install'].includes(name)
      if (!isOfNpm && !Object.hasOwn(scripts, name)) wrong.push(`${page}: ${whole}`)
    }
  }
  const folders = [...readme.matchAll(/^\| (`.*?`) +\|/gm)].flatMap(
    ([, cell = '']) => cell.match(/(?<=`)[\w./-]+(?=`)/g) ?? [],
  )
  const isThere = (path: string) => existsSync(join(root, path)) || existsSync(join(root, 'server/src', path))
  wrong.push(...folders.filter((path) => /^[\w./-]+$/.test(path) && path.includes('/') && !isThere(path)))
  assert.deepEqual(wrong, [])
})

test('a link in a document leads to a page and a heading that exist', () => {
  const anchorsOf = (path: string): string[] =>
    [...(pages.get(path) ?? '').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    )
  const broken: string[] = []
  for (const [page, text] of pages) {
    for (const [, to = ''] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [file = '', anchor] = to.split('#')
      const path = file === '' ? page : join(dirname(page), file)
      const isThere = existsSync(join(root, path)) && (anchor === undefined || anchorsOf(path).includes(anchor))
      if (!isThere) broken.push(`${page}: ${to}`)
    }
  }
  assert.deepEqual(broken, [])
})
