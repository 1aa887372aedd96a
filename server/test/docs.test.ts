import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { listFiles, readFiles, root } from '../../scripts/source.ts'
import { settings } from '../src/config.ts'
import { adapted, has, runs, shows, started, take } from './tour.ts'

const pages = readFiles(['README.md', 'CHANGELOG.md', ...listFiles(['docs'], ['.md'])])
const readme = pages.get('README.md') ?? ''
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
  if (!has('curl')) return t.skip('the tour of the README: there is no curl')
  await take({ page: readme, running, portInPage: '4567' })
  const { child } = running.kaha
  child.kill('SIGINT')
  const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode]
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

test('the address of Kaha stays what it is, whatever digits its port has', () => {
  const of = { address: 'http://localhost:45677', portInPage: '4567', port: '40000' }
  const page = 'http://localhost:8080/pay/l/1 http://localhost:4567/kaha'
  assert.equal(adapted(page, of), 'http://localhost:45677/pay/l/1 http://localhost:40000/kaha')
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
