import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { root } from './source.ts'

type Packages = Record<string, { version?: string; dev?: boolean; optional?: boolean; os?: string[]; cpu?: string[] }>

const both: Packages = { 'node_modules/one': { version: '1.0.0' }, 'node_modules/two': { version: '1.0.0', dev: true } }

/** Stands in for npm: notes how it was called, and records as installed what it was asked for. */
const fakeNpm = `
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
const args = process.argv.slice(2)
appendFileSync('calls', args.join(' ') + '\\n')
if (existsSync('refuse')) { console.error('npm error the registry is away'); process.exit(1) }
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const kept = Object.entries(packages).filter(([, { dev }]) => !dev || args.includes('--include=dev'))
mkdirSync('node_modules', { recursive: true })
writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: Object.fromEntries(kept) }))
`

/** A clone with the real scripts/run.mjs, a server that tells how it was started, and an npm that only pretends. */
async function clone(t: TestContext, packages: Packages = both) {
  const folder = await mkdtemp(join(tmpdir(), 'kaha-clone-'))
  t.after(() => rm(folder, { recursive: true }))
  const write = async (path: string, text: string) => {
    await mkdir(join(folder, path, '..'), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  const lock = (listed: Packages) => write('package-lock.json', JSON.stringify({ packages: { '': {}, ...listed } }))
  for (const file of ['run.mjs', 'install.mjs']) await cp(join(root, 'scripts', file), join(folder, 'scripts', file))
  await write('npm-cli.js', fakeNpm)
  await write('package.json', '{ "type": "module" }')
  await lock(packages)
  const server = `
    const wait = process.argv.includes('--wait')
    if (wait) process.on('SIGTERM', () => process.exit(7)), setInterval(() => {}, 1000)
    console.log('arguments:', ...process.argv.slice(2))`
  await write('server/src/main.ts', server)
  await write('server/node-flags.json', '["--max-semi-space-size=3"]')
  await write('scripts/check.ts', `process.exitCode = 3`)

  const start = (...args: string[]) => {
    const child = spawn(process.execPath, ['scripts/run.mjs', ...args], {
      cwd: folder,
      env: { ...process.env, npm_execpath: join(folder, 'npm-cli.js') },
    })
    const said = { out: '', err: '' }
    child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()))
    const ended = once(child, 'close').then(([code]) => ({ code: code as number, ...said }))
    return { child, ended }
  }
  const run = (...args: string[]) => start(...args).ended
  const calls = async () => (await readFile(join(folder, 'calls'), 'utf8').catch(() => '')).split('\n').filter(Boolean)
  return { folder, write, lock, start, run, calls }
}

test('the first start of a fresh clone installs what it needs, without what only development needs, and the next installs nothing', async (t) => {
  const { run, calls } = await clone(t)
  const first = await run('start', '--empty')
  assert.deepEqual([first.code, first.out], [0, 'arguments: start --empty\n'])
  assert.equal(first.err.split('\n').length, 2, 'one line, and no more')
  const second = await run('start')
  assert.equal(second.err, '')
  const [call, ...more] = await calls()
  assert.match(call ?? '', /^ci --omit=dev --include=optional --ignore-scripts --loglevel=error --no-audit --no-fund /)
  assert.deepEqual(more, [])
})

test('the server is started with the flags that are its own, and nothing else is', async (t) => {
  const { write, run } = await clone(t)
  await write('server/src/main.ts', 'console.log(...process.execArgv)')
  await write('scripts/check.ts', 'console.log(...process.execArgv)')
  assert.equal((await run('start')).out, '--max-semi-space-size=3\n')
  assert.equal((await run('check')).out, '\n')
})

test('what development needs is added when it is needed, and nothing is removed for it', async (t) => {
  const { run, calls } = await clone(t)
  await run('start')
  assert.equal((await run('check')).code, 3)
  assert.match((await calls())[1] ?? '', /^install --no-save --include=dev /)
  await run('start')
  assert.equal((await calls()).length, 2)
})

test('a start after the lockfile changed keeps what development needs', async (t) => {
  const { run, calls, lock } = await clone(t)
  await run('check')
  await lock({ ...both, 'node_modules/one': { version: '2.0.0' } })
  await run('start')
  assert.match((await calls())[1] ?? '', /^install --no-save --include=dev /)
})

test('packages that somebody installed by hand are not installed again', async (t) => {
  const { write, run, calls } = await clone(t, {
    ...both,
    'node_modules/elsewhere': { version: '1.0.0', optional: true, os: ['none'], cpu: ['none'] },
  })
  await write('node_modules/.package-lock.json', JSON.stringify({ packages: both }))
  assert.equal((await run('check')).code, 3)
  assert.deepEqual(await calls(), [])
})

test('an optional package for this very machine is not left out', async (t) => {
  const here = { version: '1.0.0', optional: true, os: [process.platform], cpu: [process.arch] }
  const { write, run, calls } = await clone(t, { ...both, 'node_modules/here': here })
  await write('node_modules/.package-lock.json', JSON.stringify({ packages: both }))
  await run('check')
  assert.equal((await calls()).length, 1)
})

test('of several that start at once one installs, and all of them run', async (t) => {
  const { run, calls } = await clone(t)
  const ended = await Promise.all([run('start'), run('start'), run('start')])
  assert.deepEqual(
    ended.map(({ code }) => code),
    [0, 0, 0],
  )
  assert.equal((await calls()).length, 1)
})

test('an installation that fails is told in words with what npm said, and the next start tries again', async (t) => {
  const { folder, write, run } = await clone(t)
  await write('refuse', '')
  const failed = await run('start')
  assert.deepEqual([failed.code, failed.out], [1, ''])
  assert.match(failed.err, /npm error the registry is away\nkaha: npm could not install the packages \(exit code 1\)/)
  await rm(join(folder, 'refuse'))
  assert.equal((await run('start')).code, 0)
})

test('a signal reaches the program, and its exit code comes back', async (t) => {
  const { start } = await clone(t)
  const { child, ended } = start('start', '--wait')
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  assert.equal((await ended).code, 7)
})

test('a task that does not exist is refused in words', async (t) => {
  const { run, calls } = await clone(t)
  const { code, err } = await run('begin')
  assert.equal(code, 1)
  assert.match(err, /^kaha: there is no task "begin"\. There are: start, kaha, test/)
  assert.deepEqual(await calls(), [])
})
