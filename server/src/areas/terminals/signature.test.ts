import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import vectors from '../../../test/vectors/terminal-signatures.json' with { type: 'json' }
import { isInWindow, isSignedBy, linesToSign, readSignature, readTimestamp, signatureOf } from './signature.ts'

for (const { api_secret: secret, method, path, timestamp, body, string_to_sign, signature } of vectors.cases) {
  test(`D5.signature.string: ${method} ${path} at ${timestamp} has the signature of the vectors`, () => {
    assert.equal(linesToSign(method, path, timestamp, hash('sha256', body)), string_to_sign)
    assert.equal(signatureOf(secret, string_to_sign).toString('base64'), signature)
    const given = readSignature(signature)
    assert.ok(given !== null)
    const request = { method, timestamp, body: Buffer.from(body), paths: [path] }
    assert.ok(isSignedBy(secret, given, request))
    // One thing is changed at a time, and none of them passes.
    const wrong = [
      { ...request, method: method.toUpperCase() === 'GET' ? 'POST' : 'GET' },
      { ...request, timestamp: timestamp.replace('2026', '2027') },
      { ...request, body: Buffer.from(`${body} `) },
      { ...request, paths: [`${path}/`] },
      { ...request, paths: [] },
    ]
    for (const one of wrong) assert.ok(!isSignedBy(secret, given, one))
    assert.ok(!isSignedBy(`${secret}x`, given, request))
    const altered = Buffer.from(given)
    altered[0] = (altered[0] ?? 0) ^ 1
    assert.ok(!isSignedBy(secret, altered, request))
  })
}

test('D5.signature.path-prefix: of several names of a path the one that was signed is found', () => {
  const [first] = vectors.cases
  assert.ok(first !== undefined)
  const given = readSignature(first.signature)
  assert.ok(given !== null)
  const { method, timestamp, body, path } = first
  const request = { method, timestamp, body: Buffer.from(body), paths: [`/terminal${path}`, path] }
  assert.ok(isSignedBy(first.api_secret, given, request))
})

test('D5.signature.base64: nothing but the canonical padded Base64 of 32 bytes is a signature', () => {
  const right = Buffer.alloc(32, 7).toString('base64')
  assert.ok(readSignature(right) !== null)
  const wrong = [
    undefined,
    '',
    right.slice(0, -1),
    `${right}=`,
    ` ${right}`,
    right.replace('=', ''),
    right.replace(/.=$/, 'd='),
    Buffer.alloc(31).toString('base64'),
    Buffer.alloc(33).toString('base64'),
    Buffer.alloc(32, 255).toString('base64url'),
    Buffer.alloc(32).toString('hex'),
  ]
  for (const one of wrong) assert.equal(readSignature(one), null, String(one))
})

test('D5.signature.window: a time is within five minutes of ours, to the millisecond, before and after', () => {
  const now = Date.parse('2026-01-15T10:30:00.000Z')
  for (const ms of [-300_000, -299_000, 0, 299_000, 300_000]) assert.ok(isInWindow(now + ms, now))
  for (const ms of [-301_000, -300_001, 300_001, 301_000]) assert.ok(!isInWindow(now + ms, now))
  for (const text of [
    undefined,
    '',
    'now',
    '2026-01-15',
    '1768473000',
    '2026-01-15T10:30:00',
    '2026-13-15T10:30:00Z',
    '2026-01-15T10:30:00+',
    '2026-01-15T10:30:00+08:',
    '2026-01-15T10Z',
  ])
    assert.equal(readTimestamp(text), null)
  for (const text of [
    '18:30:00.000+08:00',
    '10:30:00.00000000000Z',
    '10:30Z',
    '18:30+08',
    '18:30:00+0800',
    '10:30:00,000Z',
  ])
    assert.equal(readTimestamp(`2026-01-15T${text}`), now, text)
})
