import { perLevel, type Principal } from '../../identity/principal.ts'
import type { Tables } from '../../kernel/database.gen.ts'
import { statement, waitOf, type Queries } from '../../kernel/db.ts'

export interface LineItem {
  readonly sku: string
  readonly name: string
  readonly unit_price: number
  readonly quantity: number
  readonly metadata?: Readonly<Record<string, string>>
}

/** A link as it was read; `state` and `updated_at` are exact at that time, also when nobody has stored its expiry yet. */
export interface LinkRow extends Omit<
  Tables['ecommerce.links'],
  'line_items' | 'redirect_urls' | 'metadata' | 'expiry_announced'
> {
  readonly line_items: readonly LineItem[]
  readonly redirect_urls: Readonly<Record<string, string>> | null
  readonly metadata: Readonly<Record<string, string>>
}

/** One answer kept under one Idempotency-Key. */
export interface KeptAnswer {
  readonly entityId: string
  readonly operation: string
  readonly key: string
  readonly requestHash: Buffer
  readonly response: Buffer
}

/** Where a kept answer is sealed: additional data of its seal. */
export const answerPlace = (entityId: string, operation: string, key: string): string =>
  `ecommerce.idempotency.response:${entityId}/${operation}/${key}`

// One moment for the whole of a statement, in which time goes on. Asked for each of the links that a filter passes over, it cost more than
// those did.
const withMoment = 'with moment as materialized (select kernel.now() as now)'
const onceNow = '(select now from moment)'
const hasExpired = `(l.state = 'ACTIVE' and l.expires_at <= ${onceNow})`
const linkState = `case when ${hasExpired} then 'EXPIRED' else l.state end`
const linkColumns = `
  l.id, l.partner_id, l.merchant_id, l.branch_id, l.branch_reference_number, l.token, l.type,
  ${linkState} as state, l.amount, l.currency, l.line_items, l.description,
  l.order_reference, l.redirect_urls, l.metadata, l.max_uses, l.reserved_count, l.success_count, l.had_code, l.expires_at, l.cancelled_at,
  l.cancellation_reason, l.created_at,
  case when ${hasExpired} then greatest(l.expires_at, l.updated_at) else l.updated_at end as updated_at`

// The lock tells a first request that still runs from one that has answered: a repeat is refused at once and does not queue behind it.
// It goes with its transaction, so a process that dies frees the key.
const keyLock = `pg_try_advisory_xact_lock(hashtextextended($1::text || ' ' || $2::text || ' ' || $3::text, 0))`
const holdKey = statement('ecommerce.holdKey', `select ${keyLock} as held`)

const keepAnswer = `
  insert into ecommerce.idempotency (entity_id, operation, key, request_hash, response, expires_at)
  select $1::uuid, $2::text, $3::text, $4::bytea, $5::bytea, kernel.now() + interval '24 hours'
   where ${keyLock}
  on conflict (entity_id, operation, key) do update
     set request_hash = excluded.request_hash, response = excluded.response, expires_at = excluded.expires_at
   where ecommerce.idempotency.expires_at <= kernel.now()
  returning 1`

const insertAnswer = statement('ecommerce.insertAnswer', keepAnswer)

// Link and kept answer in one statement: half of the round trips.
const insertLinkOnce = statement(
  'ecommerce.insertLinkOnce',
  `with kept as (${keepAnswer})
   insert into ecommerce.links (id, partner_id, merchant_id, branch_id, branch_reference_number, token, type, amount, currency,
     line_items, description, order_reference, redirect_urls, metadata, max_uses, expires_at, created_at, updated_at)
   select $6::uuid, $7::uuid, $8::uuid, $9::uuid, $10, $11, $12, $13::bigint, $14, $15::json, $16, $17, $18::json, $19::json, $20::integer,
          $21::timestamptz, $22::timestamptz, $22::timestamptz
     from kept
   returning id`,
)

const findAnswer = statement(
  'ecommerce.findAnswer',
  `select request_hash, response from ecommerce.idempotency
    where entity_id = $1 and operation = $2 and key = $3 and expires_at > kernel.now()`,
)

const findLink = perLevel(
  'ecommerce.findLink',
  (entity) => `${withMoment} select ${linkColumns} from ecommerce.links l where l.id = $1 and l.${entity} = $2`,
)

