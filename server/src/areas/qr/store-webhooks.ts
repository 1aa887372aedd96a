import { perLevel, type Principal } from '../../identity/principal.ts'
import { statement, type Queries } from '../../kernel/db.ts'

export interface WebhookRow {
  readonly id: string
  /** As area E shows it. */
  readonly number: bigint
  readonly merchant_id: string
  readonly branch_id: string | null
  readonly url: string
  readonly types: readonly string[]
  readonly state: 'ENABLED' | 'DISABLED'
  readonly metadata: { readonly key_id: string; readonly activation_code?: string }
  readonly created_at: Date
  readonly updated_at: Date
}

const columns = 'id, number, merchant_id, branch_id, url, types, state, metadata, created_at, updated_at'

const listWebhooks = perLevel(
  'qr.listWebhooks',
  (entity) =>
    `select ${columns} from delivery.registered_destinations where ${entity} = $1 order by number desc limit $2`,
)
const findWebhook = perLevel(
  'qr.findWebhook',
  (entity) => `select ${columns} from delivery.registered_destinations where ${entity} = $1 and number = $2`,
)
// What a code of one branch is told to; of all branches where none is given.
const listTakers = statement(
  'qr.listTakers',
  `select ${columns} from delivery.registered_destinations
    where merchant_id = $1 and ($2::uuid is null or branch_id is null or branch_id = $2) and state = 'ENABLED' and $3 = any (types)
    order by number limit $4`,
)
const readWebhook = statement('qr.readWebhook', `select ${columns} from delivery.registered_destinations where id = $1`)

export const webhooksStore = {
  list: (on: Queries, { level, entityId }: Principal, rowsMax: number) =>
    on.run<WebhookRow>(listWebhooks[level], [entityId, rowsMax]),
  find: async (on: Queries, { level, entityId }: Principal, number: bigint) =>
    (await on.run<WebhookRow>(findWebhook[level], [entityId, number]))[0],
  /** Those that are ENABLED and take the action. */
  takers: (on: Queries, merchantId: string, branchId: string | null, action: string, rowsMax: number) =>
    on.run<WebhookRow>(listTakers, [merchantId, branchId, action, rowsMax]),
  /** For a job of our own. */
  read: async (on: Queries, id: string) => (await on.run<WebhookRow>(readWebhook, [id]))[0],
}
