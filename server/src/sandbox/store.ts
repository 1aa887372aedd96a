import { statement, type Queries } from '../kernel/db.ts'

/** Where the seed is sealed: additional data of the seal. */
export const seedPlace = 'sandbox.seed.sealed'

const lockSeed = statement('sandbox.lockSeed', `select pg_advisory_xact_lock(hashtext('sandbox.seed'))`)
const readSeed = statement('sandbox.readSeed', 'select sealed from sandbox.seed')
const insertSeed = statement('sandbox.insertSeed', 'insert into sandbox.seed (sealed, created_at) values ($1, $2)')
const takeStory = statement(
  'sandbox.takeStory',
  'update sandbox.seed set story_told = true where not story_told returning 1 as told',
)

export const sandboxStore = {
  /** The sealed seed, if there is one; nobody else makes one until the transaction ends. */
  lockSeed: async (tx: Queries): Promise<Buffer | undefined> => {
    await tx.run(lockSeed, [])
    return (await tx.run<{ sealed: Buffer }>(readSeed, []))[0]?.sealed
  },
  insertSeed: (tx: Queries, sealed: Buffer, at: Date) => tx.run(insertSeed, [sealed, at]),
  /** True once. */
  takeStory: async (on: Queries) => (await on.run(takeStory, [])).length === 1,
}
