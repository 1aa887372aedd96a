import type { Accounts } from '../../identity/accounts.ts'
import type { Principal } from '../../identity/principal.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../../kernel/db.ts'
import { newId } from '../../kernel/ids.ts'
import { decimalToMinor } from '../../kernel/money.ts'
import { refuse } from './errors.ts'
import { codeAsOf, type CodeState } from './machine.ts'
import { qrStore as store, type CodeRow } from './store.ts'
import { codeText, type QrBank } from './text.ts'

export interface QrDependencies {
  readonly db: Db
  readonly clock: Clock
  readonly accounts: Accounts
  readonly bank: QrBank
  /** Whether anybody tells what the bank was paid. */
  readonly isTold: boolean
}

export interface CodeRequest {
  readonly activationCode: string
  readonly currency: string
  /** A plain decimal. */
  readonly amount: string
  readonly merchantReferenceNumber: string
}

/** A code as everybody sees it, at the time that it was read. */
export interface Code {
  readonly id: string
  readonly partnerId: string
  readonly merchantId: string
  readonly branchId: string
  readonly reference: string
  readonly amount: bigint
  readonly currency: string
  readonly text: string
  readonly state: CodeState
  /** When `state` was reached. */
  readonly stateAt: Date
  readonly declineReason: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

export type QrService = ReturnType<typeof createQrService>

export const currency = 'PHP'
const [codeAmountMin, codeAmountMax] = [100n, 9_999_999n]
/** The same, for a person. */
export const codeAmounts = 'from 1.00 to 99999.99'
/** Of minor units. */
export const isCodeAmount = (amount: bigint): boolean => amount >= codeAmountMin && amount <= codeAmountMax
const lifeMs = 15 * 60_000

export function createQrService({ db, clock, accounts, bank, isTold }: QrDependencies) {
  const found = (row: CodeRow | undefined): Code => {
    if (row === undefined) throw refuse('CODE_NOT_FOUND', 'This account has no such code.')
    return codeOf(row)
  }

  return {
    /** Makes a code. A request that is declined leaves nothing behind. UNAVAILABLE where nobody would hear of the payment. */
    async create(principal: Principal, request: CodeRequest, correlationId: string): Promise<Code> {
      if (!isTold)
        throw refuse('UNAVAILABLE', 'No bank tells this installation what is paid yet, so it makes no codes.')
      const amount = amountOf(request)
      const branch = await accounts.branchByCode(principal, request.activationCode)
      if (branch === undefined)
        throw refuse('UNKNOWN_ACTIVATION_CODE', 'activationCode: names no branch of this account or key.')
      const at = clock.now()
      const id = newId(at)
      const [partnerId, merchantId, branchId] = [branch.partner_id, branch.merchant_id, branch.branch_id]
      const text = codeText(bank, {
        id,
        merchantId,
        merchantName: branch.merchant_name,
        branchReference: branch.reference_number,
        amount,
        currency,
      })
      const expiresAt = new Date(at.getTime() + lifeMs)
      const reference = request.merchantReferenceNumber
      const paid = { partnerId, merchantId, branchId, reference, amount, currency }
      const isNew = await store.insertCode(db, { ...paid, id, text, correlationId, at, expiresAt })
      if (!isNew)
        throw refuse(
          'DUPLICATE_REFERENCE',
          'merchantReferenceNumber: was used before; every code takes one of its own.',
        )
      const state = { state: 'PENDING' as const, stateAt: at, declineReason: null }
      return { ...paid, id, text, ...state, createdAt: at, expiresAt }
    },

    retrieve: async (principal: Principal, id: string): Promise<Code> => found(await store.findCode(db, principal, id)),

    findByReference: async (principal: Principal, reference: string): Promise<Code> =>
      found(await store.findByReference(db, principal, reference)),
  }
}

/** A row with its deadline applied. */
export function codeOf(row: CodeRow): Code {
  const stored = {
    id: row.id,
    partnerId: row.partner_id,
    merchantId: row.merchant_id,
    branchId: row.branch_id,
    reference: row.reference,
    amount: row.amount,
    currency: row.currency,
    text: row.text,
    state: row.state,
    stateAt: row.state_at,
    declineReason: row.decline_reason,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
  return codeAsOf(stored, row.read_at)
}

function amountOf(request: CodeRequest): bigint {
  if (request.currency !== currency) throw refuse('UNSUPPORTED_CURRENCY', 'currency: is not PHP.')
  const read = decimalToMinor(request.amount, currency)
  if ('refusal' in read && read.refusal !== 'integer_digits_max')
    throw refuse('INVALID_REQUEST', 'amount: is no text with two decimals, as in 98.00.')
  if ('refusal' in read || !isCodeAmount(read.minor))
    throw refuse('AMOUNT_OUT_OF_RANGE', `amount: must be ${codeAmounts}.`)
  return read.minor
}
