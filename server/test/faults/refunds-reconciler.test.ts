import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killedInRefund } from './refunds.ts'

// kill -9 between the processor and us, and a merchant who waits.

test('C4.refund-create.no-answer: a refund whose server was killed is found out by the reconciler: made where the processor has it', async () => {
  const told = await killedInRefund('the processor has it', false)
  assert.deepEqual(told, { losses: [], status: 'SUCCEEDED', made: 1 })
})

test('C4.refund-create.no-answer: a refund whose server was killed is found out by the reconciler: FAILED where the processor never got it', async () => {
  const told = await killedInRefund('the processor never gets it', false)
  assert.deepEqual(told, { losses: [], status: 'FAILED', made: 0 })
})
