import type { Tables } from '../kernel/database.gen.ts'
import { statement, waitOf, type Queries } from '../kernel/db.ts'
import { perLevel, type Principal } from '../identity/principal.ts'
import type { AttemptState, FailureCategory, IntentState, PaymentMethod } from './machine.ts'
import type { CardBrand } from './card.ts'
import type { RejectionReason } from './messages.ts'
import { startStore } from './store-start.ts'

type Columns = Tables['payments.intents']
type AttemptColumns = Tables['payments.attempts']
type OrNull<Row> = { readonly [Column in keyof Row]: Row[Column] | null }

/** An intent and the attempt of it that was started last, whose columns are all null before the first. */
export interface IntentRow
  extends
    Omit<Columns, 'checkout_token_hash' | 'latest_attempt_id' | 'redirect_urls' | 'metadata'>,
    OrNull<
      Pick<
        AttemptColumns,
        | 'challenge_expires_at'
        | 'code_text'
        | 'card_last_four'
        | 'approval_code'
        | 'processor_transaction_id'
        | 'reconciliation_id'
        | 'invoice_number'
        | 'completed_at'
      >
    > {
  readonly redirect_urls: Record<string, string> | null
  readonly metadata: Record<string, string>
  readonly attempt_id: AttemptColumns['id'] | null
  readonly method: PaymentMethod | null
  readonly attempt_state: AttemptState | null
  readonly attempt_state_at: AttemptColumns['state_at'] | null
  readonly failure_category: FailureCategory | null
  readonly decline_reason: RejectionReason | null
  readonly card_brand: CardBrand | null
  /** How and when its link has ended, while intents of that are still to be ended. */
  readonly link_end_state: LinkEnd['state'] | null
  readonly link_end_at: Date | null
  /** Whether any attempt of it is a code. */
  readonly had_code: boolean
  /** Business time of the reading. */
  readonly read_at: Date
}

/** An intent and that attempt of it that is a code. */
export type CodeRow = IntentRow & { readonly [Column in 'attempt_id' | 'code_text']: string } & {
  readonly attempt_state: AttemptState
  readonly attempt_state_at: Date
  readonly challenge_expires_at: Date
}

/** An attempt that something is due for. */
interface OpenAttempt {
  readonly id: string
  readonly intent_id: string
  readonly link_id: string | null
}

interface DueInquiry extends OpenAttempt {
  readonly age_ms: number
}

interface Abandoned {
  readonly id: string
  readonly method: PaymentMethod
}

export interface NewIntent {
  readonly id: string
  readonly partnerId: string
  readonly merchantId: string
  readonly branchId: string
  readonly branchName: string
  readonly linkId: string | null
  readonly amount: bigint
  readonly currency: string
  readonly description: string | null
  readonly orderReference: string | null
  readonly redirectUrls: Readonly<Record<string, string>> | null
  readonly metadata: Readonly<Record<string, string>>
  readonly checkoutTokenHash: Buffer
  readonly formNonce: string | null
  readonly expiresAt: Date
  readonly at: Date
}

/** How and when a link has ended, and its open intents with it. */
export interface LinkEnd {
  readonly state: Exclude<IntentState, 'ACTIVE'>
  readonly at: Date
}

export interface Settled {
  readonly attemptId: string
  readonly state: AttemptState
  readonly category: FailureCategory | null
  readonly reason: RejectionReason | null
  readonly approval: { approvalCode: string; transactionId: string; reconciliationId: string; completedAt: Date } | null
  readonly transactionStatus: string
  readonly at: Date
}

const endedAtOnceMax = 1_000

