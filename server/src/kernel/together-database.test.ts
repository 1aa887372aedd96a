import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { createDb, statement } from './db.ts'
import { together } from './together.ts'

const one = statement('test.one', 'select 1')

for (const [how, runs] of [
  ['by itself', false],
  ['in a transaction', true],
] as const) {
  test(`the statement of the next batch, ${how}, has been sent before those of the last one go on`, async () => {
    await using database = await freshDatabase()
    await using db = createDb({ target: database.target, connectionsMax: 1, onError: () => {} })
    // A connection is made, and has begun a transaction: what follows is a matter of turns alone.
    await db.tx((tx) => tx.run(one, []))
    const begun = db.stats().statements
    const does = together({
      async work(items: readonly string[]) {
        await (runs ? db.tx((tx) => tx.run(one, [])) : db.run(one, []))
        return items
      },
      itemsMax: 1,
    })
    const sent = await Promise.all(
      ['a', 'b', 'c'].map(async (item) => {
        await does(item)
        return db.stats().statements - begun
      }),
    )
    assert.deepEqual(sent, [2, 3, 3])
  })
}
