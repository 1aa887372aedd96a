import type { Tables } from '../kernel/database.gen.ts'
import { statement, waitOf, type Queries } from '../kernel/db.ts'
import { perLevel, type Principal } from '../identity/principal.ts'
import type { RefundMove, RefundState } from './refund-machine.ts'

type Columns = Tables['payments.refunds']

export interface RefundRow extends Pick<
  Columns,
  'id' | 'intent_id' | 'amount' | 'currency' | 'reason' | 'created_at' | 'state_at'
> {
  readonly state: RefundState
  /** The first call of the processor still runs. */
  readonly calling: boolean
}

/** What a call of the processor is made of. */
export interface RefundCall {
  readonly id: string
  readonly amount: bigint
  readonly currency: string
  readonly attempt_id: string
  readonly processor_transaction_id: string
}

export interface NewRefund {
  readonly id: string
  readonly intentId: string
  readonly transactionId: string
  readonly amount: bigint
  readonly reason: string | null
  readonly state: RefundState
  readonly leaseSeconds: number
  readonly at: Date
}

const refundColumns = `
  r.id, r.intent_id, r.amount, r.currency, r.state, r.reason, r.created_at, r.state_at,
  r.state = 'PENDING' and r.inquiry_count = 0 and coalesce(r.lease_until > clock_timestamp(), false) as calling`

const findRefund = perLevel(
  'payments.findRefund',
  (entity) => `select ${refundColumns} from payments.refunds r where r.id = $1 and r.${entity} = $2`,
)
const readRefund = statement('payments.readRefund', `select ${refundColumns} from payments.refunds r where r.id = $1`)

const readRefunded = statement(
  'payments.readRefunded',
  'select t.amount_refunded as refunded from payments.transactions t where t.id = $1',
)

// One refund of a payment at a time is measured against what is left of it. Whoever waited reads what the one before left.
const lockPaid = statement(
  'payments.lockPaid',
  `select t.id, t.amount_received - t.amount_refunded - t.amount_refund_reserved as remaining from payments.transactions t
    where t.id = (select a.id from payments.attempts a where a.intent_id = $1 and a.state = 'SUCCEEDED')
      for update`,
)

const insertRefund = statement(
  'payments.insertRefund',
  `with reserved as (
     update payments.transactions set amount_refund_reserved = amount_refund_reserved + $4 where id = $3
     -- It begins no sooner than what it gives back was taken, which was by the clock of another process perhaps.
     returning id, partner_id, merchant_id, branch_id, currency, greatest($8::timestamptz, captured_at) as at
   )
   insert into payments.refunds (id, intent_id, transaction_id, partner_id, merchant_id, branch_id, amount, currency, state, reason,
     run_at, lease_until, created_at, state_at)
   select $1, $2, id, partner_id, merchant_id, branch_id, $4, currency, $5, $6, at,
          clock_timestamp() + $7 * interval '1 second', at, at
     from reserved`,
)

const callColumns = `r.id, r.amount, r.currency, r.transaction_id as attempt_id, a.processor_transaction_id`

const readCall = statement(
  'payments.readRefundCall',
  `select ${callColumns} from payments.refunds r join payments.attempts a on a.id = r.transaction_id
    where r.id = $1 and r.state = 'PENDING'`,
)

// A lease that has run out tells of a process that died; one that was given back, of a call without an answer, which is asked about.
const takeOverCall = statement(
  'payments.takeOverRefundCall',
  `update payments.refunds r set lease_until = clock_timestamp() + $2 * interval '1 second'
     from payments.attempts a
    where r.id = $1 and r.state = 'PENDING' and r.lease_until < clock_timestamp() and a.id = r.transaction_id
   returning ${callColumns}`,
)

