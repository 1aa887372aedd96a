import type { Query } from './database-of.ts'
import type { Told } from './payers.ts'

/** What must be true of a platform that has come to rest after a fault, seen from outside and from its tables. */
export interface Evidence {
  readonly query: Query
  readonly told: Told
  /** Events as the merchant lists them. */
  readonly events: AsyncIterable<{ readonly id: string; readonly status: string }>
  /** Deliveries of each event that the merchant acknowledged. */
  readonly delivered: ReadonlyMap<string, number>
}

/** Each query finds what must not be there; the row's one column says what. */
const mustNotBe: readonly string[] = [
  `select 'the attempt ' || a.id || ' of a settled payment (' || a.state || ') has no event'
     from payments.attempts a
    where a.state in ('SUCCEEDED', 'DECLINED', 'FAILED')
      and not exists (
        select from delivery.events e
         where e.payment_intent_id = a.intent_id and e.type = 'payment.' || lower(a.state)
           and e.body::json -> 'data' ->> 'payment_attempt_id' = a.id::text)`,
  `select 'the event ' || e.id || ' (' || e.type || ') tells of a change that was not committed'
     from delivery.events e
    where e.type in ('payment.succeeded', 'payment.declined', 'payment.failed')
      and not exists (
        select from payments.attempts a
         where a.id::text = e.body::json -> 'data' ->> 'payment_attempt_id' and 'payment.' || lower(a.state) = e.type)`,
  `select 'the attempt ' || (e.body::json -> 'data' ->> 'payment_attempt_id') || ' has ' || count(*) || ' events'
     from delivery.events e group by e.body::json -> 'data' ->> 'payment_attempt_id' having count(*) > 1`,
  `select 'the intent ' || a.intent_id || ' has ' || count(*) || ' successes'
     from payments.attempts a where a.state = 'SUCCEEDED' group by a.intent_id having count(*) > 1`,
  `select 'the attempt ' || a.id || ' is stuck in ' || a.state
     from payments.attempts a where a.state in ('PROCESSING', 'REQUIRES_ACTION')`,
  `select 'the processor approved the attempt ' || p.attempt_id || ', which is not SUCCEEDED'
     from sandbox.authorizations p
    where p.outcome = 'approved'
      and not exists (select from payments.attempts a where a.id = p.attempt_id and a.state = 'SUCCEEDED')`,
  `select 'the attempt ' || a.id || ' is SUCCEEDED, but the processor did not approve it'
     from payments.attempts a
    where a.state = 'SUCCEEDED'
      and not exists (select from sandbox.authorizations p where p.attempt_id = a.id and p.outcome = 'approved')`,
  `select 'the record of the attempt ' || coalesce(a.id, t.id) || ' says ' || coalesce(t.status, 'nothing')
     from payments.attempts a full join payments.transactions t on t.id = a.id
    where a.id is null or t.id is null
       or t.status is distinct from case when a.state <> 'SUCCEEDED' then a.state
                                         when t.amount_refunded = 0 then 'CAPTURED'
                                         when t.amount_refunded < t.amount_received then 'PARTIALLY_REFUNDED'
                                         else 'REFUNDED' end`,
  `select 'the link ' || l.id || ' counts ' || l.success_count || ' payments of ' || coalesce(l.max_uses, 1) || ' and has '
          || l.reserved_count || ' in reserve, but ' || paid.count || ' succeeded'
     from ecommerce.links l
    cross join lateral (
      select count(*) from payments.attempts a join payments.intents i on i.id = a.intent_id
       where i.link_id = l.id and a.state = 'SUCCEEDED') paid
    where l.reserved_count <> 0 or l.success_count <> paid.count or l.success_count > coalesce(l.max_uses, 1)`,
]

