import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClock } from '../kernel/clock.ts'
import { createKnown } from './known.ts'

/** Keys that are found when the test says so, on a clock that the test moves. */
function house() {
  const time = { wall: 0 }
  const line = { connected: true }
  let change = () => {}
  const bus = {
    get connected() {
      return line.connected
    },
    listen(_topic: string, heard: () => void) {
      change = heard
      return () => {}
    },
  } as unknown as Parameters<typeof createKnown>[0]['bus']
  const readings: PromiseWithResolvers<string | undefined>[] = []
  const find = createKnown({
    bus,
    clock: createClock(() => time.wall),
    read() {
      const reading = Promise.withResolvers<string | undefined>()
      readings.push(reading)
      return reading.promise
    },
  })
  const answer = (found: string | undefined) => readings.at(-1)?.resolve(found)
  return { find, readings, answer, time, line, change: () => change() }
}

const turn = () => new Promise<string>((done) => setImmediate(done, 'waits'))
/** What is found without another reading being answered. */
const atOnce = (found: Promise<string | undefined>) => Promise.race([found, turn()])

test('a key in use is read anew before its second is over, and nobody waits for that', async () => {
  const { find, readings, answer, time } = house()
  const first = find('a')
  answer('one')
  assert.equal(await first, 'one')
  time.wall = 699
  assert.equal(await atOnce(find('a')), 'one')
  assert.equal(readings.length, 1)
  time.wall = 700
  for (let call = 0; call < 3; call += 1) assert.equal(await atOnce(find('a')), 'one')
  assert.equal(readings.length, 2)
  answer('two')
  await turn()
  assert.equal(await atOnce(find('a')), 'two')
  // It is known from when it was asked for.
  time.wall = 1_699
  assert.equal(await atOnce(find('a')), 'two')
  time.wall = 1_700
  assert.equal(await atOnce(find('a')), 'waits')
})

test('a key in use that is gone when it is read anew is found no more', async () => {
  const { find, answer, time } = house()
  const first = find('a')
  answer('one')
  await first
  time.wall = 700
  assert.equal(await atOnce(find('a')), 'one')
  answer(undefined)
  await turn()
  const next = find('a')
  assert.equal(await atOnce(next), 'waits')
  answer(undefined)
  assert.equal(await next, undefined)
})

test('a key that nobody used for a second is read by whoever asks, and so is one that could not be read meanwhile', async () => {
  const { find, readings, answer, time } = house()
  const first = find('a')
  answer('one')
  await first
  time.wall = 900
  assert.equal(await atOnce(find('a')), 'one')
  readings.at(-1)?.reject(new Error('the database is away'))
  await turn()
  time.wall = 1_000
  const second = find('a')
  assert.equal(await atOnce(second), 'waits')
  readings.at(-1)?.reject(new Error('the database is still away'))
  await assert.rejects(second, /still away/)
  const third = find('a')
  answer('two')
  assert.equal(await third, 'two')
})

test('whoever asks while a key is read gets that reading; of another key there is another', async () => {
  const { find, readings, answer } = house()
  const both = [find('a'), find('a')]
  const other = find('b')
  assert.equal(readings.length, 2)
  answer('b')
  readings[0]?.resolve('a')
  assert.deepEqual(await Promise.all([...both, other]), ['a', 'a', 'b'])
  assert.equal(await atOnce(find('a')), 'a')
})

test('a change counts from the next call on: what was being read is neither joined nor remembered', async () => {
  const { find, readings, answer, change } = house()
  const before = find('a')
  change()
  const after = find('a')
  assert.equal(readings.length, 2)
  answer('revoked')
  assert.equal(await after, 'revoked')
  readings[0]?.resolve('active')
  assert.equal(await before, 'active')
  assert.equal(await atOnce(find('a')), 'revoked')
  change()
  assert.equal(await atOnce(find('a')), 'waits')
})

test('without word of changes nothing is remembered, and no reading is joined that takes long', async () => {
  const { find, readings, answer, time, line } = house()
  line.connected = false
  const first = find('a')
  answer('one')
  await first
  assert.equal(await atOnce(find('a')), 'waits')
  assert.equal(readings.length, 2)
  time.wall = 249
  assert.equal(await atOnce(find('a')), 'waits')
  assert.equal(readings.length, 2)
  time.wall = 250
  const own = find('a')
  assert.equal(readings.length, 3)
  answer('three')
  assert.equal(await own, 'three')
})

test('a key that is none is asked for each time, and a clock that is set back makes every key be read again', async () => {
  const { find, readings, answer, time } = house()
  const none = find('a')
  answer(undefined)
  assert.equal(await none, undefined)
  const one = find('a')
  assert.equal(readings.length, 2)
  answer('one')
  await one
  time.wall = -1
  assert.equal(await atOnce(find('a')), 'waits')
})
