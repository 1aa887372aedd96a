import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { createClock } from '../kernel/clock.ts'
import { createAttempt, judge, type Judged, type Work } from './attempt.ts'
import { signed } from './dialects.ts'
import { createEgress, type EgressFailure } from './egress.ts'
import type { LaneRow } from './store-claim.ts'

const startedAt = new Date('2026-11-21T12:00:00.000Z')
const day = 24 * 60 * 60 * 1_000

function workOf({
  attemptNo = 0,
  askedAt = 0,
  ...lane
}: { attemptNo?: number; askedAt?: number } & Partial<
  Pick<LaneRow, 'slow' | 'failing_since' | 'secrets' | 'url'>
>): Work {
  const row = {
    id: 1n,
    fence: 1,
    hand: null,
    event_id: 'event',
    destination_id: 'destination',
    attempt_no: attemptNo,
    setback_count: 0,
    type: 't',
    body: '{}',
    expired: false,
    claimed_at_ms: startedAt.getTime(),
  }
  const about = {
    destination_id: 'destination',
    dialect: 'signed',
    url: 'there',
    slow: false,
    failing_since: null,
    secrets: [],
  } as const
  return { row, lane: { ...about, ...lane }, askedAt }
}

function judged(
  result:
    | { status: number; headers?: Record<string, string>; durationMs?: number; retryAfter?: string }
    | Pick<EgressFailure, 'errorClass' | 'owner'>,
  {
    attemptNo = 0,
    slow = false,
    failingSince = null,
  }: { attemptNo?: number; slow?: boolean; failingSince?: Date | null } = {},
) {
  const answer = { retryAfter: undefined, body: 'told', truncated: false, durationMs: 5 }
  const judgement: Judged = {
    work: workOf({ attemptNo, slow, failing_since: failingSince }),
    dialect: signed,
    prepared: { headers: { 'webhook-id': 'event' }, body: '{}' },
    startedAt,
    result:
      'status' in result
        ? { ok: true, answer: { ...answer, ...result } }
        : { ok: false, failure: { message: 'It failed.', durationMs: 7, ...result } },
    random: () => 0,
    wallMs: startedAt.getTime(),
  }
  return judge(judgement)
}

for (const status of [200, 201, 202, 204, 299]) {
  test(`A2.attempts.success: an answer of ${status} acknowledges the delivery`, () => {
    const { settlement, change, outcome, owner } = judged({ status })
    assert.deepEqual(
      [settlement.end, settlement.runAt, change, outcome, owner],
      ['DELIVERED', null, null, 'delivered', 'none'],
    )
    assert.deepEqual(
      [settlement.attempt?.status, settlement.attempt?.owner, settlement.attempt?.answer],
      [status, null, 'told'],
    )
  })
}

for (const status of [100, 199, 300, 301, 302, 307, 308, 400, 401, 404, 409, 429, 500, 503, 599]) {
  test(`an answer of ${status} spends an attempt, and the next one is on schedule`, () => {
    const { settlement, change, outcome, owner } = judged({ status })
    assert.deepEqual([settlement.end, outcome, owner], [null, 'failed', 'destination'])
    assert.equal(settlement.runAt?.getTime(), startedAt.getTime() + 5_000)
    assert.deepEqual(change, {
      destinationId: 'destination',
      url: 'there',
      slow: true,
      failingSince: startedAt,
      disable: null,
    })
  })
}

test('A2.attempts.redirect: a redirect is a failure like any other, wherever it points', () => {
  const { settlement } = judged({ status: 302, headers: { location: 'https://elsewhere.example.com' } })
  assert.deepEqual([settlement.end, settlement.attempt?.status, settlement.attempt?.owner], [null, 302, 'destination'])
})

