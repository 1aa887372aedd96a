import assert from 'node:assert/strict'
import { test } from 'node:test'
import { betweenByPostgres } from '../nats.ts'
import type { Mutation } from './mutation.ts'
import { killBetweenTerminals } from './terminals-kill.ts'

// A payment is written to the terminal without a note that it was.
const unnoted: Mutation = {
  file: '/server/src/areas/terminals/service-terminal.ts',
  from: '{ ...course, sent_to: connectionId, reach_at: null }',
  to: '{ ...course, reach_at: null }',
}

test('a kill leaves money behind that a till was told is not there where the platform does not note what it sends', async (t) => {
  const faults = await killBetweenTerminals({
    between: betweenByPostgres,
    rounds: 1,
    seed: 1,
    say: (line) => t.diagnostic(line),
    mutation: unnoted,
    // What is at work when the process dies is approved before the terminal is back.
    terminals: { approvedShare: 1, workMsMax: 1_000, backMsMin: 1_000 },
  })
  assert.ok(
    faults.some((fault) => fault.endsWith('and the terminal holds the money')),
    faults.join('\n'),
  )
})
