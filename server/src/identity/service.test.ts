import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { startPostgresProxy } from '../../test/postgres-proxy.ts'
import { sql } from '../../test/sql.ts'
import { until } from '../../test/until.ts'
import { postgresBus } from '../kernel/bus-postgres.ts'
import { createClock } from '../kernel/clock.ts'
import { createDb, type Db } from '../kernel/db.ts'
import { createRateLimit } from '../kernel/rate-limit.ts'
import { createKeyring } from '../kernel/seal.ts'
import { createBranch, createMerchant, createPartner, issueKey } from './issue.ts'
import { createIdentity } from './service.ts'
import { identityStore } from './store.ts'

/** Identity over a real database, with a system clock that the test moves and a line for hints that it can cut. */
async function house(
  t: TestContext,
  { watch = (db: Db) => db, burst = 0 }: { watch?: (db: Db) => Db; burst?: number } = {},
) {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const { target } = held.use(await freshDatabase())
  const line = held.use(await startPostgresProxy(target))
  const db = held.use(createDb({ target, onError: () => {} }))
  const time = { wall: Date.now() }
  const clock = createClock(() => time.wall)
  const bus = held.use(await postgresBus({ db, target: line.target, debounceMs: 1, retryMs: 5, onLost: () => {} }))
  const rateLimit = createRateLimit({ perSecond: burst, burst, wall: clock.wall })
  const identity = createIdentity({ db: watch(db), bus, clock, rateLimit, keyPrefix: 'sk_test_' })
  const keyring = createKeyring(randomBytes(32))
  const partner = await createPartner(db, 'Partner', clock.now())
  const merchant = await createMerchant(db, partner.id, 'Merchant', clock.now())
  const branch = await createBranch(db, merchant, 'Branch', 'B-1', clock.now())
  const { id, secretKey } = await issueKey(
    db,
    { keyring, keyPrefix: 'sk_test_' },
    { entityId: branch.id, level: 'branch', scopes: ['webhooks.read'] },
    clock.now(),
  )
  const setState = (state: string) => sql(db, 'update identity.keys set state = $1 where id = $2', [state, id])
  return { identity, db, bus, line, time, partner, merchant, branch, id, secretKey, setState }
}

const isUnauthorized = { code: 'UNAUTHORIZED' }

test('a principal says who calls, for whom, and what it may do', async (t) => {
  const { identity, partner, merchant, branch, id, secretKey } = await house(t)
  const principal = await identity.authenticate(secretKey)
  assert.deepEqual(
    { ...principal, scopes: [...principal.scopes] },
    {
      keyId: id,
      level: 'branch',
      entityId: branch.id,
      partnerId: partner.id,
      merchantId: merchant.id,
      branchId: branch.id,
      scopes: ['webhooks.read'],
    },
  )
})

test('I1.key-state.expired: a key is over in the very millisecond of its end, and good in the one before', async (t) => {
  const { identity, db, time, id, secretKey } = await house(t)
  await sql(db, 'update identity.keys set expires_at = $1 where id = $2', [new Date(time.wall + 500), id])
  time.wall += 499
  await identity.authenticate(secretKey)
  time.wall += 1
  await assert.rejects(identity.authenticate(secretKey), isUnauthorized)
})

test('I1.account-state.locked: a key of an account that is LOCKED is told so however often it asks', async (t) => {
  const { identity, db, branch, secretKey } = await house(t, { burst: 1 })
  await identityStore.setAccountState(db, branch.id, 'LOCKED')
  for (let asked = 0; asked < 3; asked += 1)
    await assert.rejects(identity.authenticate(secretKey), { code: 'FORBIDDEN' })
})

test('I1.key.sealed: of the key of a partner, who has no account of area E, only the hash is kept', async (t) => {
  const { db, partner, id } = await house(t)
  const key = { entityId: partner.id, level: 'partner', scopes: [] } as const
  const made = await issueKey(db, { keyring: createKeyring(randomBytes(32)), keyPrefix: 'sk_test_' }, key, new Date())
  const kept = await sql(db, 'select id, sealed is not null as sealed from identity.keys order by sealed is null')
  assert.deepEqual(kept, [
    { id, sealed: true },
    { id: made.id, sealed: false },
  ])
})

test('a text that cannot be a key is refused without asking the database', async (t) => {
  let asked = 0
  const watch = (db: Db): Db => ({
    ...db,
    run(query, values) {
      asked += 1
      return db.run(query, values)
    },
  })
  const { identity, secretKey } = await house(t, { watch })
  const wrong = [
    undefined,
    '',
    'x',
    secretKey.slice(0, -1),
    `${secretKey}0`,
    ` ${secretKey}`,
    `${secretKey}\n`,
    secretKey.replace('test', 'live'),
  ]
  for (const text of [...wrong, `sk_test_${'é'.repeat(24)}`])
    await assert.rejects(identity.authenticate(text), isUnauthorized)
  assert.equal(asked, 0)
  await identity.authenticate(secretKey)
  await identity.authenticate(secretKey)
  assert.equal(asked, 1)
})

