import { perLevel, type Level, type Principal } from '../identity/principal.ts'
import { statement, type Queries } from '../kernel/db.ts'
import type { DialectName } from './dialects.ts'

/** Where a secret is sealed to; it opens nowhere else. */
export const placeOf = (secretId: string): string => `delivery.secrets.sealed:${secretId}`

export interface DestinationRow {
  readonly id: string
  readonly dialect: DialectName
  readonly url: string
  readonly types: string[]
  readonly state: 'ENABLED' | 'DISABLED'
  readonly description: string | null
  readonly metadata: Record<string, string>
  /** Why it was disabled by us, or null. */
  readonly disabled_reason: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

export interface SecretRow {
  readonly id: string
  readonly sealed: Buffer
  readonly created_at: Date
  /** Of the secret before it that signs too for longest. */
  readonly previous_expires_at: Date | null
}

/** The entity that owns a destination, and the entities above it. */
export interface Owner {
  readonly level: Level
  readonly entityId: string
  readonly partnerId: string
  readonly merchantId: string | null
  readonly branchId: string | null
}

const shown = `d.id, d.dialect, d.url, d.types, d.state, d.description, d.metadata, d.disabled_reason, d.created_at, d.updated_at`

const insertDestination = statement(
  'delivery.insertDestination',
  `with d as (
     insert into delivery.destinations (id, dialect, partner_id, merchant_id, branch_id, owner_id, url, types, description, metadata,
       created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
     returning *
   ),
   lane as (insert into delivery.lanes (destination_id) select id from d),
   secret as (insert into delivery.secrets (id, destination_id, sealed, created_at) select $12::uuid, id, $13::bytea, created_at from d)
   select ${shown} from d`,
)

const listDestinations = perLevel(
  'delivery.listDestinations',
  (entity) => `
   select ${shown} from delivery.destinations d
    where d.${entity} = $1 and d.dialect = $2 and d.deleted_at is null and d.id < $3
    order by d.id desc
    limit $4`,
)

const findDestination = perLevel(
  'delivery.findDestination',
  (entity) =>
    `select ${shown} from delivery.destinations d where d.id = $2 and d.${entity} = $1 and d.dialect = $3 and d.deleted_at is null`,
)

// The one query that names no entity: it runs after the scoped one found nothing, and tells only whether 403 or 404 is the answer.
const destinationExists = statement(
  'delivery.destinationExists',
  'select exists (select from delivery.destinations d where d.id = $1 and d.dialect = $2 and d.deleted_at is null) as found',
)

const newestSecret = statement(
  'delivery.newestSecret',
  `select s.id, s.sealed, s.created_at,
          (select max(p.expires_at) from delivery.secrets p
            where p.destination_id = s.destination_id and p.id <> s.id and p.expires_at > kernel.now()) as previous_expires_at
     from delivery.secrets s
    where s.destination_id = $1 and (s.expires_at is null or s.expires_at > kernel.now())
    order by s.id desc
    limit 1`,
)

export interface DestinationInsert {
  readonly id: string
  readonly owner: Owner
  readonly dialect: DialectName
  readonly url: string
  readonly types: readonly string[]
  readonly description: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly secretId: string
  readonly sealedSecret: Buffer
  readonly at: Date
}

export const destinationStore = {
  async insert(on: Queries, { owner, ...row }: DestinationInsert): Promise<DestinationRow | undefined> {
    const [made] = await on.run<DestinationRow>(insertDestination, [
      row.id,
      row.dialect,
      owner.partnerId,
      owner.merchantId,
      owner.branchId,
      owner.entityId,
      row.url,
      row.types,
      row.description,
      row.metadata,
      row.at,
      row.secretId,
      row.sealedSecret,
    ])
    return made
  },

  list: (on: Queries, principal: Principal, page: { before: string; rowsMax: number; dialect: DialectName }) =>
    on.run<DestinationRow>(listDestinations[principal.level], [
      principal.entityId,
      page.dialect,
      page.before,
      page.rowsMax,
    ]),

  find: async (on: Queries, principal: Principal, id: string, dialect: DialectName) =>
    (await on.run<DestinationRow>(findDestination[principal.level], [principal.entityId, id, dialect]))[0],

  exists: async (on: Queries, id: string, dialect: DialectName) =>
    (await on.run<{ found: boolean }>(destinationExists, [id, dialect]))[0]?.found ?? false,

  newestSecret: async (on: Queries, destinationId: string) =>
    (await on.run<SecretRow>(newestSecret, [destinationId]))[0],
}
