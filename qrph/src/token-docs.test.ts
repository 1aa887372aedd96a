import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { openToken, sealToken, tokenKey } from './token.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/qr-ph.md'), 'utf8')
const { decrypt, refuse } = JSON.parse(readFileSync(new URL('../test/vectors/jwe.json', import.meta.url), 'utf8')) as {
  decrypt: readonly { readonly key: string; readonly plaintext: string }[]
  refuse: readonly { readonly key: string; readonly token: string; readonly why: string }[]
}
// Whoever opens a token knows what it is to hold.
const refused = refuse.filter(({ why }) => why !== 'plaintext is a JSON array')

/** The code of the page on QR Ph in a language, under the heading of that language. */
function codeIn(heading: string, language: string): string {
  const [, code] = new RegExp(`### ${heading}\\n[^#]*?\`\`\`${language}[^\\n]*\\n(.*?)\n\`\`\``, 's').exec(page) ?? []
  assert.ok(code, heading)
  return code
}

const readsJson = (plaintext: string): boolean => plaintext.startsWith('{')

interface Case {
  readonly key: string
  readonly value: object
  readonly token: string
}

interface Answer {
  /** Null where it was refused. */
  readonly opened: object | null
  readonly token: string
}

/** Lets a program open our tokens, make its own, which we open, and refuse the tokens of the test data that are to be refused. */
async function assertSame(run: (cases: readonly Case[]) => string): Promise<void> {
  const cases = await Promise.all(
    decrypt.map(async ({ key, plaintext }) => {
      const value = JSON.parse(plaintext) as object
      return { key, value, token: await sealToken(await tokenKey(key), value) }
    }),
  )
  const [first] = cases
  const others = refused.map(({ key, token }) => ({ key, token, value: first?.value ?? {} }))
  const answers = JSON.parse(run([...cases, ...others])) as Answer[]
  assert.equal(answers.length, cases.length + others.length)
  for (const [index, { key, value }] of cases.entries()) {
    assert.deepEqual(answers[index]?.opened, value)
    assert.deepEqual(await openToken(await tokenKey(key), answers[index]?.token ?? ''), value)
  }
  for (const [index, { why }] of refused.entries()) assert.equal(answers[cases.length + index]?.opened, null, why)
}

function printed(command: string, args: readonly string[], input: string): string {
  const { stdout, stderr, status } = spawnSync(command, args, { cwd: root, input })
  assert.equal(status, 0, stderr.toString())
  return stdout.toString()
}

/** A file that is there while the test runs. */
async function fileOf(t: TestContext, name: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kaha-docs-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, name), text)
  return join(folder, name)
}

test('the code for Node on the page opens our tokens and makes tokens that we open', () =>
  assertSame((cases) => {
    const program = `${codeIn('Node', 'js')}
import { readFileSync } from 'node:fs'
const answers = []
for (const { key, value, token } of JSON.parse(readFileSync(0, 'utf8')))
  answers.push({ opened: await open(key, token).catch(() => null), token: await seal(key, value) })
process.stdout.write(JSON.stringify(answers))`
    return printed(process.execPath, ['--input-type=module', '--eval', program], JSON.stringify(cases))
  }))

test('the code for Python on the page opens our tokens and makes tokens that we open', async (t) => {
  // Debian's library is of Debian's Python; another one on the path may not see it.
  const python = '/usr/bin/python3'
  if (spawnSync(python, ['-c', 'import jwcrypto']).status !== 0)
    return t.skip('tokens in Python as the page has them: there is no python3-jwcrypto')
  await assertSame((cases) => {
    const program = `${codeIn('Python', 'python')}

import sys

def opened(one):
    try:
        return open_token(one["key"], one["token"])
    except Exception:
        return None

json.dump([{"opened": opened(one), "token": seal(one["key"], one["value"])} for one in json.load(sys.stdin)], sys.stdout)`
    return printed(python, ['-c', program], JSON.stringify(cases))
  })
})

test('the code for PHP on the page opens our tokens and makes tokens that we open', async (t) => {
  if (spawnSync('php', ['-r', 'exit(extension_loaded("openssl") ? 0 : 1);']).status !== 0)
    return t.skip('tokens in PHP as the page has them: there is no php')
  const program = await fileOf(
    t,
    'tokens.php',
    `<?php
set_error_handler(fn ($level, $message) => throw new ErrorException($message));
${codeIn('PHP', 'php')}
$opened = function ($one) {
    try {
        return open($one['key'], $one['token']);
    } catch (RuntimeException | JsonException $refused) {
        return null;
    }
};
echo json_encode(array_map(
    fn ($one) => ['opened' => $opened($one), 'token' => seal($one['key'], $one['value'])],
    json_decode(file_get_contents('php://stdin'), true),
));`,
  )
  await assertSame((cases) => printed('php', [program], JSON.stringify(cases)))
})

// A JDK is large: it is not asked for where there is none.
if (spawnSync('javac', ['--version']).status === 0) {
  test('the code for Java on the page opens our tokens and makes tokens that we open', async (t) => {
    const reading = `final class Reading {
  public static void main(String[] args) throws Exception {
    for (String line : new String(System.in.readAllBytes(), StandardCharsets.UTF_8).split("\\n")) {
      String[] one = line.split("\\t", -1);
      String opened = "";
      try {
        opened = Tokens.open(one[0], one[2]);
      } catch (Exception refused) {
        // Nothing is printed of it.
      }
      byte[] bytes = opened.getBytes(StandardCharsets.UTF_8);
      System.out.println(Base64.getEncoder().encodeToString(bytes) + "\\t" + Tokens.seal(one[0], one[1]));
    }
  }
}

`
    const code = codeIn('Java', 'java').replace('final class Tokens', (begins) => reading + begins)
    const program = await fileOf(t, 'Reading.java', code)
    await assertSame((cases) => {
      const lines = cases.map(({ key, value, token }) => [key, JSON.stringify(value), token].join('\t'))
      const answers = printed('java', ['-Dfile.encoding=UTF-8', program], lines.join('\n')).trimEnd().split('\n')
      return JSON.stringify(
        answers.map((line) => {
          const [opened = '', token] = line.split('\t')
          const plaintext = Buffer.from(opened, 'base64').toString('utf8')
          return { opened: readsJson(plaintext) ? (JSON.parse(plaintext) as unknown) : null, token }
        }),
      )
    })
  })
}
