import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { firstIdOf, isUuid, largestId, newId, randomText, smallestId, ulidOf, uuidOfUlid } from './ids.ts'

const seed = Date.now() & 0x7fffffff
const times = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const timeOf = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)

test('an id is a UUID of version 7 and of the variant of RFC 9562, and carries its time to the millisecond', (t) => {
  t.diagnostic(`seed ${seed}`)
  const made = fc.property(times, (ms) => {
    const id = newId(new Date(ms))
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.equal(timeOf(id), ms)
    assert.ok(isUuid(id))
  })
  fc.assert(made, { seed })
})

test('ids sort by their time, and a range of time is a range of ids', () => {
  const sorted = fc.property(times, times, (one, other) => {
    if (one < other) assert.ok(newId(new Date(one)) < newId(new Date(other)))
    const id = newId(new Date(one))
    assert.ok(firstIdOf(one) <= id && id < largestId && smallestId < id)
    if (one + 1 < 2 ** 48) assert.ok(id < firstIdOf(one + 1))
  })
  fc.assert(sorted, { seed })
})

test('ten thousand ids of one millisecond are ten thousand different ids', () => {
  const at = new Date()
  assert.equal(new Set(Array.from({ length: 10_000 }, () => newId(at))).size, 10_000)
})

test('a uuid is told from what only looks like one', () => {
  for (const text of [newId(new Date()), smallestId, largestId, newId(new Date()).toUpperCase()])
    assert.ok(isUuid(text))
  const wrong = ['', 'x', `urn:uuid:${smallestId}`, `{${smallestId}}`, smallestId.replaceAll('-', ''), `${smallestId}0`]
  const odd = [` ${smallestId}`, `${smallestId}\n`, smallestId.replace('0', 'g'), smallestId.replace('0', '٠')]
  for (const text of [...wrong, ...odd]) assert.ok(!isUuid(text), text)
})

test('random text has its length and alphabet, and every character of it about equally often', () => {
  const text = randomText(62_000)
  assert.match(text, /^[0-9A-Za-z]{62000}$/)
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  assert.equal(counts.size, 62)
  // 1,000 of each, and a standard deviation of 31: eight of those are luck that does not happen.
  for (const count of counts.values()) assert.ok(Math.abs(count - 1_000) < 250)
  assert.match(randomText(100, 'ab'), /^[ab]{100}$/)
  assert.equal(randomText(0), '')
})

test('an id and its ULID are the same 128 bits, and sort alike', () => {
  const pairs = fc.property(fc.uuid(), fc.uuid(), (one, other) => {
    assert.match(ulidOf(one), /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
    assert.equal(uuidOfUlid(ulidOf(one)), one)
    assert.equal(ulidOf(one) < ulidOf(other), one < other)
  })
  fc.assert(pairs, { seed })
  assert.equal(ulidOf(smallestId), '0'.repeat(26))
  assert.equal(ulidOf(largestId), `7${'Z'.repeat(25)}`)
})

test('a text that is no ULID is none', () => {
  const ulid = ulidOf(newId(new Date()))
  for (const text of [
    '',
    'x',
    ulid.toLowerCase(),
    `${ulid}0`,
    ulid.slice(1),
    ` ${ulid}`,
    `8${ulid.slice(1)}`,
    `${ulid.slice(0, 25)}I`,
  ])
    assert.equal(uuidOfUlid(text), undefined, text)
})
