import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { createSlots, type Slots } from './slots.ts'

const options = { inHandMax: 2_048, perDestinationMax: 480, flyingMax: 64 }

/** Destinations that always have more work take what they are offered, one after the other, until nobody is offered anything. */
function fill(slots: Slots, hungry: readonly { id: string; slow: boolean }[]): Map<string, number> {
  const held = new Map<string, number>()
  for (let moved = true; moved;) {
    moved = false
    for (const { id, slow } of hungry) {
      const offer = slots.request()
      const known = offer.busy.find((lane) => lane.destinationId === id)?.room
      const fresh = slow && offer.slowLanesMax === 0 ? 0 : slow ? offer.slowRoom : offer.quickRoom
      const room = Math.min(offer.rowsMax, offer.full.includes(id) ? 0 : (known ?? fresh))
      for (let taken = 0; taken < room; taken += 1) {
        slots.take(id, slow)
        held.set(id, (held.get(id) ?? 0) + 1)
        moved = true
      }
    }
  }
  return held
}

const lanes = (count: number, slow: boolean) =>
  Array.from({ length: count }, (_, index) => ({ id: `${slow}${index}`, slow }))

test('one destination that takes all that it can leaves most slots to the others', () => {
  const slots = createSlots(options)
  fill(slots, lanes(1, false))
  assert.ok(slots.inHand < options.inHandMax / 4)
})

for (const count of [2, 10, 50, 250]) {
  test(`${count} destinations that take all that they can still leave slots for one that holds none`, () => {
    const slots = createSlots(options)
    fill(slots, lanes(count, false))
    assert.ok(slots.inHand < options.inHandMax)
    const offer = slots.request()
    assert.ok(offer.rowsMax > 0 && offer.quickRoom > 0)
  })
}

for (const count of [1, 50, 10_000]) {
  test(`${count} slow destinations together hold at most half of the slots, and a quick one finds its own`, () => {
    const slots = createSlots(options)
    fill(slots, lanes(count, true))
    assert.ok(slots.inHand <= options.inHandMax / 2)
    const held = fill(slots, lanes(1, false))
    assert.ok((held.get('false0') ?? 0) >= 30)
  })
}

test('a slot that is given back is there again, and the count is right under any order of taking and giving', () => {
  const step = fc.record({ id: fc.constantFrom('a', 'b', 'c'), slow: fc.boolean(), take: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const slots = createSlots({ inHandMax: 1_000, perDestinationMax: 64, flyingMax: 64 })
      const held = new Map<string, { count: number; slow: boolean }>()
      for (const { id, slow, take } of steps) {
        const lane = held.get(id) ?? { count: 0, slow }
        if (take) {
          slots.take(id, slow)
          held.set(id, { count: lane.count + 1, slow })
        } else if (lane.count > 0) {
          slots.give(id)
          held.set(id, { ...lane, count: lane.count - 1 })
        } else assert.throws(() => slots.give(id))
      }
      const all = [...held.values()]
      assert.equal(
        slots.inHand,
        all.reduce((sum, { count }) => sum + count, 0),
      )
      const slowHeld = all.reduce((sum, { count, slow }) => sum + (slow ? count : 0), 0)
      const { slowRoom, slowLanesMax } = slots.request()
      assert.equal(slowLanesMax, Math.floor((500 - Math.min(500, slowHeld)) / slowRoom))
    }),
  )
})

test('attempts in flight to one destination are bounded, and the next begins when one has ended', () => {
  const slots = createSlots({ ...options, flyingMax: 2 })
  for (let taken = 0; taken < 4; taken += 1) slots.take('a', false)
  assert.deepEqual([slots.begin('a'), slots.begin('a'), slots.begin('a')], [true, true, false])
  slots.end('a')
  assert.deepEqual([slots.begin('a'), slots.begin('a')], [true, false])
  slots.give('a')
  assert.deepEqual([slots.inFlight, slots.inHand], [2, 2])
  assert.equal(slots.begin('b'), false)
})

test('a dispatch hands over what there is room for, leaves the reserve alone, and gives nothing to a destination that is full', () => {
  const slots = createSlots(options)
  const idle = slots.handRequest()
  assert.deepEqual([idle.full, idle.busy, idle.worth], [[], [], options.perDestinationMax])
  // All deliveries of a dispatch of so many events.
  assert.equal(idle.rowsMax, 500)
  for (let taken = 0; taken < options.perDestinationMax; taken += 1) slots.take('a', false)
  assert.deepEqual(slots.handRequest().full, ['a'])
  assert.equal(slots.handRequest().worth, 0)
  fill(slots, lanes(250, false))
  assert.equal(slots.handRequest().rowsMax, 0)
})

test('a dispatch is worth its price with room for 256, and when a third of what quick destinations may have is free', () => {
  const holding = (...held: readonly { destinations: number; each: number; slow: boolean }[]) => {
    const slots = createSlots(options)
    for (const { destinations, each, slow } of held)
      for (const { id } of lanes(destinations, slow)) for (let taken = 0; taken < each; taken += 1) slots.take(id, slow)
    return slots
  }
  const roomIn = (slots: Slots) => {
    const { rowsMax, worth, missing } = slots.handRequest()
    return { rowsMax, worth, missing }
  }
  assert.equal(roomIn(createSlots(options)).missing, 0)
  // Of one destination what counts is its own room.
  const alone = holding({ destinations: 1, each: options.perDestinationMax - 256, slow: false })
  assert.deepEqual(roomIn(alone), { rowsMax: 500, worth: 256, missing: 0 })
  alone.take('false0', false)
  assert.deepEqual(roomIn(alone), { rowsMax: 500, worth: 255, missing: 1 })
  // Of many what counts is what they have together, of three quarters of all slots.
  const many = holding({ destinations: 32, each: 32, slow: false })
  assert.deepEqual([roomIn(many).rowsMax, roomIn(many).missing], [500, 0])
  many.take('false0', false)
  assert.equal(roomIn(many).missing, 1)
  // Nor is there anything to wait for where slow ones alone have some.
  assert.deepEqual(roomIn(holding({ destinations: 1, each: 1, slow: true })), {
    rowsMax: 500,
    worth: options.perDestinationMax,
    missing: 0,
  })
  // What slow ones have is not waited for.
  const beside = holding({ destinations: 16, each: 48, slow: true }, { destinations: 32, each: 16, slow: false })
  assert.equal(roomIn(beside).missing, 0)
  beside.take('false0', false)
  assert.equal(roomIn(beside).missing, 1)
})

test('what asks for slots asks one after another, also after one that failed', async () => {
  const slots = createSlots(options)
  const order: string[] = []
  const first = slots.inTurn(async () => {
    order.push('first')
    await Promise.resolve()
    order.push('first is over')
    throw new Error('planted')
  })
  const second = slots.inTurn(async () => order.push('second'))
  await assert.rejects(first, /planted/)
  await second
  assert.deepEqual(order, ['first', 'first is over', 'second'])
})