/** The refunds that the processor made, those that are written down, and what they leave of their payments. */
const refundsMustNotBe: readonly string[] = [
  `select 'the processor refunded ' || s.refund_id || ', and nobody wrote it down'
     from sandbox.refunds s
    where s.outcome = 'refunded'
      and not exists (select from payments.refunds r where r.id = s.refund_id and r.state = 'SUCCEEDED')`,
  `select 'refund ' || r.id || ' is SUCCEEDED, and the processor did not make it'
     from payments.refunds r
    where r.state = 'SUCCEEDED'
      and not exists (select from sandbox.refunds s where s.refund_id = r.id and s.outcome = 'refunded')`,
  `select 'refund ' || r.id || ' is stuck in PENDING' from payments.refunds r where r.state = 'PENDING'`,
  `select 'the books of transaction ' || t.id || ' do not add up'
     from payments.transactions t
     left join lateral (
       select coalesce(sum(r.amount) filter (where r.state = 'SUCCEEDED'), 0) as refunded,
              coalesce(sum(r.amount) filter (where r.state = 'PENDING'), 0) as reserved
         from payments.refunds r where r.transaction_id = t.id
     ) r on true
    where t.amount_refunded <> r.refunded or t.amount_refund_reserved <> r.reserved or r.refunded > t.amount_received`,
]

async function found(query: Query, texts: readonly string[]): Promise<string[]> {
  const losses: string[] = []
  for (const text of texts) {
    const rows = await query<Record<string, string>>(text)
    losses.push(...rows.flatMap((row) => Object.values(row)))
  }
  return losses
}

/** What is wrong with attempts, their events, their uses of links and their records, at rest. */
export const paymentLosses = (query: Query): Promise<string[]> => found(query, mustNotBe)

/** What is wrong between the refunds that the processor made and those that are written down, at rest. */
export const refundLosses = (query: Query): Promise<string[]> => found(query, refundsMustNotBe)

/** Everything that was lost, made up or left lying, a sentence each; empty where all is well. */
export async function findLosses({ query, told, events, delivered }: Evidence): Promise<string[]> {
  const losses = [...told.wrongAnswers, ...(await paymentLosses(query)), ...(await refundLosses(query))]

  const receipts = await query<{
    intent_id: string
    approval_code: string
    invoice_number: string
    transaction_id: string
  }>(
    `select a.intent_id, a.approval_code, a.invoice_number, a.processor_transaction_id as transaction_id
       from payments.attempts a where a.state = 'SUCCEEDED'`,
  )
  const receiptOf = new Map(receipts.map((row) => [row.intent_id, row]))
  for (const [id, receipt] of told.receipts) {
    const kept = receiptOf.get(id)
    if (kept === undefined) losses.push(`the acknowledged payment of the intent ${id} is not there`)
    else if (kept.approval_code !== receipt.approval_code || kept.invoice_number !== receipt.invoice_number)
      losses.push(`the receipt of the intent ${id} is another than the payer was shown`)
  }

  const intents = new Set((await query<{ id: string }>('select i.id from payments.intents i')).map(({ id }) => id))
  const known = new Set(told.intents.values())
  for (const id of known) if (!intents.has(id)) losses.push(`the acknowledged intent ${id} is not there`)
  for (const id of intents) if (!known.has(id)) losses.push(`the intent ${id} was made twice for one request`)
  if (known.size !== told.intents.size) losses.push('two requests were answered with the same intent')

  const refunds = await query<{ id: string; intent_id: string; amount: string }>(
    'select r.id, r.intent_id, r.amount from payments.refunds r',
  )
  const refundOf = new Map(refunds.map((row) => [row.id, row]))
  const acknowledged = new Set([...told.refunds.values()].map(({ id }) => id))
  if (acknowledged.size !== told.refunds.size) losses.push('two requests were answered with the same refund')
  for (const { id, payment_intent_id: intentId, amount } of told.refunds.values()) {
    const kept = refundOf.get(id)
    if (kept === undefined) losses.push(`the acknowledged refund ${id} is not there`)
    else if (kept.intent_id !== intentId || Number(kept.amount) !== amount)
      losses.push(`the refund ${id} is another than the merchant was told`)
  }
  for (const { id } of refunds)
    if (!acknowledged.has(id)) losses.push(`the refund ${id} was made twice for one request`)

  const listed = new Set<string>()
  for await (const { id, status } of events) {
    listed.add(id)
    if (status !== 'DELIVERED') losses.push(`the event ${id} is ${status}`)
    if (!delivered.has(id)) losses.push(`the merchant never got the event ${id}`)
  }
  for (const id of delivered.keys())
    if (!listed.has(id)) losses.push(`the merchant got the event ${id}, which is not in the list`)
  return losses
}
