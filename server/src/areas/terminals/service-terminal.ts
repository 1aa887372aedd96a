import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../../kernel/db.ts'
import { scrub, type Log } from '../../kernel/log.ts'
import { amountMax, currencyOf, decimalToMinor } from '../../kernel/money.ts'
import { together } from '../../kernel/together.ts'
import type { Connections } from './connections.ts'
import { happen, hearVoid, unchanged, type Alarm, type Result, type Step } from './course.ts'
import { notConnected, paymentOfAnother, refuse } from './errors.ts'
import type { TerminalFigures } from './figures.ts'
import type { Ledger, Stepper } from './ledger.ts'
import { isOpen, type TransactionEvent } from './machine.ts'
import { transactionStore as store, type Named, type TransactionRow } from './store-transactions.ts'

/** What a terminal says of a payment. */
export interface TerminalResult extends Result {
  /** Where it names another payment than its message. */
  readonly transactionId?: string
  readonly status: 'SUCCESS' | 'FAILED' | 'PENDING' | 'CANCELLED'
  readonly amount?: string | number | undefined
  readonly currency?: string | undefined
}

const whatIsWrong = {
  malformed: 'A SUCCESS needs authorizationCode, a decimal amount and a currency of three capitals',
  'of another': 'paymentResponse has the transactionId of another payment than its message',
} as const

/** A terminal that says something, and by which connection. */
export interface Speaker {
  readonly groupId: string
  readonly terminalId: string
  readonly deviceId: string | null
  readonly connectionId: string
}

export interface VoidAnswer {
  readonly success: boolean
  readonly reason?: string | undefined
  readonly error?: string | undefined
}

const detailCharactersMax = 1_000
const toldNames = ['status', 'amount', 'currency', 'authorizationCode', 'errorCode', 'success', 'error'] as const
const wordCharactersMax = 100
const furtherResult = 'a terminal gave a further result of a payment that had ended; nothing was changed'
const heardTogetherMax = 128

