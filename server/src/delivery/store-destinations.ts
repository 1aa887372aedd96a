import { perLevel, type Level } from '../identity/principal.ts'
import { statement, type Queries, type Statement } from '../kernel/db.ts'
import type { DialectName } from './dialects.ts'

/** Where a secret is sealed to; it opens nowhere else. */
export const placeOf = (secretId: string): string => `delivery.secrets.sealed:${secretId}`

export interface DestinationRow {
  readonly id: string
  readonly dialect: DialectName
  /** Its owner, the last of these that is not null, and the entities above. */
  readonly partner_id: string
  readonly merchant_id: string | null
  readonly branch_id: string | null
  readonly url: string
  readonly types: string[]
  readonly state: 'ENABLED' | 'DISABLED'
  readonly description: string | null
  readonly metadata: Record<string, string>
  /** Why and since when it is disabled by us; null while it is not. */
  readonly disabled_reason: string | null
  readonly disabled_at: Date | null
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

/** What is to change; what is null stays as it is. */
export interface DestinationChange {
  readonly url: string | null
  readonly types: readonly string[] | null
  /** Empty: none any more. */
  readonly description: string | null
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly disabled: boolean | null
}

/** Who looks: an entity sees its destinations and those under it, a group of terminals its own. */
export interface Scope {
  readonly level: Level | 'group'
  readonly entityId: string
}

/** The entity or group that owns a destination, and the entities above it. */
export interface Owner extends Scope {
  readonly partnerId: string
  readonly merchantId: string | null
  readonly branchId: string | null
}

/** As perLevel, for groups too. */
const perScope = (
  name: string,
  text: (scopeColumn: string) => string,
): Readonly<Record<Scope['level'], Statement>> => ({
  ...perLevel(name, text),
  group: statement(`${name}OfGroup`, text('group_id')),
})

const shown = `d.id, d.dialect, d.partner_id, d.merchant_id, d.branch_id, d.url, d.types, d.state, d.description, d.metadata,
  d.disabled_reason, d.disabled_at, d.created_at, d.updated_at`

const insertDestination = statement(
  'delivery.insertDestination',
  `with d as (
     insert into delivery.destinations (id, dialect, partner_id, merchant_id, branch_id, owner_id, url, types, description, metadata,
       created_at, updated_at, group_id, state, address)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $14, case when $15::boolean then 'DISABLED' else 'ENABLED' end, $16)
     returning *
   ),
   lane as (insert into delivery.lanes (destination_id, state) select id, case when $15::boolean then 'PAUSED' else 'OPEN' end from d),
   secret as (insert into delivery.secrets (id, destination_id, sealed, created_at) select $12::uuid, id, $13::bytea, created_at from d)
   select ${shown} from d`,
)

// Whoever counts the destinations of an owner before adding one does so alone.
const lockOwner = statement(
  'delivery.lockOwner',
  `select pg_advisory_xact_lock(hashtextextended('delivery.destinations ' || $1, 0))`,
)
const countDestinations = statement(
  'delivery.countDestinations',
  'select count(*)::integer as live from delivery.destinations d where d.owner_id = $1 and d.dialect = $2 and d.deleted_at is null',
)

const listDestinations = perScope(
  'delivery.listDestinations',
  (entity) => `
   select ${shown} from delivery.destinations d
    where d.${entity} = $1 and d.dialect = $2 and d.deleted_at is null and d.id < $3
    order by d.id desc
    limit $4`,
)

const findDestination = perScope(
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

const found = (entity: string): string => `d.id = $2 and d.${entity} = $1 and d.dialect = $3 and d.deleted_at is null`

// Whatever changes the state of a destination holds its lane first: dispatching, settling and closing hold lanes too, and then read anew.
const holdLane = perScope(
  'delivery.holdLane',
  (entity) => `
   select l.destination_id
     from delivery.destinations d
    cross join lateral (select l.destination_id from delivery.lanes l where l.destination_id = d.id for update) l
    where ${found(entity)}`,
)

const changeDestination = perScope(
  'delivery.changeDestination',
  (entity) => `
   update delivery.destinations d
      set url = coalesce($4, d.url), address = coalesce($9, d.address), types = coalesce($5::text[], d.types),
          description = nullif(coalesce($6, d.description), ''), metadata = coalesce($7::json, d.metadata),
          state = case $8::boolean when true then 'DISABLED' when false then 'ENABLED' else d.state end,
          disabled_reason = case when $8 is distinct from false then d.disabled_reason end,
          disabled_at = case when $8 is distinct from false then d.disabled_at end,
          updated_at = greatest(d.updated_at, kernel.now())
    where ${found(entity)}
   returning ${shown}`,
)

const deleteDestination = perScope(
  'delivery.deleteDestination',
  (entity) => `
   update delivery.destinations d
      set state = 'DISABLED', deleted_at = greatest(d.updated_at, kernel.now()), updated_at = greatest(d.updated_at, kernel.now())
    where ${found(entity)}
   returning ${shown}`,
)

const pauseLane = statement(
  'delivery.pauseLane',
  `update delivery.lanes l set state = 'PAUSED' where l.destination_id = $1 and l.state = 'OPEN'`,
)

// One that is closed, or about to be, opens too: what it still holds goes out.
const openLane = statement(
  'delivery.openLane',
  `update delivery.lanes l
      set state = 'OPEN', look_at = least(l.look_at, kernel.now()), version = l.version + 1, failing_since = null
    where l.destination_id = $1 and l.state <> 'OPEN'`,
)

const closeLane = statement(
  'delivery.closeLane',
  `update delivery.lanes l
      set state = 'CLOSING', look_at = least(l.look_at, kernel.now()), version = l.version + 1
    where l.destination_id = $1 and l.state <> 'CLOSED'`,
)

// What an address failed says nothing about another.
const forgetFailures = statement(
  'delivery.forgetFailures',
  `update delivery.lanes l set failing_since = null
    where l.destination_id = $1 and l.failing_since is not null
      and exists (select from delivery.destinations d where d.id = $1 and d.url <> $2)`,
)

// Rotations of one destination come one after the other, and before or after its deletion.
const holdDestination = perScope(
  'delivery.holdDestination',
  (entity) => `select d.id from delivery.destinations d where ${found(entity)} for no key update`,
)

const rotateSecret = statement(
  'delivery.rotateSecret',
  `with moment as materialized (select kernel.now() as now),
   older as materialized (
     select s.id, row_number() over (order by s.id desc) as place
       from delivery.secrets s
      where s.destination_id = $2 and (s.expires_at is null or s.expires_at > (select now from moment))
   ),
   expiring as (
     update delivery.secrets s
        set expires_at = case when o.place < $6::integer then least(s.expires_at, m.now + $5::integer * interval '1 second') else m.now end
       from older o, moment m
      where s.id = o.id
   ),
   -- Nobody needs those that ended before.
   gone as (
     delete from delivery.secrets s where s.destination_id = $2 and s.expires_at <= (select now from moment)
   )
   insert into delivery.secrets (id, destination_id, sealed, created_at) values ($1, $2, $3, $4)`,
)

export interface SecretInsert {
  readonly id: string
  readonly destinationId: string
  readonly sealed: Buffer
  readonly at: Date
  /** How long those before it go on signing. */
  readonly overlapSeconds: number
  /** With the new one. */
  readonly liveMax: number
}

export interface DestinationInsert {
  readonly id: string
  readonly owner: Owner
  readonly dialect: DialectName
  readonly url: string
  readonly types: readonly string[]
  readonly description: string | null
  readonly metadata: Readonly<Record<string, unknown>>
  readonly disabled: boolean
  readonly secretId: string
  readonly sealedSecret: Buffer
  readonly at: Date
}

// Letters, digits, - . _ ~, encoded.
const unreserved = /%(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/i
/** The same for every spelling of a URL (WHATWG), also of one that encodes what needs none (RFC 3986, 6.2.2). */
const addressOf = (url: string): string =>
  new URL(url).href.replaceAll(/%[\da-f]{2}/gi, (encoded) =>
    unreserved.test(encoded) ? decodeURIComponent(encoded) : encoded.toUpperCase(),
  )

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
      owner.level === 'group' ? owner.entityId : null,
      row.disabled,
      addressOf(row.url),
    ])
    return made
  },

  /** In a transaction, until its end nobody else is in here for this owner. */
  async countAlone(tx: Queries, ownerId: string, dialect: DialectName): Promise<number> {
    await tx.run(lockOwner, [ownerId])
    return (await tx.run<{ live: number }>(countDestinations, [ownerId, dialect]))[0]?.live ?? 0
  },

  list: (on: Queries, scope: Scope, page: { before: string; rowsMax: number; dialect: DialectName }) =>
    on.run<DestinationRow>(listDestinations[scope.level], [scope.entityId, page.dialect, page.before, page.rowsMax]),

  find: async (on: Queries, scope: Scope, id: string, dialect: DialectName) =>
    (await on.run<DestinationRow>(findDestination[scope.level], [scope.entityId, id, dialect]))[0],

  exists: async (on: Queries, id: string, dialect: DialectName) =>
    (await on.run<{ found: boolean }>(destinationExists, [id, dialect]))[0]?.found ?? false,

  /** In a transaction: until its end nothing is queued, settled or dropped before the destination. False where the scope has none. */
  holdLane: async (tx: Queries, scope: Scope, id: string, dialect: DialectName) =>
    (await tx.run(holdLane[scope.level], [scope.entityId, id, dialect])).length > 0,

  /** In a transaction that holds the lane, which moves with it. */
  async change(tx: Queries, scope: Scope, id: string, dialect: DialectName, change: DestinationChange) {
    const { url, types, description, metadata, disabled } = change
    const address = url === null ? null : addressOf(url)
    const values = [scope.entityId, id, dialect, url, types, description, metadata, disabled, address]
    if (url !== null) await tx.run(forgetFailures, [id, url])
    const [changed] = await tx.run<DestinationRow>(changeDestination[scope.level], values)
    if (changed === undefined) return undefined
    if (disabled !== null) await tx.run(disabled ? pauseLane : openLane, [id])
    return changed
  },

  /** In a transaction that holds the lane, which closes. */
  async delete(tx: Queries, scope: Scope, id: string, dialect: DialectName) {
    const values = [scope.entityId, id, dialect]
    const [deleted] = await tx.run<DestinationRow>(deleteDestination[scope.level], values)
    if (deleted !== undefined) await tx.run(closeLane, [id])
    return deleted
  },

  newestSecret: async (on: Queries, destinationId: string) =>
    (await on.run<SecretRow>(newestSecret, [destinationId]))[0],

  /** In a transaction: until its end nobody else rotates or deletes. */
  hold: async (tx: Queries, scope: Scope, id: string, dialect: DialectName) =>
    (await tx.run<{ id: string }>(holdDestination[scope.level], [scope.entityId, id, dialect]))[0],

  /** In a transaction that holds the destination. The new one's id must be greater than those before it. */
  rotateSecret: (tx: Queries, secret: SecretInsert) =>
    tx.run(rotateSecret, [
      secret.id,
      secret.destinationId,
      secret.sealed,
      secret.at,
      secret.overlapSeconds,
      secret.liveMax,
    ]),
}
