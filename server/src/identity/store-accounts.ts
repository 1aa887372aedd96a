import { statement, type Queries } from '../kernel/db.ts'
import type { BranchRow } from './store.ts'

/** A branch, and what the merchant above it is called. */
export interface PaidBranch extends BranchRow {
  readonly merchant_name: string
}

const findEncryptionKey = statement(
  'identity.findEncryptionKey',
  `select id, sealed from identity.encryption_keys where merchant_id = $1 order by id desc limit 1`,
)

const findBranchByCode = statement(
  'identity.findBranchByCode',
  `select e.id, e.level, e.partner_id, e.merchant_id, e.branch_id, e.name, e.reference_number, m.name as merchant_name
     from identity.activation_codes c join identity.entities e on e.id = c.branch_id join identity.entities m on m.id = e.merchant_id
    where c.code = $1 and e.merchant_id = $2 and ($3::uuid is null or e.id = $3) and e.state = 'ACTIVE'`,
)

const findBranchCode = statement(
  'identity.findBranchCode',
  `select code from identity.activation_codes where branch_id = $1`,
)

// The key that was asked for while it is ACTIVE, else the newest of the merchant, or of the branch, that may stand for it.
const findNotificationKey = statement(
  'identity.findNotificationKey',
  `select k.id, k.sealed from identity.keys k join identity.entities e on e.id = k.entity_id
    where k.sealed is not null and k.state = 'ACTIVE' and (k.expires_at is null or k.expires_at > kernel.now())
      and e.merchant_id = $2
      and (k.id = $1 or ($4 = any (k.scopes) and (e.id = $2 or e.id = $3::uuid)))
    order by (k.id = $1) desc, k.id desc limit 1`,
)

export const accountsStore = {
  /** The newest of the merchant. */
  findEncryptionKey: async (on: Queries, merchantId: string) =>
    (await on.run<{ id: string; sealed: Buffer }>(findEncryptionKey, [merchantId]))[0],
  findBranchCode: async (on: Queries, branchId: string) =>
    (await on.run<{ code: string }>(findBranchCode, [branchId]))[0]?.code,
  findNotificationKey: async (
    on: Queries,
    {
      keyId,
      merchantId,
      branchId,
      scope,
    }: { keyId: string; merchantId: string; branchId: string | null; scope: string },
  ) => (await on.run<{ id: string; sealed: Buffer }>(findNotificationKey, [keyId, merchantId, branchId, scope]))[0],
  /** Of the merchant; where a branch is given, that branch alone. */
  findBranchByCode: async (on: Queries, code: string, merchantId: string, branchId: string | null) =>
    (await on.run<PaidBranch>(findBranchByCode, [code, merchantId, branchId]))[0],
}
