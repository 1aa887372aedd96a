import { statement, type Queries } from '../../kernel/db.ts'
import type { Alarm, Course } from './course.ts'
import type { TransactionState } from './machine.ts'

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

export type NewTransaction = Pick<
  TransactionRow,
  | 'id'
  | 'group_id'
  | 'transaction_id'
  | 'partner_id'
  | 'merchant_id'
  | 'branch_id'
  | 'terminal_id'
  | 'device_id'
  | 'addressed'
  | 'key_id'
  | 'way'
  | 'webhook_mode'
  | 'request_hash'
  | 'request'
  | 'amount'
  | 'currency'
  | 'payment_method'
  | 'created_at'
  | 'reach_at'
  | 'wait_at'
>

// What may change, in the order of the values below. Named once, so that nothing is forgotten on its way.
const courseColumns = [
  'state',
  'given_up',
  'given_up_at',
  'announced',
  'sent_to',
  'cancel_asked',
  'outcome',
  'our_code',
  'authorization_code',
  'error_code',
  'error_message',
  'receipt_data',
  'outcome_at',
  'void_cause',
  'void_state',
  'void_reason',
  'void_error',
  'void_asked_at',
  'void_step_s',
  'voided_at',
  'complete_unseen',
  'voided_unseen',
  'ended_at',
  'reach_at',
  'grace_at',
  'wait_at',
  'no_result_at',
  'cancel_at',
  'void_at',
] as const satisfies readonly (keyof Course)[]

const columns = `t.id, t.group_id, t.transaction_id, t.partner_id, t.merchant_id, t.branch_id, t.terminal_id, t.device_id, t.addressed, t.key_id, t.way,
  t.webhook_mode, t.request_hash, t.request, t.amount, t.currency, t.payment_method, t.created_at, t.updated_at, t.version,
  ${courseColumns.map((name) => `t.${name}`).join(', ')}`

const insertTransaction = statement(
  'terminals.insertTransaction',
  `insert into terminals.transactions (id, group_id, transaction_id, partner_id, merchant_id, branch_id, terminal_id, device_id, addressed, key_id, way,
     webhook_mode, request_hash, request, amount, currency, payment_method, state, created_at, updated_at, reach_at, wait_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 'PENDING', $18, $18, $19, $20)
   on conflict (group_id, transaction_id) do nothing returning id`,
)

const saveTransaction = statement(
  'terminals.saveTransaction',
  `update terminals.transactions set ${courseColumns.map((name, index) => `${name} = $${index + 6}`).join(', ')},
     updated_at = $4, version = version + 1
    where id = $1 and version = $2 and state = $3 and group_id = $5 returning id`,
)

const lockTransaction = statement(
  'terminals.lockTransaction',
  `select ${columns} from terminals.transactions t where t.id = $1 for no key update`,
)
const findTransaction = statement(
  'terminals.findTransaction',
  `select ${columns} from terminals.transactions t where t.group_id = $1 and t.transaction_id = $2`,
)
// The same, and whether the connection that speaks of it is still one.
const findFromConnection = statement(
  'terminals.findFromConnection',
  `select ${columns}, exists (select from terminals.sockets s where s.connection_id = $3) as is_held
     from terminals.transactions t where t.group_id = $1 and t.transaction_id = $2`,
)
// The answer to a key that may not see it, and nothing else.
const transactionExists = statement(
  'terminals.transactionExists',
  `select exists (select from terminals.transactions where transaction_id = $1 and group_id <> $2) as found`,
)
const readTransaction = statement(
  'terminals.readTransaction',
  `select ${columns} from terminals.transactions t where t.id = $1 and t.group_id = $2`,
)

// In a statement after the insert: an id whose row goes in this very moment is seen to be taken all the same.
const readNew = statement(
  'terminals.readNew',
  `select ${columns}, exists (select from terminals.past_ids p where p.group_id = t.group_id and p.transaction_id = t.transaction_id) as is_past
     from terminals.transactions t where t.id = $1 and t.group_id = $2`,
)

// Busy: open and not given up, or given up less than two minutes ago.
const busyTransaction = statement(
  'terminals.busyTransaction',
  `select t.id from terminals.transactions t
    where t.terminal_id = $1 and t.state in ('PENDING', 'AWAITING_RECONNECT') and (t.given_up_at is null or t.given_up_at > $2) limit 1`,
)

