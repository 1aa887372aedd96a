import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { mutate } from './mutation.ts'

// A retry by the system clock of the process that made the attempt.
mutate({
  file: '/server/src/delivery/attempt.ts',
  from: 'new Date(startedAt.getTime() + waitMs), attempt }',
  to: 'new Date(wallMs + waitMs), attempt }',
})

test('a step of the system clock moves the retries where they go by it', async (t) => {
  const { stepClock } = await import('./clock-steps.ts')
  const losses = await stepClock({ rounds: 6, seed: randomInt(2 ** 31), say: (line) => t.diagnostic(line) })
  assert.ok(
    losses.some((loss) => loss.startsWith('the retry of ')),
    losses.join('\n'),
  )
})
