import assert from 'node:assert/strict'
import { rowsOf } from './conformance/shop.ts'
import type { Platform } from './platform.ts'

/** What must hold in the tables at any time, each as a query that finds what breaks it. */
const invariants: readonly (readonly [says: string, query: string])[] = [
  [
    'an intent has one success at most, one open attempt at most, and twenty attempts at most',
    `select intent_id from payments.attempts group by intent_id
      having count(*) filter (where state = 'SUCCEEDED') > 1
          or count(*) filter (where state in ('PROCESSING', 'REQUIRES_ACTION')) > 1 or count(*) > 20`,
  ],
  [
    'an intent counts its attempts, points at the latest, and says when it was paid',
    `select i.id from payments.intents i left join payments.attempts a on a.intent_id = i.id
      group by i.id
      having count(a.id) <> i.attempt_count
          or i.latest_attempt_id is distinct from (array_agg(a.id order by a.number desc))[1]
          or (i.succeeded_at is not null) <> (count(*) filter (where a.state = 'SUCCEEDED') = 1)`,
  ],
  [
    'a link counts the successes and the payments in progress of its intents, and both stay within its cap',
    `select l.id from ecommerce.links l left join payments.intents i on i.link_id = l.id left join payments.attempts a on a.intent_id = i.id
      group by l.id
      having l.success_count <> count(*) filter (where a.state = 'SUCCEEDED')
          or l.reserved_count <> count(*) filter (where a.state = 'PROCESSING' or (a.state = 'REQUIRES_ACTION' and a.method = 'qrph'))
          or l.success_count + l.reserved_count > case l.type when 'one_time' then 1 else coalesce(l.max_uses, 2147483647) end`,
  ],
  [
    'a use is RESERVED, SPENT or RELEASED as its attempt is being processed or is a code to be paid, has succeeded or has not',
    `select a.id from payments.attempts a join payments.intents i on i.id = a.intent_id
       left join ecommerce.link_uses u on u.attempt_id = a.id
      where i.link_id is not null and u.state is distinct from case
        when a.state = 'PROCESSING' or (a.state = 'REQUIRES_ACTION' and a.method = 'qrph') then 'RESERVED' when a.state = 'SUCCEEDED' then 'SPENT'
        when u.attempt_id is not null then 'RELEASED' end`,
  ],
  [
    'a link that was cancelled has left none of its intents open, those that are being paid neither',
    `select i.id from payments.intents i join ecommerce.links l on l.id = i.link_id
      where l.state = 'CANCELLED' and i.state = 'ACTIVE' and i.succeeded_at is null and i.expires_at > kernel.now()`,
  ],
  [
    'a link says when it was cancelled if it was, and never why if it was not',
    `select id from ecommerce.links
      where (state = 'CANCELLED') <> (cancelled_at is not null) or (cancellation_reason is not null and state <> 'CANCELLED')`,
  ],
  [
    'a link that is used up has no intent left that is open and could still be paid',
    `select i.id from payments.intents i join ecommerce.links l on l.id = i.link_id
      where l.state = 'CONSUMED' and i.state = 'ACTIVE' and i.succeeded_at is null and i.expires_at > kernel.now()
        and not exists (select from payments.attempts a where a.intent_id = i.id and a.state = 'PROCESSING')`,
  ],
  [
    'an intent that has ended has no open challenge, unless its time was over before and nobody has come by since',
    `select i.id from payments.intents i join payments.attempts a on a.intent_id = i.id
      where i.state <> 'ACTIVE' and a.state = 'REQUIRES_ACTION' and a.challenge_expires_at >= i.state_at`,
  ],
  [
    'an attempt that ended has one event of its kind, and no other attempt has any',
    `select a.id from payments.attempts a
       left join delivery.events e on e.payment_intent_id = a.intent_id and (e.body::json -> 'data' ->> 'payment_attempt_id')::uuid = a.id
        and e.type <> 'payment.expired'
      group by a.id
      having count(e.id) <> case when a.state in ('SUCCEEDED', 'DECLINED', 'FAILED') then 1 else 0 end
          or bool_or(e.type <> 'payment.' || lower(a.state))`,
  ],
  [
    'payment.expired is told once at most, and never of what was paid or has not expired',
    `select payment_intent_id, payment_link_id from delivery.events e where type = 'payment.expired'
      group by 1, 2
      having count(*) > 1
          or (payment_intent_id is not null and exists (select from payments.intents i where i.id = payment_intent_id and (i.succeeded_at is not null or i.state <> 'EXPIRED')))
          or (payment_intent_id is null and exists (select from ecommerce.links l where l.id = payment_link_id and (l.success_count > 0 or l.state <> 'EXPIRED')))`,
  ],
  [
    'every attempt has one transaction, which says the same',
    `select a.id from payments.attempts a join payments.intents i on i.id = a.intent_id left join payments.transactions t on t.id = a.id
      where t.status is distinct from case a.state
        when 'SUCCEEDED' then case t.amount_refunded when 0 then 'CAPTURED' when t.amount_received then 'REFUNDED' else 'PARTIALLY_REFUNDED' end when 'DECLINED' then 'DECLINED' when 'FAILED' then 'FAILED'
        when 'ABANDONED' then case when (i.state = 'EXPIRED' and a.state_at >= i.state_at) or (a.method = 'qrph' and a.state_at >= a.challenge_expires_at) then 'EXPIRED' else 'CANCELLED' end else 'PENDING' end
        or t.amount_received <> case a.state when 'SUCCEEDED' then i.amount else 0 end`,
  ],
  [
    'no more goes back than came: what is refunded and what is held back are the sums of the refunds',
    `select t.id from payments.transactions t left join payments.refunds r on r.transaction_id = t.id
      group by t.id
      having t.amount_refunded <> coalesce(sum(r.amount) filter (where r.state = 'SUCCEEDED'), 0)
          or t.amount_refund_reserved <> coalesce(sum(r.amount) filter (where r.state = 'PENDING'), 0)
          or t.amount_refunded + t.amount_refund_reserved > t.amount_received`,
  ],
  [
    'the processor has approved what SUCCEEDED, and nothing else but what is still being processed',
    `select a.id from payments.attempts a left join sandbox.authorizations s on s.attempt_id = a.id and s.outcome = 'approved'
      where (s.attempt_id is null and a.state = 'SUCCEEDED' and a.method = 'card') or (s.attempt_id is not null and a.state not in ('SUCCEEDED', 'PROCESSING'))`,
  ],
  [
    'a code is paid by one bank once, and what banks took besides is recorded as money that nobody was told to expect',
    `select t.id from payments.transactions t join payments.attempts a on a.id = t.id
      where a.method = 'qrph' and (t.payment_method <> 'QR_PH' or t.card_brand is not null or t.card_last_four is not null
         or (a.state = 'SUCCEEDED' and (t.reference_number is distinct from a.reconciliation_id
              or exists (select from qr.unmatched_payments u where u.bank_reference = a.reconciliation_id))))`,
  ],
  [
    'nothing was approved whose challenge was not passed',
    `select c.attempt_id from sandbox.challenges c join sandbox.authorizations s on s.attempt_id = c.attempt_id
      where c.result is distinct from 'passed' and s.outcome = 'approved'`,
  ],
  [
    'the processor has made the refunds that SUCCEEDED, and none besides but those that it is still asked about',
    `select r.id from payments.refunds r left join sandbox.refunds s on s.refund_id = r.id and s.outcome = 'refunded'
      where (s.refund_id is null and r.state = 'SUCCEEDED') or (s.refund_id is not null and r.state = 'FAILED')
     union all
     select s.refund_id from sandbox.refunds s where s.outcome = 'refunded' and not exists (select from payments.refunds r where r.id = s.refund_id)`,
  ],
]

