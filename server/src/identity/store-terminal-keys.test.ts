import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { sql } from '../../test/sql.ts'
import { createDb } from '../kernel/db.ts'
import { terminalKeyStore } from './store-terminal-keys.ts'

test('however many keys are looked up at once, the plan is made for the first few looks only', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, connectionsMax: 1, onError: () => {} })
  for (let looks = 1; looks <= 20; looks += 1) {
    const hashes = Array.from({ length: looks }, () => randomBytes(32).toString('hex'))
    assert.deepEqual(await terminalKeyStore.find(db, hashes), [])
  }
  const [plans] = await sql<{ custom_plans: bigint; generic_plans: bigint }>(
    db,
    `select custom_plans, generic_plans from pg_prepared_statements where name = 'identity.findTerminalKeys'`,
  )
  assert.deepEqual(plans, { custom_plans: 5n, generic_plans: 15n })
})
