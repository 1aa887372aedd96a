import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  moveOf,
  progressAfter,
  transactionMoves,
  type Progress,
  type TransactionEvent,
  type TransactionState,
} from './machine.ts'

const states: readonly TransactionState[] = [
  'PENDING',
  'AWAITING_RECONNECT',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'VOIDED',
]
const events = [...new Set(transactionMoves.map(({ event }) => event))]
const fresh: Progress = { state: 'PENDING', givenUp: null, announced: null }

const after = (...happened: TransactionEvent[]): Progress =>
  happened.reduce((progress, event) => progressAfter(progress, event).after, fresh)

test('no state has two rows for one event', () => {
  const keys = transactionMoves.flatMap(({ from, event, givenUp }) =>
    (givenUp === 'any' ? ['no', 'yes'] : [givenUp]).map((one) => `${from} ${one} ${event}`),
  )
  assert.equal(new Set(keys).size, keys.length)
})

test('a payment that was given up is never kept as money, whatever happens and in whatever order', () => {
  const steps = fc.array(fc.constantFrom(...events), { maxLength: 40 })
  fc.assert(
    fc.property(steps, (happened) => {
      let progress = fresh
      for (const event of happened) {
        const before = progress
        const { after: next, move } = progressAfter(before, event)
        progress = next
        // Sticky.
        if (before.givenUp !== null) assert.equal(next.givenUp, before.givenUp)
        if (before.announced !== null) assert.equal(next.announced, before.announced)
        if (next.givenUp !== null) assert.notEqual(next.state, 'COMPLETED')
        // VOIDED is left by nothing, COMPLETED by a void alone.
        if (before.state === 'VOIDED') assert.equal(next.state, 'VOIDED')
        if (before.state === 'COMPLETED' && next.state !== 'COMPLETED') assert.equal(event, 'void_confirmed')
        // Who was told that it is paid has money; who was told otherwise has none.
        if (next.announced === 'payment.completed') assert.ok(['COMPLETED', 'VOIDED'].includes(next.state))
        if (next.state === 'COMPLETED') assert.equal(next.announced, 'payment.completed')
        if (move === null) assert.equal(next, before)
      }
      // Time always brings the one webhook.
      const end = progressAfter(progress, 'wait_over').after
      assert.ok(end.announced !== null, `${JSON.stringify(happened)} announces nothing`)
    }),
    { numRuns: 8_000 },
  )
})

test('a late success is voided, and the webhook is still payment.timeout', () => {
  assert.deepEqual(after('lost', 'grace_over', 'success'), {
    state: 'VOIDED',
    givenUp: 'TERMINAL_CONNECTION_ERROR',
    announced: null,
  })
  assert.equal(after('lost', 'grace_over', 'success', 'wait_over').announced, 'payment.timeout')
  assert.equal(after('wait_over', 'success').announced, 'payment.timeout')
})

test('a mark that was set at 60 s stays what the caller was told, also after 90 s', () => {
  assert.equal(after('lost', 'grace_over', 'wait_over').givenUp, 'TERMINAL_CONNECTION_ERROR')
})

test('the end of the grace leaves the payment open: an approval that comes later has a move left', () => {
  assert.equal(after('lost', 'grace_over').state, 'AWAITING_RECONNECT')
  for (const state of states.filter((one) => one !== 'COMPLETED' && one !== 'VOIDED')) {
    for (const givenUp of ['TIMEOUT', null] as const) {
      assert.ok(moveOf({ state, givenUp, announced: null }, 'success') !== null, `${state} ${givenUp}`)
    }
  }
})

test('a success that follows a failure is voided, not believed', () => {
  assert.equal(after('failed', 'success').state, 'VOIDED')
  assert.equal(after('cancelled', 'mismatch').state, 'VOIDED')
  assert.equal(after('success', 'failed').state, 'COMPLETED')
})