/** What a terminal can say, of payments of its group. */
export function createTerminalCases({
  db,
  clock,
  connections,
  ledger,
  log,
  figures,
}: {
  readonly db: Db
  readonly clock: Clock
  readonly connections: Pick<Connections, 'isGone'>
  readonly ledger: Ledger
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly figures: Pick<TerminalFigures, 'attention'>
}) {
  // Nothing of the payment changes: the alarm is what is written.
  const alarming = (course: TransactionRow, cause: Alarm, said: unknown, from = ''): Step => ({
    course,
    effects: [{ kind: 'alarm', alarm: cause, detail: from + asDetail(said) }],
  })

  // The connection that took its place is asked for what this one says.
  const mustBeHeld = async ({ connectionId }: Speaker) => {
    if (await connections.isGone(connectionId)) throw notConnected()
  }
  const find = together({
    async work(those: readonly Named[]) {
      const rows = await store.findAll(db, those)
      return those.map(({ groupId, transactionId }) =>
        rows.find((row) => row.group_id === groupId && row.transaction_id === transactionId),
      )
    },
    itemsMax: heardTogetherMax,
  })
  const lookUp = async ({ groupId }: Speaker, transactionId: string) =>
    ledger.recall(groupId, transactionId) ?? (await find({ groupId, transactionId }))

  /**
   * The payment that a terminal speaks of. What it says of another terminal's is kept for a person, and refused. Whether its connection is
   * still one is for the change to find out, in the same statement; whoever changes nothing asks `mustBeHeld`.
   */
  const own = async (from: Speaker, transactionId: string, said: unknown, result?: TerminalResult) => {
    const row = await lookUp(from, transactionId)
    if (row === undefined) throw await noneOf(from, transactionId, result)
    return ofItsOwn(from, row, said, result)
  }
  const ofItsOwn = async (from: Speaker, row: TransactionRow, said: unknown, result?: TerminalResult) => {
    if (row.terminal_id === from.terminalId) return row
    await mustBeHeld(from)
    const who = `${from.deviceId ?? from.connectionId} says `
    const after = await ledger.change(row.id, (course) => alarming(course, 'foreign_result', said, who))
    if (after === undefined) throw await noneOf(from, row.transaction_id, result)
    throw refuse('GROUP_MISMATCH', 'This payment was sent to another terminal.')
  }
  /** By its word alone. What this process remembers of a payment may be of one that is kept no longer. */
  const changeOf = async (from: Speaker, row: TransactionRow, stepper: Stepper, result?: TerminalResult) => {
    const after = await ledger.change(row.id, stepper, from.connectionId)
    if (after === undefined) throw await noneOf(from, row.transaction_id, result)
    return after
  }
  /** Of a payment that the group does not have, or no longer. */
  const noneOf = async (from: Speaker, transactionId: string, result: TerminalResult | undefined) => {
    if (result?.status === 'SUCCESS') await raiseUnmatched(from, transactionId, result)
    if (await store.isElsewhere(db, transactionId, from.groupId, clock.now())) return paymentOfAnother()
    return refuse('TRANSACTION_NOT_FOUND', 'There is no such transaction.')
  }

  /** An approval of a payment that the group does not have, or no longer: there may be money that nobody else tells of. */
  const raiseUnmatched = async (from: Speaker, transactionId: string, result: TerminalResult) => {
    const currency = result.currency ?? ''
    const read = currencyOf(currency) && decimalToMinor(withoutZeros(String(result.amount ?? '')), currency)
    const isMoney = read !== undefined && 'minor' in read && read.minor <= amountMax
    const raised = await store.raiseUnmatched(db, {
      groupId: from.groupId,
      terminalId: from.terminalId,
      transactionId,
      money: isMoney ? { amount: read.minor, currency } : null,
      detail: `${from.deviceId ?? from.connectionId} says ${asDetail(result)}`,
      at: clock.now(),
    })
    if (raised === 'again') return
    figures.attention('unmatched_result')
    const device = from.deviceId ?? from.connectionId
    const about = { terminal: from.terminalId, device, payment: transactionId, cause: 'unmatched_result' }
    if (raised === 'new') log.warn(about, 'a terminal payment needs a person')
    else log.warn(about, 'an approval of no payment is not kept: too many of the group wait for a person')
  }

  // Another amount is undone; what is no amount at all tells nothing of the money, and may be said again.
  const eventOf = (
    row: TransactionRow,
    { status, amount, currency, authorizationCode }: TerminalResult,
  ): TransactionEvent | 'malformed' => {
    if (status === 'FAILED') return 'failed'
    if (status === 'CANCELLED') return 'cancelled'
    if (status === 'PENDING') return 'working'
    const read = decimalToMinor(withoutZeros(String(amount ?? '')), row.currency)
    const isDecimal = 'minor' in read || read.refusal !== 'decimal'
    if (!isDecimal || !/^[A-Z]{3}$/.test(currency ?? '') || (authorizationCode ?? '') === '') return 'malformed'
    return currency === row.currency && 'minor' in read && read.minor === row.amount ? 'success' : 'mismatch'
  }

  /** An approval of money that is neither that of the payment nor that which was voided as it came. */
  const isAnother = (row: TransactionRow, event: TransactionEvent, said: TerminalResult) => {
    if (event !== 'success' && event !== 'mismatch') return false
    if (row.authorization_code !== null)
      return said.authorizationCode !== row.authorization_code || event === 'mismatch'
    // A payment from before may have the code alone.
    return row.voided_code !== null && ![approvalOf(said), said.authorizationCode].includes(row.voided_code)
  }

  return {
    async hearResult(from: Speaker, transactionId: string, result: TerminalResult) {
      const row = await own(from, transactionId, result, result)
      const event = result.transactionId === undefined ? eventOf(row, result) : 'of another'
      if (event === 'malformed' || event === 'of another') {
        await changeOf(from, row, (course) => alarming(course, 'malformed_result', result), result)
        throw refuse('INVALID_REQUEST', `${whatIsWrong[event]}; nothing was changed.`)
      }
      let isFurther = false
      const stepper: Stepper = (course, now) => {
        const step = happen(course, course.created_at, event, now, { ...result, approval: approvalOf(result) })
        isFurther = step.course === course && !isOpen(course.state)
        return isFurther && isAnother(course, event, result) ? alarming(course, 'further_approval', result) : step
      }
      const after = await changeOf(from, row, stepper, result)
      if (isFurther) log.info({ transaction: row.id, state: after.state, said: result.status }, furtherResult)
    },

    /** A terminal's word on a payment that it was asked about. UNKNOWN counts only as an answer. */
    async hearStatus(
      from: Speaker,
      transactionId: string,
      { status, wasAsked }: { readonly status: 'PENDING' | 'UNKNOWN'; readonly wasAsked: boolean },
    ) {
      const row = await own(from, transactionId, { status })
      if (status === 'UNKNOWN' && !wasAsked) {
        await mustBeHeld(from)
        throw refuse('INVALID_REQUEST', 'UNKNOWN counts only as the answer to a paymentStatus on this connection.')
      }
      const event = status === 'UNKNOWN' ? 'unknown' : 'working'
      await changeOf(from, row, (course, now) => happen(course, course.created_at, event, now))
    },

    async hearVoid(from: Speaker, transactionId: string, answer: VoidAnswer) {
      const row = await own(from, transactionId, answer)
      const after = await changeOf(from, row, (course, now) => hearVoid(course, course.created_at, answer, now))
      // Taken in silence, it would be forgotten by the time the approval that it undoes is told, and that kept.
      if (answer.success && isOpen(after.state))
        throw refuse(
          'INVALID_REQUEST',
          'A void of what is still open; report the result first, and then this again. Nothing was changed.',
        )
    },

    /** Something that is no result, of a payment that may be this terminal's, and what is wrong with it. */
    async hearNonsense(from: Speaker, transactionId: string, said: unknown, wrong: string) {
      const row = await lookUp(from, transactionId)
      if (row === undefined || (await connections.isGone(from.connectionId))) return
      const words = { ...wordsOf(said), wrong }
      await ofItsOwn(from, row, words)
      await ledger.change(row.id, (course) => alarming(course, 'malformed_result', words))
    },

    /** A frame that nobody could read, which may have been the result of what is open at this terminal. */
    async hearUnreadable(from: Speaker, frame: string) {
      if (await connections.isGone(from.connectionId)) return
      for (const id of await store.openOf(db, [from.terminalId]))
        await ledger.change(id, (course) => alarming(course, 'malformed_result', { frame }))
    },

    /** Notes that it is about to be written to this connection of its terminal; undefined where it need not be any more. */
    async beforeSending(
      id: string,
      { terminalId, connectionId }: { readonly terminalId: string | null; readonly connectionId: string },
    ): Promise<TransactionRow | undefined> {
      let goes = false
      const row = await ledger.change(id, (course) => {
        const isItsOwn = course.terminal_id === terminalId
        goes = isItsOwn && course.state === 'PENDING' && course.sent_to === null && course.given_up === null
        return goes ? { course: { ...course, sent_to: connectionId, reach_at: null }, effects: [] } : unchanged(course)
      })
      return goes ? row : undefined
    },

    /** It was noted and not written, which is known; whoever lost its connection meanwhile has it asked about. Undefined where it is not stored. */
    notSent: (id: string) =>
      ledger.change(id, (course, now) =>
        course.state === 'PENDING'
          ? happen({ ...course, sent_to: null }, course.created_at, 'not_reached', now)
          : unchanged(course),
      ),
  }
}

