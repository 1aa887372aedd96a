import { newId, randomText } from '../kernel/ids.ts'
import type { Queries } from '../kernel/db.ts'
import { sha256, type Keyring } from '../kernel/seal.ts'
import { newSecretKey, newTerminalKey, type KeyPrefix } from './keys.ts'
import type { Level } from './principal.ts'
import { identityStore as store, sealPlaces, type BranchRow, type EntityRow } from './store.ts'

export interface Issuing {
  readonly keyring: Keyring
  readonly keyPrefix: KeyPrefix
}

const capitals = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

export async function createPartner(on: Queries, name: string, at: Date): Promise<EntityRow> {
  const id = newId(at)
  const row: EntityRow = {
    id,
    level: 'partner',
    partner_id: id,
    merchant_id: null,
    branch_id: null,
    name,
    reference_number: null,
  }
  await store.insertEntity(on, row, at)
  return row
}

export async function createMerchant(on: Queries, partnerId: string, name: string, at: Date): Promise<EntityRow> {
  const id = newId(at)
  const row: EntityRow = {
    id,
    level: 'merchant',
    partner_id: partnerId,
    merchant_id: id,
    branch_id: null,
    name,
    reference_number: null,
  }
  await store.insertEntity(on, row, at)
  return row
}

/** A branch; its reference number is unique within the partner. */
export async function createBranch(
  on: Queries,
  merchant: EntityRow,
  name: string,
  reference: string,
  at: Date,
): Promise<BranchRow> {
  const id = newId(at)
  const row = {
    id,
    level: 'branch' as const,
    partner_id: merchant.partner_id,
    merchant_id: merchant.id,
    branch_id: id,
    name,
    reference_number: reference,
  }
  await store.insertEntity(on, row, at)
  return row
}

/** Makes a secret key and resolves to it: the one time that it is seen. */
export async function issueKey(
  on: Queries,
  { keyring, keyPrefix }: Issuing,
  key: { entityId: string; level: Level; scopes: readonly string[]; expiresAt?: Date },
  at: Date,
): Promise<{ id: string; secretKey: string }> {
  const id = newId(at)
  const secretKey = newSecretKey(keyPrefix)
  await store.insertKey(
    on,
    {
      id,
      hash: sha256(secretKey),
      lastFour: secretKey.slice(-4),
      entityId: key.entityId,
      scopes: key.scopes,
      sealed: key.level === 'partner' ? null : keyring.seal(secretKey, sealPlaces.key(id)),
      expiresAt: key.expiresAt ?? null,
    },
    at,
  )
  return { id, secretKey }
}

/** The key that a merchant's QR tokens are encrypted with from now on: 32 ASCII characters. Within the caller's transaction. */
export async function issueEncryptionKey(
  tx: Queries,
  { keyring }: Issuing,
  merchantId: string,
  now: Date,
): Promise<string> {
  // The order of ids says which is the newest, and ids of one millisecond have none; nor does the clock always go forward.
  const newest = await store.holdEncryptionKeys(tx, merchantId)
  const at = new Date(Math.max(now.getTime(), (newest?.getTime() ?? 0) + 1))
  const id = newId(at)
  const encryptionKey = randomText(32)
  await store.insertEncryptionKey(
    tx,
    { id, merchantId, sealed: keyring.seal(encryptionKey, sealPlaces.encryptionKey(id)) },
    at,
  )
  return encryptionKey
}

/** `XXXX-XXXX-XXXX-XXXX`, capital letters and digits. */
export async function issueActivationCode(on: Queries, branchId: string, at: Date): Promise<string> {
  const code = (randomText(16, capitals).match(/.{4}/g) ?? []).join('-')
  await store.insertActivationCode(on, code, branchId, at)
  return code
}

export async function createGroup(on: Queries, merchantId: string, at: Date): Promise<string> {
  const id = newId(at)
  await store.insertGroup(on, id, merchantId, at)
  return id
}

/** An API key and secret for a till (desktop) or a terminal. */
export async function issueTerminalKey(
  on: Queries,
  { keyring }: Issuing,
  key: { role: 'desktop' | 'terminal'; groupId: string; branchId: string | null },
  at: Date,
): Promise<{ id: string; apiKey: string; apiSecret: string }> {
  const id = newId(at)
  const apiKey = newTerminalKey()
  const apiSecret = randomText(32)
  await store.insertTerminalKey(
    on,
    {
      ...key,
      id,
      apiKeyHash: sha256(apiKey),
      sealedSecret: keyring.seal(apiSecret, sealPlaces.terminalSecret(id)),
    },
    at,
  )
  return { id, apiKey, apiSecret }
}
