import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import type { Mutation } from './mutation.ts'
import { killWorkers } from './workers.ts'

// A claim that takes what another holds.
const leasesIgnored: Mutation = {
  file: '/server/src/delivery/store-claim.ts',
  from: `            and (q.lease_until is null or q.lease_until <= (select instant from moment))
          order by q.run_at
          limit l.room`,
  to: `          order by q.run_at
          limit l.room`,
}

test('deliveries arrive more often than kills explain where a claim does not respect leases', async (t) => {
  const { losses } = await killWorkers({
    // A kill alone may explain all of one: where no claim came while the others had something in hand.
    rounds: 4,
    seed: randomInt(2 ** 31),
    measured: false,
    say: (line) => t.diagnostic(line),
    mutation: leasesIgnored,
  })
  assert.ok(
    losses.some((loss) => /^the delivery .* arrived \d+ times, and was in flight at \d+ kills$/.test(loss)),
    losses.join('\n'),
  )
})
