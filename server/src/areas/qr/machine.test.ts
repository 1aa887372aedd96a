import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeAsOf, codeMoves, codeStates, moveCode, type CodeEvent } from './machine.ts'

const events: readonly CodeEvent[] = ['paid', 'declined', 'expires']

test('a code that is PENDING goes on by every event, and from every other state none leads on', () => {
  for (const from of codeStates) {
    for (const event of events) {
      const move = moveCode(from, event)
      assert.equal('refusal' in move, from !== 'PENDING', `${from} ${event}`)
    }
  }
})

test('every move ends in a state of its own, with an end of the transaction', () => {
  assert.deepEqual(
    codeMoves.map(({ event, to, transaction }) => [event, to, transaction]),
    [
      ['paid', 'PAID', 'CAPTURED'],
      ['declined', 'DECLINED', 'DECLINED'],
      ['expires', 'EXPIRED', 'EXPIRED'],
    ],
  )
})

test('a deadline counts from its very millisecond on, stored or not, and changes nothing that is final', () => {
  const at = (ms: number) => new Date(1_768_000_000_000 + ms)
  const pending = { state: 'PENDING' as const, stateAt: at(0), expiresAt: at(900_000) }
  assert.equal(codeAsOf(pending, at(899_999)).state, 'PENDING')
  for (const ms of [900_000, 900_001, 10 ** 9])
    assert.deepEqual(codeAsOf(pending, at(ms)), { ...pending, state: 'EXPIRED', stateAt: at(900_000) })
  for (const state of ['PAID', 'DECLINED', 'EXPIRED'] as const)
    assert.deepEqual(codeAsOf({ ...pending, state }, at(10 ** 9)), { ...pending, state })
})
