import { sharerOf, type Principal } from '../../identity/principal.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Cursors } from '../../kernel/cursor.ts'
import type { Db } from '../../kernel/db.ts'
import { pageSizeDefault, type Listed } from '../../kernel/list.ts'
import { isExactNumber } from '../../kernel/money.ts'
import { createPlaces } from '../../kernel/places.ts'
import { isFinerThanMs, msOf } from '../../kernel/timestamp.ts'
import { refuse } from './errors.ts'
import {
  transactionStore,
  type After,
  type HistoryRow,
  type SortOrder,
  type Sort,
  type TextRow,
  type TransactionFilters,
  type TransactionRow,
} from './store-transactions.ts'
import {
  reportingStore as store,
  type BranchRow,
  type MerchantRow,
  type SettlementRow,
  type ShareRow,
} from './store.ts'

export interface ReportingDependencies {
  readonly db: Db
  readonly clock: Clock
  readonly cursors: Cursors
  /** In one settlement. */
  readonly sharesMax?: number
}

export interface PageQuery {
  readonly page_size?: number
  readonly cursor?: string
}

export interface TransactionQuery extends PageQuery {
  readonly merchant_id?: string
  readonly branch_id?: string
  readonly activation_code?: string
  readonly payment_method?: string
  readonly card_brand?: string
  readonly status?: readonly string[]
  readonly date_from?: string
  readonly date_to?: string
  readonly sort_by?: Sort
  readonly sort_order?: SortOrder
}

/** A transaction, and what happened to it. */
export interface TransactionStory {
  readonly row: TransactionRow
  readonly history: readonly HistoryRow[]
}

/** Pages of an export, one in memory at a time. */
export type Export = AsyncIterable<TextRow[]> & AsyncDisposable

export type ReportingService = ReturnType<typeof createReportingService>

const pageSizeMax = 100
const historyRowsMax = 10_000
// About 0.9 MB of text. To plan a page takes as long as to make some hundred of its lines.
const exportRows = 2_500
const exportsOfOneMax = 2
// Each holds a connection of the database most of the time: half of them are left to payments.
const exportsMax = 4

/** What a key may read of merchants, branches, transactions and settlements. Reads only what their owners publish. */
export function createReportingService({ db, clock, cursors, sharesMax = 10_000 }: ReportingDependencies) {
  const afterOf = (cursor: string | undefined, boundTo: readonly unknown[]): After | null => {
    if (cursor === undefined) return null
    const [position, id] = cursors.read(cursor, boundTo) ?? []
    if (position !== undefined && id !== undefined) return { position, id }
    throw refuse('BAD_REQUEST', 'cursor: is not one of this list with these parameters; start again without it.')
  }

  /** One page of a list in some order. `read` gives the rows after a place, and `placeOf` a row's own. */
  const paged = async <Row extends object>(
    query: PageQuery,
    boundTo: readonly unknown[],
    read: (after: After | null, rowsMax: number) => Promise<Row[]>,
    placeOf: (row: Row) => After,
  ): Promise<Listed<Row>> => {
    const pageSize = Math.min(pageSizeMax, query.page_size ?? pageSizeDefault)
    const found = await read(afterOf(query.cursor, boundTo), pageSize + 1)
    const rows = found.slice(0, pageSize)
    const last = rows.at(-1)
    if (found.length <= pageSize || last === undefined) return { rows, pageSize, nextCursor: null }
    const { position, id } = placeOf(last)
    return { rows, pageSize, nextCursor: cursors.write([position, id], boundTo) }
  }

  const exporting = createPlaces({
    eachMax: exportsOfOneMax,
    eachRefusal: `${exportsOfOneMax} exports of yours are under way, those of a merchant and of its branches together; read them to the end or close them, and try again.`,
    all: { max: exportsMax, refusal: 'As many exports are under way as the server makes at once; wait and try again.' },
    retryAfterSeconds: 5,
  })

  const byName = ({ name, id }: MerchantRow): After => ({ position: name, id })

  return {
    listMerchants: (principal: Principal, query: PageQuery): Promise<Listed<MerchantRow>> =>
      paged(query, ['merchants', principal.entityId], (...at) => store.listMerchants(db, principal, ...at), byName),

    listBranches: (principal: Principal, query: PageQuery & { merchant_id?: string }): Promise<Listed<BranchRow>> => {
      const merchantId = query.merchant_id ?? null
      const bound = ['branches', principal.entityId, merchantId]
      return paged(query, bound, (...at) => store.listBranches(db, principal, merchantId, ...at), byName)
    },

    async listTransactions(principal: Principal, query: TransactionQuery): Promise<Listed<TransactionRow>> {
      const filters = filtersOf(query)
      const read = (after: After | null, rowsMax: number) =>
        transactionStore.listTransactions(db, principal, filters, after, rowsMax)
      return paged(query, boundOf(principal, query), read, placeOf)
    },

    /**
     * All transactions of a query as lines of CSV, read in pages as they are taken, one ahead; those that are created after it began are
     * left out, so that it ends. The first page is read before it resolves: what is refused is refused here, with RATE_LIMITED while too
     * many are under way. Whoever has one disposes of it, taken to its end or not.
     */
    async exportTransactions(principal: Principal, query: TransactionQuery): Promise<Export> {
      const filters = filtersOf(query)
      const now = clock.now()
      const until = { ...filters, to: filters.to !== null && filters.to < now ? filters.to : now }
      const start = afterOf(query.cursor, boundOf(principal, query))
      await using opening = new AsyncDisposableStack()
      opening.use(exporting.take(sharerOf(principal)))
      let reading: Promise<unknown> | undefined
      const read = (after: After | null) => {
        const page = transactionStore.listLines(db, principal, until, after, exportRows)
        reading = page
        return page
      }
      // The page that was asked for ahead is read on when nobody wants it any more, and takes up the place until then.
      opening.defer(() => reading?.then(doNothing, doNothing))
      const first = await read(start)
      const held = opening.move()
      return {
        [Symbol.asyncIterator]: () => pagesFrom(first, read),
        [Symbol.asyncDispose]: () => held.disposeAsync(),
      }
    },

    async retrieveTransaction(principal: Principal, id: string): Promise<TransactionStory> {
      const story = await transactionStore.findTransaction(db, principal, id, historyRowsMax)
      if (story !== undefined) return story
      if (await transactionStore.transactionExists(db, id))
        throw refuse('FORBIDDEN', 'This transaction belongs to another entity.')
      throw refuse('NOT_FOUND', 'There is no such transaction.')
    },

    async listSettlements(principal: Principal, query: PageQuery): Promise<Listed<SettlementRow>> {
      const listed = await paged(
        query,
        ['settlements', principal.entityId],
        (...at) => store.listSettlements(db, principal, ...at),
        (row) => ({ position: row.batch_number, id: row.currency }),
      )
      for (const row of listed.rows)
        refuseInexact([row], (sum) => `The ${sum}, and no page can have that day; ${narrower}, or ${others}.`)
      return listed
    },

    /** The shares of one batch, at least one. */
    async retrieveSettlement(
      principal: Principal,
      batchNumber: string,
      { currency }: { currency?: string },
    ): Promise<readonly ShareRow[]> {
      if (!isDay(batchNumber)) throw refuse('BAD_REQUEST', 'batch_number: is no day.')
      const all = await store.listShares(db, principal, batchNumber, sharesMax + 1)
      // A part of them would be a wrong sum.
      if (all.length > sharesMax)
        throw refuse('BAD_REQUEST', 'batch_number: has too many merchants for one answer; ask with the key of each.')
      const shares = all.filter((share) => currency === undefined || share.currency === currency)
      if (shares.length === 0) throw refuse('NOT_FOUND', 'There is no such settlement.')
      const currencies = new Set(shares.map((share) => share.currency))
      if (currencies.size > 1) {
        throw refuse('BAD_REQUEST', `currency: is missing; this day has batches in ${[...currencies].join(', ')}.`)
      }
      refuseInexact(shares, (sum) => `batch_number: the ${sum}; ${narrower}.`)
      return shares
    },
  }
}