// What a terminal says may have a card number in it, as on a receipt. In the JSON of a text a letter may stand before it, as in \n.
const asDetail = (said: unknown): string =>
  JSON.stringify(said, (_key, value: unknown) => (typeof value === 'string' ? scrub(value) : value)).slice(
    0,
    detailCharactersMax,
  )

/** Of what is no result, what a person needs who looks for the money; anything may stand in it. */
function wordsOf(said: unknown): Readonly<Record<string, string>> {
  const words: Record<string, string> = {}
  if (typeof said !== 'object' || said === null) return words
  for (const name of toldNames) {
    const value = (said as Record<string, unknown>)[name]
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      words[name] = scrub(String(value)).slice(0, wordCharactersMax)
  }
  return words
}

const approvalOf = ({ amount, currency, authorizationCode }: TerminalResult): string =>
  [withoutZeros(String(amount ?? '')), currency, authorizationCode].join(' ')

/** A decimal without the zeros around it: terminals write two decimals where the currency has none, too. */
const withoutZeros = (text: string): string =>
  text.replace(/^0*(\d+?)(?:\.(?=\d)(\d*?)0*)?$/, (_all, whole: string, fraction = '') =>
    fraction === '' ? whole : `${whole}.${fraction}`,
  )

export type TerminalCases = ReturnType<typeof createTerminalCases>
