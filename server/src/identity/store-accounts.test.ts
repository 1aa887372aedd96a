import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { createDb } from '../kernel/db.ts'
import { createKeyring } from '../kernel/seal.ts'
import { createBranch, createMerchant, createPartner, issueEncryptionKey, issueKey } from './issue.ts'
import type { Level } from './principal.ts'
import { accountsStore } from './store-accounts.ts'
import { identityStore, sealPlaces } from './store.ts'

const scope = 'qr_webhooks.write'
const by = { keyring: createKeyring(randomBytes(32)), keyPrefix: 'sk_test_' } as const

/** A database with a partner and a merchant since `at`. */
async function aMerchant() {
  await using building = new AsyncDisposableStack()
  const { target } = building.use(await freshDatabase())
  const db = building.use(createDb({ target, onError: () => {} }))
  const at = new Date()
  const partner = await createPartner(db, 'Partner', at)
  const merchant = await createMerchant(db, partner.id, 'Merchant', at)
  const held = building.move()
  return { db, at, partner, merchant, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

test('E6.notification.key-retired: the key that was asked for comes before newer ones; once it is over, the newest of the merchant or the branch that is in force and has the scope stands in', async () => {
  await using room = await aMerchant()
  const { db, at, partner, merchant } = room
  const branch = await createBranch(db, merchant, 'Branch', 'B-1', at)
  const sibling = await createBranch(db, merchant, 'Sibling', 'B-2', at)
  const elsewhere = await createMerchant(db, partner.id, 'Elsewhere', at)
  // Keys of one millisecond have no order.
  let issued = 0
  const issue = (
    entity: { id: string; level: Level },
    { scopes = [scope], expiresAt = new Date(at.getTime() + 3_600_000) } = {},
  ) =>
    issueKey(
      db,
      by,
      { entityId: entity.id, level: entity.level, scopes, expiresAt },
      new Date(at.getTime() + (issued += 1)),
    )
  const found = async ({ id: keyId }: { id: string }) =>
    (await accountsStore.findNotificationKey(db, { keyId, merchantId: merchant.id, branchId: branch.id, scope }))?.id
  const revoke = ({ id }: { id: string }) => identityStore.setKeyState(db, id, 'REVOKED', ['ACTIVE'], at)

  const asked = await issue(branch, { scopes: [] })
  const ofMerchant = await issue(merchant)
  const ofBranch = await issue(branch)
  const expiresAt = new Date(at.getTime() - 1)
  const expired = await issue(branch, { expiresAt })
  await issue(branch, { scopes: ['qr.create'] })
  await issue(sibling)
  const foreign = await issue(elsewhere)
  await issue(partner)
  assert.equal(await found(asked), asked.id)
  for (const key of [expired, foreign]) assert.equal(await found(key), ofBranch.id)
  await revoke(asked)
  assert.equal(await found(asked), ofBranch.id)
  await revoke(ofBranch)
  assert.equal(await found(asked), ofMerchant.id)
  await revoke(ofMerchant)
  assert.equal(await found(asked), undefined)
})

test('of the keys for Tokens the one that was issued last is in force, also within one millisecond and after the clock went back', async () => {
  await using room = await aMerchant()
  const { db, at, merchant } = room
  const issue = (when: Date) => db.tx((tx) => issueEncryptionKey(tx, by, merchant.id, when))
  const inForce = async () => {
    const found = await accountsStore.findEncryptionKey(db, merchant.id)
    return found && by.keyring.open(found.sealed, sealPlaces.encryptionKey(found.id))
  }
  for (const ms of [0, 0, 0, 0, 0, -1_000, -3_600_000, 1]) {
    const issued = await issue(new Date(at.getTime() + ms))
    assert.equal(await inForce(), issued)
  }
  const first = await issue(at)
  const together = await Promise.all(Array.from({ length: 5 }, () => issue(at)))
  assert.notEqual(await inForce(), first)
  assert.ok(together.includes((await inForce()) ?? ''))
})