test('a known key is remembered for a second of system time, and a hint ends that at once', async (t) => {
  const { identity, bus, time, secretKey, setState } = await house(t)
  await identity.authenticate(secretKey)
  await setState('REVOKED')
  await identity.authenticate(secretKey)
  time.wall += 999
  await identity.authenticate(secretKey)
  time.wall += 1
  await assert.rejects(identity.authenticate(secretKey), isUnauthorized)

  await setState('ACTIVE')
  bus.hint('keys')
  await identity.authenticate(secretKey)
  await setState('SUSPENDED')
  bus.hint('keys')
  await assert.rejects(identity.authenticate(secretKey), isUnauthorized)
  // A system clock that steps back makes nothing younger.
  await setState('ACTIVE')
  bus.hint('keys')
  await identity.authenticate(secretKey)
  await setState('SUSPENDED')
  time.wall -= 3_600_000
  await assert.rejects(identity.authenticate(secretKey), isUnauthorized)
})

test('a key that is revoked while it is being looked up is not remembered as it was', async (t) => {
  const gate = Promise.withResolvers<void>()
  const read = Promise.withResolvers<void>()
  let held = true
  const watch = (db: Db): Db => ({
    ...db,
    async run(query, values) {
      const rows = await db.run(query, values)
      if (held) {
        read.resolve()
        await gate.promise
      }
      return rows as never
    },
  })
  const { identity, bus, secretKey, setState } = await house(t, { watch })
  const early = identity.authenticate(secretKey)
  await read.promise
  await setState('REVOKED')
  bus.hint('keys')
  held = false
  gate.resolve()
  await early
  await assert.rejects(identity.authenticate(secretKey), isUnauthorized)
})

test('while no hints come in, every key is looked up anew', async (t) => {
  const { identity, bus, line, secretKey, setState } = await house(t)
  await identity.authenticate(secretKey)
  line.becomes('closed')
  await until('the loss of the line', () => !bus.connected)
  await setState('REVOKED')
  await assert.rejects(identity.authenticate(secretKey), isUnauthorized)
})

test('a branch is found by its number within what the caller sees, and by the key of a branch itself', async (t) => {
  const { identity, db, partner, merchant, branch, secretKey } = await house(t)
  const ofBranch = await identity.authenticate(secretKey)
  const above = { ...ofBranch, branchId: null }
  const ofMerchant = { ...above, level: 'merchant' as const, entityId: merchant.id }
  const ofPartner = { ...above, level: 'partner' as const, entityId: partner.id, merchantId: null }
  const sibling = await createBranch(db, merchant, 'Sibling', 'B-2', new Date())
  for (const caller of [ofBranch, ofMerchant, ofPartner]) {
    assert.equal((await identity.branchFor(caller, 'B-1')).id, branch.id)
    await assert.rejects(identity.branchFor(caller, 'b-1'), { code: 'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER' })
  }
  assert.equal((await identity.branchFor(ofBranch, undefined)).id, branch.id)
  assert.equal((await identity.branchFor(ofMerchant, 'B-2')).id, sibling.id)
  await assert.rejects(identity.branchFor(ofBranch, 'B-2'), { code: 'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER' })
  for (const caller of [ofMerchant, ofPartner]) {
    await assert.rejects(identity.branchFor(caller, undefined), {
      code: 'BAD_REQUEST',
      field: 'merchant_branch_reference_number',
    })
  }
  const another = await createMerchant(db, partner.id, 'Another', new Date())
  const ofAnother = { ...ofMerchant, entityId: another.id, merchantId: another.id }
  await assert.rejects(identity.branchFor(ofAnother, 'B-1'), { code: 'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER' })
})

test('a branch that was found is remembered as long as its key: for a second of system time, or until a hint', async (t) => {
  const asked: string[] = []
  const watch = (db: Db): Db => ({
    ...db,
    run(query, values) {
      asked.push(query.name)
      return db.run(query, values)
    },
  })
  const { identity, db, bus, time, branch, secretKey } = await house(t, { watch })
  const find = async (reference: string) => identity.branchFor(await identity.authenticate(secretKey), reference)
  const rename = (reference: string) =>
    sql(db, 'update identity.entities set reference_number = $1 where id = $2', [reference, branch.id])
  await assert.rejects(find('B-2'), { code: 'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER' })
  await rename('B-2')
  for (let again = 0; again < 3; again += 1) assert.equal((await find('B-2')).id, branch.id)
  const [byKey, byReference, account] = ['findKey', 'findBranchByReference', 'findAccount'].map(
    (one) => `identity.${one}`,
  )
  assert.deepEqual(asked, [byKey, byReference, byReference, account])

  await rename('B-3')
  time.wall += 1_000
  await assert.rejects(find('B-2'), { code: 'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER' })
  assert.equal((await find('B-3')).id, branch.id)
  await rename('B-4')
  bus.hint('keys')
  await assert.rejects(find('B-3'), { code: 'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER' })
})

test('two branches of a partner cannot go by the same number, those of two partners can', async (t) => {
  const { db, merchant } = await house(t)
  await assert.rejects(createBranch(db, merchant, 'Double', 'B-1', new Date()), /unique/)
  const partner = await createPartner(db, 'Second', new Date())
  const other = await createMerchant(db, partner.id, 'Its merchant', new Date())
  assert.equal((await createBranch(db, other, 'Its branch', 'B-1', new Date())).reference_number, 'B-1')
})
