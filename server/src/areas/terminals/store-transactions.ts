import type { TerminalPrincipal } from '../../identity/terminal-keys.ts'
import { arrayOf } from '../../kernel/array.ts'
import { refusedBy, statement, type Queries } from '../../kernel/db.ts'
import { smallestId } from '../../kernel/ids.ts'
import { recordsOf } from '../../kernel/records.ts'
import { newCourse, type Alarm, type Course } from './course.ts'
import { retentionDays, type TransactionState } from './machine.ts'

/** A payment at a terminal, as it is stored. */
export interface TransactionRow extends Course {
  readonly id: string
  readonly group_id: string
  readonly transaction_id: string
  readonly partner_id: string
  readonly merchant_id: string
  readonly branch_id: string
  readonly terminal_id: string
  readonly device_id: string | null
  readonly addressed: string
  readonly key_id: string
  readonly way: 'http' | 'socket'
  readonly webhook_mode: boolean
  readonly request_hash: Buffer
  readonly request: string
  readonly amount: bigint
  readonly currency: string
  readonly payment_method: string
  readonly created_at: Date
  readonly updated_at: Date
  readonly version: number
}

/** A payment by the name that its group knows. */
export interface Named {
  readonly groupId: string
  readonly transactionId: string
}

/** An end, a void or both that the till which began the payment was not told of. */
export type Missed = Pick<TransactionRow, 'id' | 'complete_unseen' | 'voided_unseen' | 'updated_at'>

/** Somebody else has changed it meanwhile: nothing was written. */
export class StaleRow extends Error {}

export interface Save {
  readonly before: TransactionRow
  /** The connection that this must be the word of. */
  readonly heldBy: string | null
  readonly course: Course & Pick<TransactionRow, 'updated_at'>
  readonly report: string | null
}

/** Whether its retention has not ended by then. */
const isKeptAt = (time: string): string =>
  `(t.ended_at is null or t.ended_at > ${time}::timestamptz - case t.way when 'http' then interval '${retentionDays.http} days' else interval '${retentionDays.socket} days' end)`
const whereOpen = `t.state in ('PENDING', 'AWAITING_RECONNECT')`
// Those that may change: `terminals.save_transactions` names each of them, which a test sees to.
const courseColumns = Object.keys(newCourse) as (keyof Course)[]

const columns = `t.id, t.group_id, t.transaction_id, t.partner_id, t.merchant_id, t.branch_id, t.terminal_id, t.device_id, t.addressed, t.key_id, t.way,
  t.webhook_mode, t.request_hash, t.request, t.amount, t.currency, t.payment_method, t.created_at, t.updated_at, t.version,
  ${courseColumns.map((name) => `t.${name}`).join(', ')}`

const saveTransactions = statement(
  'terminals.saveTransactions',
  'select terminals.save_transactions($1, $2, $3) as is_heard',
)

// In one order, so that nobody waits in a circle.
const lockTransactions = statement(
  'terminals.lockTransactions',
  `select ${columns} from terminals.transactions t where t.id = any($1::uuid[]) order by t.id for no key update`,
)
const findTransactions = statement(
  'terminals.findTransactions',
  `select t.* from unnest($1::uuid[], $2::text[]) n(group_id, transaction_id) cross join lateral (
     select ${columns} from terminals.transactions t where t.group_id = n.group_id and t.transaction_id = n.transaction_id offset 0) t`,
)
const findTransaction = statement(
  'terminals.findTransaction',
  `select ${columns} from terminals.transactions t where t.group_id = $1 and t.transaction_id = $2`,
)
// The answer to a key that may not see it, and nothing else.
const isElsewhere = statement(
  'terminals.isElsewhere',
  `select exists (select from terminals.transactions t where t.transaction_id = $1 and t.group_id <> $2 and ${isKeptAt('$3')})
      and not exists (select from terminals.past_ids where group_id = $2 and transaction_id = $1) as found`,
)
// Of a payment that is gone.
const isPast = statement(
  'terminals.isPast',
  `select exists (select from terminals.past_ids where group_id = $1 and transaction_id = $2) as found`,
)
const readTransactions = statement(
  'terminals.readTransactions',
  `select t.* from unnest($1::uuid[], $2::uuid[]) n(id, group_id) cross join lateral (
     select ${columns} from terminals.transactions t where t.id = n.id and t.group_id = n.group_id offset 0) t`,
)

const readNewer = statement(
  'terminals.readNewer',
  `select t.* from unnest($1::uuid[], $2::uuid[], $3::integer[]) n(id, group_id, version) cross join lateral (
     select ${columns} from terminals.transactions t where t.id = n.id and t.group_id = n.group_id and t.version > n.version offset 0) t`,
)

