import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Mutation } from './mutation.ts'
import { killedInRefund } from './refunds.ts'

// The processor called in the transaction that writes the refund down, before it is committed.
const calledTooEarly: Mutation = {
  file: '/server/src/payments/refunds.ts',
  from: `const { to } = moveOf('NONE', 'asked')`,
  to: `const signal = AbortSignal.timeout(10_000)
      await connector.refund({ refundId: id, attemptId: paid.id, transactionId: '', amount: asked, currency: 'PHP', signal })
      const { to } = moveOf('NONE', 'asked')`,
}

test('a kill gives money back twice where the processor is called before the refund is committed', async () => {
  const { losses, made } = await killedInRefund('the processor has it', true, calledTooEarly)
  assert.equal(made, 2)
  assert.ok(
    losses.some((loss) => loss.endsWith('nobody wrote it down')),
    losses.join('\n'),
  )
})
