import type { QrPhCode, QrPhRefusal } from '@kaha/qrph'
import type { Clock } from '../../kernel/clock.ts'
import type { Db, Queries } from '../../kernel/db.ts'
import { newId } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import { currencyOf, minorToNumber } from '../../kernel/money.ts'
import type { CodeAtBank, Codes } from '../../payments/codes.ts'
import type { QrFigures } from './figures.ts'
import { moveCode, type CodeEvent } from './machine.ts'
import { codeOf, currency } from './service.ts'
import type { Announce } from './notifications.ts'
import { qrStore as store } from './store.ts'
import { readText, type QrBank } from './text.ts'

/** What a bank says of a code that somebody scanned. */
export interface BankAnswer {
  readonly text: string
  readonly event: CodeEvent
  /** Of a payment: what the payer's bank took, in minor units. As the text says when absent. */
  readonly amount?: bigint
  /** Of a refusal. */
  readonly reason?: string
  /** The bank's name for the payment: told again, it is the same one. */
  readonly bankReference: string
  /** A bank that takes no money for a code that is final: none is unmatched. */
  readonly onlyWhileOpen?: boolean
}

/** Why an answer of a bank changes nothing. `final`: the code has its outcome; a payment of it is unmatched money. */
export interface BankRefusal {
  readonly why: 'malformed' | 'foreign' | 'unknown' | 'final' | 'amount'
  readonly message: string
  /** The rule in one word. */
  readonly rule: string
}

/** What a text says that it is of: a code, and whom it pays. */
interface Named {
  readonly id: string
  readonly merchantId: string
}

/** Codes that are no rows of this room: each belongs to a payment of the checkout, which has its state. Undefined: there is no such code. */
export type CheckoutCodes = Pick<Codes, 'read' | 'answer'>

/** What a payer's bank shows of a text before it pays. */
export interface BankReading {
  readonly code: QrPhCode
  /** The code that was made here, as it stands. */
  readonly made?: CodeAtBank
  /** Why a payment would change nothing. */
  readonly refusal?: BankRefusal
}

export type CodeBank = ReturnType<typeof createCodeBank>

export interface BankDependencies {
  readonly db: Db
  readonly clock: Clock
  readonly bank: QrBank
  readonly checkout: CheckoutCodes
  readonly log: Log
  readonly figures: QrFigures
  readonly announce: Announce
  /** After the commit: something was announced. */
  readonly announced: () => void
}