// Ids carry the time of creation, so dates are bounds of the one index.
const listTransactions = statement(
  'terminals.listTransactions',
  `select ${columns} from terminals.transactions t
    where t.group_id = $1 and t.id >= $2 and t.id < $3 and ($4::text[] is null or t.state = any($4))
      and ($5::text is null or t.device_id = $5 or t.addressed = $5 or t.terminal_id = (select c.id from terminals.terminals c where c.group_id = $1 and c.connection_id::text = $5))
      and ${isKeptAt('$6')}
    order by t.id desc limit $7`,
)

const findBySignature = statement(
  'terminals.findBySignature',
  `select ${columns} from terminals.used_signatures u join terminals.transactions t on t.id = u.transaction_id and t.group_id = $3
    where u.key_id = $1 and u.signature = $2`,
)
const dropSignatures = statement(
  'terminals.dropSignatures',
  `delete from terminals.used_signatures where ctid = any(array(
     select ctid from terminals.used_signatures where expires_at < to_timestamp($1::double precision / 1000) limit $2)) returning 1 as one`,
)

const lockDue = statement(
  'terminals.lockDue',
  `select ${columns} from terminals.transactions t
    where t.run_at <= kernel.now() and not payments.is_put_off(t.id) order by t.run_at limit $1 for no key update skip locked`,
)
// Without those that are put off, which are looked for when the sweep comes by.
const nextDue = statement(
  'terminals.nextDue',
  `select least(
     (select t.run_at from terminals.transactions t
       where t.run_at is not null and not payments.is_put_off(t.id) order by t.run_at limit 1),
     (select min(t.offline_at) from terminals.terminals t where t.status = 'reconnecting')) as at`,
)
const isDue = statement(
  'terminals.isDue',
  `select exists (
     select from terminals.transactions t where t.group_id = $1 and t.run_at <= kernel.now() and not payments.is_put_off(t.id)) as found`,
)
// Whoever has one of them just now is waited for: it will have been applied then.
const lockDueOf = statement(
  'terminals.lockDueOf',
  `select ${columns} from terminals.transactions t
    where t.group_id = $1 and t.run_at <= kernel.now() and not payments.is_put_off(t.id) order by t.id limit $2 for no key update`,
)

const openOfTerminals = statement(
  'terminals.openOfTerminals',
  `select t.id from terminals.transactions t where t.terminal_id = any($1::uuid[]) and ${whereOpen} order by t.id`,
)

const busyWith = statement(
  'terminals.busyWith',
  `select ${columns} from terminals.transactions t
    where t.terminal_id = $1 and ${whereOpen} and (t.given_up_at is null or t.given_up_at > $2)`,
)

// Open, or ended without a word of the terminal, or with a void that it has not answered: what a terminal that is back is asked about. There may be
// many that it never answered; they come last.
const toAsk = statement(
  'terminals.toAsk',
  `select ${columns} from unnest($1::uuid[], $2::uuid[]) c(terminal_id, connection_id) cross join lateral (
     select * from terminals.transactions t
      where t.terminal_id = c.terminal_id and t.sent_to is distinct from c.connection_id and (t.sent_to is not null or t.void_state = 'ASKED')
        and (${whereOpen} or t.our_code = 'NO_RESULT' and t.state = 'FAILED' or t.void_state = 'ASKED')
      order by t.state = 'FAILED', t.id desc limit $3) t
    order by t.id`,
)

const unseen = statement(
  'terminals.unseen',
  `select t.id, t.complete_unseen, t.voided_unseen, t.updated_at from terminals.transactions t
    where t.key_id = $1 and t.group_id = $2 and (t.complete_unseen or t.voided_unseen) and t.updated_at > $3::timestamptz - interval '7 days'
      and (t.updated_at, t.id) > ($4::timestamptz, $5::uuid)
    order by t.updated_at, t.id limit $6`,
)
// What was decided just now is being told.
const keysThatMissed = statement(
  'terminals.keysThatMissed',
  `select k.id from unnest($1::uuid[]) k(id)
    where exists (
      select from terminals.transactions t
       where t.key_id = k.id and (t.complete_unseen or t.voided_unseen)
         and t.updated_at between $2::timestamptz - interval '7 days' and $2::timestamptz - interval '5 seconds' offset 0)`,
)
const markSeen = statement(
  'terminals.markSeen',
  `update terminals.transactions t set complete_unseen = t.complete_unseen and not s.complete, voided_unseen = t.voided_unseen and not s.voided
     from unnest($1::uuid[], $2::boolean[], $3::boolean[]) s(id, complete, voided)
    where t.id = s.id`,
)

