import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import { KahaConnectionError, KahaError } from './errors.ts'
import { pause, retryAfterSecondsOf, waitBeforeReopening, waitBeforeRetry } from './retry.ts'

const refused = (status: number, retryAfterSeconds?: number, code = 'C') =>
  new KahaError({
    status,
    code,
    message: '',
    operation: 'o',
    correlationId: undefined,
    details: undefined,
    retryAfterSeconds,
    idempotencyKey: undefined,
  })

test('the wait is never shorter than Retry-After nor than without one, and longer by a fifth at most', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 1, max: 50 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (seconds, tries, chance) => {
        const [ms, without] = [refused(429, seconds), refused(429)].map((failure) =>
          waitBeforeRetry(failure, tries, () => chance),
        )
        assert.ok(ms != null && without != null && ms >= seconds * 1_000 && ms >= without)
        assert.ok(ms === without || ms <= seconds * 1_200)
      },
    ),
  )
})

test('without Retry-After the waits double from half a second to eight, less up to a half by chance', () => {
  const waits = (chance: number) =>
    [1, 2, 3, 4, 5, 6, 60].map((tries) => waitBeforeRetry(new KahaConnectionError('o', 'TIMEOUT'), tries, () => chance))
  assert.deepEqual(waits(0), [250, 500, 1_000, 2_000, 4_000, 4_000, 4_000])
  assert.deepEqual(waits(1), [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000])
})

test('what is no failure of the way is not tried again', () => {
  for (const failure of [new Error('a defect'), refused(500), refused(502), refused(504), refused(400, 1), undefined]) {
    assert.equal(
      waitBeforeRetry(failure, 1, () => 0),
      null,
    )
  }
})

test('a line waits ever longer to come back, a minute at most for a Retry-After, and not where it is refused', () => {
  const wait = (failure: unknown, tries = 1) => waitBeforeReopening(failure, tries, () => 0)
  const lost = new KahaConnectionError('o', 'ECONNREFUSED')
  assert.deepEqual([wait(lost), wait(lost, 3), wait(lost, 60)], [250, 1_000, 4_000])
  for (const status of [200, 302, 408, 429, 500, 502, 503, 504]) assert.equal(wait(refused(status), 2), 500)
  assert.deepEqual([wait(refused(503, 7)), wait(refused(429, 3_600)), wait(refused(502, 0))], [7_000, 60_000, 250])
  for (const status of [400, 401, 403, 404, 409]) {
    assert.equal(wait(refused(status)), null)
    assert.equal(
      wait(refused(status, undefined, 'UNEXPECTED_ANSWER')),
      250,
      'a proxy that has lost its way finds it again',
    )
  }
})

test('Retry-After is read as seconds or as a date, which counts from the date of the answer', () => {
  const date = 'Thu, 15 Jan 2026 10:00:00 GMT'
  const seconds = (headers: Record<string, string>) => retryAfterSecondsOf(new Headers(headers))
  assert.equal(seconds({ 'retry-after': '12' }), 12)
  assert.equal(seconds({ 'retry-after': '99999999999' }), 99_999_999_999)
  assert.equal(seconds({ 'retry-after': 'Thu, 15 Jan 2026 10:00:09 GMT', date }), 9)
  assert.equal(seconds({ 'retry-after': 'Thu, 15 Jan 2026 09:00:00 GMT', date }), 0)
  assert.equal(seconds({ 'retry-after': 'Thu Jan 15 10:00:09 2026', date }), 9)
  for (const useless of [
    {},
    { 'retry-after': '' },
    { 'retry-after': '-1' },
    { 'retry-after': '1e3' },
    { 'retry-after': 'soon', date },
  ]) {
    assert.equal(seconds(useless as Record<string, string>), undefined)
  }
  assert.equal(seconds({ 'retry-after': date }), undefined, 'a date without one to count from')
})

test('a wait leaves neither a listener nor a timer behind, however it ends', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const controller = new AbortController()
  await pause(0, controller.signal)
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  const waiting = pause(60_000, controller.signal)
  controller.abort(new Error('enough'))
  await assert.rejects(waiting, /enough/)
  await assert.rejects(pause(60_000, controller.signal), /enough/)
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  assert.equal(timers(), before)
})
