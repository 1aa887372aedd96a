import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from './fault.ts'
import { createPlaces } from './places.ts'

const refusedWith = (message: string) => (error: unknown) =>
  error instanceof Fault && error.code === 'RATE_LIMITED' && error.message === message && error.retryAfterSeconds === 3

const each = { eachMax: 2, eachRefusal: 'yours', retryAfterSeconds: 3 }

test('a key has its places and all have theirs, and what is given back is free for the next', () => {
  const places = createPlaces({ ...each, all: { max: 3, refusal: 'all' } })
  const first = places.take('a')
  places.take('a')
  assert.throws(() => places.take('a'), refusedWith('yours'))
  const other = places.take('b')
  assert.throws(() => places.take('b'), refusedWith('all'))
  other[Symbol.dispose]()
  places.take('c')
  assert.throws(() => places.take('b'), refusedWith('all'))
  first[Symbol.dispose]()
  places.take('a')
})

test('a place that is given back twice is one place', () => {
  const places = createPlaces(each)
  const first = places.take('a')
  places.take('a')
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  places.take('a')
  assert.throws(() => places.take('a'), refusedWith('yours'))
})

test('without a limit for all, one key takes nothing from another', () => {
  const places = createPlaces(each)
  for (let key = 0; key < 100; key += 1) places.take(String(key))
  assert.throws(() => {
    for (let tries = 0; tries < 2; tries += 1) places.take('0')
  }, refusedWith('yours'))
})