// What is said after the first word, and before a person has seen to it, is kept beside that: a result may follow a word that is none.
const raiseAlarm = statement(
  'terminals.raiseAlarm',
  `insert into terminals.attention as a (transaction_id, cause, detail, created_at) values ($1, $2, $3, $4)
   on conflict (transaction_id, cause) where settled_at is null
   do update set detail = left(a.detail || ' ' || excluded.detail, $5) where position(excluded.detail in a.detail) = 0
   returning xmax = 0 as is_new`,
)

// The same of an approval of a payment that the group does not have.
const raiseUnmatched = statement(
  'terminals.raiseUnmatched',
  `with open as materialized (
     select o.terminal_id, o.transaction_id from terminals.unmatched_results o where o.group_id = $1 and o.settled_at is null),
   known as (
     select exists (select from open where terminal_id = $2 and transaction_id = $3) as is_known, (select count(*) from open) >= $8 as is_full),
   raised as (
     insert into terminals.unmatched_results as u (group_id, terminal_id, transaction_id, amount, currency, detail, created_at)
     select $1::uuid, $2::uuid, $3::text, $4::bigint, $5::text, $6::text, $7::timestamptz from known where is_known or not is_full
     on conflict (group_id, terminal_id, transaction_id) where settled_at is null
     do update set detail = left(u.detail || ' ' || excluded.detail, $9) where position(excluded.detail in u.detail) = 0)
   select case when is_known then 'again' when is_full then 'full' else 'new' end as raised from known`,
)

const openAttention = statement(
  'terminals.openAttention',
  `select ((select count(*) from terminals.attention where settled_at is null)
         + (select count(*) from terminals.unmatched_results where settled_at is null))::integer as open`,
)

/** What a terminal approved of a payment that its group does not have. */
interface Unmatched {
  readonly groupId: string
  readonly terminalId: string
  readonly transactionId: string
  /** In minor units; null where what it said is no amount of a currency. */
  readonly money: { readonly amount: bigint; readonly currency: string } | null
  readonly detail: string
  readonly at: Date
}

const rowsToAskMax = 200
const alarmCharactersMax = 10_000
const unmatchedOpenMax = 100
/** As many missed pushes are looked up at once. */
export const unseenMax = 1_000

const one = <Row>(rows: readonly Row[]): Row | undefined => rows[0]

