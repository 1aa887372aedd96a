import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isoTime } from './present.ts'

test('a time is shown in UTC to the millisecond, as every language reads it', (t) => {
  const seed = Date.now() & 0x7fffffff
  t.diagnostic(`seed ${seed}`)
  const min = new Date('1000-01-01T00:00:00.000Z')
  const max = new Date('9999-12-31T23:59:59.999Z')
  const same = fc.property(fc.date({ min, max, noInvalidDate: true }), (at) =>
    assert.equal(isoTime(at), at.toISOString()),
  )
  fc.assert(same, { seed })
  for (const at of [min, max, new Date('2026-02-03T04:05:06.007Z'), new Date('2026-02-03T04:05:06.070Z')])
    assert.equal(isoTime(at), at.toISOString())
})