const lockLink = perLevel(
  'ecommerce.lockLink',
  (entity) => `select from ecommerce.links where id = $1 and ${entity} = $2 for no key update`,
)

const open = `l.state = 'ACTIVE' and l.expires_at > ${onceNow}`

const updateLink = statement(
  'ecommerce.updateLink',
  `${withMoment}
   update ecommerce.links l
      set description = $2, order_reference = $3, redirect_urls = $4::json, max_uses = $5, expires_at = $6, metadata = $7::json,
          updated_at = greatest($8, l.updated_at)
    where l.id = $1 and ${open}
   returning ${linkColumns}`,
)

const cancelLink = statement(
  'ecommerce.cancelLink',
  `${withMoment}
   update ecommerce.links l
      set state = 'CANCELLED', cancelled_at = $2, cancellation_reason = $3, updated_at = greatest($2, l.updated_at)
    where l.id = $1 and ${open}
   returning ${linkColumns}`,
)

const readLink = statement(
  'ecommerce.readLink',
  `${withMoment} select ${linkColumns} from ecommerce.links l where l.id = $1`,
)

const findLinkByToken = statement(
  'ecommerce.findLinkByToken',
  `${withMoment} select ${linkColumns} from ecommerce.links l where l.token = $1`,
)

// Ids carry the time of creation, so both date filters are bounds of the one index. A link may be as large as a body: 200 of those would keep
// this process for seconds, so a page ends behind the link with which it has grown too large.
const listLinks = perLevel(
  'ecommerce.listLinks',
  (entity) => `
   ${withMoment}
   select * from (
     select l.*, lead(l.id) over (order by l.id desc) is not null as goes_on,
            sum(octet_length(l.line_items::text) + octet_length(l.metadata::text))
              over (order by l.id desc rows between unbounded preceding and 1 preceding) as bytes_before
       from (
         select ${linkColumns} from ecommerce.links l
          where l.${entity} = $1 and l.id < $2 and l.id >= $3
            and ($4::text[] is null or ${linkState} = any ($4))
            and ($5::text is null or l.branch_reference_number = $5)
          order by l.id desc limit $6
       ) l
   ) l
    where coalesce(l.bytes_before, 0) < $7
    order by l.id desc`,
)

/** Of line items and metadata, as text: at this much a page of links ends. */
const pageBytesMax = 4 * 1024 * 1024

const cap = `case l.type when 'one_time' then 1 else coalesce(l.max_uses, 2147483647) end`

const takeUse = statement(
  'ecommerce.takeUse',
  `with taken as (
     update ecommerce.links l set reserved_count = l.reserved_count + 1, had_code = l.had_code or $3
      where l.id = $1 and l.state = 'ACTIVE' and l.expires_at > kernel.now() and l.reserved_count + l.success_count < ${cap}
     returning l.id
   )
   insert into ecommerce.link_uses (attempt_id, link_id, state) select $2, id, 'RESERVED' from taken returning attempt_id`,
)

const readUses = statement(
  'ecommerce.readUses',
  `select l.reserved_count + l.success_count < ${cap} as free,
          l.state = 'ACTIVE' and l.expires_at > kernel.now() as active
     from ecommerce.links l where l.id = $1`,
)

// Whoever ends a link gives back the uses of its codes under the link's lock: everybody takes the link before its uses.
const linkOfUse = `link as materialized (
     select l.id from ecommerce.links l
      where l.id = (select u.link_id from ecommerce.link_uses u where u.attempt_id = $1) for no key update
   )`

// A link that ended meanwhile keeps its final state, stored or not; the payment counts all the same.
const spendUse = statement(
  'ecommerce.spendUse',
  `with ${linkOfUse}, used as (
     update ecommerce.link_uses u set state = 'SPENT' from link
      where u.attempt_id = $1 and u.link_id = link.id and u.state = 'RESERVED' returning u.link_id
   )
   update ecommerce.links l
      set reserved_count = l.reserved_count - 1, success_count = l.success_count + 1, updated_at = greatest($2, l.updated_at),
          state = case when l.state = 'ACTIVE' and l.expires_at > kernel.now() and l.success_count + 1 >= ${cap} then 'CONSUMED'
                       else l.state end
     from used where l.id = used.link_id
   returning l.state = 'CONSUMED' as consumed`,
)

