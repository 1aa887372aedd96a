import type { QrPhCode, QrPhRefusal } from '@kaha/qrph'
import type { Db, Queries } from '../../kernel/db.ts'
import { newId } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import type { QrFigures } from './figures.ts'
import { moveCode, type CodeEvent } from './machine.ts'
import { codeOf, type Code } from './service.ts'
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
  /** The bank's name for the payment. */
  readonly bankReference: string
}

/** Why an answer of a bank changes nothing. `final`: the code has its outcome; a payment of it is unmatched money. */
export interface BankRefusal {
  readonly why: 'malformed' | 'foreign' | 'unknown' | 'final' | 'amount'
  readonly message: string
  /** The rule in one word. */
  readonly rule: string
}

/** What a payer's bank shows of a text before it pays. */
export interface BankReading {
  readonly code: QrPhCode
  /** The code that was made here, as it stands. */
  readonly made?: Code
  /** Why a payment would change nothing. */
  readonly refusal?: BankRefusal
}

export type CodeBank = ReturnType<typeof createCodeBank>

export interface BankDependencies {
  readonly db: Db
  readonly bank: QrBank
  readonly log: Log
  readonly figures: QrFigures
  readonly announce: Announce
  /** After the commit: something was announced. */
  readonly announced: () => void
}

/** Codes as banks see them: whoever speaks for a bank hands its answers in here. */
export function createCodeBank({ db, bank, log, figures, announce, announced }: BankDependencies) {
  const settle = async (
    tx: Queries,
    partnerId: string,
    { id, merchantId }: { id: string; merchantId: string },
    answer: BankAnswer & { amount: bigint },
  ): Promise<{ code: Code } | { refusal: BankRefusal; code?: Code }> => {
    const row = await store.lockCode(tx, partnerId, id)
    if (row === undefined || row.merchant_id !== merchantId) return { refusal: unknown }
    const code = codeOf(row)
    const move = moveCode(code.state, answer.event)
    if ('refusal' in move) {
      if (answer.event === 'paid')
        await store.insertUnmatched(tx, {
          id: newId(row.read_at),
          codeId: id,
          codeState: code.state,
          amount: answer.amount,
          currency: code.currency,
          bankReference: answer.bankReference,
          at: row.read_at,
        })
      return { refusal: final(code), code }
    }
    if (answer.event === 'paid' && answer.amount !== code.amount) return { refusal: otherAmount }
    const at = row.read_at
    const reason = move.to === 'DECLINED' ? (answer.reason ?? 'DECLINED_BY_BANK') : null
    const bankReference = move.to === 'PAID' ? answer.bankReference : null
    if (!(await store.moveCode(tx, id, move, { at, reason, bankReference })))
      throw new Error(`the locked code ${id} was not ${move.from}`)
    const ended = move.to === 'EXPIRED' ? { expiresAt: at } : {}
    const after: Code = { ...code, ...ended, state: move.to, stateAt: at, declineReason: reason }
    await announce(tx, after)
    return { code: after }
  }

  return {
    /** What a bank app shows of a text: to a payer, who belongs to nobody, codes of every partner. */
    async read(partnerId: string | null, text: string): Promise<BankReading | { refusal: BankRefusal }> {
      const read = readText(bank, text)
      if (read.is === 'malformed') return { refusal: malformed(read.refusal) }
      if (read.is === 'foreign') return { code: read.code, refusal: foreign(read.code) }
      const row = read.is === 'ours' ? await store.findPayable(db, partnerId, read.id) : undefined
      if (read.is === 'unknown' || row?.merchant_id !== read.merchantId) return { code: read.code, refusal: unknown }
      const made = codeOf(row)
      if ('refusal' in moveCode(made.state, 'paid')) return { code: read.code, made, refusal: final(made) }
      if (minorOf(read.code.amount) !== made.amount) return { code: read.code, made, refusal: otherAmount }
      return { code: read.code, made }
    },

    /** Settles a code under the partner as the bank says. The first to lock it wins; what changes nothing comes back with the reason. */
    async answer(partnerId: string, answer: BankAnswer): Promise<{ code: Code } | { refusal: BankRefusal }> {
      const read = readText(bank, answer.text)
      if (read.is === 'malformed') return { refusal: malformed(read.refusal) }
      if (read.is === 'foreign') return { refusal: foreign(read.code) }
      if (read.is === 'unknown') return { refusal: unknown }
      const amount = answer.amount ?? minorOf(read.code.amount)
      const done = await db.tx((tx) => settle(tx, partnerId, read, { ...answer, amount }))
      if (!('refusal' in done)) {
        announced()
        return done
      }
      if (done.refusal.why === 'final' && answer.event === 'paid') {
        figures.unmatched()
        log.error(
          {
            code_id: read.id,
            code_state: done.code?.state,
            amount: Number(amount),
            bank_reference: answer.bankReference,
          },
          'a bank took money for a code that is final: find out whose it is',
        )
      }
      return { refusal: done.refusal }
    },
  }
}

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
const final = ({ state }: Code): BankRefusal => ({
  why: 'final',
  message: `This code is ${state}: it has had its one outcome.`,
  rule: state.toLowerCase(),
})

/** The minor units of an amount as QR Ph writes it, with up to two decimals; 0 for none. */
function minorOf(amount: string | null): bigint {
  if (amount === null) return 0n
  const [whole = '', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(2, '0'))
}
