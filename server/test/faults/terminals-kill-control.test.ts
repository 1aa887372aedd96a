import assert from 'node:assert/strict'
import { test } from 'node:test'
import { betweenByPostgres } from '../nats.ts'
import type { Mutation } from './mutation.ts'
import { killBetweenTerminals } from './terminals-kill.ts'

// The note that a payment was about to be written to its terminal is not looked at.
const unread: Mutation = {
  file: '/server/src/areas/terminals/connections.ts',
  from: "row.sent_to === null && row.state === 'PENDING' ? 'not_reached' : 'lost'",
  to: "row.state === 'PENDING' ? 'not_reached' : 'lost'",
}

test('a kill leaves money behind that a till was told is not there where the platform takes what it sent for never sent', async (t) => {
  const faults = await killBetweenTerminals({
    between: betweenByPostgres,
    rounds: 1,
    seed: 1,
    say: (line) => t.diagnostic(line),
    mutation: unread,
    // What is at work when the process dies is approved before the terminal is back.
    terminals: { approvedShare: 1, workMsMax: 1_000, backMsMin: 1_000 },
  })
  assert.ok(
    faults.some((fault) => fault.endsWith('and the terminal holds the money')),
    faults.join('\n'),
  )
})