/** Codes as banks see them: whoever speaks for a bank hands its answers in here. */
export function createCodeBank({ db, clock, bank, checkout, log, figures, announce, announced }: BankDependencies) {
  /** `isUnmatched`: money that nobody knew of before is nobody's. */
  type Settled =
    { code: CodeAtBank; refusal?: undefined } | { refusal: BankRefusal; code: CodeAtBank; isUnmatched: boolean }
  type Payment = BankAnswer & { readonly amount: bigint }

  const insertUnmatched = (
    on: Queries,
    { merchantId, code, at }: { merchantId: string; code: CodeAtBank; at: Date },
    { amount, bankReference }: Payment,
  ) =>
    store.insertUnmatched(on, {
      id: newId(at),
      codeId: code.id,
      codeState: code.state,
      merchantId,
      reference: code.reference,
      amount,
      currency: code.currency,
      bankReference,
      at,
    })

  const settleOwn = async (
    tx: Queries,
    partnerId: string,
    { id, merchantId }: Named,
    answer: Payment,
  ): Promise<Settled | undefined> => {
    const row = await store.lockCode(tx, partnerId, id)
    if (row === undefined || row.merchant_id !== merchantId) return undefined
    const code = codeOf(row)
    const move = moveCode(code.state, answer.event)
    if ('refusal' in move) {
      if (answer.event === 'paid' && row.bank_reference === answer.bankReference) return { code }
      const isUnmatched =
        takesMoney(answer) && (await insertUnmatched(tx, { merchantId, code, at: row.read_at }, answer))
      return { refusal: final(code), code, isUnmatched }
    }
    if (answer.event === 'paid' && answer.amount !== code.amount)
      return { refusal: otherAmount, code, isUnmatched: false }
    // It was made by the clock of another process perhaps, and ends no sooner than it began.
    const at = new Date(Math.max(row.read_at.getTime(), code.createdAt.getTime()))
    const reason = move.to === 'DECLINED' ? (answer.reason ?? 'DECLINED_BY_BANK') : null
    const bankReference = move.to === 'PAID' ? answer.bankReference : null
    if (!(await store.moveCode(tx, id, move, { at, reason, bankReference })))
      throw new Error(`the locked code ${id} was not ${move.from}`)
    const ended = move.to === 'EXPIRED' ? { expiresAt: at } : {}
    const after = { ...code, ...ended, state: move.to, stateAt: at, declineReason: reason }
    await announce(tx, after)
    return { code: after }
  }

  const settleOfCheckout = async (
    partnerId: string,
    { id, merchantId }: Named,
    answer: Payment,
  ): Promise<Settled | undefined> => {
    const { event, amount, bankReference } = answer
    const answered = await checkout.answer(partnerId, { id, merchantId, event, amount, bankReference })
    if (answered?.refusal === undefined) return answered && { code: answered.code }
    const { code, refusal } = answered
    if (refusal === 'amount') return { refusal: otherAmount, code, isUnmatched: false }
    const isUnmatched = takesMoney(answer) && (await insertUnmatched(db, { merchantId, code, at: clock.now() }, answer))
    return { refusal: final(code), code, isUnmatched }
  }

  const find = async (partnerId: string | null, named: Named): Promise<CodeAtBank | undefined> => {
    const row = await store.findPayable(db, partnerId, named.id)
    if (row === undefined) return checkout.read(partnerId, named)
    return row.merchant_id === named.merchantId ? codeOf(row) : undefined
  }

  return {
    /** What a bank app shows of a text: to a payer, who belongs to nobody, codes of every partner. */
    async read(partnerId: string | null, text: string): Promise<BankReading | { refusal: BankRefusal }> {
      const read = readText(bank, text)
      if (read.is === 'malformed') return { refusal: malformed(read.refusal) }
      if (read.is === 'foreign') return { code: read.code, refusal: foreign(read.code) }
      const made = read.is === 'ours' ? await find(partnerId, read) : undefined
      if (made === undefined) return { code: read.code, refusal: unknown }
      if ('refusal' in moveCode(made.state, 'paid')) return { code: read.code, made, refusal: final(made) }
      if (minorOf(read.code) !== made.amount) return { code: read.code, made, refusal: otherAmount }
      return { code: read.code, made }
    },

    /** Settles a code under the partner as the bank says. The first to lock it wins; what changes nothing comes back with the reason. */
    async answer(partnerId: string, answer: BankAnswer): Promise<{ code: CodeAtBank } | { refusal: BankRefusal }> {
      const read = readText(bank, answer.text)
      if (read.is === 'malformed') return { refusal: malformed(read.refusal) }
      if (read.is === 'foreign') return { refusal: foreign(read.code) }
      if (read.is === 'unknown') return { refusal: unknown }
      const amount = answer.amount ?? minorOf(read.code)
      // The text says none and the bank neither: whatever the code's state, no money was taken.
      if (answer.event === 'paid' && amount === 0n) {
        const named = await find(partnerId, read)
        return { refusal: named === undefined ? unknown : otherAmount }
      }
      const payment = { ...answer, amount }
      const done =
        (await db.tx((tx) => settleOwn(tx, partnerId, read, payment))) ??
        (await settleOfCheckout(partnerId, read, payment))
      if (done === undefined) return { refusal: unknown }
      if (done.refusal === undefined) {
        announced()
        return done
      }
      if (done.isUnmatched) {
        figures.unmatched()
        log.error(
          {
            code_id: read.id,
            code_state: done.code.state,
            amount: minorToNumber(amount),
            bank_reference: answer.bankReference,
          },
          'a bank took money for a code that is final: find out whose it is',
        )
      }
      return { refusal: done.refusal }
    },
  }
}

const takesMoney = ({ event, onlyWhileOpen = false }: BankAnswer): boolean => event === 'paid' && !onlyWhileOpen

const unknown: BankRefusal = { why: 'unknown', message: 'There is no such code here.', rule: 'known_code' }
const otherAmount: BankRefusal = {
  why: 'amount',
  message: 'This code is paid with its exact amount and no other.',
  rule: 'exact_amount',
}
const malformed = ({ reason, message }: QrPhRefusal): BankRefusal => ({ why: 'malformed', message, rule: reason })
const foreign = ({ pays }: QrPhCode): BankRefusal => ({
  why: 'foreign',
  message: 'This is no code of this sandbox: a real bank, or a person, would be paid. Nothing was done.',
  rule: pays === 'person' ? 'person' : 'another_bank',
})
const final = ({ state }: Pick<CodeAtBank, 'state'>): BankRefusal => ({
  why: 'final',
  message: `This code is ${state}: it has had its one outcome.`,
  rule: state.toLowerCase(),
})

/** The minor units of the amount of a text, which QR Ph writes with up to two decimals; 0 for none, and for one of another currency. */
function minorOf({ amount, currency: numeric }: Pick<QrPhCode, 'amount' | 'currency'>): bigint {
  if (amount === null || numeric !== currencyOf(currency)?.numeric) return 0n
  const [whole = '', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(2, '0'))
}
