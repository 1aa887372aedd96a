import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { live, lives, type Round } from '../endpoint-walk.ts'
import { platform, type Platform } from '../platform.ts'
import { sql } from '../sql.ts'

const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)
const runs = Number(process.env['KAHA_TEST_RUNS'] ?? 15)
const choices = { delivery: { random: () => 0 } }

test(`whatever is done to an endpoint at once, it gets what the model says: nothing new while it is paused, disabled or deleted, all that waited after a resume, and every event comes to an end (seed ${seed})`, async (t) => {
  t.diagnostic(`seed ${seed}, ${runs} lives`)
  const p = await platform(t, { choices })
  // A second worker, which hears of changes later than the first.
  await p.another({ KAHA_ROLES: 'worker' }, choices)
  // Those of the controls, where nothing is planted.
  await lived(p)
  // The workers' own timing is part of a failure, so a smaller example would be another one.
  await fc.assert(
    fc.asyncProperty(lives, (rounds) => live(p, rounds)),
    { seed, numRuns: runs, endOnFailure: true },
  )
})

const defects: readonly (readonly [says: string, change: string])[] = [
  ['a pause holds nothing back', `if new.state = 'PAUSED' then new.state := 'OPEN'; end if;`],
  ['a deletion drops nothing', `if new.state = 'CLOSING' then new.state := 'OPEN'; end if;`],
  [
    'nobody looks for what waited after a resume',
    `if old.state = 'PAUSED' and new.state = 'OPEN' then new.look_at := 'infinity'; end if;`,
  ],
  [
    'a pause drops what is queued',
    `if new.state = 'PAUSED' then delete from delivery.queue q where q.destination_id = new.destination_id; end if;`,
  ],
]

const waiting: Round = {
  moves: [{ does: 'happen', type: 'payment.succeeded', count: 1, answer: 'takes late' }],
  after: 'idle',
}
const lifeOf = (...moves: Round['moves']): Round[] => [
  waiting,
  ...moves.map((move): Round => ({ moves: [move], after: 'idle' })),
  { moves: [], after: 'advance' },
]

async function lived(p: Platform): Promise<void> {
  await live(p, lifeOf({ does: 'pause' }))
  await live(p, lifeOf({ does: 'delete' }))
  await live(p, [...lifeOf({ does: 'pause' }), { moves: [{ does: 'resume' }], after: 'advance' }])
}

for (const [says, change] of defects) {
  test(`control: the model finds it when ${says}`, async (t) => {
    const p = await platform(t, { choices })
    await sql(
      p.kaha.db,
      `create function public.plant() returns trigger language plpgsql as $$ begin ${change} return new; end $$`,
    )
    await sql(
      p.kaha.db,
      'create trigger plant before update on delivery.lanes for each row execute function public.plant()',
    )
    await assert.rejects(lived(p), { code: 'ERR_ASSERTION' })
    // It was told by what came about, not by a request that failed.
    assert.doesNotMatch(p.logged.join(''), /for a cause of ours/)
  })
}
