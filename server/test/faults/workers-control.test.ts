import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import type { Mutation } from './mutation.ts'
import { killWorkers } from './workers.ts'

// A worker that takes over what another holds, whenever it looks.
const expireAll = `update delivery.hands set lease_until = clock_timestamp()
  where id in (select id from delivery.hands order by id for update skip locked)`
const leasesIgnored: Mutation = {
  file: '/server/src/delivery/sender.ts',
  from: 'if (performance.now() >= takeOverAt)',
  to: `await db.run({ name: '', text: \`${expireAll}\` }, [])\n   `,
}

test('deliveries arrive more often than kills explain where leases are not respected', async (t) => {
  const { losses } = await killWorkers({
    // A kill alone may explain all of one: where nobody looked while another had something in hand.
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
