import { scopes as allScopes } from '@kaha/contract'
import { createBranch, createMerchant, createPartner, issueKey } from '../../src/identity/issue.ts'
import type { Level } from '../../src/identity/principal.ts'
import { newKey, type Platform } from '../platform.ts'

/** An entity with a key of its own that may do everything. */
export interface Tenant {
  readonly level: Level
  readonly id: string
  readonly key: string
  /** Ids from its partner down to itself. */
  readonly path: readonly string[]
}

export interface BranchTenant extends Tenant {
  readonly reference: string
}

/** A key with chosen scopes, all of them unless told. */
export function keyFor(
  { kaha }: Pick<Platform, 'kaha'>,
  entity: { readonly id: string; readonly level: Level },
  { scopes = allScopes, expiresAt }: { readonly scopes?: readonly string[]; readonly expiresAt?: Date } = {},
): Promise<{ id: string; secretKey: string }> {
  return issueKey(
    kaha.db,
    { keyring: kaha.keyring, keyPrefix: 'sk_test_' },
    { entityId: entity.id, level: entity.level, scopes, ...(expiresAt === undefined ? {} : { expiresAt }) },
    kaha.clock.now(),
  )
}

/** The entities of the seed and a second partner with a merchant and a branch, so that everybody has somebody beside them. */
export interface Everybody {
  readonly partner: Tenant
  readonly merchant: Tenant
  readonly branch: BranchTenant
  /** Beside `branch`, under the same merchant. */
  readonly otherBranch: BranchTenant
  /** Beside `merchant`, under the same partner. */
  readonly otherMerchant: Tenant
  readonly otherMerchantsBranch: BranchTenant
  /** Beside `partner`. */
  readonly otherPartner: Tenant
  readonly otherPartnersMerchant: Tenant
  readonly otherPartnersBranch: BranchTenant
}

export async function everybody(p: Platform): Promise<Everybody> {
  const { seed, kaha } = p
  const [first, second] = seed.merchants
  const [branch, otherBranch] = first?.branches ?? []
  const [far] = second?.branches ?? []
  if (!first || !second || !branch || !otherBranch || !far) throw new Error('the seed has too few entities')
  const at = kaha.clock.now()
  const partner = await createPartner(kaha.db, 'Another partner', at)
  const merchant = await createMerchant(kaha.db, partner.id, 'Another merchant', at)
  const made = await createBranch(kaha.db, merchant, 'Another branch', branch.reference_number, at)
  const tenant = async (entity: { id: string; level: Level }, ...above: string[]): Promise<Tenant> => ({
    level: entity.level,
    id: entity.id,
    key: (await keyFor(p, entity)).secretKey,
    path: [...above, entity.id],
  })
  const seeded = (level: Level, { id, secret_key: key }: { id: string; secret_key: string }, ...above: string[]) => ({
    level,
    id,
    key,
    path: [...above, id],
  })
  const seededBranch = (one: typeof branch, merchantId: string) => ({
    ...seeded('branch', one, seed.partner.id, merchantId),
    reference: one.reference_number,
  })
  return {
    partner: seeded('partner', seed.partner),
    merchant: seeded('merchant', first, seed.partner.id),
    branch: seededBranch(branch, first.id),
    otherBranch: seededBranch(otherBranch, first.id),
    otherMerchant: seeded('merchant', second, seed.partner.id),
    otherMerchantsBranch: seededBranch(far, second.id),
    otherPartner: await tenant(partner),
    otherPartnersMerchant: await tenant(merchant, partner.id),
    // It goes by the same reference number as `branch`: a number is unique within a partner only.
    otherPartnersBranch: { ...(await tenant(made, partner.id, merchant.id)), reference: made.reference_number },
  }
}

/** Whether a key of the one sees what belongs to the other: itself and everything under it. */
export const sees = (caller: Tenant, owner: Tenant): boolean => owner.path[caller.path.length - 1] === caller.id

/** A link that this branch is paid by. */
export const linkFor = (reference: string, fields: Record<string, unknown> = {}) => ({
  type: 'one_time' as const,
  currency: 'PHP',
  amount: 9800,
  line_items: [{ sku: 'MUG', name: 'Mug', unit_price: 9800, quantity: 1 }],
  merchant_branch_reference_number: reference,
  ...fields,
})

/** Headers of a POST that creates. */
export const idempotent = () => ({ 'idempotency-key': newKey() })
