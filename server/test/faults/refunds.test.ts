import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killedInRefund } from './refunds.ts'

// kill -9 between the processor and us, and a merchant who asks again.

test('[C4.refund-create.reserved, C4.refund-create.resumed] a refund that the processor made before the server was killed is not made again by a retry with its key', async () => {
  const told = await killedInRefund('the processor has it', true)
  assert.deepEqual(told, { losses: [], status: 'SUCCEEDED', made: 1 })
})

test('[C4.refund-create.resumed] a refund whose server was killed before the processor got it is made once by a retry with its key', async () => {
  const told = await killedInRefund('the processor never gets it', true)
  assert.deepEqual(told, { losses: [], status: 'SUCCEEDED', made: 1 })
})
