import type { Tables } from '../kernel/database.gen.ts'
import { statement, type Queries } from '../kernel/db.ts'
import { perLevel, type Principal } from './principal.ts'

/** Where secrets of this room are sealed: additional data of their seals. */
export const sealPlaces = {
  key: (id: string) => `identity.keys.sealed:${id}`,
  encryptionKey: (id: string) => `identity.encryption_keys.sealed:${id}`,
  terminalSecret: (id: string) => `identity.terminal_keys.sealed_secret:${id}`,
}

type Entities = Tables['identity.entities']
type Keys = Tables['identity.keys']
type Path = Pick<Entities, 'level' | 'partner_id' | 'merchant_id' | 'branch_id'>

export type AccountState = 'ACTIVE' | 'INACTIVE' | 'LOCKED'

/** A key, whose it is, and whether that account may act. */
export interface KeyRow extends Pick<Keys, 'id' | 'state' | 'scopes' | 'expires_at' | 'entity_id'>, Path {
  /** How the entity and everything above it stands: LOCKED or INACTIVE where any of them is. */
  readonly account_state: AccountState
}

// Of the entity `e`.
const accountState = `(
  select case when bool_or(above.state = 'LOCKED') then 'LOCKED'
              when bool_or(above.state = 'INACTIVE') then 'INACTIVE' else 'ACTIVE' end
    from identity.entities above where above.id in (e.id, e.merchant_id, e.partner_id))`

const findKey = statement(
  'identity.findKey',
  `select k.id, k.state, k.scopes, k.expires_at, e.level, e.id as entity_id, e.partner_id, e.merchant_id, e.branch_id,
          ${accountState} as account_state
     from identity.keys k join identity.entities e on e.id = k.entity_id
    where k.hash = $1`,
)

const findAccount = statement(
  'identity.findAccount',
  `select ${accountState} as account_state from identity.entities e where e.id = $1`,
)
const setAccountState = statement(
  'identity.setAccountState',
  `update identity.entities set state = $2 where id = $1 and state <> $2 returning id`,
)

