import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCursors } from './cursor.ts'
import { createKeyring } from './seal.ts'

const seed = Date.now() & 0x7fffffff
const cursors = createCursors(createKeyring(randomBytes(32)))
const texts = fc.array(fc.string({ unit: 'grapheme' }))
const bounds = fc.array(fc.oneof(fc.string(), fc.constant(null), fc.array(fc.string())))

const sorted = (of: readonly unknown[]) =>
  JSON.stringify(of.map((one) => (Array.isArray(one) ? one.map(String).toSorted() : one)))

test('a cursor of a filter by several values reads with them in another order, and with no other ones', () => {
  const cursor = cursors.write(['x'], ['links', ['ACTIVE', 'EXPIRED'], null])
  assert.deepEqual(cursors.read(cursor, ['links', ['EXPIRED', 'ACTIVE'], null]), ['x'])
  for (const others of [
    ['links', ['ACTIVE'], null],
    ['links', ['ACTIVE', 'EXPIRED', 'CONSUMED'], null],
    ['links', ['ACTIVE', 'EXPIRED']],
    ['links', 'ACTIVE', 'EXPIRED', null],
    [['ACTIVE', 'EXPIRED'], 'links', null],
  ])
    assert.equal(cursors.read(cursor, others), null, JSON.stringify(others))
})

test('a cursor reads as the position that was written, with the same filters and entity alone', (t) => {
  t.diagnostic(`seed ${seed}`)
  const read = fc.property(texts, bounds, bounds, (position, boundTo, others) => {
    const cursor = cursors.write(position, boundTo)
    assert.match(cursor, /^[A-Za-z0-9_-]+$/)
    assert.deepEqual(cursors.read(cursor, boundTo), position)
    if (sorted(others) !== sorted(boundTo)) assert.equal(cursors.read(cursor, others), null)
  })
  fc.assert(read, { seed })
})

test('a cursor with any one character changed, taken away or added reads as nothing', () => {
  const boundTo = ['links', 'entity', null]
  const cursor = cursors.write(['01a1fcef-9ed7-78da-86e8-e01924f01831'], boundTo)
  for (let at = 0; at < cursor.length; at += 1) {
    for (const character of ['A', 'B', '_', '-', '=', '+', ' ', '.']) {
      if (cursor[at] === character) continue
      assert.equal(cursors.read(cursor.slice(0, at) + character + cursor.slice(at + 1), boundTo), null)
      assert.equal(cursors.read(cursor.slice(0, at) + character + cursor.slice(at), boundTo), null)
    }
    assert.equal(cursors.read(cursor.slice(0, at), boundTo), null)
    assert.equal(cursors.read(cursor.slice(0, at) + cursor.slice(at + 1), boundTo), null)
  }
  assert.deepEqual(cursors.read(cursor, boundTo), ['01a1fcef-9ed7-78da-86e8-e01924f01831'])
})

test('a cursor of another installation, and any text that is none, read as nothing', () => {
  const elsewhere = createCursors(createKeyring(randomBytes(32)))
  assert.equal(cursors.read(elsewhere.write(['x'], []), []), null)
  fc.assert(
    fc.property(fc.string(), (text) => {
      assert.equal(cursors.read(text, []), null)
    }),
    { seed },
  )
})
