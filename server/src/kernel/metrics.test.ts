import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from './metrics.ts'

test('a figure that cannot be read, or takes too long to, keeps no other from being told', async () => {
  const metrics = createMetrics({ readMsMax: 20 })
  metrics.gauge('kaha_silent', 'Of a database that says nothing.', () => new Promise(() => {}))
  metrics.gauge('kaha_away', 'Of a database that is away.', () => Promise.reject(new Error('away')))
  metrics.gauge('kaha_well', 'Of this process.', () => 7)
  const told = await metrics.text()
  assert.match(told, /^kaha_silent NaN$/m)
  assert.match(told, /^kaha_away NaN$/m)
  assert.match(told, /^kaha_well 7$/m)
})

test('figures of the process are told beside those of the platform, and one platform tells none of another', async () => {
  const [one, other] = [createMetrics(), createMetrics()]
  one.gauge('kaha_own', 'Of this platform.', () => 7)
  const told = await one.text()
  assert.match(told, /^kaha_own 7$/m)
  assert.match(told, /^kaha_process_resident_memory_bytes \d+$/m)
  assert.equal(told.match(/^# TYPE kaha_nodejs_eventloop_lag_seconds gauge$/gm)?.length, 1)
  assert.doesNotMatch(await other.text(), /kaha_own/)
})
