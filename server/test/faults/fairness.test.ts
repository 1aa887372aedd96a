import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliverBeside } from './fairness.ts'

test('A2.attempts.ours: endpoints that hang, fail, reset and refuse delay no other: 46 good ones get every event, once, while not one of the attempts that hang has ended', async () => {
  const { losses, hanging } = await deliverBeside({
    events: 200,
    goodEndpoints: 46,
    withBad: true,
    eventsPerSecond: null,
    inHandMax: 64,
    waitMsMax: 50_000,
    // Nobody is helped by a deadline that passes, and the slots are so few that one endpoint alone could take them all.
    room: { deadlineMs: 600_000, drainMsMax: 50 },
  })
  assert.deepEqual(losses, [])
  assert.ok(hanging.begun > 0)
  assert.equal(hanging.givenUp, 0)
})