const intentColumns = `
  i.id, i.partner_id, i.merchant_id, i.branch_id, i.branch_name, i.link_id, i.amount, i.currency, i.state, i.description,
  i.order_reference, i.redirect_urls, i.metadata, i.attempt_count, i.form_nonce, i.expires_at, i.succeeded_at, i.created_at, i.state_at,
  a.id as attempt_id, a.state as attempt_state, a.state_at as attempt_state_at, a.failure_category, a.decline_reason,
  a.challenge_expires_at, a.method, a.code_text, a.card_brand, a.card_last_four, a.approval_code, a.processor_transaction_id, a.reconciliation_id,
  a.invoice_number, a.completed_at, e.state as link_end_state, e.at as link_end_at, kernel.now() as read_at,
  a.method = 'qrph' is true
    or i.attempt_count > 1 and exists (select from payments.attempts c where c.intent_id = i.id and c.method = 'qrph') as had_code`
const withLinkEnd = 'left join payments.ending_links e on e.link_id = i.link_id'
const fromIntent = `from payments.intents i left join payments.attempts a on a.id = i.latest_attempt_id ${withLinkEnd}`

const findIntent = perLevel(
  'payments.findIntent',
  (entity) => `select ${intentColumns} ${fromIntent} where i.id = $1 and i.${entity} = $2`,
)
const readIntent = statement('payments.readIntent', `select ${intentColumns} ${fromIntent} where i.id = $1`)
const findIntentByToken = statement(
  'payments.findIntentByToken',
  `select ${intentColumns} ${fromIntent} where i.checkout_token_hash = $1`,
)
const findIntentsMade = statement(
  'payments.findIntentsMade',
  `select ${intentColumns} ${fromIntent}
    where i.link_id = $1 and (i.form_nonce = any($2) or i.checkout_token_hash = any($3))`,
)

const findCode = statement(
  'payments.findCode',
  `select ${intentColumns} from payments.attempts a join payments.intents i on i.id = a.intent_id ${withLinkEnd}
    where a.id = $1 and a.method = 'qrph' and ($2::uuid is null or i.partner_id = $2)`,
)

const insertIntent = statement(
  'payments.insertIntent',
  `insert into payments.intents (id, partner_id, merchant_id, branch_id, branch_name, link_id, amount, currency, description,
     order_reference, redirect_urls, metadata, checkout_token_hash, form_nonce, expires_at, created_at, state_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16)
   on conflict (link_id, form_nonce) where form_nonce is not null do nothing
   returning id`,
)

const lockIntent = statement('payments.lockIntent', 'select from payments.intents where id = $1 for update')

// Compare-and-set from the state that the machine's table allowed the move from. Here as below nothing is set back in time: what stands
// may be of a process whose clock is ahead of this one's, or have come about while a lock was waited for.
const settleAttempt = statement(
  'payments.settleAttempt',
  `with attempt as (
     update payments.attempts
        set state = $2, state_at = greatest($9, state_at), failure_category = $3, decline_reason = $4, approval_code = $5, processor_transaction_id = $6,
            reconciliation_id = $7, completed_at = $8, run_at = null, lease_until = null,
            -- A bank may end the time of a code before it is over.
            challenge_expires_at = case when $11 = 'EXPIRED' then $9 else challenge_expires_at end,
            invoice_number = case when $2 = 'SUCCEEDED' then lpad(nextval('payments.invoice_numbers')::text, 10, '0') end
      where id = $1 and state = $10
     returning id, intent_id, invoice_number, state_at
   ), intent as (
     update payments.intents set succeeded_at = attempt.state_at from attempt
      where payments.intents.id = attempt.intent_id and $2 = 'SUCCEEDED'
   ), transaction as (
     update payments.transactions t
        set status = $11, updated_at = attempt.state_at, approval_code = $5, reference_number = $7, receipt_number = attempt.invoice_number,
            amount_authorized = case when $2 = 'SUCCEEDED' then t.amount else 0 end,
            amount_received = case when $2 = 'SUCCEEDED' then t.amount else 0 end,
            settlement_status = case when $2 = 'SUCCEEDED' then 'UNSETTLED' else 'NOT_APPLICABLE' end,
            captured_at = case when $2 = 'SUCCEEDED' then attempt.state_at end
       from attempt where t.id = attempt.id
   )
   select intent_id from attempt`,
)

// Held by whoever brings the result of a challenge: two at once would both take the use of the link for the same attempt. Comes before
// the locks of links and intents, and nobody else takes it.
const lockChallenge = statement('payments.lockChallenge', 'select pg_advisory_xact_lock(hashtextextended($1, 0))')

