import { hash as hashOf } from 'node:crypto'
import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db, Queries } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import type { RateLimit } from '../kernel/rate-limit.ts'
import { countKey, secretKeyForm, type KeyPrefix } from './keys.ts'
import { createKnown, keptByPrincipal } from './known.ts'
import type { Principal } from './principal.ts'
import {
  identityStore as store,
  type AccountState,
  type BranchRow,
  type EntityOf,
  type EntityRow,
  type KeyRow,
} from './store.ts'

export interface Identity {
  /**
   * The caller behind an X-API-Key header. UNAUTHORIZED without a known ACTIVE key, FORBIDDEN when its account is not ACTIVE,
   * RATE_LIMITED over the key's rate. A change of state counts from the next request on, within a second in other processes.
   */
  authenticate(apiKey: string | undefined): Promise<Principal>
  /**
   * Whose key this is and how it and its account stand, for who tells the states apart; undefined for a text that is no key of ours. A
   * state that is not ACTIVE is the caller's to refuse. RATE_LIMITED as above.
   */
  standing(apiKey: string): Promise<KeyStanding | undefined>
  /**
   * The branch that a payment is for: named by its reference number, or the branch of the key. FORBIDDEN where it is not ACTIVE. A change counts
   * as one of a key does.
   */
  branchFor(principal: Principal, reference: string | undefined): Promise<BranchRow>
  /** Whether an entity and everything above it is ACTIVE. A change counts as one of a key does. */
  isActive(id: string): Promise<boolean>
  /** Branches under an entity, itself if it is one, by id, from the one after `after` on. */
  branchesUnder(entity: EntityOf, page: { after: string; rowsMax: number }): Promise<BranchRow[]>
  /** Inside a transaction, `on` is that transaction. */
  entity(id: string, on?: Queries): Promise<EntityRow | undefined>
}

export interface KeyStanding {
  readonly principal: Principal
  readonly key: 'ACTIVE' | 'EXPIRED' | 'REVOKED' | 'SUSPENDED' | 'DELETED'
  readonly account: AccountState
}

export interface IdentityDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly rateLimit: RateLimit
  readonly keyPrefix: KeyPrefix
}

export function createIdentity({ db, bus, clock, rateLimit, keyPrefix }: IdentityDependencies): Identity {
  const findKey = createKnown({
    bus,
    clock,
    async read(hash) {
      const row = await store.findKey(db, Buffer.from(hash, 'hex'))
      return row && { row, principal: principalOf(row) }
    },
  })
  const accountOf = createKnown({ bus, clock, read: (id) => store.accountState(db, id) })
  const form = secretKeyForm(keyPrefix)

  const findBranch = keptByPrincipal(async (principal, reference: string | undefined) =>
    reference === undefined
      ? ((await store.findEntity(db, principal.branchId as string)) as BranchRow | undefined)
      : store.findBranchByReference(db, principal, reference),
  )

  const isActive = async (id: string): Promise<boolean> => (await accountOf(id)) === 'ACTIVE'

  const standing = async (apiKey: string): Promise<KeyStanding | undefined> => {
    const found = form.test(apiKey) ? await findKey(hashOf('sha256', apiKey)) : undefined
    if (found === undefined) return undefined
    const { row, principal } = found
    const isOver = row.state === 'ACTIVE' && row.expires_at !== null && row.expires_at <= clock.now()
    const key = isOver ? 'EXPIRED' : row.state
    const account = row.account_state
    if (key === 'ACTIVE' && account === 'ACTIVE') countKey(rateLimit, principal.keyId)
    return { principal, key, account }
  }

  return {
    standing,
    async authenticate(apiKey) {
      if (apiKey === undefined) throw new Fault('UNAUTHORIZED', 'Send your secret key in the header X-API-Key.')
      const found = await standing(apiKey)
      if (found?.key !== 'ACTIVE') {
        throw new Fault('UNAUTHORIZED', 'The API key is not known or not active; use one that is.')
      }
      if (found.account !== 'ACTIVE') {
        throw new Fault('FORBIDDEN', 'The account of this key is not active; ask its operator.')
      }
      return found.principal
    },

    async branchFor(principal, reference) {
      if (reference === undefined && principal.branchId === null) {
        throw new Fault(
          'BAD_REQUEST',
          'merchant_branch_reference_number: is missing; keys of partners and merchants name the branch.',
          {
            field: 'merchant_branch_reference_number',
            rule: 'required',
          },
        )
      }
      const branch = await findBranch(principal, reference)
      if (branch === undefined) {
        throw new Fault(
          'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER',
          'merchant_branch_reference_number: names no branch of this key.',
          {
            field: 'merchant_branch_reference_number',
            rule: 'known_branch',
          },
        )
      }
      // Keys of those above it may be ACTIVE all the same.
      if (!(await isActive(branch.id)))
        throw new Fault(
          'FORBIDDEN',
          'This branch, or the merchant that it belongs to, is not active; ask the operator.',
        )
      return branch
    },

    isActive,

    branchesUnder: (entity, page) => store.listBranches(db, entity, page),
    entity: (id, on = db) => store.findEntity(on, id),
  }
}

const principalOf = (row: KeyRow): Principal => ({
  keyId: row.id,
  level: row.level,
  entityId: row.entity_id,
  partnerId: row.partner_id,
  merchantId: row.merchant_id,
  branchId: row.branch_id,
  scopes: new Set(row.scopes),
})
