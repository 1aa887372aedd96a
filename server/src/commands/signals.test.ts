import assert from 'node:assert/strict'
import { test } from 'node:test'
import { untilAskedToStop } from './signals.ts'

test('a signal that comes twice at once, as through npm, stops in order; a later one ends the program at once', async (t) => {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const others = signals.map((signal) => new Set(process.listeners(signal)))
  let now = 1_000
  const ends: unknown[] = []
  t.mock.method(performance, 'now', () => now)
  t.mock.method(process, 'exit', (code: unknown) => void ends.push(code))
  const { stopped, signal: asked } = untilAskedToStop()
  const heard = signals.map((signal, at) => process.listeners(signal).find((one) => !others[at]?.has(one)))
  t.after(() => signals.forEach((signal, at) => heard[at] && process.off(signal, heard[at])))
  const [interrupt, terminate, hangUp] = heard.map((one) => () => one?.('SIGINT'))

  interrupt?.()
  assert.equal(await stopped, undefined)
  assert.ok(asked.aborted)
  now += 500
  terminate?.()
  assert.deepEqual(ends, [])
  now += 1
  hangUp?.()
  assert.deepEqual(ends, [1])
})
