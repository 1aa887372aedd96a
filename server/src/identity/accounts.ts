import type { Db } from '../kernel/db.ts'
import type { Keyring } from '../kernel/seal.ts'
import { keptByPrincipal } from './known.ts'
import type { Principal } from './principal.ts'
import { accountsStore as store, type PaidBranch } from './store-accounts.ts'
import { sealPlaces } from './store.ts'

/** What a merchant has as an account of the QR service: a key for its tokens, and activation codes of its branches. */
export interface Accounts {
  /** The text of the account's newest encryption key and which one it is; undefined where there is none. */
  encryptionKey(merchantId: string): Promise<{ readonly id: string; readonly text: string } | undefined>
  /** The branch that has the code, where the caller may act for it and it is ACTIVE. A change counts as one of a key does. */
  branchByCode(principal: Principal, code: string): Promise<PaidBranch | undefined>
  /** The activation code of a branch, where it has one. */
  codeOf(branchId: string): Promise<string | undefined>
  /** The secret key of this id while it is ACTIVE, else the newest ACTIVE one of the merchant or the branch that has the scope. */
  notificationKey(wanted: {
    readonly keyId: string
    readonly merchantId: string
    readonly branchId: string | null
    readonly scope: string
  }): Promise<{ readonly id: string; readonly text: string } | undefined>
}

export function createAccounts({ db, keyring }: { db: Db; keyring: Keyring }): Accounts {
  return {
    async encryptionKey(merchantId) {
      const row = await store.findEncryptionKey(db, merchantId)
      return row && { id: row.id, text: keyring.open(row.sealed, sealPlaces.encryptionKey(row.id)) }
    },
    branchByCode: keptByPrincipal(async ({ merchantId, branchId }, code: string) =>
      merchantId === null ? undefined : store.findBranchByCode(db, code, merchantId, branchId),
    ),
    codeOf: (branchId) => store.findBranchCode(db, branchId),
    async notificationKey(wanted) {
      const row = await store.findNotificationKey(db, wanted)
      return row && { id: row.id, text: keyring.open(row.sealed, sealPlaces.key(row.id)) }
    },
  }
}
