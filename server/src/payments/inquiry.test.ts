import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Db } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { createInquiries } from './inquiry.ts'

/** A store that notes what is asked about later, and how much later. */
const noting = (due: readonly { id: string; age_ms: number }[]) => {
  const postponed: [id: string, ms: number][] = []
  const store = {
    claimInquiries: async () => due,
    postponeInquiry: async (_on: unknown, id: string, ms: number) => void postponed.push([id, ms]),
    nextInquiry: async () => 0,
  }
  return { store, postponed }
}

test('what cannot be stored is asked about again when its lease would have run out, and when it is old as rarely as what has no answer', async () => {
  const hourMs = 3_600_000
  const { store, postponed } = noting([
    { id: 'young', age_ms: 2_000 },
    { id: 'old', age_ms: hourMs },
    { id: 'unanswered', age_ms: hourMs },
  ])
  const round = createInquiries({
    db: {} as Db,
    store,
    ask: async (id) => ({ kind: id === 'unanswered' ? 'pending' : 'approved' }),
    settle: async ({ id }) => {
      throw new Error(`${id} cannot be stored`)
    },
  })
  await assert.rejects(round(), /young cannot be stored/)
  assert.deepEqual(Object.fromEntries(postponed), { young: 20_000, old: hourMs / 20, unanswered: hourMs / 20 })
})

test('a round of questions is over when all of it is, whatever fails first: the next one asks about no more beside it', async () => {
  const slow = Promise.withResolvers<void>()
  const settled: string[] = []
  const { store, postponed } = noting(['first', 'second', 'third'].map((id) => ({ id, age_ms: 0 })))
  const round = createInquiries({
    db: {} as Db,
    store,
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
  assert.deepEqual([told, settled], [false, []])
  assert.deepEqual(Object.fromEntries(postponed), { first: 20_000, third: 1_000 })
  slow.resolve()
  await ended
  assert.deepEqual([settled, postponed.length], [['second'], 3])
})