const releaseUse = statement(
  'ecommerce.releaseUse',
  `with ${linkOfUse}, used as (
     update ecommerce.link_uses u set state = 'RELEASED' from link
      where u.attempt_id = $1 and u.link_id = link.id and u.state = 'RESERVED' returning u.link_id
   )
   update ecommerce.links l set reserved_count = l.reserved_count - 1 from used where l.id = used.link_id returning l.id`,
)

const overdueLinks = (within: string): string => `
  select id from ecommerce.links
   where state = 'ACTIVE' and expires_at <= kernel.now() and not payments.is_put_off(id) ${within}`

const expiredLinks = (within: string): string => `
  with due as (${overdueLinks(within)} for update skip locked)
  update ecommerce.links l set state = 'EXPIRED', updated_at = greatest(l.expires_at, l.updated_at)
    from due where l.id = due.id returning l.id`

const findOverdueLinks = statement('ecommerce.findOverdueLinks', overdueLinks('order by expires_at limit $1'))
const expireLinks = statement('ecommerce.expireLinks', expiredLinks('order by expires_at limit $1'))
const expireLink = statement('ecommerce.expireLink', expiredLinks('and id = $1'))

const holdLink = statement('ecommerce.holdLink', 'select from ecommerce.links l where l.id = $1 for no key update')

// Until the transaction ends, no payment uses the link up.
const holdActiveLink = statement(
  'ecommerce.holdActiveLink',
  `with locked as materialized (select id, state, expires_at from ecommerce.links where id = $1 for share)
   select id from locked where state = 'ACTIVE' and expires_at > kernel.now()`,
)

// True once, when an expired link is left without any payment that succeeded or still may.
const takeExpiryNotice = statement(
  'ecommerce.takeExpiryNotice',
  `${withMoment}
   update ecommerce.links l set expiry_announced = true
    where l.id = $1 and l.state = 'EXPIRED' and l.success_count = 0 and l.reserved_count = 0 and not l.expiry_announced
   returning ${linkColumns}`,
)

// Of one that is used again in this moment PostgreSQL's releases until late in 2025 would drop the new use: they do not look at its place again.
const dropAnswers = statement(
  'ecommerce.dropAnswers',
  `delete from ecommerce.idempotency where expires_at <= kernel.now() and ctid in (
     select ctid from ecommerce.idempotency where expires_at <= kernel.now() limit $1) returning 1 as dropped`,
)

const nextTurn = statement(
  'ecommerce.nextTurn',
  `select ceil(1000 * extract(epoch from min(expires_at) - kernel.now()))::float8 as wait_ms
     from ecommerce.links where state = 'ACTIVE'`,
)

export interface LinkFilters {
  readonly before: string
  readonly from: string
  readonly statuses: readonly string[] | null
  readonly branchReference: string | null
  readonly rowsMax: number
}

