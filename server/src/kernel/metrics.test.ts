import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from './metrics.ts'

test('a figure that cannot be read, or takes too long to, keeps no other from being told', async () => {
  const metrics = createMetrics({ readMsMax: 20 })
  metrics.gauge('kaha_silent', 'Of a database that says nothing.', () => new Promise(() => {}))
  metrics.gauge('kaha_away', 'Of a database that is away.', () => Promise.reject(new Error('away')))
  metrics.gauge('kaha_well', 'Of this process.', () => 7)
  const told = await metrics.registry.metrics()
  assert.match(told, /^kaha_silent NaN$/im)
  assert.match(told, /^kaha_away NaN$/im)
  assert.match(told, /^kaha_well 7$/m)
})
