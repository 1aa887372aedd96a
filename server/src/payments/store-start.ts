import { statement, type Queries } from '../kernel/db.ts'
import type { CardBrand } from './card.ts'
import type { AttemptState, FailureCategory, PaymentMethod } from './machine.ts'

export interface NewAttempt {
  readonly id: string
  readonly intentId: string
  readonly state: AttemptState
  readonly category: FailureCategory | null
  readonly method: PaymentMethod
  readonly cardBrand: CardBrand | null
  readonly cardLastFour: string | null
  readonly cardFingerprint: string | null
  readonly codeText: string | null
  /** When REQUIRES_ACTION is over. */
  readonly challengeExpiresAt: Date | null
  readonly transactionStatus: string
  readonly correlationId: string | null
  readonly leaseSeconds: number
  readonly at: Date
}

// The attempt, its place in the intent and the transaction that reporting reads are one statement. It begins no sooner than its intent, which
// was made by the clock of another process perhaps.
const inserted = (where: string): string => `
   with counted as (
     update payments.intents set attempt_count = attempt_count + 1, latest_attempt_id = $1 where ${where}
     returning id, attempt_count, partner_id, merchant_id, branch_id, amount, currency, greatest($11::timestamptz, state_at) as at
   ), attempt as (
     insert into payments.attempts (id, intent_id, number, state, failure_category, card_brand, card_last_four, card_fingerprint,
       challenge_expires_at, run_at, lease_until, created_at, state_at, method, code_text)
     select $1, id, attempt_count, $3, $4, $5, $6, $7, $8, case when $3 = 'PROCESSING' then at end,
            clock_timestamp() + $10 * interval '1 second', at, at, $13, $14
       from counted
   )
   insert into payments.transactions (id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method, card_brand,
     card_last_four, correlation_id, created_at, updated_at)
   select $1, partner_id, merchant_id, branch_id, $9, amount, currency,
         case $13 when 'qrph' then 'QR_PH' else 'CARD_NOT_PRESENT' end, $5, $6, $12, at, at from counted
   returning id`

const insertAttempt = statement('payments.insertAttempt', inserted('id = $2'))

// An open intent without attempts has nothing that would be stored, counted or refused first, so it need not be read under its lock.
const insertFirstAttempt = statement(
  'payments.insertFirstAttempt',
  inserted(`id = $2 and latest_attempt_id is null and state = 'ACTIVE' and expires_at > kernel.now()
       and not exists (select from payments.ending_links e where e.link_id = intents.link_id)`),
)

const findOverdueCodes = statement(
  'payments.findOverdueCodes',
  `select a.id, a.intent_id, a.challenge_expires_at from payments.attempts a join payments.intents i on i.id = a.intent_id
    where a.state = 'REQUIRES_ACTION' and a.challenge_expires_at <= kernel.now() and a.method = 'qrph' and i.link_id = $1
      and not payments.is_put_off(a.id)
    order by a.id limit $2`,
)

const valuesOf = (attempt: NewAttempt): readonly unknown[] => [
  attempt.id,
  attempt.intentId,
  attempt.state,
  attempt.category,
  attempt.cardBrand,
  attempt.cardLastFour,
  attempt.cardFingerprint,
  attempt.challengeExpiresAt,
  attempt.transactionStatus,
  attempt.leaseSeconds,
  attempt.at,
  attempt.correlationId,
  attempt.method,
  attempt.codeText,
]

export const startStore = {
  /** Both come after the intent's lock. */
  insertAttempt: (on: Queries, attempt: NewAttempt) => on.run(insertAttempt, valuesOf(attempt)),
  /** False where the intent is not open, or had an attempt before: nothing has happened. */
  insertFirstAttempt: async (on: Queries, attempt: NewAttempt) =>
    (await on.run(insertFirstAttempt, valuesOf(attempt))).length === 1,
  /** Codes of a link whose time is over, while that is not stored. */
  findOverdueCodes: (on: Queries, linkId: string, rowsMax: number) =>
    on.run<{ id: string; intent_id: string; challenge_expires_at: Date }>(findOverdueCodes, [linkId, rowsMax]),
}
