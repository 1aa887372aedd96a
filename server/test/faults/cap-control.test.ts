import assert from 'node:assert/strict'
import { test } from 'node:test'
import { raceForLink, tally } from './cap.ts'
import { withDatabase } from './database-of.ts'
import { mutate } from './mutation.ts'

// A use is taken after a look at the count, and not by the statement that holds the row. The constraint that stands behind it goes too.
mutate({
  file: '/server/src/areas/ecommerce/store.ts',
  from: 'and l.reserved_count + l.success_count < ${cap}\n     returning l.id',
  to: 'and (select l.reserved_count + l.success_count < ${cap} from ecommerce.links l where l.id = $1)\n     returning l.id',
})

// One race is nearly always enough.
const racesMax = 10

test('of fifty payers at once on a link for three more than three succeed where its row is not held', async (t) => {
  const { cards, platform } = await import('../platform.ts')
  const people = await platform(t)
  await withDatabase(people.target, async (query) => {
    const [row] = await query<{ name: string }>(
      `select conname as name from pg_constraint
        where conrelid = 'ecommerce.links'::regclass and pg_get_constraintdef(oid) like '%reserved_count + success_count%'`,
    )
    await query(`alter table ecommerce.links drop constraint ${row?.name ?? ''}`)
  })
  const race = {
    clients: [people.sdk],
    payers: 50,
    maxUses: 3,
    branchReference: people.branch.reference_number,
    cards: [cards.approved],
  }
  let succeeded = 0
  for (let races = 0; races < racesMax && succeeded <= 3; races += 1)
    succeeded = tally((await raceForLink(race)).answers)['SUCCEEDED'] ?? 0
  assert.ok(succeeded > 3, `${succeeded} succeeded`)
})
