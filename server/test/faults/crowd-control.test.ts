import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mutate } from './mutation.ts'

// A claim that takes as much as it can get, whatever there is room for.
mutate({
  file: '/server/src/delivery/slots.ts',
  from: 'rowsMax: Math.min(free, claimedMax)',
  to: 'rowsMax: claimedMax',
})

// And that finds what is due by looking at everything that waits.
mutate({
  file: '/server/src/delivery/store-claim.ts',
  from: 'where q.destination_id = l.destination_id and q.run_at >= l.head_at and q.run_at <= (select now from moment)\n            and (q.lease',
  to: `where q.destination_id = l.destination_id and q.run_at >= l.head_at and q.run_at + interval '0' <= (select now from moment)\n            and (q.lease`,
})

test('the worker takes too much in hand where it does not ask for its room, and reads what waits where no index finds what is due', async (t) => {
  const { deliverInCrowd } = await import('./crowd.ts')
  const { losses } = await deliverInCrowd({
    endpoints: 100,
    branches: 10,
    origins: 10,
    waiting: [100, 10_000],
    eventsPerBranch: 3,
    inHandMax: 32,
    say: (line) => t.diagnostic(line),
  })
  for (const wrong of [/in flight at a time, more than 32$/, /rows were read while 10000 waited/])
    assert.ok(
      losses.some((loss) => wrong.test(loss)),
      losses.join('\n'),
    )
})
