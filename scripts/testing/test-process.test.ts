import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, test } from 'node:test'
import { hasFailed, leftOut, textOfFile, totals } from './print.ts'
import { startTestProcess, type FileResult } from './test-process.ts'

let scratch = ''
let compiled = ''
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'kaha-runner-'))
  compiled = join(scratch, 'compiled')
  process.env['KAHA_TEST_LINGER_MS'] = '100'
})
after(async () => {
  delete process.env['KAHA_TEST_LINGER_MS']
  await rm(scratch, { recursive: true })
})

/** Runs files of these texts in one process. */
async function runAll(texts: Readonly<Record<string, string>>, durationMsMax = 30_000): Promise<FileResult[]> {
  const files = Object.keys(texts).map((name) => join(scratch, `${name}.test.ts`))
  for (const [index, text] of Object.values(texts).entries())
    await writeFile(files[index] ?? '', `import { after, describe, test } from 'node:test'\n${text}\n`)
  const running = startTestProcess({
    compiled: join(scratch, 'compiled'),
    durationMsMax,
    signal: new AbortController().signal,
  })
  const results: FileResult[] = []
  for (const file of files) if (!running.hasEnded) results.push(await running.run(file))
  return [...results, ...(await running.end())]
}

/** Runs one file, and tells what is wrong with its process as if it were the file's. */
async function run(name: string, text: string, durationMsMax?: number): Promise<FileResult> {
  const [result, ...further] = await runAll({ [name]: text }, durationMsMax)
  assert.ok(result)
  return {
    ...result,
    faults: [...result.faults, ...further.flatMap(({ faults }) => faults)],
    output: (further.at(-1) ?? result).output,
  }
}

const fine = `test('one', () => {})`
const brief = ({ file, verdicts, faults }: FileResult) => ({
  files: file.split(' ').map((path) => basename(path, '.test.ts')),
  tests: verdicts.map(({ path, outcome }) => `${path.join(' > ')}: ${outcome}`),
  faults,
})

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
  ['cannot be loaded', 'unloadable', `throw new Error('at load')`, /could not be run: Error: at load/],
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

test('of a file alone the tests with a name are run', async () => {
  const file = join(scratch, 'chosen.test.ts')
  await writeFile(file, `import { test } from 'node:test'\ntest('one', () => {})\ntest('two', () => {})`)
  const only = { file, namePattern: '^two$' }
  const running = startTestProcess({ compiled, durationMsMax: 30_000, only, signal: new AbortController().signal })
  const [{ verdicts, faults }, wrong] = [await running.run(file), await running.end()]
  assert.deepEqual([verdicts.map(({ path }) => path), faults, wrong], [[['two']], [], []])
})

test('a file that does not end is ended, and the test that it hangs in is named', async () => {
  const hang = `test('begins', () => {}); test('waits for ever', async () => { await new Promise((resolve) => setTimeout(resolve, 1e9)) })`
  const result = await run('hanging', hang, 3_000)
  assert.match(result.faults.join('; '), /took more than 3 s; the last test that began: waits for ever/)
})

test('what is still open is named by its kind', async () => {
  const result = await run('named', `import net from 'node:net'\ntest('one', () => { net.createServer().listen(0) })`)
  assert.match(result.output, /still open after the last test: 1 TCPServerWrap\n/)
})

test('files of one process are told apart, and what one registers is over before the next begins', async () => {
  const first = `globalThis.open = true\nafter(() => { globalThis.open = false })\ndescribe('suite', () => { test('one', () => {}) })`
  const second = `import assert from 'node:assert/strict'
    assert.equal(globalThis.open, false)
    test('two', (t) => t.test('inner', () => { throw new Error('once') }))`
  const results = await runAll({
    first,
    second,
    third: `test('three', (t) => { t.diagnostic('a word'); t.skip('zbar: it is not there') })`,
  })
  assert.deepEqual(results.map(brief), [
    { files: ['first'], tests: ['suite > one: pass', 'suite: pass'], faults: [] },
    { files: ['second'], tests: ['two > inner: fail', 'two: fail'], faults: [] },
    { files: ['third'], tests: ['three: skip'], faults: [] },
  ])
  assert.deepEqual(results.map(hasFailed), [false, true, false])
  assert.deepEqual(
    results.map(({ notes }) => notes),
    [[], [], ['a word']],
  )
  assert.match(totals(results, 1), /# tests 4\n# suites 1\n# pass 1\n# fail 2\n# cancelled 0\n# skipped 1\n/)
})

test('a test may use what stands below it in its file', async () => {
  const results = await runAll({ early: `test('one', () => below)\nconst below = 1`, fine })
  assert.deepEqual(
    results.flatMap(({ faults, verdicts }) => [...faults, ...verdicts.map(({ outcome }) => outcome)]),
    ['pass', 'pass'],
  )
})

test('a file that cannot be loaded or holds no test fails alone, and those after it are run', async () => {
  const [unloadable, empty, last, ...others] = await runAll({
    unloadable: `throw new Error('at load')`,
    empty: '',
    fine,
  })
  assert.match(unloadable?.faults.join('; ') ?? '', /^could not be run: Error: at load/)
  assert.deepEqual(empty?.faults, ['holds no test'])
  assert.deepEqual(
    last?.verdicts.map(({ outcome }) => outcome),
    ['pass'],
  )
  assert.deepEqual(others, [])
})

test('a process that ends with a file takes no more, and what is wrong is told of that file', async () => {
  assert.deepEqual(
    (await runAll({ first: fine, killed: `test('one', () => process.kill(process.pid, 'SIGKILL'))`, third: fine })).map(
      brief,
    ),
    [
      { files: ['first'], tests: ['one: pass'], faults: [] },
      { files: ['killed'], tests: [], faults: ['was ended by SIGKILL'] },
    ],
  )
})

test('what is found open when all files of a process have ended may be of any, and all are named', async () => {
  const results = await runAll({ first: `test('one', () => { setInterval(() => {}, 1000) })`, second: fine })
  assert.deepEqual(results.map(brief), [
    { files: ['first'], tests: ['one: pass'], faults: [] },
    { files: ['second'], tests: ['one: pass'], faults: [] },
    { files: ['first', 'second'], tests: [], faults: ['left something open (the output says what)'] },
  ])
})
