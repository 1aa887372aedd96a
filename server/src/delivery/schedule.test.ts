import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { retryAfterMsOf, tenAttempts, waitAfter, waitAfterSetback } from './schedule.ts'

const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const spent = fc.integer({ min: 1, max: tenAttempts.waitsMs.length })
const scheduled = (attemptsSpent: number) => tenAttempts.waitsMs[attemptsSpent - 1] ?? NaN

test('A2.attempts.schedule: without chance the waits are exactly those of the schedule, and there are ten attempts', () => {
  const waitsSeconds = Array.from({ length: 10 }, (_, index) => waitAfter(tenAttempts, index + 1, () => 0)).map(
    (ms) => ms && ms / 1_000,
  )
  assert.deepEqual(waitsSeconds, [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400, null])
})

test('A2.attempts.jitter: a wait is never shorter than the schedule says, and never longer by more than a fifth', () => {
  fc.assert(
    fc.property(spent, chance, (attemptsSpent, random) => {
      const waitMs = waitAfter(tenAttempts, attemptsSpent, () => random) ?? NaN
      assert.ok(waitMs >= scheduled(attemptsSpent) && waitMs <= scheduled(attemptsSpent) * 1.2 + 1)
    }),
  )
})

test('a Retry-After moves the next attempt between once and twice the scheduled wait, whatever it asks for', () => {
  fc.assert(
    fc.property(spent, chance, fc.integer({ min: 0, max: 1e12 }), (attemptsSpent, random, askedMs) => {
      const waitMs = waitAfter(tenAttempts, attemptsSpent, () => random, askedMs) ?? NaN
      const plainMs = waitAfter(tenAttempts, attemptsSpent, () => random) ?? NaN
      const once = scheduled(attemptsSpent)
      assert.ok(waitMs >= plainMs && waitMs <= once * 2)
      if (askedMs >= plainMs && askedMs <= once * 2) assert.equal(waitMs, askedMs)
    }),
  )
  assert.equal(
    waitAfter(tenAttempts, 10, () => 0, 60_000),
    null,
  )
})

const wallMs = Date.UTC(2026, 10, 21, 12, 0, 0)
const headers: readonly (readonly [header: string | undefined, ms: number | null])[] = [
  [undefined, null],
  ['', null],
  ['120', 120_000],
  [' 0 ', 0],
  ['-1', null],
  ['1.5', null],
  ['1e3', null],
  ['99999999999', 99_999_999_999_000],
  ['Sat, 21 Nov 2026 12:01:30 GMT', 90_000],
  ['Saturday, 21-Nov-26 12:01:30 GMT', 90_000],
  ['Sat Nov 21 12:01:30 2026', 90_000],
  ['Fri, 20 Nov 2026 12:00:00 GMT', 0],
  ['tomorrow', null],
  ['2026-11-21', null],
  ['Sat', null],
]
for (const [header, ms] of headers) {
  test(`a Retry-After of ${JSON.stringify(header)} asks for ${ms === null ? 'nothing' : `${ms} ms`}`, () => {
    assert.equal(retryAfterMsOf(header, wallMs), ms)
  })
}

test('failures of ours are repeated after a wait that doubles from a second to five minutes and has no end', () => {
  const seconds = Array.from({ length: 12 }, (_, index) => waitAfterSetback(index + 1, () => 0) / 1_000)
  assert.deepEqual(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
  assert.ok(waitAfterSetback(1_000_000, () => 0.999) <= 360_000)
})
