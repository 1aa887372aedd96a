import assert from 'node:assert/strict'
import { test } from 'node:test'
import { msOf } from './timestamp.ts'

test('a time is read to the millisecond, whatever its fraction begins with and however long it is', () => {
  const whole = Date.UTC(2026, 0, 1)
  for (const [fraction, ms] of [
    ['', 0],
    ['.5', 500],
    ['.012', 12],
    ['.0129', 12],
    ['.012000000000001', 12],
    ['.000000000000999', 0],
    ['.99999999999999999999', 999],
  ] as const) {
    assert.equal(msOf(`2026-01-01T00:00:00${fraction}Z`), whole + ms, fraction)
    assert.equal(msOf(`2026-01-01t08:00:00${fraction}+08:00`), whole + ms, fraction)
  }
  assert.ok(Number.isNaN(msOf('soon')))
})
