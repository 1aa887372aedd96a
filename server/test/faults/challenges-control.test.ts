import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killedInChallenge } from './challenges.ts'
import type { Mutation } from './mutation.ts'

// The processor called before it is written down that the payment is being processed.
const calledTooEarly: Mutation = {
  file: '/server/src/payments/service.ts',
  from: 'const ended = await attempts.endChallenge(intent, attemptId, end)',
  to: `await connector.authorizeVerified({ attemptId, signal: AbortSignal.timeout(10_000) })
      const ended = await attempts.endChallenge(intent, attemptId, end)`,
}

test('a kill charges a payer who is told “declined” where the processor is called before the passed challenge is committed', async () => {
  const { losses, status, approved } = await killedInChallenge('the processor has it', false, calledTooEarly)
  assert.deepEqual([status, approved], ['DECLINED', 1])
  assert.ok(
    losses.some((loss) => loss.endsWith('which is not SUCCEEDED')),
    losses.join('\n'),
  )
})
