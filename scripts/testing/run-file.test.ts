import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { hasFailed, leftOut, textOfFile, totals } from './print.ts'
import { runFile, type FileResult } from './run-file.ts'

let scratch = ''
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'kaha-runner-'))
  process.env['KAHA_TEST_LINGER_MS'] = '100'
})
after(async () => {
  delete process.env['KAHA_TEST_LINGER_MS']
  await rm(scratch, { recursive: true })
})

async function run(name: string, text: string, durationMsMax = 30_000): Promise<FileResult> {
  const file = join(scratch, `${name}.test.ts`)
  await writeFile(file, `import { describe, test } from 'node:test'\n${text}\n`)
  return runFile(file, { scratch, durationMsMax, signal: new AbortController().signal })
}

test('a file whose tests pass and that closes everything is fine', async () => {
  const result = await run('fine', `test('one', () => {}); describe('suite', () => { test('two', () => {}) })`)
  assert.equal(hasFailed(result), false)
  assert.match(
    totals([result], 1),
    /^# tests 2\n# suites 1\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 1$/,
  )
})

test('a failing test is told in full, with its place, and fails its file', async () => {
  const result = await run(
    'failing',
    `describe('suite', () => { test('inner', () => { throw new TypeError('broken', { cause: 'why' }) }) })`,
  )
  assert.equal(hasFailed(result), true)
  assert.match(textOfFile(result), /suite > inner[^\n]*failing\.test\.ts:2\)\n *TypeError: broken[^]*'why'/)
  assert.match(totals([result], 1), /# tests 1\n[^]*# pass 0\n# fail 1\n/)
})

test('a parent of a failing test fails too, and the failure is told once', async () => {
  const result = await run('nested', `test('parent', (t) => t.test('child', () => { throw new Error('once') }))`)
  assert.equal(textOfFile(result).split('Error: once').length, 2)
})

test('a skipped test is listed with its reason', async () => {
  const result = await run(
    'skipping',
    `test('one', (t) => t.skip('zbar: it is not installed')); test('two', { skip: true }, () => {})`,
  )
  assert.equal(hasFailed(result), false)
  const [first, second] = leftOut([result]).keys()
  assert.equal(first, 'zbar: it is not installed')
  assert.match(second ?? '', /^two .*it does not say why$/)
})

const faulty: readonly (readonly [what: string, name: string, text: string, fault: RegExp])[] = [
  [
    'leaves a server open',
    'server',
    `import net from 'node:net'\ntest('one', () => { net.createServer().listen(0) })`,
    /left something open/,
  ],
  ['leaves a timer running', 'timer', `test('one', () => { setInterval(() => {}, 1000) })`, /left something open/],
  ['cannot be loaded', 'unloadable', `throw new Error('at load')`, /exited with code 1/],
  ['holds no test', 'empty', '', /holds no test/],
  ['is killed', 'killed', `test('one', () => { process.kill(process.pid, 'SIGKILL') })`, /was ended by SIGKILL/],
  [
    'fails after its tests',
    'late',
    `test('one', () => {}); process.on('exit', () => { process.exitCode = 3 })`,
    /exited with code 3/,
  ],
  [
    'leaves a process running',
    'orphan',
    `import { spawn } from 'node:child_process'
     test('one', () => { spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' }).unref() })`,
    /left a process running/,
  ],
]
for (const [what, name, text, fault] of faulty) {
  test(`a file that ${what} fails, although each of its tests passes`, async () => {
    const result = await run(name, text)
    assert.match(result.faults.join('; '), fault)
    assert.match(totals([result], 1), /# fail 1\n/)
  })
}

test('a file that does not end is ended, and the test that it hangs in is named', async () => {
  const hang = `test('begins', () => {}); test('waits for ever', async () => { await new Promise((resolve) => setTimeout(resolve, 1e9)) })`
  const result = await run('hanging', hang, 3_000)
  assert.match(result.faults.join('; '), /took more than 3 s; the last test that began: waits for ever/)
})

test('what is still open is named by its kind', async () => {
  const result = await run('named', `import net from 'node:net'\ntest('one', () => { net.createServer().listen(0) })`)
  assert.match(result.output, /still open after the last test: 1 TCPServerWrap\n/)
})