const listTransactions = statement(
  'terminals.listTransactions',
  `select ${columns} from terminals.transactions t
    where t.group_id = $1 and t.id < $2 and ($3::text[] is null or t.state = any($3))
      and ($4::text is null or t.device_id = $4 or t.terminal_id = (select c.id from terminals.terminals c where c.group_id = $1 and c.connection_id::text = $4))
      and ($5::timestamptz is null or t.created_at >= $5) and ($6::timestamptz is null or t.created_at <= $6)
      and (t.ended_at is null or t.ended_at > $7::timestamptz - case t.way when 'http' then interval '30 days' else interval '7 days' end)
    order by t.id desc limit $8`,
)

const useSignature = statement(
  'terminals.useSignature',
  `insert into terminals.used_signatures (key_id, signature, transaction_id, expires_at)
   values ($1, $2, $3, to_timestamp($4::double precision / 1000)) on conflict do nothing`,
)
const findBySignature = statement(
  'terminals.findBySignature',
  `select ${columns} from terminals.used_signatures u join terminals.transactions t on t.id = u.transaction_id
    where u.key_id = $1 and u.signature = $2 and t.group_id = $3`,
)
const dropSignatures = statement(
  'terminals.dropSignatures',
  `delete from terminals.used_signatures where ctid = any(array(
     select ctid from terminals.used_signatures where expires_at < to_timestamp($1::double precision / 1000) limit $2)) returning 1 as one`,
)

const claimDue = statement(
  'terminals.claimDue',
  `select ${columns} from terminals.transactions t
    where t.run_at <= kernel.now() order by t.run_at limit $1 for no key update skip locked`,
)
const nextDue = statement('terminals.nextDue', 'select terminals.next_due() as at')

const openOfTerminal = statement(
  'terminals.openOfTerminal',
  `select t.id from terminals.transactions t where t.terminal_id = $1 and t.state in ('PENDING', 'AWAITING_RECONNECT') order by t.id`,
)

// Open, or ended without a word of the terminal, or with a void that it has not answered: what a terminal that is back is asked about.
const toAsk = statement(
  'terminals.toAsk',
  `select ${columns} from terminals.transactions t
    where t.terminal_id = $1 and t.sent_to is not null and t.sent_to <> $2
      and (t.state in ('PENDING', 'AWAITING_RECONNECT') or t.our_code = 'NO_RESULT' or t.void_state = 'ASKED')
    order by t.id desc limit $3`,
)

const unseen = statement(
  'terminals.unseen',
  `select ${columns} from terminals.transactions t
    where t.key_id = $1 and (t.complete_unseen or t.voided_unseen) and t.updated_at > $2::timestamptz - interval '7 days'
    order by t.updated_at, t.id limit $3`,
)
const markSeen = statement(
  'terminals.markSeen',
  `update terminals.transactions t set complete_unseen = t.complete_unseen and not s.complete, voided_unseen = t.voided_unseen and not s.voided
     from unnest($1::uuid[], $2::boolean[], $3::boolean[]) s(id, complete, voided)
    where t.id = s.id`,
)

const raiseAlarm = statement(
  'terminals.raiseAlarm',
  `insert into terminals.attention (transaction_id, cause, detail, created_at) values ($1, $2, $3, $4) on conflict do nothing returning cause`,
)

const openAttention = statement(
  'terminals.openAttention',
  'select count(*)::integer as open from terminals.attention where settled_at is null',
)