// The challenge was passed: from here on the attempt is like one that needed none.
const resumeAttempt = statement(
  'payments.resumeAttempt',
  `update payments.attempts
      set state = 'PROCESSING', state_at = greatest($3, state_at), run_at = $3, lease_until = clock_timestamp() + $2 * interval '1 second'
    where id = $1 and state = 'REQUIRES_ACTION'
   returning id`,
)

// Open intents of a link end with it, except those whose own end comes before, though it be stored while this waits for them. One that is being
// processed only stores its end. There may be more than can be ended while a payer waits: the rest is read as ended, and ends later, as of then.
const endIntentsOfLink = statement(
  'payments.endIntentsOfLink',
  `update payments.intents set state = $2, state_at = greatest($3, state_at)
    where id in (select id from payments.intents
                  where link_id = $1 and state = 'ACTIVE' and succeeded_at is null
                    and expires_at > case when $5 then $3 else kernel.now() end limit $4 for update)
   returning id`,
)
// These wait for their turn with the link, whatever falls due of them meanwhile.
const linkEndedBefore = (time: string) =>
  `exists (select from payments.ending_links e where e.link_id = i.link_id and e.at ${time})`
const noteEndingLink = statement(
  'payments.noteEndingLink',
  'insert into payments.ending_links (link_id, state, at) values ($1, $2, $3)',
)
const findEndingLinks = statement(
  'payments.findEndingLinks',
  'select link_id as id from payments.ending_links where not payments.is_put_off(link_id) order by at limit $1',
)
const takeEndingLink = statement(
  'payments.takeEndingLink',
  'delete from payments.ending_links where link_id = $1 returning state, at',
)

const cancelIntent = statement(
  'payments.cancelIntent',
  `update payments.intents set state = 'CANCELLED', state_at = greatest($2, state_at)
    where id = $1 and state = 'ACTIVE' and succeeded_at is null and expires_at > kernel.now()
   returning id`,
)

// A statement of its own after the intents are locked: in the one that waited for the locks, an attempt that was started meanwhile
// would not be seen. A challenge whose time was over before that end is left: it was declined then, and says so. A code too: it expired. Whoever
// ends an intent may be ahead of the database, by whose time that is decided.
const abandonAttempts = statement(
  'payments.abandonAttempts',
  `with abandoned as (
     update payments.attempts a set state = 'ABANDONED', state_at = greatest(i.state_at, a.state_at) from payments.intents i
      where i.id = any ($1) and a.intent_id = i.id and a.method = any ($2)
        and a.state = 'REQUIRES_ACTION' and a.challenge_expires_at >= least(i.state_at, kernel.now())
     returning a.id, a.method, a.state_at, case i.state when 'EXPIRED' then 'EXPIRED' else 'CANCELLED' end as status
   )
   update payments.transactions t set status = abandoned.status, updated_at = abandoned.state_at
     from abandoned where t.id = abandoned.id
   returning t.id, abandoned.method`,
)

// A code that waits has expired by then, and ends first: its use of the link is given back before its intent is locked. One that was made in
// the moment before is not seen here, and ends after its intent.
const overdueIntents = (within: string): string => `
  select id from payments.intents i
   where state = 'ACTIVE' and succeeded_at is null and expires_at <= kernel.now() and not payments.is_put_off(id)
     and not ${linkEndedBefore('< i.expires_at')}
     and not exists (select from payments.attempts a
                      where a.id = i.latest_attempt_id and a.state = 'REQUIRES_ACTION' and a.method = 'qrph')
     ${within}`

const expired = (within: string): string => `
  with due as (${overdueIntents(within)} for update skip locked)
  update payments.intents i set state = 'EXPIRED', state_at = i.expires_at from due where i.id = due.id
  returning i.id, i.link_id, i.expires_at`

