import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRoom } from './oldest.ts'

test('of a full map the oldest is forgotten, and of one with room nothing', () => {
  const map = new Map<string, number>()
  for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) {
    makeRoom(map, 3)
    map.set(key, index)
  }
  assert.deepEqual([...map.keys()], ['b', 'c', 'd'])
})

test('an empty map that may hold nothing stays as it is', () => {
  const map = new Map<string, number>()
  makeRoom(map, 0)
  assert.equal(map.size, 0)
})