const putReport = statement(
  'terminals.putReport',
  `select payments.put_terminal_transaction($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
)

const rowsToAskMax = 200
const unseenMax = 1_000

const one = <Row>(rows: readonly Row[]): Row | undefined => rows[0]

export const transactionStore = {
  /** False where the id is taken. */
  insert: async (tx: Queries, row: NewTransaction): Promise<boolean> =>
    (
      await tx.run(insertTransaction, [
        row.id,
        row.group_id,
        row.transaction_id,
        row.partner_id,
        row.merchant_id,
        row.branch_id,
        row.terminal_id,
        row.device_id,
        row.addressed,
        row.key_id,
        row.way,
        row.webhook_mode,
        row.request_hash,
        row.request,
        row.amount,
        row.currency,
        row.payment_method,
        row.created_at,
        row.reach_at,
        row.wait_at,
      ])
    ).length === 1,
  /** Throws where the row is no longer as it was read. */
  async save(tx: Queries, before: TransactionRow, course: Course, at: Date): Promise<void> {
    const values = courseColumns.map((name) => course[name])
    const saved = await tx.run(saveTransaction, [
      before.id,
      before.version,
      before.state,
      at,
      before.group_id,
      ...values,
    ])
    if (saved.length !== 1) throw new Error(`the transaction ${before.id} was changed by somebody else under its lock`)
  },
  lock: async (tx: Queries, id: string) => one(await tx.run<TransactionRow>(lockTransaction, [id])),
  find: async (on: Queries, groupId: string, transactionId: string) =>
    one(await on.run<TransactionRow>(findTransaction, [groupId, transactionId])),
  findFrom: async (on: Queries, groupId: string, transactionId: string, connectionId: string) =>
    one(
      await on.run<TransactionRow & { is_held: boolean }>(findFromConnection, [groupId, transactionId, connectionId]),
    ),
  /** In another group. */
  exists: async (on: Queries, transactionId: string, groupId: string): Promise<boolean> =>
    one(await on.run<{ found: boolean }>(transactionExists, [transactionId, groupId]))?.found ?? false,
  read: async (on: Queries, id: string, groupId: string) =>
    one(await on.run<TransactionRow>(readTransaction, [id, groupId])),
  /** One that was inserted just now, and whether its id was used by a payment whose row is gone. */
  readNew: async (tx: Queries, id: string, groupId: string) =>
    one(await tx.run<TransactionRow & { is_past: boolean }>(readNew, [id, groupId])),
  isBusy: async (tx: Queries, terminalId: string, givenUpAfter: Date): Promise<boolean> =>
    (await tx.run(busyTransaction, [terminalId, givenUpAfter])).length > 0,
  list: (
    on: Queries,
    groupId: string,
    filter: {
      before: string
      states: readonly TransactionState[] | null
      terminalId: string | null
      from: Date | null
      to: Date | null
      now: Date
      rowsMax: number
    },
  ) =>
    on.run<TransactionRow>(listTransactions, [
      groupId,
      filter.before,
      filter.states,
      filter.terminalId,
      filter.from,
      filter.to,
      filter.now,
      filter.rowsMax,
    ]),
  useSignature: (tx: Queries, used: { keyId: string; signature: Buffer; transactionId: string; untilMs: number }) =>
    tx.run(useSignature, [used.keyId, used.signature, used.transactionId, used.untilMs]),
  findBySignature: async (on: Queries, keyId: string, signature: Buffer, groupId: string) =>
    one(await on.run<TransactionRow>(findBySignature, [keyId, signature, groupId])),
  dropSignatures: async (on: Queries, wallMs: number, rowsMax: number): Promise<number> =>
    (await on.run(dropSignatures, [wallMs, rowsMax])).length,
  claimDue: (tx: Queries, rowsMax: number) => tx.run<TransactionRow>(claimDue, [rowsMax]),
  nextDue: async (on: Queries): Promise<Date | null> => one(await on.run<{ at: Date | null }>(nextDue, []))?.at ?? null,
  openOf: async (on: Queries, terminalId: string): Promise<string[]> =>
    (await on.run<{ id: string }>(openOfTerminal, [terminalId])).map(({ id }) => id),
  toAsk: (on: Queries, terminalId: string, connectionId: string) =>
    on.run<TransactionRow>(toAsk, [terminalId, connectionId, rowsToAskMax]),
  unseen: (on: Queries, keyId: string, now: Date) => on.run<TransactionRow>(unseen, [keyId, now, unseenMax]),
  markSeen: (on: Queries, seen: readonly { id: string; complete: boolean; voided: boolean }[]) =>
    on.run(markSeen, [seen.map(({ id }) => id), seen.map((s) => s.complete), seen.map((s) => s.voided)]),
  /** True the first time. */
  raise: async (tx: Queries, transactionId: string, alarm: Alarm, detail: string, at: Date): Promise<boolean> =>
    (await tx.run(raiseAlarm, [transactionId, alarm, detail, at])).length === 1,
  openAttention: async (on: Queries): Promise<number> =>
    (await on.run<{ open: number }>(openAttention, []))[0]?.open ?? 0,
  report: (
    tx: Queries,
    row: TransactionRow | NewTransaction,
    status: string,
    approvalCode: string | null,
    at: Date,
    isNew: boolean,
  ) =>
    tx.run(putReport, [
      row.id,
      row.partner_id,
      row.merchant_id,
      row.branch_id,
      status,
      row.amount,
      row.currency,
      row.payment_method,
      row.device_id,
      approvalCode,
      row.transaction_id,
      at,
      isNew,
    ]),
}
