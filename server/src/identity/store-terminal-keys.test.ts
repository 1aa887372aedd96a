import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { sql } from '../../test/sql.ts'
import { createDb } from '../kernel/db.ts'
import { createKeyring, sha256 } from '../kernel/seal.ts'
import { createBranch, createGroup, createMerchant, createPartner, issueTerminalKey } from './issue.ts'
import { identityStore } from './store.ts'
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

test('I1.account-state.terminals: a key stops while its branch, its merchant or its partner is not ACTIVE', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, onError: () => {} })
  const at = new Date()
  const by = { keyring: createKeyring(randomBytes(32)), keyPrefix: 'sk_test_' } as const
  const partner = await createPartner(db, 'Partner', at)
  const merchant = await createMerchant(db, partner.id, 'Merchant', at)
  const branch = await createBranch(db, merchant, 'Branch', 'B-1', at)
  const groupId = await createGroup(db, merchant.id, at)
  const { id, apiKey } = await issueTerminalKey(db, by, { role: 'terminal', groupId, branchId: branch.id }, at)
  const standing = async () => {
    const [found] = await terminalKeyStore.find(db, [sha256(apiKey).toString('hex')])
    return [found?.account_active, await terminalKeyStore.stopped(db, [id])]
  }
  for (const above of [branch, merchant, partner]) {
    assert.deepEqual(await standing(), [true, []])
    await identityStore.setAccountState(db, above.id, 'LOCKED')
    assert.deepEqual(await standing(), [false, [id]], above.level)
    await identityStore.setAccountState(db, above.id, 'ACTIVE')
  }
})