/** What must hold besides when nothing is open any more: everybody was told of what came to nothing. */
const inTheEnd: readonly (readonly [says: string, query: string])[] = [
  ['no attempt is open', `select id from payments.attempts where state in ('PROCESSING', 'REQUIRES_ACTION')`],
  ['no refund is open', `select id from payments.refunds where state = 'PENDING'`],
  [
    'an intent of its own that nobody paid has told so, unless it was cancelled',
    `select id from payments.intents i where link_id is null and succeeded_at is null and state <> 'CANCELLED'
        and not exists (select from delivery.events e where e.payment_intent_id = i.id and e.type = 'payment.expired')`,
  ],
  [
    'a link that nobody paid has told so',
    `select id from ecommerce.links l where success_count = 0 and state = 'EXPIRED'
        and not exists (select from delivery.events e where e.payment_link_id = l.id and e.payment_intent_id is null and e.type = 'payment.expired')`,
  ],
  [
    'every payment is settled, and the settlements are the sum of what was received and refunded',
    `select t.received, s.gross, t.refunded, s.refunds
       from (select coalesce(sum(amount_received), 0) as received, coalesce(sum(amount_refunded), 0) as refunded,
                    count(*) filter (where settlement_status = 'UNSETTLED') as unsettled from payments.transactions) t,
            (select coalesce(sum(gross), 0) as gross, coalesce(sum(refunds), 0) as refunds from payments.settlement_shares) s
      where t.received <> s.gross or t.refunded <> s.refunds or t.unsettled > 0`,
  ],
]

async function mustBeEmpty(p: Pick<Platform, 'kaha'>, queries: typeof invariants): Promise<void> {
  for (const [says, query] of queries) assert.deepEqual(await rowsOf(p, query), [], says)
}

/** Holds the tables of one platform against each other. */
export const audit = (p: Pick<Platform, 'kaha'>): Promise<void> => mustBeEmpty(p, invariants)

/** The same, when everything has ended. */
export const auditInTheEnd = (p: Pick<Platform, 'kaha'>): Promise<void> => mustBeEmpty(p, [...invariants, ...inTheEnd])
