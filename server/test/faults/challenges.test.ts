import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killedInChallenge } from './challenges.ts'

// kill -9 between "challenge passed" and the answer of the processor.

test('[C4.machine.requires-action.passed, C4.reconcile.asks] a payment whose server was killed after a passed challenge is found out where the processor has it: made once', async () => {
  const told = await killedInChallenge('the processor has it', false)
  assert.deepEqual(told, { losses: [], status: 'SUCCEEDED', payments: 1, approved: 1 })
})

test('[C4.reconcile.asks, C4.machine.processing.no-answer] a payment whose server was killed before the processor got it has failed, charges nobody, and frees its use of the link', async () => {
  const told = await killedInChallenge('the processor never gets it', true)
  assert.deepEqual(told, { losses: [], status: 'FAILED', payments: 0, approved: 0 })
})

test('C4.machine.any.challenge-late: a payer who comes back twice after the server was killed in the middle pays once', async () => {
  const told = await killedInChallenge('nothing is written down', true)
  assert.deepEqual(told, { losses: [], status: 'SUCCEEDED', payments: 1, approved: 1 })
})