test('A2.attempts.retry-after: what a receiver asks for counts from its answer, a date is that very moment, and neither goes beyond twice the wait', () => {
  const after = (retryAfter: string, durationMs: number) => {
    const { settlement } = judged({ status: 503, retryAfter, durationMs }, { attemptNo: 1 })
    return (settlement.runAt?.getTime() ?? 0) - startedAt.getTime()
  }
  const minute = 60_000
  assert.equal(after('420', 15_000), 7 * minute + 15_000)
  const answeredAt = startedAt.getTime()
  assert.equal(after(new Date(answeredAt + 7 * minute).toUTCString(), 15_000), 7 * minute + 15_000)
  assert.equal(after('599', 15_000), 10 * minute)
  assert.equal(after('0', 15_000), 5 * minute)
})

test('the tenth failure is the last', () => {
  assert.equal(judged({ status: 500 }, { attemptNo: 8 }).settlement.runAt?.getTime(), startedAt.getTime() + day)
  const { settlement, outcome } = judged({ status: 500 }, { attemptNo: 9 })
  assert.deepEqual([settlement.end, settlement.runAt, outcome], ['EXHAUSTED', null, 'exhausted'])
})

test('a failure of the destination counts against it; one of the path spends the attempt and does not', () => {
  const theirs = judged({ errorClass: 'timeout', owner: 'destination' })
  assert.deepEqual([theirs.settlement.attempt?.owner, theirs.change?.failingSince], ['destination', startedAt])
  const path = judged({ errorClass: 'dns', owner: 'path' }, { failingSince: null })
  assert.deepEqual([path.settlement.attempt?.owner, path.settlement.attempt?.errorClass], ['path', 'dns'])
  assert.deepEqual(path.change, {
    destinationId: 'destination',
    url: 'there',
    slow: true,
    failingSince: null,
    disable: null,
  })
  const long = { slow: true, failingSince: new Date(startedAt.getTime() - 6 * day) }
  assert.equal(judged({ errorClass: 'dns', owner: 'path' }, long).change, null)
})

test('410 disables at once, and leaves the delivery to what that closes; nothing but failures disables after 5 days and not a millisecond before', () => {
  const gone = judged({ status: 410 })
  assert.deepEqual([gone.settlement.end, gone.outcome, gone.change?.disable?.failingBefore], [null, 'gone', null])
  const after = (ms: number) =>
    judged({ status: 500 }, { slow: true, failingSince: new Date(startedAt.getTime() - ms) }).change
  assert.equal(after(5 * day - 1), null)
  assert.match(after(5 * day)?.disable?.reason ?? '', /since 2026-11-16T12:00:00.000Z failed/)
})

test('an answer that took more than a second makes its destination slow, and a quick one makes it quick again', () => {
  assert.equal(judged({ status: 200, durationMs: 1_000 }).change, null)
  assert.equal(judged({ status: 200, durationMs: 1_001 }).change?.slow, true)
  assert.equal(judged({ status: 200 }, { slow: true }).change?.slow, false)
})

test('what has waited in line is signed by the secrets that are in force when it goes out', async () => {
  await using egress = createEgress({ targets: 'any', userAgent: 'Kaha/test' })
  const secret = (id: string, endsInSeconds: number | null) => ({
    id,
    sealed: '',
    expires_at_ms: endsInSeconds === null ? null : startedAt.getTime() + endsInSeconds * 1_000,
  })
  const signers: string[] = []
  const attempt = createAttempt({
    clock: createClock(),
    egress,
    dialects: { signed },
    open({ id }) {
      signers.push(id)
      return createSecretKey(Buffer.alloc(32))
    },
    random: () => 0,
    deadlineMs: undefined,
  })
  const secrets = [secret('newest', null), secret('in force', 60), secret('just ended', 10), secret('ended', 4)]
  const work = workOf({ url: 'http://127.0.0.1:9/', secrets, askedAt: performance.now() - 10_000 })
  await attempt(work, new AbortController().signal)
  assert.deepEqual(signers, ['newest', 'in force'])
})
