import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { createKeyring, keyOf, sha256 } from './seal.ts'

const seed = Date.now() & 0x7fffffff
const keyring = createKeyring(randomBytes(32))

test('what was sealed opens to the same text, in its own place alone', (t) => {
  t.diagnostic(`seed ${seed}`)
  const opens = fc.property(fc.string({ unit: 'grapheme' }), fc.string(), fc.string(), (plain, place, other) => {
    const sealed = keyring.seal(plain, place)
    assert.equal(keyring.open(sealed, place), plain)
    if (other !== place) assert.throws(() => keyring.open(sealed, other))
  })
  fc.assert(opens, { seed })
})

test('a sealed value with any one bit changed, or any byte missing or added, does not open', () => {
  const sealed = keyring.seal('whsec_of_somebody', 'delivery.secrets.sealed:1')
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Buffer.from(sealed)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.throws(() => keyring.open(changed, 'delivery.secrets.sealed:1'), `bit ${bit}`)
  }
  for (let bytes = 0; bytes < sealed.length; bytes += 1) {
    assert.throws(() => keyring.open(sealed.subarray(0, bytes), 'delivery.secrets.sealed:1'), `${bytes} bytes`)
  }
  assert.throws(() => keyring.open(Buffer.concat([sealed, Buffer.from([0])]), 'delivery.secrets.sealed:1'))
})

test('the same text sealed twice looks different, and holds nothing of the text', () => {
  const [one, other] = [keyring.seal('whsec_of_somebody', 'a'), keyring.seal('whsec_of_somebody', 'a')]
  assert.notDeepEqual(one, other)
  assert.ok(!one.includes('whsec'))
})

test('another key opens nothing, says so, and has another id and fingerprint', () => {
  const another = createKeyring(randomBytes(32))
  assert.throws(() => another.open(keyring.seal('x', 'a'), 'a'), /sealed with another key/)
  assert.notEqual(another.keyId, keyring.keyId)
  assert.notDeepEqual(another.fingerprint, keyring.fingerprint)
})

test('the same key is the same keyring after a restart', () => {
  const key = randomBytes(32)
  const [before, afterwards] = [createKeyring(key), createKeyring(Buffer.from(key))]
  assert.equal(afterwards.open(before.seal('x', 'a'), 'a'), 'x')
  assert.deepEqual(afterwards.fingerprint, before.fingerprint)
  assert.deepEqual(afterwards.mac('cursor', 'x'), before.mac('cursor', 'x'))
})

test('the fingerprint tells nothing of the key, and each purpose has a mac of its own', () => {
  const key = Buffer.alloc(32, 7)
  const known = createKeyring(key)
  assert.notDeepEqual(known.fingerprint, sha256(key))
  assert.notDeepEqual(known.mac('cursor', 'x'), known.mac('client-secret', 'x'))
  assert.notDeepEqual(known.mac('cursor', 'x'), known.mac('cursor', 'y'))
})

test('a master key of any other size is refused', () => {
  for (const bytes of [0, 16, 31, 33, 64]) assert.throws(() => createKeyring(randomBytes(bytes)), /32 bytes/)
})

test('a key is read as it was written, and what is none is told apart', () => {
  const key = randomBytes(32)
  const text = key.toString('base64')
  assert.deepEqual(keyOf(text), key)
  for (const none of ['', ` ${text}`, text.slice(0, -1), text.slice(0, -4), `${text}${text}`, key.toString('hex')])
    assert.equal(keyOf(none), undefined)
})
