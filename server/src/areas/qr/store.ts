import { perLevel, type Principal } from '../../identity/principal.ts'
import { statement, waitOf, type Queries } from '../../kernel/db.ts'
import type { CodeMove, CodeState } from './machine.ts'

export interface CodeRow {
  readonly id: string
  readonly partner_id: string
  readonly merchant_id: string
  readonly branch_id: string
  readonly reference: string
  readonly amount: bigint
  readonly currency: string
  readonly text: string
  readonly state: CodeState
  readonly decline_reason: string | null
  readonly created_at: Date
  readonly expires_at: Date
  readonly state_at: Date
  /** Of one that was paid: the bank's name for that payment. */
  readonly bank_reference: string | null
  /** Business time of the reading. */
  readonly read_at: Date
}

export interface NewCode {
  readonly id: string
  readonly partnerId: string
  readonly merchantId: string
  readonly branchId: string
  readonly reference: string
  readonly amount: bigint
  readonly currency: string
  readonly text: string
  readonly correlationId: string
  readonly at: Date
  readonly expiresAt: Date
}

// The code and the transaction that reporting reads are one statement.
const insertCode = statement(
  'qr.insertCode',
  `with code as (
     insert into qr.codes (id, partner_id, merchant_id, branch_id, reference, amount, currency, text, created_at, expires_at, state_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $9)
     on conflict (merchant_id, reference) do nothing
     returning *
   )
   select payments.open_transaction(id, partner_id, merchant_id, branch_id, amount, currency, 'QR_PH', $11, created_at, expires_at)
     from code`,
)

const columns = `id, partner_id, merchant_id, branch_id, reference, amount, currency, text, state, decline_reason, created_at, expires_at,
  state_at, bank_reference, kernel.now() as read_at`

const findCode = perLevel('qr.findCode', (entity) => `select ${columns} from qr.codes where id = $1 and ${entity} = $2`)
const findByReference = perLevel(
  'qr.findByReference',
  (entity) => `select ${columns} from qr.codes where reference = $1 and ${entity} = $2 and merchant_id = $3`,
)

const newestPending = perLevel(
  'qr.newestPending',
  (entity) =>
    `select ${columns} from qr.codes where state = 'PENDING' and expires_at > kernel.now() and ${entity} = $1 order by id desc limit 1`,
)

// A payer may pay whomever: the partner is null then, and whoever has the text of a code may know what it says.
const findPayable = statement(
  'qr.findPayable',
  `select ${columns} from qr.codes where id = $1 and ($2::uuid is null or partner_id = $2)`,
)

const lockCode = statement('qr.lockCode', 'select from qr.codes where id = $1 and partner_id = $2 for update')

// Compare-and-set from the state that the machine's table allowed the move from. A code that ends before its time has no later end.
const moveCode = statement(
  'qr.moveCode',
  `with moved as (
     update qr.codes set state = $2, state_at = $3, decline_reason = $4, bank_reference = $7,
            expires_at = case when $2 = 'EXPIRED' then least(expires_at, $3) else expires_at end
      where id = $1 and state = $5
     returning id
   )
   select payments.end_transaction(id, $6, $7, $3) from moved`,
)

const overdueCodes = (within: string): string => `
  select id from qr.codes where state = 'PENDING' and expires_at <= kernel.now() and not payments.is_put_off(id) ${within}`

const expiredCodes = (within: string): string => `
  with due as materialized (${overdueCodes(within)} for update skip locked), ended as (
     update qr.codes c set state = 'EXPIRED', state_at = c.expires_at from due where c.id = due.id
     returning c.id, c.expires_at
   )
   select payments.end_transaction(id, 'EXPIRED', null, expires_at) from ended`

const findOverdueCodes = statement('qr.findOverdueCodes', overdueCodes('order by expires_at limit $1'))
const expireCodes = statement('qr.expireCodes', expiredCodes('order by expires_at limit $1'))
const expireCode = statement('qr.expireCode', expiredCodes('and id = $1'))