const findOverdueIntents = statement('payments.findOverdueIntents', overdueIntents('order by expires_at limit $1'))
const expireIntents = statement('payments.expireIntents', expired('order by expires_at limit $1'))
const expireIntent = statement('payments.expireIntent', expired('and id = $1'))

const claimInquiries = statement(
  'payments.claimInquiries',
  `with due as materialized (
     select id from payments.attempts
      where state = 'PROCESSING' and run_at <= kernel.now() and (lease_until is null or lease_until < clock_timestamp())
      order by run_at limit $1 for update skip locked
   )
   update payments.attempts a
      set lease_until = clock_timestamp() + $2 * interval '1 second', inquiry_count = a.inquiry_count + 1
     from due, payments.intents i where a.id = due.id and i.id = a.intent_id
   returning a.id, a.intent_id, i.link_id, (extract(epoch from kernel.now() - a.state_at) * 1000)::float8 as age_ms`,
)

const postponeInquiry = statement(
  'payments.postponeInquiry',
  `update payments.attempts set run_at = kernel.now() + $2 * interval '1 millisecond', lease_until = null
    where id = $1 and state = 'PROCESSING'`,
)

// Where the intent expires first, that is what ends the challenge. A code never outlives its intent.
const findOverdueAttempts = statement(
  'payments.findOverdueAttempts',
  `select a.id, a.intent_id, i.link_id, a.method, a.challenge_expires_at from payments.attempts a join payments.intents i on i.id = a.intent_id
    where a.state = 'REQUIRES_ACTION' and a.challenge_expires_at <= kernel.now()
      and (a.challenge_expires_at < i.expires_at or a.method = 'qrph') and not payments.is_put_off(a.id)
      and not ${linkEndedBefore('< i.expires_at and e.at <= a.challenge_expires_at')}
    order by a.challenge_expires_at limit $1`,
)

const nextDeadline = statement(
  'payments.nextDeadline',
  `select ceil(1000 * extract(epoch from least(
     (select min(expires_at) from payments.intents where state = 'ACTIVE' and succeeded_at is null),
     (select min(challenge_expires_at) from payments.attempts where state = 'REQUIRES_ACTION'),
     (select min(at) from payments.ending_links where not payments.is_put_off(link_id))
   ) - kernel.now()))::float8 as wait_ms`,
)

// In flight means leased: such a row falls due, for its worker or its heir, when the lease ends.
const nextInquiry = statement(
  'payments.nextInquiry',
  `select ceil(1000 * min(greatest(
     extract(epoch from run_at - kernel.now()), extract(epoch from lease_until - clock_timestamp())
   )))::float8 as wait_ms
     from payments.attempts where state = 'PROCESSING'`,
)

