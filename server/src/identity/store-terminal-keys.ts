import type { Tables } from '../kernel/database.gen.ts'
import { statement, type Queries } from '../kernel/db.ts'

type TerminalKeys = Tables['identity.terminal_keys']

/** A key of area D, whose it is, and whether those may act. */
export interface TerminalKeyRow extends Pick<
  TerminalKeys,
  'id' | 'sealed_secret' | 'role' | 'group_id' | 'branch_id' | 'state'
> {
  /** SHA-256 of the key, in hex. */
  readonly hash: string
  readonly partner_id: string
  readonly merchant_id: string
  /** The merchant of the group, the branch of the key, and everything above them is ACTIVE. */
  readonly account_active: boolean
}

// Keys come one by one and by the dozen. Of an array PostgreSQL would see how many, and make a plan anew for each look: for several tables
// that takes longer than the look. Of this it guesses always the same, and the rows are found one by one whatever it guesses.
const findTerminalKeys = statement(
  'identity.findTerminalKeys',
  `select n.hash, k.*, m.partner_id, g.merchant_id,
          not exists (
            select from identity.entities above
            where above.id in (k.branch_id, g.merchant_id, m.partner_id) and above.state <> 'ACTIVE'
          ) as account_active
     from json_array_elements_text($1::json) n(hash)
    cross join lateral (
      select t.id, t.sealed_secret, t.role, t.group_id, t.branch_id, t.state
        from identity.terminal_keys t where t.api_key_hash = decode(n.hash, 'hex') offset 0) k
    cross join lateral (select t.merchant_id from identity.groups t where t.id = k.group_id offset 0) g
    cross join lateral (select t.partner_id from identity.entities t where t.id = g.merchant_id offset 0) m`,
)

// The row that every change of a state counts up.
const readChanges = statement('identity.readChanges', 'select version from identity.changes')
const listStopped = statement(
  'identity.listStoppedTerminalKeys',
  `select k.id from unnest($1::uuid[]) k(id)
    where not exists (
      select from identity.terminal_keys t join identity.groups g on g.id = t.group_id join identity.entities m on m.id = g.merchant_id
       where t.id = k.id and t.state = 'ACTIVE' and not exists (
         select from identity.entities above where above.id in (t.branch_id, g.merchant_id, m.partner_id) and above.state <> 'ACTIVE'
       )
    )`,
)

const setState = statement(
  'identity.setTerminalKeyState',
  `update identity.terminal_keys set state = $2, updated_at = $3 where id = $1 and state = any($4) returning id`,
)
const findKeyById = statement(
  'identity.findTerminalKeyById',
  `select id, role, group_id, state from identity.terminal_keys where id = $1`,
)
const listTerminalKeys = statement(
  'identity.listTerminalKeys',
  `select k.id, k.role, k.state, g.id as group_id, k.branch_id, coalesce(k.created_at, g.created_at) as created_at, g.merchant_id,
          m.name as merchant, b.name as branch
     from identity.groups g join identity.entities m on m.id = g.merchant_id left join identity.terminal_keys k on k.group_id = g.id
     left join identity.entities b on b.id = k.branch_id
    where $1::uuid is null or g.id = $1
    order by k.id nulls first, g.id limit $2`,
)

const findGroup = statement('identity.findGroup', `select merchant_id from identity.groups where id = $1`)

/** A key of area D for an operator to see, or a group that has none: `id`, `role` and `state` are null then. */
export interface TerminalKeyListing extends Pick<TerminalKeys, 'group_id' | 'branch_id' | 'created_at'> {
  readonly id: string | null
  readonly role: TerminalKeys['role'] | null
  readonly state: TerminalKeys['state'] | null
  readonly merchant_id: string
  readonly merchant: string
  readonly branch: string | null
}

export const terminalKeyStore = {
  /** True when the key stood in one of the states and now stands in the new one. */
  setState: async (on: Queries, id: string, state: string, from: readonly string[], at: Date) =>
    (await on.run(setState, [id, state, at, from])).length === 1,
  findById: async (on: Queries, id: string) =>
    (await on.run<Pick<TerminalKeys, 'id' | 'role' | 'group_id' | 'state'>>(findKeyById, [id]))[0],
  list: (on: Queries, groupId: string | null, rowsMax: number) =>
    on.run<TerminalKeyListing>(listTerminalKeys, [groupId, rowsMax]),
  merchantOf: async (on: Queries, groupId: string) =>
    (await on.run<{ merchant_id: string }>(findGroup, [groupId]))[0]?.merchant_id,
  changes: async (on: Queries): Promise<bigint> => {
    const [row] = await on.run<{ version: bigint }>(readChanges, [])
    if (row === undefined) throw new Error('the row of changes of keys is gone')
    return row.version
  },
  /** Those of these keys that are not ACTIVE any more, or whose account is not. */
  stopped: async (on: Queries, keyIds: readonly string[]) =>
    (await on.run<{ id: string }>(listStopped, [keyIds])).map(({ id }) => id),
  find: (on: Queries, hashes: readonly string[]) => on.run<TerminalKeyRow>(findTerminalKeys, [JSON.stringify(hashes)]),
}
