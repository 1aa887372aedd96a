import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openToken, sealToken, tokenKey } from './token.ts'

const { decrypt } = JSON.parse(readFileSync(new URL('../test/vectors/jwe.json', import.meta.url), 'utf8')) as {
  decrypt: readonly { readonly key: string; readonly key_hex: string; readonly plaintext: string }[]
}

// Debian's library is of Debian's Python; another one on the path may not see it.
const python = '/usr/bin/python3'
const program = `
import json, sys
from jwcrypto import jwe, jwk
from jwcrypto.common import base64url_encode

answers = []
for case in json.load(sys.stdin):
    key = jwk.JWK(kty="oct", k=base64url_encode(bytes.fromhex(case["key_hex"])))
    read = jwe.JWE(algs=["A256KW", "A256CBC-HS512"])
    read.deserialize(case["token"], key)
    made = jwe.JWE(case["plaintext"].encode(), json.dumps({"alg": "A256KW", "enc": "A256CBC-HS512"}))
    made.add_recipient(key)
    answers.append({"opened": read.payload.decode(), "token": made.serialize(compact=True)})
json.dump(answers, sys.stdout)
`

test('a client in Python with jwcrypto opens our tokens, and we open those that it makes', async (t) => {
  if (spawnSync(python, ['-c', 'import jwcrypto']).status !== 0)
    return t.skip('tokens to and from Python: there is no python3-jwcrypto')
  const cases = await Promise.all(
    decrypt.map(async ({ key, key_hex, plaintext }) => ({
      key_hex,
      plaintext,
      token: await sealToken(await tokenKey(key), JSON.parse(plaintext) as object),
    })),
  )
  const { stdout, stderr, status } = spawnSync(python, ['-c', program], { input: JSON.stringify(cases) })
  assert.equal(status, 0, stderr.toString())
  const answers = JSON.parse(stdout.toString()) as { opened: string; token: string }[]
  assert.equal(answers.length, decrypt.length)
  for (const [index, { key, plaintext }] of decrypt.entries()) {
    assert.equal(answers[index]?.opened, plaintext)
    const opened = await openToken(await tokenKey(key), answers[index]?.token ?? '')
    assert.equal(JSON.stringify(opened), plaintext)
  }
})