// Compare-and-set from PENDING; the refund and what it does to its payment are one statement.
const settleRefund = statement(
  'payments.settleRefund',
  `with refund as (
     update payments.refunds set state = $2, state_at = greatest($4, state_at), run_at = null, lease_until = null
      where id = $1 and state = $5
     returning transaction_id, amount
   )
   update payments.transactions t
      set amount_refund_reserved = t.amount_refund_reserved - refund.amount,
          amount_refunded = t.amount_refunded + case when $3 = 'refunded' then refund.amount else 0 end,
          status = case when $3 <> 'refunded' then t.status
                        when t.amount_refunded + refund.amount < t.amount_received then 'PARTIALLY_REFUNDED'
                        else 'REFUNDED' end,
          updated_at = case when $3 = 'refunded' then greatest(t.updated_at, $4) else t.updated_at end
     from refund where t.id = refund.transaction_id
   returning t.id`,
)

const claimInquiries = statement(
  'payments.claimRefundInquiries',
  `with due as materialized (
     select id from payments.refunds
      where state = 'PENDING' and run_at <= kernel.now() and (lease_until is null or lease_until < clock_timestamp())
      order by run_at limit $1 for update skip locked
   )
   update payments.refunds r
      set lease_until = clock_timestamp() + $2 * interval '1 second', inquiry_count = r.inquiry_count + 1
     from due where r.id = due.id
   returning r.id, (extract(epoch from kernel.now() - r.created_at) * 1000)::float8 as age_ms`,
)

const postponeInquiry = statement(
  'payments.postponeRefundInquiry',
  `update payments.refunds set run_at = kernel.now() + $2 * interval '1 millisecond', lease_until = null
    where id = $1 and state = 'PENDING'`,
)

// In flight means leased: such a row falls due, for its worker or its heir, when the lease ends.
const nextInquiry = statement(
  'payments.nextRefundInquiry',
  `select ceil(1000 * min(greatest(
     extract(epoch from run_at - kernel.now()), extract(epoch from lease_until - clock_timestamp())
   )))::float8 as wait_ms
     from payments.refunds where state = 'PENDING'`,
)

export const refundsStore = {
  findRefund: async (on: Queries, principal: Principal, id: string) =>
    (await on.run<RefundRow>(findRefund[principal.level], [id, principal.entityId]))[0],
  /** For a caller that made the refund. */
  readRefund: async (on: Queries, id: string) => (await on.run<RefundRow>(readRefund, [id]))[0],
  /** Minor units. */
  readRefunded: async (on: Queries, attemptId: string) =>
    (await on.run<{ refunded: bigint }>(readRefunded, [attemptId]))[0]?.refunded ?? 0n,
  /** Until the transaction ends nobody else reserves of this payment. None: it was not paid. */
  lockPaid: async (tx: Queries, intentId: string) =>
    (await tx.run<{ id: string; remaining: bigint }>(lockPaid, [intentId]))[0],
  insertRefund: (tx: Queries, refund: NewRefund) =>
    tx.run(insertRefund, [
      refund.id,
      refund.intentId,
      refund.transactionId,
      refund.amount,
      refund.state,
      refund.reason,
      refund.leaseSeconds,
      refund.at,
    ]),
  readCall: async (on: Queries, id: string) => (await on.run<RefundCall>(readCall, [id]))[0],
  /** None: the refund is settled, or in somebody's hands, or waits for its inquiry. */
  takeOverCall: async (on: Queries, id: string, leaseSeconds: number) =>
    (await on.run<RefundCall>(takeOverCall, [id, leaseSeconds]))[0],
  /** True when this call made the move; false when another had made one before. */
  settleRefund: async (on: Queries, id: string, move: RefundMove, at: Date) =>
    (await on.run(settleRefund, [id, move.to, move.amount, at, move.from])).length === 1,
  claimInquiries: (on: Queries, rowsMax: number, leaseSeconds: number) =>
    on.run<{ id: string; age_ms: number }>(claimInquiries, [rowsMax, leaseSeconds]),
  postponeInquiry: (on: Queries, id: string, ms: number) => on.run(postponeInquiry, [id, ms]),
  /** Milliseconds until a refund is to be asked about; Infinity when none is open. */
  nextInquiry: (on: Queries) => waitOf(on, nextInquiry),
}
