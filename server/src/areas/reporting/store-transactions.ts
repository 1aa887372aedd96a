import { perLevel, type Level, type Principal } from '../../identity/principal.ts'
import { statement, type Queries } from '../../kernel/db.ts'
import { firstIdOf, largestId } from '../../kernel/ids.ts'
import { transactionLine } from './store-csv.ts'

/** A transaction as everybody sees it, at the time that it was read. */
export interface TransactionRow {
  readonly id: string
  readonly merchant_id: string
  readonly branch_id: string
  readonly status: string
  readonly amount: bigint
  readonly currency: string
  readonly payment_method: string
  readonly card_brand: string | null
  readonly card_last_four: string | null
  readonly correlation_id: string | null
  readonly amount_authorized: bigint
  readonly amount_received: bigint
  readonly amount_refunded: bigint
  readonly approval_code: string | null
  readonly reference_number: string | null
  readonly receipt_number: string | null
  readonly settlement_status: string
  readonly settled_at: Date | null
  readonly batch_number: string | null
  readonly terminal_device_id: string | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly partner_name: string
  readonly merchant_name: string
  readonly branch_name: string
  readonly activation_code: string | null
  /** What the list is sorted by, as text that loses nothing. */
  readonly position: string
}

export const sorts = { created_at: 'timestamptz', updated_at: 'timestamptz', amount: 'bigint' } as const
export type Sort = keyof typeof sorts
export type SortOrder = 'asc' | 'desc'

export interface HistoryRow {
  readonly type: string
  readonly at: Date
  readonly amount: bigint
  readonly reason: string | null
  /** The intent of an attempt that begins, or a refund. */
  readonly about_id: string | null
}

export interface TransactionFilters {
  readonly merchantId: string | null
  readonly branchId: string | null
  readonly activationCode: string | null
  readonly paymentMethod: string | null
  readonly cardBrand: string | null
  readonly statuses: readonly string[] | null
  /** Both inclusive. */
  readonly from: Date | null
  readonly to: Date | null
  readonly sort: Sort
  readonly order: SortOrder
}

/** Lines of a page as one text. Where the last row of the page is, is told of a full page; there is no other after one that is not. */
export interface TextRow {
  readonly lines: string
  readonly position: string | null
  readonly id: string | null
}

export type Caller = Pick<Principal, 'level' | 'entityId' | 'partnerId' | 'merchantId'>

/** Where a page begins: after this row, in the order of its list. */
export interface After {
  readonly position: string
  readonly id: string
}

const entityColumns: Readonly<Record<Level, string>> = {
  partner: 'partner_id',
  merchant: 'merchant_id',
  branch: 'branch_id',
}

const columns = `t.id, t.merchant_id, t.branch_id, t.partner_id, t.amount, t.currency, t.payment_method, t.card_brand,
  t.card_last_four, t.correlation_id, t.amount_authorized, t.amount_received, t.amount_refunded, t.approval_code, t.reference_number,
  t.receipt_number, t.settlement_status, t.settled_at, t.batch_number, t.terminal_device_id, t.created_at`

// What a deadline has ended and nobody has stored yet, as those say whose deadlines they are.
const lapses = `(
  ${['payments', 'terminals'].map((room) => `select id, partner_id, merchant_id, branch_id, status, updated_at from ${room}.transaction_lapses`).join(' union all ')})`

const withEntities = (shown: string, rows: string): string => `
  select ${shown}
    from ${rows} r
    join identity.entity_names p on p.id = r.partner_id
    join identity.entity_names m on m.id = r.merchant_id
    join identity.entity_names b on b.id = r.branch_id
    left join identity.branch_codes c on c.branch_id = r.branch_id`

const named = (rows: string, position: string): string =>
  withEntities(
    `r.*, p.name as partner_name, m.name as merchant_name, b.name as branch_name, c.code as activation_code, ${position} as position`,
    rows,
  )

/**
 * A page in the order of an index, which is why its text is made for the filters that are given and planned for their values. An index
 * of the narrowest entity that is named finds the page by itself, in its order or, where few rows have the values asked for, by those,
 * and only the rows of the page are looked up. What is PENDING is in no index of the lists: all of it that the caller has is found by an
 * index of its own, and put in where it belongs. So are the few rows whose deadline has passed, and nobody has stored that yet: a page is
 * exact whenever it is read.
 */
