import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mutate } from './mutation.ts'

// Whoever comes may take all that is free.
mutate({
  file: '/server/src/delivery/slots.ts',
  from: 'Math.max(1, Math.min(perDestinationMax, Math.floor(free * share)))',
  to: 'inHandMax',
})

test('an endpoint that hangs keeps the others from their events where the slots are not shared out', async () => {
  const { deliverBeside } = await import('./fairness.ts')
  const { losses } = await deliverBeside({
    // So many that the endpoint that hangs comes to hold every slot before the others have theirs.
    events: 400,
    goodEndpoints: 20,
    withBad: true,
    eventsPerSecond: null,
    inHandMax: 64,
    waitMsMax: 50_000,
    room: { deadlineMs: 600_000, drainMsMax: 50, flyingMax: 1_000 },
  })
  assert.ok(losses.includes('the bad endpoints hold every slot'), losses.join('\n'))
})