export const ecommerceStore = {
  /** False when the key has an answer already. */
  insertLinkOnce: async (on: Queries, kept: KeptAnswer, link: LinkRow) =>
    (
      await on.run(insertLinkOnce, [
        kept.entityId,
        kept.operation,
        kept.key,
        kept.requestHash,
        kept.response,
        link.id,
        link.partner_id,
        link.merchant_id,
        link.branch_id,
        link.branch_reference_number,
        link.token,
        link.type,
        link.amount,
        link.currency,
        JSON.stringify(link.line_items),
        link.description,
        link.order_reference,
        link.redirect_urls === null ? null : JSON.stringify(link.redirect_urls),
        JSON.stringify(link.metadata),
        link.max_uses,
        link.expires_at,
        link.created_at,
      ])
    ).length === 1,
  /** False when the key has an answer already. */
  insertAnswer: async (on: Queries, kept: KeptAnswer) =>
    (await on.run(insertAnswer, [kept.entityId, kept.operation, kept.key, kept.requestHash, kept.response])).length ===
    1,
  /** Until the transaction ends; false while another request with the key runs. */
  holdKey: async (on: Queries, entityId: string, operation: string, key: string) =>
    (await on.run<{ held: boolean }>(holdKey, [entityId, operation, key]))[0]?.held === true,
  findAnswer: async (on: Queries, entityId: string, operation: string, key: string) =>
    (await on.run<{ request_hash: Buffer; response: Buffer }>(findAnswer, [entityId, operation, key]))[0],
  findLink: async (on: Queries, principal: Principal, id: string) =>
    (await on.run<LinkRow>(findLink[principal.level], [id, principal.entityId]))[0],
  /**
   * Held until the transaction ends, and of the moment at which its lock had been waited for: a statement that waits itself has the time of
   * before. Uses are taken and given back under the same lock, so what is read here stands as long.
   */
  async lockLink(tx: Queries, principal: Principal, id: string): Promise<LinkRow | undefined> {
    const values = [id, principal.entityId]
    await tx.run(lockLink[principal.level], values)
    return (await tx.run<LinkRow>(findLink[principal.level], values))[0]
  },
  /** Stores all that may change of a link. Undefined when the link has ended. */
  updateLink: async (on: Queries, link: LinkRow, at: Date) =>
    (
      await on.run<LinkRow>(updateLink, [
        link.id,
        link.description,
        link.order_reference,
        link.redirect_urls === null ? null : JSON.stringify(link.redirect_urls),
        link.max_uses,
        link.expires_at,
        JSON.stringify(link.metadata),
        at,
      ])
    )[0],
  /** Undefined when the link has ended. */
  cancelLink: async (on: Queries, id: string, reason: string | null, at: Date) =>
    (await on.run<LinkRow>(cancelLink, [id, at, reason]))[0],
  /** For a caller that holds an intent of the link. */
  readLink: async (on: Queries, id: string) => (await on.run<LinkRow>(readLink, [id]))[0],
  findLinkByToken: async (on: Queries, token: string) => (await on.run<LinkRow>(findLinkByToken, [token]))[0],
  /** `stoppedAt`: the last link of a page that ended by its size, where more follow. */
  async listLinks(on: Queries, principal: Principal, filters: LinkFilters) {
    const rows = await on.run<LinkRow & { goes_on: boolean }>(listLinks[principal.level], [
      principal.entityId,
      filters.before,
      filters.from,
      filters.statuses,
      filters.branchReference,
      filters.rowsMax,
      pageBytesMax,
    ])
    const last = rows.at(-1)
    return { rows, stoppedAt: last?.goes_on === true ? last.id : null }
  },
  takeUse: async (on: Queries, linkId: string, attemptId: string, byCode: boolean) =>
    (await on.run(takeUse, [linkId, attemptId, byCode])).length === 1,
  readUses: async (on: Queries, linkId: string) =>
    (await on.run<{ free: boolean; active: boolean }>(readUses, [linkId]))[0],
  spendUse: async (on: Queries, attemptId: string, at: Date) =>
    (await on.run<{ consumed: boolean }>(spendUse, [attemptId, at]))[0]?.consumed ?? false,
  holdLink: (on: Queries, linkId: string) => on.run(holdLink, [linkId]),
  /** False when the link has ended. */
  holdActiveLink: async (on: Queries, linkId: string) => (await on.run(holdActiveLink, [linkId])).length === 1,
  releaseUse: (on: Queries, attemptId: string) => on.run(releaseUse, [attemptId]),
  findOverdueLinks: (on: Queries, rowsMax: number) => on.run<{ id: string }>(findOverdueLinks, [rowsMax]),
  /** As many as are due, up to a number, or the one of an id if it is. */
  expireLinks: (on: Queries, which: { readonly rowsMax: number } | { readonly id: string }) =>
    'id' in which
      ? on.run<{ id: string }>(expireLink, [which.id])
      : on.run<{ id: string }>(expireLinks, [which.rowsMax]),
  takeExpiryNotice: async (on: Queries, linkId: string) => (await on.run<LinkRow>(takeExpiryNotice, [linkId]))[0],
  dropAnswers: async (on: Queries, rowsMax: number) => (await on.run(dropAnswers, [rowsMax])).length,
  /** Milliseconds until something is due; Infinity when nothing is open. */
  nextTurn: (on: Queries) => waitOf(on, nextTurn),
}
