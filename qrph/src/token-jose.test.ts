import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openToken, sealToken, tokenKey } from './token.ts'

const { decrypt } = JSON.parse(readFileSync(new URL('../test/vectors/jwe.json', import.meta.url), 'utf8')) as {
  decrypt: readonly { readonly key: string; readonly key_hex: string; readonly plaintext: string }[]
}

/** The command-line tool `jose` of Debian, which is built on another library (José for C) than ours and Python's. */
function jose(args: readonly string[], input: string): string {
  const { stdout, stderr, status } = spawnSync('jose', args, { input })
  assert.equal(status, 0, stderr.toString())
  return stdout.toString()
}

test('the command-line tool jose opens our tokens, and we open those that it makes', async (t) => {
  if (spawnSync('jose', ['alg']).error !== undefined)
    return t.skip('tokens to and from the command-line tool jose: there is no jose')
  const folder = await mkdtemp(join(tmpdir(), 'kaha-jose-'))
  t.after(() => rm(folder, { recursive: true }))
  const [keyPath, headerPath] = [join(folder, 'key.jwk'), join(folder, 'header.json')]
  await writeFile(headerPath, JSON.stringify({ protected: { alg: 'A256KW', enc: 'A256CBC-HS512' } }))
  for (const { key: text, key_hex, plaintext } of decrypt) {
    const key = await tokenKey(text)
    const k = Buffer.from(key_hex, 'hex').toString('base64url')
    await writeFile(keyPath, JSON.stringify({ kty: 'oct', k }))
    const ours = await sealToken(key, JSON.parse(plaintext) as object)
    assert.equal(jose(['jwe', 'dec', '-i', '-', '-k', keyPath], ours), plaintext)
    const theirs = jose(['jwe', 'enc', '-i', headerPath, '-I', '-', '-k', keyPath, '-c'], plaintext).trim()
    assert.equal(JSON.stringify(await openToken(key, theirs)), plaintext)
  }
})
