import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Db } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { createInquiries } from './inquiry.ts'

test('a round of questions is over when all of it is, whatever fails first: the next one asks about no more beside it', async () => {
  const slow = Promise.withResolvers<void>()
  const settled: string[] = []
  let postponed = 0
  const round = createInquiries({
    db: {} as Db,
    store: {
      claimInquiries: async () => ['first', 'second', 'third'].map((id) => ({ id, age_ms: 0 })),
      postponeInquiry: async () => void (postponed += 1),
      nextInquiry: async () => 0,
    },
    ask: async (id) => ({ kind: id === 'third' ? 'pending' : 'approved' }),
    async settle({ id }) {
      if (id === 'first') throw new Fault('UNAVAILABLE', 'No connection came free.')
      await slow.promise
      settled.push(id)
      throw new TypeError('a defect')
    },
  })
  let told = false
  const ended = assert.rejects(
    round().finally(() => (told = true)),
    TypeError,
  )
  await new Promise((done) => setImmediate(done))
  assert.deepEqual([told, postponed, settled], [false, 1, []])
  slow.resolve()
  await ended
  assert.deepEqual(settled, ['second'])
})