export const transactionStore = {
  /**
   * Writes these changes, what reports show of them and what is announced: one statement, all of it or, with a StaleRow, nothing, where one
   * is no longer as it was read. Resolves to whether any of the events is to be dispatched.
   */
  async saveAll(on: Queries, saves: readonly Save[], events: Buffer | null): Promise<boolean> {
    const changes = saves.map(({ before, heldBy, course, report }) => ({
      ...course,
      id: before.id,
      group_id: before.group_id,
      before_version: before.version,
      before_state: before.state,
      held_by: heldBy,
      report,
    }))
    try {
      const [row] = await on.run<{ is_heard: boolean | null }>(saveTransactions, [
        recordsOf('terminals.changed_transaction', changes),
        saves.length,
        events,
      ])
      return row?.is_heard === true
    } catch (error) {
      throw refusedBy(error) === 'transaction_unchanged' ? new StaleRow('a transaction has changed') : error
    }
  },
  lock: (tx: Queries, ids: readonly string[]) => tx.run<TransactionRow>(lockTransactions, [arrayOf(ids)]),
  findAll: (on: Queries, names: readonly Named[]) =>
    on.run<TransactionRow>(findTransactions, [
      arrayOf(names.map(({ groupId }) => groupId)),
      arrayOf(names.map(({ transactionId }) => transactionId)),
    ]),
  find: async (on: Queries, groupId: string, transactionId: string) =>
    one(await on.run<TransactionRow>(findTransaction, [groupId, transactionId])),
  /** In another group, and never in this one. */
  isElsewhere: async (on: Queries, transactionId: string, groupId: string, now: Date): Promise<boolean> =>
    one(await on.run<{ found: boolean }>(isElsewhere, [transactionId, groupId, now]))?.found ?? false,
  isPast: async (on: Queries, groupId: string, transactionId: string): Promise<boolean> =>
    one(await on.run<{ found: boolean }>(isPast, [groupId, transactionId]))?.found ?? false,
  readAll: (on: Queries, those: readonly { readonly id: string; readonly groupId: string }[]) =>
    on.run<TransactionRow>(readTransactions, [
      arrayOf(those.map(({ id }) => id)),
      arrayOf(those.map(({ groupId }) => groupId)),
    ]),
  /** Those of these that have changed since they were read. */
  readNewer: (on: Queries, those: readonly TransactionRow[]) =>
    on.run<TransactionRow>(readNewer, [
      arrayOf(those.map(({ id }) => id)),
      arrayOf(those.map(({ group_id }) => group_id)),
      arrayOf(those.map(({ version }) => version)),
    ]),
  list: (
    on: Queries,
    groupId: string,
    filter: {
      /** Ids from this one on, and below that one: times are ranges of ids. */
      from: string
      before: string
      states: readonly TransactionState[] | null
      terminalId: string | null
      now: Date
      rowsMax: number
    },
  ) =>
    on.run<TransactionRow>(listTransactions, [
      groupId,
      filter.from,
      filter.before,
      filter.states,
      filter.terminalId,
      filter.now,
      filter.rowsMax,
    ]),
  findBySignature: async (on: Queries, keyId: string, signature: Buffer, groupId: string) =>
    one(await on.run<TransactionRow>(findBySignature, [keyId, signature, groupId])),
  dropSignatures: async (on: Queries, wallMs: number, rowsMax: number): Promise<number> =>
    (await on.run(dropSignatures, [wallMs, rowsMax])).length,
  lockDue: (tx: Queries, rowsMax: number) => tx.run<TransactionRow>(lockDue, [rowsMax]),
  /** Of a group. */
  isDue: async (on: Queries, groupId: string): Promise<boolean> =>
    one(await on.run<{ found: boolean }>(isDue, [groupId]))?.found ?? false,
  lockDueOf: (tx: Queries, groupId: string, rowsMax: number) => tx.run<TransactionRow>(lockDueOf, [groupId, rowsMax]),
  nextDue: async (on: Queries): Promise<Date | null> => one(await on.run<{ at: Date | null }>(nextDue, []))?.at ?? null,
  openOf: async (on: Queries, terminalIds: readonly string[]): Promise<string[]> =>
    (await on.run<{ id: string }>(openOfTerminals, [arrayOf(terminalIds)])).map(({ id }) => id),
  /** What a terminal is busy with: open, and not given up before then. */
  busyWith: (on: Queries, terminalId: string, after: Date) => on.run<TransactionRow>(busyWith, [terminalId, after]),
  /** Of terminals on these new connections of theirs; the first so many of each, in the order in which they came. */
  toAsk: (on: Queries, those: readonly { readonly terminalId: string; readonly connectionId: string }[]) =>
    on.run<TransactionRow>(toAsk, [
      arrayOf(those.map(({ terminalId }) => terminalId)),
      arrayOf(those.map(({ connectionId }) => connectionId)),
      rowsToAskMax,
    ]),
  /** Those of these keys of tills for which there is something that none of them has confirmed for 5 seconds. */
  keysThatMissed: async (on: Queries, keyIds: readonly string[], now: Date) =>
    (await on.run<{ id: string }>(keysThatMissed, [arrayOf(keyIds), now])).map(({ id }) => id),
  /** The first `unseenMax` that a till has missed after this one, in the order in which they came about. */
  unseen: (on: Queries, { keyId, groupId }: Pick<TerminalPrincipal, 'keyId' | 'groupId'>, now: Date, after?: Missed) =>
    on.run<Missed>(unseen, [keyId, groupId, now, after?.updated_at ?? new Date(0), after?.id ?? smallestId, unseenMax]),
  markSeen: (on: Queries, seen: readonly { id: string; complete: boolean; voided: boolean }[]) =>
    on.run(markSeen, [seen.map(({ id }) => id), seen.map((s) => s.complete), seen.map((s) => s.voided)]),
  /** True the first time; what is told of it then and later is kept, up to so many characters. */
  raise: async (tx: Queries, transactionId: string, alarm: Alarm, detail: string, at: Date): Promise<boolean> =>
    one(await tx.run<{ is_new: boolean }>(raiseAlarm, [transactionId, alarm, detail, at, alarmCharactersMax]))
      ?.is_new ?? false,
  /** The same of a payment that the group does not have. Where so many of the group are open that it is not kept: `full`. */
  raiseUnmatched: async (on: Queries, unmatched: Unmatched): Promise<'new' | 'again' | 'full'> => {
    const { groupId, terminalId, transactionId, money, detail, at } = unmatched
    const [row] = await on.run<{ raised: 'new' | 'again' | 'full' }>(raiseUnmatched, [
      groupId,
      terminalId,
      transactionId,
      money?.amount ?? null,
      money?.currency ?? null,
      detail,
      at,
      unmatchedOpenMax,
      alarmCharactersMax,
    ])
    return row?.raised ?? 'full'
  },
  openAttention: async (on: Queries): Promise<number> =>
    (await on.run<{ open: number }>(openAttention, []))[0]?.open ?? 0,
}