export const paymentsStore = {
  findIntent: async (on: Queries, principal: Principal, id: string) =>
    (await on.run<IntentRow>(findIntent[principal.level], [id, principal.entityId]))[0],
  /** For callers that hold the intent by something else than a key: its client_secret, or a job of our own. */
  readIntent: async (on: Queries, id: string) => (await on.run<IntentRow>(readIntent, [id]))[0],
  findIntentByToken: async (on: Queries, tokenHash: Buffer) =>
    (await on.run<IntentRow>(findIntentByToken, [tokenHash]))[0],
  findIntentsMade: async (on: Queries, linkId: string, nonces: readonly string[], tokenHashes: readonly Buffer[]) =>
    on.run<IntentRow>(findIntentsMade, [linkId, nonces, tokenHashes]),
  /** False when the same form has made its intent already. */
  insertIntent: async (on: Queries, intent: NewIntent) =>
    (
      await on.run(insertIntent, [
        intent.id,
        intent.partnerId,
        intent.merchantId,
        intent.branchId,
        intent.branchName,
        intent.linkId,
        intent.amount,
        intent.currency,
        intent.description,
        intent.orderReference,
        intent.redirectUrls === null ? null : JSON.stringify(intent.redirectUrls),
        JSON.stringify(intent.metadata),
        intent.checkoutTokenHash,
        intent.formNonce,
        intent.expiresAt,
        intent.at,
      ])
    ).length === 1,
  /** The intent of a code under the partner, or under anybody, with the attempt that the code is. */
  findCode: async (on: Queries, partnerId: string | null, id: string) =>
    (await on.run<CodeRow>(findCode, [id, partnerId]))[0],
  lockIntent: (on: Queries, id: string) => on.run(lockIntent, [id]),
  ...startStore,
  /** True when this call made the move; false when another had made one before. */
  settleAttempt: async (on: Queries, settled: Settled, from: AttemptState) =>
    (
      await on.run(settleAttempt, [
        settled.attemptId,
        settled.state,
        settled.category,
        settled.reason,
        settled.approval?.approvalCode ?? null,
        settled.approval?.transactionId ?? null,
        settled.approval?.reconciliationId ?? null,
        settled.approval?.completedAt ?? null,
        settled.at,
        from,
        settled.transactionStatus,
      ])
    ).length === 1,
  lockChallenge: (on: Queries, attemptId: string) => on.run(lockChallenge, [attemptId]),
  /** From a passed challenge to the processor. False when the attempt waits for none any more. */
  resumeAttempt: async (on: Queries, attemptId: string, leaseSeconds: number, at: Date) =>
    (await on.run(resumeAttempt, [attemptId, leaseSeconds, at])).length === 1,
  /**
   * Some of them, with the challenges and codes that are open on them; resolves to the attempts whose codes they were. `rest`: the link ended
   * before this transaction.
   */
  endIntentsOfLink: async (on: Queries, linkId: string, { state, at }: LinkEnd, rest: boolean): Promise<string[]> => {
    const ended = await on.run<{ id: string }>(endIntentsOfLink, [linkId, state, at, endedAtOnceMax, rest])
    const rows = await on.run<Abandoned>(abandonAttempts, [ended.map(({ id }) => id), ['card', 'qrph']])
    if (ended.length === endedAtOnceMax) await on.run(noteEndingLink, [linkId, state, at])
    return rows.filter(({ method }) => method === 'qrph').map(({ id }) => id)
  },
  /** Links of whose intents some may not have ended with them. */
  findEndingLinks: (on: Queries, rowsMax: number) => on.run<{ id: string }>(findEndingLinks, [rowsMax]),
  takeEndingLink: async (tx: Queries, linkId: string) => (await tx.run<LinkEnd>(takeEndingLink, [linkId]))[0],
  /** With a challenge that is open on it. False when the intent had ended before. */
  cancelIntent: async (on: Queries, id: string, at: Date) => {
    const cancelled = (await on.run(cancelIntent, [id, at])).length === 1
    if (cancelled) await on.run(abandonAttempts, [[id], ['card', 'qrph']])
    return cancelled
  },
  findOverdueIntents: (on: Queries, rowsMax: number) => on.run<{ id: string }>(findOverdueIntents, [rowsMax]),
  /** As many as are due, up to a number, or the one of an id if it is; with the challenges that are open on them. */
  expireIntents: async (on: Queries, which: { readonly rowsMax: number } | { readonly id: string }) => {
    const [query, value] = 'id' in which ? [expireIntent, which.id] : [expireIntents, which.rowsMax]
    const ended = await on.run<{ id: string; link_id: string | null; expires_at: Date }>(query, [value])
    if (ended.length > 0) await on.run(abandonAttempts, [ended.map(({ id }) => id), ['card']])
    return ended
  },
  claimInquiries: (on: Queries, rowsMax: number, leaseSeconds: number) =>
    on.run<DueInquiry>(claimInquiries, [rowsMax, leaseSeconds]),
  postponeInquiry: (on: Queries, attemptId: string, ms: number) => on.run(postponeInquiry, [attemptId, ms]),
  findOverdueAttempts: (on: Queries, rowsMax: number) =>
    on.run<OpenAttempt & { readonly method: PaymentMethod; readonly challenge_expires_at: Date }>(findOverdueAttempts, [
      rowsMax,
    ]),
  nextDeadline: (on: Queries) => waitOf(on, nextDeadline),
  nextInquiry: (on: Queries) => waitOf(on, nextInquiry),
}
