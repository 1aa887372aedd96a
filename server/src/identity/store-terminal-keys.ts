import type { Tables } from '../kernel/database.gen.ts'
import { statement, type Queries } from '../kernel/db.ts'

type TerminalKeys = Tables['identity.terminal_keys']

/** A key of area D, whose it is, and whether those may act. */
export interface TerminalKeyRow extends Pick<
  TerminalKeys,
  'api_key_hash' | 'id' | 'sealed_secret' | 'role' | 'group_id' | 'branch_id' | 'state'
> {
  readonly partner_id: string
  readonly merchant_id: string
  /** The merchant of the group, the branch of the key, and everything above them is ACTIVE. */
  readonly account_active: boolean
}

const findTerminalKeys = statement(
  'identity.findTerminalKeys',
  `select k.api_key_hash, k.id, k.sealed_secret, k.role, k.group_id, k.branch_id, k.state, m.partner_id, g.merchant_id,
          not exists (
            select from identity.entities above
            where above.id in (k.branch_id, g.merchant_id, m.partner_id) and above.state <> 'ACTIVE'
          ) as account_active
     from identity.terminal_keys k
     join identity.groups g on g.id = k.group_id
     join identity.entities m on m.id = g.merchant_id
    where k.api_key_hash = any($1::bytea[])`,
)

const findGroup = statement('identity.findGroup', `select merchant_id from identity.groups where id = $1`)

export const terminalKeyStore = {
  merchantOf: async (on: Queries, groupId: string) =>
    (await on.run<{ merchant_id: string }>(findGroup, [groupId]))[0]?.merchant_id,
  find: (on: Queries, hashes: readonly Buffer[]) => on.run<TerminalKeyRow>(findTerminalKeys, [hashes]),
}
