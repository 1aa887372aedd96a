import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliverInCrowd } from './crowd.ts'

test('A2.attempts.schedule: many deliveries that wait are not looked at to find those that are due, and no more is taken in hand than there is room for', async (t) => {
  const { courses, losses } = await deliverInCrowd({
    endpoints: 200,
    branches: 10,
    origins: 10,
    waiting: [200, 20_000],
    eventsPerBranch: 3,
    inHandMax: 64,
    say: (line) => t.diagnostic(line),
  })
  assert.deepEqual(losses, [])
  for (const { waiting, rowsRead } of courses) t.diagnostic(`${rowsRead} rows read while ${waiting} waited`)
  assert.deepEqual(
    courses.map(({ delivered }) => delivered),
    [600, 600],
  )
})