function pageOf(caller: Caller, filters: TransactionFilters, after: After | null, rowsMax: number): Page {
  const { level, entityId, partnerId } = caller
  const values: unknown[] = [entityId]
  const value = (one: unknown): string => `$${values.push(one)}`
  const { sort, order } = filters
  const compared = order === 'asc' ? '>' : '<'
  const theirs = placeOf(level, filters, value)
  const fits: string[] = []
  if (filters.paymentMethod !== null) fits.push(`t.payment_method = ${value(filters.paymentMethod)}`)
  if (filters.cardBrand !== null) fits.push(`t.card_brand = ${value(filters.cardBrand)}`)
  // What comes after a row of the list is on its side of this end, too. With both, PostgreSQL begins at the end and passes all pages before.
  const isPassed = (end: SortOrder) => after !== null && sort === 'created_at' && order === end
  const created = {
    from: filters.from === null || isPassed('asc') ? null : `${value(filters.from)}::timestamptz`,
    to: filters.to === null || isPassed('desc') ? null : `${value(filters.to)}::timestamptz`,
  }
  const end = (at: string) => (sort === 'amount' ? untold(at) : at)
  if (created.from !== null) fits.push(`t.created_at >= ${end(created.from)}`)
  if (created.to !== null) fits.push(`t.created_at <= ${end(created.to)}`)
  const stored = [...theirs, ...fits]
  const statuses = filters.statuses === null ? null : value(filters.statuses)
  const last = after === null ? null : { position: value(after.position), id: value(after.id) }
  const place = last === null ? null : { position: `${last.position}::${sorts[sort]}`, id: `${last.id}::uuid` }
  const onward = (sorted: string, from = place): string[] =>
    from === null ? [] : [`(${sorted}, t.id) ${compared} (${from.position}, ${from.id})`]
  const limit = value(rowsMax)
  const inOrder = (sorted: string) => `order by ${sorted} ${order}, t.id ${order} limit ${limit}`
  const withStatus = (status: string) => (statuses === null ? [] : [`${status} = any (${statuses}::text[])`])
  const stands = `t.${sort}`
  const lapsedAt = sort === 'updated_at' ? 'l.updated_at' : stands
  const filtered = [...stored, ...withStatus('t.status')]
  const part = (source: string, conditions: readonly string[]): string => `
      (select t.id, ${stands} as position, null::text as lapsed_status, null::timestamptz as lapsed_at from ${source} t
        where ${conditions.join(' and ')}
        ${inOrder(stands)})
      union all`
  const walk = ({ from, within, apart }: Walk): string =>
    part('payments.transaction_report', [
      ended,
      ...(apart === true ? [unweighed(filtered)] : filtered),
      ...onward(stands, from),
      ...within,
    ])
  const walks = (): Walk[] =>
    sort === 'updated_at'
      ? updatesOf(created, order, place)
      : sort === 'amount' && (filters.from !== null || filters.to !== null)
        ? amountsOf(filters, partnerId, place, value)
        : [{ from: place, within: [] }]
  const parts = filters.statuses?.every((status) => status === 'PENDING') === true ? [] : walks().map(walk)
  if (filters.statuses === null || filters.statuses.includes('PENDING'))
    parts.push(part(pendingOf(caller, theirs, value), [...fits, ...onward(stands), notLapsed]))
  // What has lapsed is looked up by its ids: `offset 0` keeps PostgreSQL from walking through all others where it takes them for few.
  const found = `
    with lapsed as materialized (select l.id, l.status, l.updated_at from ${lapses} l where l.${entityColumns[level]} = $1),
    page as materialized (select * from (${parts.join('')}
      (select t.id, ${lapsedAt}, l.status, l.updated_at
         from lapsed l cross join lateral (select * from payments.transaction_report t where t.id = l.id offset 0) t
        where ${[...stored, ...withStatus('l.status'), ...onward(lapsedAt)].join(' and ')}
        ${inOrder(lapsedAt)})
    ) t ${inOrder('t.position')})`
  const rows = (source: string, more = '') => `
    (select ${columns}, coalesce(f.lapsed_status, t.status) as status, coalesce(f.lapsed_at, t.updated_at) as updated_at,
            f.position as sorted${more}
       from ${source} f join payments.transaction_report t on t.id = f.id and t.${entityColumns[level]} = $1)`
  return { found, rows, limit, values }
}

/** The statement of a page: its beginning, in which `page` is found, the rows of that, and how many it may have. */
interface Page {
  readonly found: string
  readonly rows: (source: string, more?: string) => string
  readonly limit: string
  readonly values: readonly unknown[]
}

const rowsOf = ({ found, rows }: Page, { order }: TransactionFilters): string => `
  ${found}
  ${named(rows('page'), 'r.sorted::text')}
  order by r.sorted ${order}, r.id ${order}`

