import assert from 'node:assert/strict'
import { createHash, webcrypto } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { CompactEncrypt, compactDecrypt } from 'jose'
import { openAltered } from '../test/altered-tokens.ts'
import { openToken, sealToken, tokenKey, TokenError } from './token.ts'

interface Vectors {
  readonly decrypt: readonly {
    readonly name: string
    readonly key: string
    readonly key_hex: string
    readonly plaintext: string
    readonly token: string
  }[]
  readonly refuse: readonly { readonly why: string; readonly key: string; readonly token: string }[]
}
const vectors = JSON.parse(readFileSync(new URL('../test/vectors/jwe.json', import.meta.url), 'utf8')) as Vectors

const key = await tokenKey('f3Kq9ZtB7mXw2LrN8vYc5HsD1jPe6UaG')
const refused = { name: 'TokenError', message: 'The token cannot be opened.' }

for (const { name, key: text, plaintext, token } of vectors.decrypt) {
  test(`a token of the test data is opened: ${name}`, async () => {
    assert.equal(JSON.stringify(await openToken(await tokenKey(text), token)), plaintext)
  })
}

for (const { why, key: text, token } of vectors.refuse) {
  test(`E6.token.algorithms: a token of the test data is refused: ${why}`, async () => {
    await assert.rejects(openToken(await tokenKey(text), token), refused)
  })
}

test('E6.token.key-bytes: a key is the bytes of its text where they are 32, and their SHA-256 otherwise', async () => {
  const texts = [
    '',
    'too-short-key',
    'f3Kq9ZtB7mXw2LrN8vYc5HsD1jPe6UaG',
    'é'.repeat(16),
    'é'.repeat(32),
    'k'.repeat(33),
  ]
  for (const text of texts) {
    const bytes = Buffer.from(text)
    const raw = bytes.length === 32 ? bytes : createHash('sha256').update(bytes).digest()
    const token = await sealToken(await tokenKey(text), { text })
    const { plaintext } = await compactDecrypt(token, raw)
    assert.deepEqual(JSON.parse(Buffer.from(plaintext).toString()), { text })
  }
  for (const { key: text, key_hex: hex, token, plaintext } of vectors.decrypt) {
    const { plaintext: opened } = await compactDecrypt(token, Buffer.from(hex, 'hex'))
    assert.equal(Buffer.from(opened).toString(), plaintext, text)
  }
})

test('E6.token.header: the header of a token that is made holds alg and enc, in this order, and nothing else', async () => {
  const [head = ''] = (await sealToken(key, { a: 1 })).split('.')
  assert.equal(Buffer.from(head, 'base64url').toString(), '{"alg":"A256KW","enc":"A256CBC-HS512"}')
})

test('the same value is another token each time', async () => {
  assert.equal(new Set(await Promise.all(Array.from({ length: 20 }, () => sealToken(key, {})))).size, 20)
})

const sealedAs = (plaintext: string | Buffer, header: Record<string, unknown> = {}) =>
  new CompactEncrypt(Buffer.from(plaintext))
    .setProtectedHeader({ alg: 'A256KW', enc: 'A256CBC-HS512', ...header })
    .encrypt(key)

test('a token that holds anything but a JSON object is refused', async () => {
  const others = ['', 'x', '1', 'null', 'true', '"text"', '[]', '[{}]', '{', '{}{}', '\ufeff{}', '{"a":undefined}']
  for (const plaintext of [...others, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])])
    await assert.rejects(openToken(key, await sealedAs(plaintext)), refused, String(plaintext))
  assert.deepEqual(await openToken(key, await sealedAs(' {"a":1}\n')), { a: 1 })
})

test('a token that unfolds into more than it holds is refused', async () => {
  const bomb = await sealedAs(JSON.stringify({ a: 'a'.repeat(1_000_000) }), { zip: 'DEF' }).catch(() => undefined)
  if (bomb !== undefined) await assert.rejects(openToken(key, bomb), refused)
  await assert.rejects(openToken(key, await sealedAs('{}', { zip: 'DEF' })), refused)
})

test('a token that is longer than is looked at is refused', async () => {
  const sealed = (characters: number) => sealToken(key, { a: 'a'.repeat(characters) })
  const [longest, tooLong] = [await sealed(48_960), await sealed(48_970)]
  assert.deepEqual([longest.length, tooLong.length], [65_518, 65_539])
  assert.ok(await openToken(key, longest))
  await assert.rejects(openToken(key, tooLong), refused)
  await assert.rejects(openToken(key, 'a'.repeat(10_000_000)), refused)
})

test('another spelling of the same bytes is another token, and refused', async () => {
  const token = await sealToken(key, {})
  const parts = token.split('.')
  for (const [index, part] of parts.entries()) {
    for (const spelling of [
      `${part}=`,
      `${part}==`,
      ` ${part}`,
      `${part}\n`,
      part.replaceAll('-', '+').replaceAll('_', '/') + '=',
    ]) {
      await assert.rejects(openToken(key, parts.with(index, spelling).join('.')), refused, spelling)
    }
  }
})

test('a key cannot be read back from where it is kept', async () => {
  await assert.rejects(webcrypto.subtle.exportKey('raw', key))
})

test('of 5,000 altered tokens none is opened, and no refusal tells its cause', async () => {
  const { refused: count, kinds } = await openAltered(5_000, 20_261_121)
  assert.equal(count, 5_000)
  assert.equal(kinds.size, 12)
})

test('control: a refusal that told its cause would be noticed', () => {
  assert.notEqual(Object.assign(new TokenError(), { cause: 'the tag' }).cause, new TokenError().cause)
})