const insertEntity = statement(
  'identity.insertEntity',
  `insert into identity.entities (id, level, partner_id, merchant_id, branch_id, name, reference_number, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
)

const insertKey = statement(
  'identity.insertKey',
  `insert into identity.keys (id, hash, last_four, entity_id, scopes, sealed, expires_at, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
)

// Of the key `k`: nobody stores that the time of one is over.
const shownState = `case when k.state = 'ACTIVE' and k.expires_at <= kernel.now() then 'EXPIRED' else k.state end`

const setKeyState = statement(
  'identity.setKeyState',
  `update identity.keys k set state = $2, updated_at = $3 where k.id = $1 and k.state = any($4) returning ${shownState} as state`,
)

const listKeys = statement(
  'identity.listKeys',
  `select k.id, k.last_four, ${shownState} as state, k.scopes, k.expires_at, k.created_at, e.id as entity_id, e.level, e.name
     from identity.keys k join identity.entities e on e.id = k.entity_id
    where $1::uuid is null or k.entity_id = $1 order by k.id limit $2`,
)

const findEntity = statement(
  'identity.findEntity',
  `select id, level, partner_id, merchant_id, branch_id, name, reference_number from identity.entities where id = $1`,
)

// Each below the one that it belongs to.
const listEntities = statement(
  'identity.listEntities',
  `select id, level, partner_id, merchant_id, branch_id, name, reference_number, state, ${accountState} as standing from identity.entities e
    order by partner_id, merchant_id nulls first, branch_id nulls first limit $1`,
)

const findBranchByReference = statement(
  'identity.findBranchByReference',
  `select id, level, partner_id, merchant_id, branch_id, name, reference_number from identity.entities
    where partner_id = $1 and reference_number = $2 and level = 'branch' and ($3::uuid is null or merchant_id = $3) and ($4::uuid is null or id = $4)`,
)

const listBranches = perLevel(
  'identity.listBranches',
  (entity) => `
   select id, level, partner_id, merchant_id, branch_id, name, reference_number from identity.entities
    where ${entity} = $1 and level = 'branch' and id > $2 order by id limit $3`,
)

// In a statement of its own before the next: that sees what was issued while this waited.
const holdMerchant = statement('identity.holdMerchant', `select from identity.entities where id = $1 for no key update`)
const newestEncryptionKey = statement(
  'identity.newestEncryptionKey',
  `select created_at from identity.encryption_keys where merchant_id = $1 order by id desc limit 1`,
)

const insertEncryptionKey = statement(
  'identity.insertEncryptionKey',
  `insert into identity.encryption_keys (id, merchant_id, sealed, created_at) values ($1, $2, $3, $4)`,
)

const insertActivationCode = statement(
  'identity.insertActivationCode',
  `insert into identity.activation_codes (code, branch_id, created_at) values ($1, $2, $3)`,
)

const insertGroup = statement(
  'identity.insertGroup',
  `insert into identity.groups (id, merchant_id, created_at) values ($1, $2, $3)`,
)

const insertTerminalKey = statement(
  'identity.insertTerminalKey',
  `insert into identity.terminal_keys (id, api_key_hash, sealed_secret, role, group_id, branch_id, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7, $7)`,
)

export type EntityRow = Omit<Entities, 'state' | 'created_at'>

/** An entity for an operator to see: how it stands by itself, and with everything above it. */
export type EntityListing = EntityRow & Pick<Entities, 'state'> & { readonly standing: AccountState }

/** An entity, by its level and its id. */
export type EntityOf = Pick<Principal, 'level' | 'entityId'>

/** An entity of the level branch. */
export interface BranchRow extends EntityRow {
  readonly level: 'branch'
  readonly merchant_id: string
  readonly branch_id: string
  readonly reference_number: string
}

export interface KeyListing
  extends
    Pick<Keys, 'id' | 'last_four' | 'state' | 'scopes' | 'expires_at' | 'created_at' | 'entity_id'>,
    Pick<Entities, 'level' | 'name'> {}

export const identityStore = {
  findKey: async (on: Queries, hash: Buffer) => (await on.run<KeyRow>(findKey, [hash]))[0],
  /** How an entity stands with everything above it. */
  accountState: async (on: Queries, id: string) =>
    (await on.run<Pick<KeyRow, 'account_state'>>(findAccount, [id]))[0]?.account_state,
  /** True when it stood otherwise. */
  setAccountState: async (on: Queries, id: string, state: AccountState) =>
    (await on.run(setAccountState, [id, state])).length === 1,
  insertEntity: (on: Queries, row: EntityRow, at: Date) =>
    on.run(insertEntity, [
      row.id,
      row.level,
      row.partner_id,
      row.merchant_id,
      row.branch_id,
      row.name,
      row.reference_number,
      at,
    ]),
  insertKey: (
    on: Queries,
    key: {
      id: string
      hash: Buffer
      lastFour: string
      entityId: string
      scopes: readonly string[]
      sealed: Buffer | null
      expiresAt: Date | null
    },
    at: Date,
  ) => on.run(insertKey, [key.id, key.hash, key.lastFour, key.entityId, key.scopes, key.sealed, key.expiresAt, at]),
  /** How a key stands now that stood in one of these states; undefined where none did. */
  setKeyState: async (on: Queries, id: string, state: string, from: readonly string[], at: Date) =>
    (await on.run<Pick<Keys, 'state'>>(setKeyState, [id, state, at, from]))[0]?.state,
  /** Of one entity, or of all. */
  listKeys: (on: Queries, entityId: string | null, rowsMax: number) =>
    on.run<KeyListing>(listKeys, [entityId, rowsMax]),
  listEntities: (on: Queries, rowsMax: number) => on.run<EntityListing>(listEntities, [rowsMax]),
  findEntity: async (on: Queries, id: string) => (await on.run<EntityRow>(findEntity, [id]))[0],
  /** A branch that the caller sees, by its reference number. */
  findBranchByReference: async (on: Queries, principal: Principal, reference: string) =>
    (
      await on.run<BranchRow>(findBranchByReference, [
        principal.partnerId,
        reference,
        principal.merchantId,
        principal.branchId,
      ])
    )[0],
  /** Branches under an entity, itself if it is one, by id. */
  listBranches: (on: Queries, { level, entityId }: EntityOf, page: { after: string; rowsMax: number }) =>
    on.run<BranchRow>(listBranches[level], [entityId, page.after, page.rowsMax]),
  /** Nobody else issues one for the merchant meanwhile. Resolves to when the newest was issued. */
  holdEncryptionKeys: async (tx: Queries, merchantId: string): Promise<Date | undefined> => {
    await tx.run(holdMerchant, [merchantId])
    return (await tx.run<{ created_at: Date }>(newestEncryptionKey, [merchantId]))[0]?.created_at
  },
  insertEncryptionKey: (on: Queries, key: { id: string; merchantId: string; sealed: Buffer }, at: Date) =>
    on.run(insertEncryptionKey, [key.id, key.merchantId, key.sealed, at]),
  insertActivationCode: (on: Queries, code: string, branchId: string, at: Date) =>
    on.run(insertActivationCode, [code, branchId, at]),
  insertGroup: (on: Queries, id: string, merchantId: string, at: Date) => on.run(insertGroup, [id, merchantId, at]),
  insertTerminalKey: (
    on: Queries,
    key: {
      id: string
      apiKeyHash: Buffer
      sealedSecret: Buffer
      role: 'desktop' | 'terminal'
      groupId: string
      branchId: string | null
    },
    at: Date,
  ) => on.run(insertTerminalKey, [key.id, key.apiKeyHash, key.sealedSecret, key.role, key.groupId, key.branchId, at]),
}
