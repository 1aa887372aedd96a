import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { moveRefund, refundMoves, type RefundEvent, type RefundState } from './refund-machine.ts'

const states: readonly (RefundState | 'NONE')[] = ['NONE', 'PENDING', 'SUCCEEDED', 'FAILED']
const events: readonly RefundEvent[] = ['asked', 'refunded', 'refused', 'unknown_to_processor', 'no_answer']

/** Every pair that moves, and where to. What is not here is refused. */
const expected = new Map([
  ['NONE asked', ['PENDING', 'reserved']],
  ['PENDING refunded', ['SUCCEEDED', 'refunded']],
  ['PENDING refused', ['FAILED', 'freed']],
  ['PENDING unknown_to_processor', ['FAILED', 'freed']],
  ['PENDING no_answer', ['PENDING', 'reserved']],
])

for (const state of states) {
  for (const event of events) {
    const to = expected.get(`${state} ${event}`)
    test(`a refund that is ${state}: ${event} ${to === undefined ? 'changes nothing' : `makes it ${to[0]}`}`, () => {
      const move = moveRefund(state, event)
      if (to === undefined) assert.deepEqual(move, { refusal: 'INVALID_STATE' })
      else assert.deepEqual('to' in move && [move.to, move.amount], to)
    })
  }
}

test('the table has each move once', () => {
  assert.equal(refundMoves.length, expected.size)
  assert.equal(new Set(refundMoves.map(({ from, event }) => `${from} ${event}`)).size, refundMoves.length)
})

test('C4.refund-create.failed: an amount is held back exactly while its refund is PENDING, gone exactly when it SUCCEEDED, and free when it FAILED', () => {
  const kept = { PENDING: 'reserved', SUCCEEDED: 'refunded', FAILED: 'freed' } as const
  for (const { to, amount } of refundMoves) assert.equal(amount, kept[to])
})

test('a refund that is settled stays so, whatever comes late or twice', () => {
  const story = fc.array(fc.constantFrom(...events), { maxLength: 12 })
  fc.assert(
    fc.property(story, (happened) => {
      let state: RefundState | 'NONE' = 'NONE'
      for (const event of happened) {
        const move = moveRefund(state, event)
        const next: RefundState | 'NONE' = 'to' in move ? move.to : state
        if (state === 'SUCCEEDED' || state === 'FAILED') assert.equal(next, state)
        state = next
      }
    }),
  )
})