const nextExpiry = statement(
  'qr.nextExpiry',
  `select ceil(1000 * extract(epoch from qr.next_due() - kernel.now()))::float8 as wait_ms`,
)

const insertUnmatched = statement(
  'qr.insertUnmatched',
  `insert into qr.unmatched_payments (id, code_id, code_state, merchant_id, reference, amount, currency, bank_reference, at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (code_id, bank_reference) do nothing returning id`,
)

const openUnmatched = statement(
  'qr.openUnmatched',
  'select count(*)::integer as open from qr.unmatched_payments where settled_at is null',
)

export const qrStore = {
  /** False when the merchant has a code of this reference. */
  insertCode: async (on: Queries, code: NewCode) =>
    (
      await on.run(insertCode, [
        code.id,
        code.partnerId,
        code.merchantId,
        code.branchId,
        code.reference,
        code.amount,
        code.currency,
        code.text,
        code.at,
        code.expiresAt,
        code.correlationId,
      ])
    ).length === 1,
  findCode: async (on: Queries, { level, entityId }: Principal, id: string) =>
    (await on.run<CodeRow>(findCode[level], [id, entityId]))[0],
  findByReference: async (on: Queries, { level, entityId, merchantId }: Principal, reference: string) =>
    (await on.run<CodeRow>(findByReference[level], [reference, entityId, merchantId]))[0],
  newestPending: async (on: Queries, { level, entityId }: Principal) =>
    (await on.run<CodeRow>(newestPending[level], [entityId]))[0],
  findPayable: async (on: Queries, partnerId: string | null, id: string) =>
    (await on.run<CodeRow>(findPayable, [id, partnerId]))[0],
  /**
   * A code under the partner, nobody else's to move until the transaction ends, as it stands when its lock has been waited for: a statement
   * that waits itself has the time of before.
   */
  async lockCode(tx: Queries, partnerId: string, id: string): Promise<CodeRow | undefined> {
    await tx.run(lockCode, [id, partnerId])
    return (await tx.run<CodeRow>(findPayable, [id, partnerId]))[0]
  },
  /** True when this call made the move; false when another had made one before. */
  moveCode: async (
    tx: Queries,
    id: string,
    move: CodeMove,
    { at, reason, bankReference }: { at: Date; reason: string | null; bankReference: string | null },
  ) => (await tx.run(moveCode, [id, move.to, at, reason, move.from, move.transaction, bankReference])).length === 1,
  findOverdueCodes: (on: Queries, rowsMax: number) => on.run<{ id: string }>(findOverdueCodes, [rowsMax]),
  /** As many as are due, up to a number, or the one of an id if it is; how many were stored as EXPIRED. */
  expireCodes: async (on: Queries, which: { readonly rowsMax: number } | { readonly id: string }) =>
    ('id' in which ? await on.run(expireCode, [which.id]) : await on.run(expireCodes, [which.rowsMax])).length,
  /** Milliseconds until one expires; Infinity while none is PENDING. */
  nextExpiry: (on: Queries) => waitOf(on, nextExpiry),
  openUnmatched: async (on: Queries): Promise<number> =>
    (await on.run<{ open: number }>(openUnmatched, []))[0]?.open ?? 0,
  /** False when it was told of before. */
  insertUnmatched: async (
    tx: Queries,
    payment: {
      id: string
      codeId: string
      codeState: CodeState
      merchantId: string
      reference: string
      amount: bigint
      currency: string
      bankReference: string
      at: Date
    },
  ) =>
    (
      await tx.run(insertUnmatched, [
        payment.id,
        payment.codeId,
        payment.codeState,
        payment.merchantId,
        payment.reference,
        payment.amount,
        payment.currency,
        payment.bankReference,
        payment.at,
      ])
    ).length === 1,
}