/** Sums of many payments have no bound of their own, and one that was rounded would be a wrong sum. */
function refuseInexact(rows: readonly SettlementRow[], messageOf: (sum: string) => string): void {
  const sumOf = (part: 'gross' | 'refunds') => rows.reduce((sum, row) => sum + row[part], 0n)
  if (isExactNumber(sumOf('gross')) && isExactNumber(sumOf('refunds'))) return
  const [{ batch_number: number, currency } = { batch_number: '', currency: '' }] = rows
  throw refuse('BAD_REQUEST', messageOf(`${currency} of ${number} add up to more than a JSON number holds exactly`))
}

const narrower = 'ask with the key of each merchant or branch'
const others = 'read the other days one by one, each at /reports/v1/settlements/{batch_number}'

const doNothing = (): void => {}

const placeOf = ({ position, id }: TransactionRow): After => ({ position, id })

async function* pagesFrom(
  first: TextRow[],
  read: (after: After) => Promise<TextRow[]>,
): AsyncGenerator<TextRow[], void, undefined> {
  for (let page = first; ;) {
    const { position, id } = page[0] ?? { position: null, id: null }
    const next = position === null || id === null ? undefined : read({ position, id })
    // Whoever takes no more pages never hears of it.
    next?.catch(doNothing)
    yield page
    if (next === undefined) return
    page = await next
  }
}

/** What a cursor is bound to: the entity that asked and every parameter but the page size, which may change on the way. */
const boundOf = (principal: Principal, query: TransactionQuery): readonly unknown[] => [
  'transactions',
  principal.entityId,
  query.merchant_id ?? null,
  query.branch_id ?? null,
  query.activation_code ?? null,
  query.payment_method ?? null,
  query.card_brand ?? null,
  query.status ?? null,
  query.date_from ?? null,
  query.date_to ?? null,
  query.sort_by ?? 'created_at',
  query.sort_order ?? 'desc',
]

function filtersOf(query: TransactionQuery): TransactionFilters {
  const from = query.date_from === undefined ? null : timeOf(query.date_from, { up: true })
  const to = query.date_to === undefined ? null : timeOf(query.date_to, { up: false })
  if (query.date_from !== undefined && query.date_to !== undefined && isAfter(query.date_from, query.date_to)) {
    throw refuse('BAD_REQUEST', 'date_from: must not be later than date_to.')
  }
  return {
    merchantId: query.merchant_id ?? null,
    branchId: query.branch_id ?? null,
    activationCode: query.activation_code ?? null,
    paymentMethod: query.payment_method ?? null,
    cardBrand: query.card_brand ?? null,
    statuses: query.status ?? null,
    from,
    to,
    sort: query.sort_by ?? 'created_at',
    order: query.sort_order ?? 'desc',
  }
}

const isAfter = (from: string, to: string): boolean => msOf(from) > msOf(to)

// Transactions are created at whole milliseconds.
const timeOf = (text: string, { up }: { up: boolean }): Date =>
  new Date(msOf(text) + (up && isFinerThanMs(text) ? 1 : 0))

/** Whether the calendar has this day. */
function isDay(text: string): boolean {
  const ms = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text) && !text.startsWith('0000')
}
