import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClaimPace } from './claim-pace.ts'

function counted() {
  let wakes = 0
  const pace = createClaimPace(() => (wakes += 1))
  pace.looking()
  return { pace, wakes: () => wakes }
}

test('slots that come free while nobody wants them make nobody look', () => {
  const { pace, wakes } = counted()
  pace.looked(false, 100)
  for (let inHand = 99; inHand >= 0; inHand -= 1) pace.slotFreed(inHand)
  assert.equal(wakes(), 0)
  pace[Symbol.dispose]()
})

test('64 free slots are worth one look, however many more follow before it', () => {
  const { pace, wakes } = counted()
  pace.looked(true, 1_000)
  for (let inHand = 999; inHand > 937; inHand -= 1) pace.slotFreed(inHand)
  assert.equal(wakes(), 0)
  for (let inHand = 937; inHand > 600; inHand -= 1) pace.slotFreed(inHand)
  assert.equal(wakes(), 1)
  pace[Symbol.dispose]()
})

test('half of the slots in use are worth a look, and one that comes free alone is looked at after a moment', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { pace, wakes } = counted()
  pace.looked(true, 4)
  pace.slotFreed(3)
  assert.equal(wakes(), 0)
  pace.slotFreed(2)
  assert.equal(wakes(), 1)

  pace.looking()
  pace.looked(true, 10)
  pace.slotFreed(9)
  t.mock.timers.tick(19)
  assert.equal(wakes(), 1)
  t.mock.timers.tick(1)
  assert.equal(wakes(), 2)

  pace.soon()
  pace.soon()
  pace.looking()
  t.mock.timers.tick(100)
  assert.equal(wakes(), 2)
  pace[Symbol.dispose]()
})
