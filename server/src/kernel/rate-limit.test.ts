import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createRateLimit, visitorOf } from './rate-limit.ts'

function bucket(options: { perSecond: number; burst: number }) {
  const time = { ms: 1_000_000 }
  const limit = createRateLimit({ ...options, wall: () => time.ms })
  const allowed = (key: string, tries: number) => {
    let taken = 0
    for (let one = 0; one < tries; one += 1) if (limit.take(key) === 0) taken += 1
    return taken
  }
  return { ...limit, time, allowed }
}

test('a key may send its burst at once, and its rate from then on', () => {
  const { allowed, time } = bucket({ perSecond: 100, burst: 200 })
  assert.equal(allowed('a', 1_000), 200)
  time.ms += 1_000
  assert.equal(allowed('a', 1_000), 100)
  time.ms += 10
  assert.equal(allowed('a', 1_000), 1)
  time.ms += 3_600_000
  assert.equal(allowed('a', 1_000), 200)
})

test('what one key spends is not missing for another', () => {
  const { allowed } = bucket({ perSecond: 1, burst: 2 })
  assert.equal(allowed('a', 10), 2)
  assert.equal(allowed('b', 10), 2)
})

test('the wait that is told is a whole number of seconds of at least one, and long enough', () => {
  const { take, time, allowed } = bucket({ perSecond: 0.5, burst: 1 })
  assert.equal(take('a'), 0)
  const wait = take('a')
  assert.equal(wait, 2)
  time.ms += wait * 1_000
  assert.equal(take('a'), 0)
  const quick = bucket({ perSecond: 1_000, burst: 1 })
  quick.take('a')
  assert.equal(quick.take('a'), 1)
  assert.equal(allowed('a', 5), 0)
})

test('a system clock that steps back gives nothing and takes nothing', () => {
  const { allowed, time } = bucket({ perSecond: 1, burst: 10 })
  assert.equal(allowed('a', 5), 5)
  time.ms -= 3_600_000
  assert.equal(allowed('a', 100), 5)
  time.ms += 2_000
  assert.equal(allowed('a', 100), 2)
})

test('a rate of 0 is no limit', () => {
  assert.equal(bucket({ perSecond: 0, burst: 0 }).allowed('a', 100_000), 100_000)
})

test('no pattern of requests gets more than the burst and the rate allow', (t) => {
  const seed = Date.now() & 0x7fffffff
  t.diagnostic(`seed ${seed}`)
  const steps = fc.array(fc.record({ waitMs: fc.nat(3_000), tries: fc.nat(40) }), { maxLength: 30 })
  fc.assert(
    fc.property(steps, (all) => {
      const { allowed, time } = bucket({ perSecond: 10, burst: 20 })
      const began = time.ms
      let taken = 0
      for (const { waitMs, tries } of all) {
        time.ms += waitMs
        taken += allowed('a', tries)
        assert.ok(taken <= 20 + ((time.ms - began) * 10) / 1_000 + 1e-6)
      }
    }),
    { seed },
  )
})

test('the limit remembers 10,000 keys: the one seen longest ago starts anew', () => {
  const { allowed, take } = bucket({ perSecond: 1, burst: 1 })
  for (let key = 0; key < 10_000; key += 1) take(`key ${key}`)
  assert.equal(allowed('key 0', 1), 0)
  take('one more')
  assert.equal(allowed('key 1', 1), 1)
  assert.equal(allowed('key 0', 1), 0)
})

test('a key that is seen again is not the one seen longest ago', () => {
  const { allowed, take } = bucket({ perSecond: 1, burst: 1 })
  for (const key of ['again', 'once', 'again']) take(key)
  for (let key = 0; key < 9_999; key += 1) take(`key ${key}`)
  assert.equal(allowed('again', 1), 0)
  assert.equal(allowed('once', 1), 1)
})

test('a visitor is an IPv4 address, or the /64 of an IPv6 one however that is written, and no wider network', () => {
  const visitor = visitorOf('2001:db8:1:2::1')
  for (const address of ['2001:db8:1:2::', '2001:db8:1:2:ffff::1', '2001:db8:1:2:3:4:5:6', '2001:0DB8:0001:2::9'])
    assert.equal(visitorOf(address), visitor)
  for (const address of ['2001:db8:1:3::1', '2001:db8:1::1', '2001:db8::1:2:0:0', '::1', '192.0.2.1'])
    assert.notEqual(visitorOf(address), visitor)
  assert.equal(visitorOf('::1'), visitorOf('::ffff:ffff:ffff:ffff'))
  assert.notEqual(visitorOf('192.0.2.1'), visitorOf('192.0.2.2'))
})

test('a visitor stays the same one when a proxy writes his port, and who sends no address is nobody else', () => {
  for (const written of ['192.0.2.1:443', '::ffff:192.0.2.1', '::FFFF:192.0.2.1', '[::ffff:192.0.2.1]:50000'])
    assert.equal(visitorOf(written), visitorOf('192.0.2.1'), written)
  for (const written of ['[2001:db8:1:2::9]:10000', '[2001:db8:1:2::9]'])
    assert.equal(visitorOf(written), visitorOf('2001:db8:1:2::1'), written)
  assert.equal(visitorOf('unknown'), visitorOf('unknown1:80'))
  assert.notEqual(visitorOf('unknown'), visitorOf('192.0.2.1'))
})