/** A page as texts of some lines each. A row of the answer for each line would be several objects of each in the memory of this process. */
function linesOf({ found, rows, limit }: Page, { order }: TransactionFilters): string {
  const inOrder = `order by position ${order}, id ${order}`
  return `
    ${found},
    last as (select position, id from page ${inOrder} offset ${limit} - 1 limit 1),
    numbered as materialized (select *, (row_number() over (${inOrder}) - 1) / ${linesAtOnce} as part from page)
    select string_agg(l.line, '' order by l.sorted ${order}, l.id ${order}) as lines,
           (select position::text from last) as position, (select id from last) as id
      from (${withEntities(`${transactionLine} as line, r.sorted, r.id, r.part`, rows('numbered', ', f.part'))}) l
     group by l.part order by l.part`
}

// About 35 KB of text: more than the driver reads at once would have it put larger and larger buffers together.
const linesAtOnce = 100

/** A place in an order, as SQL. */
interface Place {
  readonly position: string
  readonly id: string
}

/** Rows of an index in its order, from a place on, as far as they are within what is said. */
interface Walk {
  readonly from: Place | null
  readonly within: readonly string[]
  /** They have an index of their own, and no filter is to lead to another. */
  readonly apart?: true
}

/**
 * Where in the order of updated_at transactions of some times of creation are, for a walk from its other end would be long. None is
 * updated before it was created, but for what the clocks of two processes differ by. Most are so for the last time within two days; an
 * index of their own has those that are not.
 */
function updatesOf(
  { from, to }: { readonly from: string | null; readonly to: string | null },
  order: SortOrder,
  place: Place | null,
): Walk[] {
  const since =
    from === null || (order === 'asc' && place !== null) ? [] : [`t.updated_at >= ${from} - interval '1 hour'`]
  if (to === null) return [{ from: place, within: since }]
  const wait = `t.updated_at - t.created_at`
  const soon = `interval '48 hours'`
  const near = `${wait} <= ${soon}`
  const end = `${to} + ${soon}`
  const first =
    order === 'asc' || place === null
      ? { from: place, within: [...since, near, `t.updated_at <= ${end}`] }
      : { from: nearer(place, end), within: [...since, near] }
  return [first, { from: place, within: [...since, `${wait} > ${soon}`] }]
}

/**
 * Where in the order of amounts transactions of some times of creation are: among those of one amount they stand together, by id, and
 * PostgreSQL 18 skips from one amount to the next. Those whose id tells another time have an index of their own. Of the ends PostgreSQL
 * is told no values: of ids it knows too little, and would take the time of a day for empty.
 */
function amountsOf(
  { from, to }: TransactionFilters,
  partnerId: string,
  place: Place | null,
  value: (one: unknown) => string,
): Walk[] {
  const endOf = (ms: number) => `(select ${value(firstIdOf(Math.max(0, ms)))}::uuid)`
  const around = [
    ...(from === null ? [] : [`t.id >= ${endOf(from.getTime() - idMsMax)}`]),
    ...(to === null ? [] : [`t.id <= any (array[${endOf(to.getTime() + idMsMax)}])`]),
  ]
  const elsewhere = [
    `t.partner_id = ${value(partnerId)}`,
    `not (${around.join(' and ')})`,
    'not payments.tells_time(t.id, t.created_at)',
  ]
  return [
    { from: place, within: around },
    { from: place, within: elsewhere, apart: true },
  ]
}

// In the words of the indexes that are walked.
const ended = `t.status <> 'PENDING'`

/**
 * What is PENDING of all that is asked for. Its index begins with the partner and the merchant, whoever asks, and is walked in its order, up
 * to an end of which PostgreSQL is told nothing. Where it takes them for many it would gather them by a bitmap, which looks up each payment
 * that has ended since the last vacuum, again for each page: a walk strikes them off the index.
 */
function pendingOf(
  { partnerId, merchantId }: Caller,
  theirs: readonly string[],
  value: (one: unknown) => string,
): string {
  const over = [
    `t.partner_id = ${value(partnerId)}`,
    ...(merchantId === null ? [] : [`t.merchant_id = ${value(merchantId)}`]),
  ]
  return `
    (select * from payments.transaction_report t where ${[`t.status = 'PENDING'`, ...over, ...theirs].join(' and ')}
      order by t.merchant_id, t.branch_id, t.currency limit (select ${Number.MAX_SAFE_INTEGER}))`
}

// What has lapsed is stored as PENDING.
const notLapsed = 't.id <> all (array(select l.id from lapsed l))'

// A little more than payments.tells_time lets the time of an id be from that of its row.
const idMsMax = 3_600_001

