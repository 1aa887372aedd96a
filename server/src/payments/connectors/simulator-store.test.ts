import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { freshDatabase } from '../../../test/cluster.ts'
import { simulatorSuite } from '../../../test/simulator-suite.ts'
import { createDb, statement } from '../../kernel/db.ts'
import { challengeStore } from './simulator-store-challenges.ts'
import { simulatorStore } from './simulator-store.ts'
import type { Decision } from './simulator.ts'

const held = new AsyncDisposableStack()
after(() => held.disposeAsync())
const { target } = held.use(await freshDatabase())
const open = () =>
  held.use(
    createDb({
      target,
      onError: (error) => {
        throw error
      },
    }),
  )
const db = open()

const readAll = statement(
  'test.readMemory',
  `select t::text as line from sandbox.authorizations t union all select t::text from sandbox.refunds t
   union all select t::text from sandbox.challenges t`,
)

simulatorSuite(
  'in PostgreSQL',
  () => ({
    store: simulatorStore({ db }),
    desk: challengeStore({ db }),
    contents: async () => (await db.run<{ line: string }>(readAll, [])).map(({ line }) => line),
  }),
  { numRuns: 60 },
)

test('two processes that record for one attempt at once keep one row, and both are given that row', async () => {
  const stores = [simulatorStore({ db }), simulatorStore({ db: open() })] as const
  for (let round = 0; round < 10; round++) {
    const id = randomUUID()
    const decisions: Decision[] = [{ kind: 'none' }, { kind: 'declined', reason: 'lost_card' }]
    const kept = await Promise.all(
      Array.from({ length: 16 }, (_, i) =>
        stores[i % 2 === 0 ? 0 : 1].record(id, {
          decision: decisions[(i + round) % 2] ?? { kind: 'none' },
          answersAt: new Date(Date.UTC(2030, 0, 1, 0, 0, i)),
        }),
      ),
    )
    for (const row of kept) assert.deepEqual(row, kept[0])
    assert.deepEqual(await stores[1].find(id), kept[0])
  }
})
