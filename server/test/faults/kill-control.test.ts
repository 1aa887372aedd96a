import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { killUnderLoad } from './kill.ts'
import type { Mutation } from './mutation.ts'

// The outbox outside of the payment's transaction: written a second after its commit.
const outboxApart: Mutation = {
  file: '/server/src/app.ts',
  from: 'appendEvent: (tx, event) => delivery.appendEvent(tx, event)',
  to: `appendEvent: async (tx, event) => {
    setTimeout(() => delivery.appendEvent(db, event).then(() => bus.hint('events'), () => {}), 1_000)
  }`,
}

test('a kill loses events where they are not written in the transaction of their payment', async (t) => {
  const losses = await killUnderLoad({
    victim: 'server',
    rounds: 2,
    seed: randomInt(2 ** 31),
    say: (line) => t.diagnostic(line),
    mutation: outboxApart,
  })
  assert.ok(
    losses.some((loss) => loss.endsWith('has no event')),
    losses.join('\n'),
  )
})
