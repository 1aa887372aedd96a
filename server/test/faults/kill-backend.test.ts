import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import type { Query } from './database-of.ts'
import { killUnderLoad } from './kill.ts'

const seed = randomInt(2 ** 31)

test('A2.sent.same-transaction, A2.sent.once: nothing acknowledged is lost and nothing is done twice when a connection of PostgreSQL is killed, and all others with it', async (t) => {
  const losses = await killUnderLoad({
    victim: 'backend',
    rounds: 3,
    seed,
    say: (line) => t.diagnostic(line),
    afterwards,
  })
  assert.deepEqual(losses, [])

  // Controls: whatever is taken away, the check misses it. The lists of losses grow; each asks for its own.
  async function afterwards(query: Query, check: () => Promise<string[]>): Promise<void> {
    for (const [what, text, loss] of thefts) {
      await t.test(`the check finds ${what}`, async () => {
        await query(text)
        assert.ok((await check()).some((found) => loss.test(found)))
      })
    }
  }
})

// The first leaves the event of the second alone.
const thefts: readonly (readonly [what: string, text: string, loss: RegExp])[] = [
  [
    'an event that is not there',
    `delete from delivery.events where id = (select max(id::text)::uuid from delivery.events where type = 'payment.succeeded')`,
    /has no event/,
  ],
  [
    'an event of a change that was not committed',
    `update payments.attempts set state = 'FAILED' where id = (
       select max(id::text)::uuid from payments.attempts where state = 'DECLINED')`,
    /was not committed/,
  ],
  [
    'an acknowledged payment that is not there',
    `update payments.attempts set state = 'DECLINED', approval_code = null where id = (
       select max(id::text)::uuid from payments.attempts where state = 'SUCCEEDED')`,
    /acknowledged payment .* is not there/,
  ],
  [
    'an intent with two successes',
    `drop index payments.one_success_per_intent;
     insert into payments.attempts select (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'number', 99))).*
       from payments.attempts a where a.state = 'SUCCEEDED' limit 1`,
    /has 2 successes/,
  ],
  [
    'a payment that is stuck',
    `update payments.attempts set state = 'PROCESSING' where id = (
       select max(id::text)::uuid from payments.attempts where state = 'DECLINED')`,
    /is stuck in PROCESSING/,
  ],
]
