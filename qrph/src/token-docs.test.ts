import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openToken, sealToken, tokenKey } from './token.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/qr-ph.md'), 'utf8')
const { decrypt } = JSON.parse(readFileSync(new URL('../test/vectors/jwe.json', import.meta.url), 'utf8')) as {
  decrypt: readonly { readonly key: string; readonly plaintext: string }[]
}

/** The code of the page on QR Ph in a language, under the heading of that language. */
function codeIn(heading: string, language: string): string {
  const [, code] = new RegExp(`### ${heading}\\n[^#]*?\`\`\`${language}\\n(.*?)\n\`\`\``, 's').exec(page) ?? []
  assert.ok(code, heading)
  return code
}

interface Case {
  readonly key: string
  readonly value: object
  readonly token: string
}

/** Lets a program open our tokens and make its own, and opens those. */
async function assertSame(run: (cases: readonly Case[]) => string): Promise<void> {
  const cases = await Promise.all(
    decrypt.map(async ({ key, plaintext }) => {
      const value = JSON.parse(plaintext) as object
      return { key, value, token: await sealToken(await tokenKey(key), value) }
    }),
  )
  const answers = JSON.parse(run(cases)) as { opened: object; token: string }[]
  assert.equal(answers.length, cases.length)
  for (const [index, { key, value }] of cases.entries()) {
    assert.deepEqual(answers[index]?.opened, value)
    assert.deepEqual(await openToken(await tokenKey(key), answers[index]?.token ?? ''), value)
  }
}

function printed(command: string, args: readonly string[], cases: readonly Case[]): string {
  const { stdout, stderr, status } = spawnSync(command, args, { cwd: root, input: JSON.stringify(cases) })
  assert.equal(status, 0, stderr.toString())
  return stdout.toString()
}

test('the code for Node on the page opens our tokens and makes tokens that we open', () =>
  assertSame((cases) => {
    const program = `${codeIn('Node', 'js')}
import { readFileSync } from 'node:fs'
const answers = []
for (const { key, value, token } of JSON.parse(readFileSync(0, 'utf8')))
  answers.push({ opened: await open(key, token), token: await seal(key, value) })
process.stdout.write(JSON.stringify(answers))`
    return printed(process.execPath, ['--input-type=module', '--eval', program], cases)
  }))

test('the code for Python on the page opens our tokens and makes tokens that we open', async (t) => {
  // Debian's library is of Debian's Python; another one on the path may not see it.
  const python = '/usr/bin/python3'
  if (spawnSync(python, ['-c', 'import jwcrypto']).status !== 0)
    return t.skip('tokens in Python as the page has them: there is no python3-jwcrypto')
  await assertSame((cases) => {
    const program = `${codeIn('Python', 'python')}

import sys
json.dump([{"opened": open_token(one["key"], one["token"]), "token": seal(one["key"], one["value"])} for one in json.load(sys.stdin)], sys.stdout)`
    return printed(python, ['-c', program], cases)
  })
})
