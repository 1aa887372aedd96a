import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { root } from './source.ts'

async function run(...args: readonly string[]) {
  const child = spawn(process.execPath, args, { cwd: root })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  child.stdout.resume()
  const [code] = await once(child, 'close')
  return { code: code as number, said }
}

const asked: readonly (readonly [what: string, args: readonly string[], said: RegExp])[] = [
  ['generate, an argument', ['scripts/generate.ts', 'x'], /^kaha: Unexpected argument 'x'.*\n\nnpm run generate\n/],
  ['generate, an option', ['scripts/generate.ts', '--all'], /^kaha: Unknown option '--all'\n\nnpm run generate\n/],
  ['check, an argument', ['scripts/check.ts', 'lint'], /^kaha: Unexpected argument 'lint'.*\n\nnpm run check /],
  [
    'bench, an option',
    ['bench/src/main.ts', 'start', '--round', '1'],
    /^kaha: Unknown option '--round'\n\nnpm run bench /,
  ],
  [
    'soak, an option',
    ['scripts/soak.ts', 'cap', '--round', '1'],
    /^kaha: Unknown option '--round'\n\n.*--rounds, --seed/,
  ],
  ['test, an option', ['scripts/test.ts', '--match', 'x'], /^kaha: Unknown option '--match'\n\nnpm test -- /],
]
for (const [what, args, said] of asked) {
  test(`what a script does not take is told in words, without a stack trace: ${what}`, async () => {
    const answer = await run(...args)
    assert.equal(answer.code, 1)
    assert.match(answer.said, said)
    assert.doesNotMatch(answer.said, /^ +at /m)
  })
}

const here = 'scripts/testing/files.test.ts'

test('a name that no test has fails a run, and so does a file that is none, also beside one that is', async () => {
  const named = (...args: readonly string[]) => run('scripts/test.ts', ...args)
  assert.deepEqual(await named(here, '--name', 'chosen by path'), { code: 0, said: '' })
  assert.deepEqual(await named(here, '--name', 'chosen by pth'), {
    code: 1,
    said: 'kaha: no test there has a name that matches chosen by pth\n',
  })
  assert.deepEqual(await named(here, '--name', '('), { code: 1, said: 'kaha: --name ( is no regular expression\n' })
  assert.deepEqual(await named(here, 'scripts/fils.test.ts'), {
    code: 1,
    said: 'kaha: no test file there: scripts/fils.test.ts\n',
  })
})