/** These conditions, and none of them leads to an index. */
const unweighed = (conditions: readonly string[]): string =>
  `case when ${conditions.join(' and ')} then true else false end`

// With its id, a row's time is said twice by amount. PostgreSQL would take the one to be as rare as the other, and look for few rows by
// another index. Of an end without a value it knows nothing: a third pass it, by its reckoning, and any of three ends seven tenths. So a walk
// looks as long as it is, and an index of values still goes to the time.
const untold = (end: string): string => `any (array[${Array.from({ length: 3 }, () => `(select ${end})`).join(', ')}])`

/** Whichever of two places comes first: one place alone lets a walk begin there. */
const nearer = ({ position, id }: Place, end: string): Place => ({
  position: `least(${position}, ${end})`,
  id: `case when ${position} <= ${end} then ${id} else '${largestId}' end`,
})

/** Whose transactions a page is of: the narrowest entity that is named, if it is under the one that asks. */
function placeOf(level: Level, filters: TransactionFilters, value: (one: unknown) => string): string[] {
  const { merchantId, branchId, activationCode } = filters
  if (merchantId === null && branchId === null && activationCode === null) return [`t.${entityColumns[level]} = $1`]
  const branch = branchId === null ? null : value(branchId)
  const merchant = merchantId === null ? null : value(merchantId)
  const coded =
    activationCode === null
      ? null
      : `(select c.branch_id from identity.branch_codes c where c.code = ${value(activationCode)})`
  const branches = [branch, coded].filter((one) => one !== null)
  const under = [`e.${entityColumns[level]} = $1`, ...branches.map((one) => `e.branch_id = ${one}`)]
  if (merchant !== null) under.push(`e.merchant_id = ${merchant}`)
  const narrow =
    merchant !== null && branches.length === 0 && level !== 'branch'
      ? [`t.merchant_id = ${merchant}`]
      : branches.length === 0
        ? [`t.${entityColumns[level]} = $1`]
        : branches.map((one) => `t.branch_id = ${one}`)
  return [...narrow, `exists (select from identity.entity_names e where ${under.join(' and ')})`]
}

const findTransaction = perLevel(
  'reporting.findTransaction',
  (entity) => `
  select found.*, (
    select coalesce(json_agg(n order by n.at, n.step, n.source_id), '[]')
      from (
        select h.type, h.at, h.amount::text, h.reason, h.about_id, h.step, h.source_id from payments.transaction_history h
         where h.transaction_id = $1 and h.${entity} = $2 order by h.at desc, h.step desc, h.source_id desc limit $3
      ) n
  ) as history
  from (${named(
    `(select ${columns}, coalesce(l.status, t.status) as status, coalesce(l.updated_at, t.updated_at) as updated_at
        from payments.transaction_report t left join ${lapses} l on l.id = t.id
       where t.id = $1 and t.${entity} = $2)`,
    `''`,
  )}) found`,
)

const transactionExists = statement(
  'reporting.transactionExists',
  'select from payments.transaction_report t where t.id = $1',
)

/** As JSON tells it. */
type ToldRow = Pick<HistoryRow, 'type' | 'reason' | 'about_id'> & { readonly at: string; readonly amount: string }

const historyOf = (rows: readonly ToldRow[]): HistoryRow[] =>
  rows.map((row) => ({ ...row, at: new Date(row.at), amount: BigInt(row.amount) }))

export const transactionStore = {
  listTransactions: (
    on: Queries,
    caller: Caller,
    filters: TransactionFilters,
    after: After | null,
    rowsMax: number,
  ) => {
    const page = pageOf(caller, filters, after, rowsMax)
    return on.run<TransactionRow>(statement('', rowsOf(page, filters)), page.values)
  },
  /** The same as CSV. */
  listLines: (on: Queries, caller: Caller, filters: TransactionFilters, after: After | null, rowsMax: number) => {
    const page = pageOf(caller, filters, after, rowsMax)
    return on.run<TextRow>(statement('', linesOf(page, filters)), page.values)
  },
  /** With the last so many of what happened to it, oldest first: both of one moment, for it may end meanwhile. */
  findTransaction: async (on: Queries, { level, entityId }: Caller, id: string, historyRowsMax: number) => {
    type Found = TransactionRow & { readonly history: readonly ToldRow[] }
    const [found] = await on.run<Found>(findTransaction[level], [id, entityId, historyRowsMax])
    return found && { row: found, history: historyOf(found.history) }
  },
  /** Whoever's it is. */
  transactionExists: async (on: Queries, id: string) => (await on.run(transactionExists, [id])).length === 1,
}
