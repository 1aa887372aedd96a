import type { Kaha } from '@kaha/sdk'
import { dayOf, midnightAfter } from './conformance/operations.ts'

type Intent = Awaited<ReturnType<Kaha['paymentIntents']['retrieve']>>
type Refund = Awaited<ReturnType<Kaha['refunds']['retrieve']>>
type Detail = Awaited<ReturnType<Kaha['reports']['retrieveTransaction']>>['data']
type Settlement = Awaited<ReturnType<Kaha['reports']['retrieveSettlement']>>['data']

/** What a merchant wrote down while the day went by: what was asked for, and which ids came back. */
export interface Journal {
  readonly intents: ReadonlyMap<
    string,
    { readonly merchantId: string; readonly branchId: string; readonly amount: number }
  >
  /** Attempts that a confirm told of, by id: the intent of each. */
  readonly attempts: ReadonlyMap<string, string>
  readonly refunds: ReadonlyMap<string, { readonly intentId: string; readonly amount: number }>
  /** What receivers got and verified, once for each event. */
  readonly webhooks: readonly Webhook[]
}

export interface Webhook {
  readonly id: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Everything that the platform tells of the same money, each from a place of its own. */
export interface Story {
  readonly journal: Journal
  readonly intents: readonly Intent[]
  readonly refunds: readonly Refund[]
  readonly transactions: readonly Detail[]
  /** The same list as CSV. */
  readonly csv: string
  /** Each day as the partner sees it, with the share of each merchant. */
  readonly settlements: readonly Settlement[]
}

/** Reads all of it, as a partner may; `of` gives the client of a merchant. */
export async function readStory(partner: Kaha, of: (merchantId: string) => Kaha, journal: Journal): Promise<Story> {
  const intents = await inTurns([...journal.intents], ([id, { merchantId }]) =>
    of(merchantId).paymentIntents.retrieve(id),
  )
  const refunds = await inTurns([...journal.refunds], ([id, { intentId }]) =>
    of(journal.intents.get(intentId)?.merchantId ?? '').refunds.retrieve(id),
  )
  const listed = await Array.fromAsync(partner.reports.listAllTransactions({ page_size: 100 }))
  const details = await inTurns(listed, ({ id }) => partner.reports.retrieveTransaction(id))
  const transactions = details.map(({ data }) => data)
  const settlements: Settlement[] = []
  for await (const { batch_number: number } of partner.reports.listAllSettlements())
    settlements.push((await partner.reports.retrieveSettlement(number)).data)
  const answer = await partner.reports.exportTransactions()
  return { journal, intents, refunds, transactions, csv: await new Response(answer).text(), settlements }
}

/** A few requests at a time. */
async function inTurns<T, R>(list: readonly T[], ask: (one: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = []
  for (let at = 0; at < list.length; at += 8) answers.push(...(await Promise.all(list.slice(at, at + 8).map(ask))))
  return answers
}

/** Where two of the tales differ, a sentence each; empty where all is well. Nothing may be under way any more. */
export const disagreements = (story: Story): string[] => [
  ...attemptsAndTransactions(story),
  ...receiptsAndTransactions(story),
  ...refundsAndTransactions(story),
  ...webhooksAndTransactions(story),
  ...exportAndTransactions(story),
  ...settlementsAndTransactions(story),
]

const paid: ReadonlySet<string> = new Set(['CAPTURED', 'PARTIALLY_REFUNDED', 'REFUNDED'])
const isPaid = ({ status }: Detail): boolean => paid.has(status)

/** Every attempt is one transaction of the same money and the same branch, and there is no other. */
function attemptsAndTransactions({ journal, transactions }: Story): string[] {
  const found: string[] = []
  const seen = new Set<string>()
  for (const { id, amount, amount_details: money, merchant_details: of, status, ...rest } of transactions) {
    const intent = journal.intents.get(journal.attempts.get(id) ?? '')
    if (intent === undefined) found.push(`nobody made the transaction ${id}`)
    else if (intent.amount !== amount || intent.branchId !== of.branch_id || intent.merchantId !== of.merchant_id)
      found.push(`the transaction ${id} is of another amount or branch than was asked for`)
    const received = isPaid({ status, ...rest } as Detail) ? amount : 0
    if (money.amount_received !== received || money.amount_authorized !== received || money.original_amount !== amount)
      found.push(`the amounts of the transaction ${id} do not add up`)
    if (money.final_amount !== money.original_amount + money.tax_amount || money.amount_capturable !== 0)
      found.push(`the amounts of the transaction ${id} do not add up`)
    if (status === 'PENDING') found.push(`the transaction ${id} is open`)
    seen.add(id)
  }
  for (const id of journal.attempts.keys()) if (!seen.has(id)) found.push(`the attempt ${id} has no transaction`)
  return found
}

/** A paid intent has one paid transaction with the numbers of its receipt, and one that is not paid has none. */
function receiptsAndTransactions({ journal, intents, transactions }: Story): string[] {
  const found: string[] = []
  for (const { id, status, receipt, payment_attempt_id: attemptId } of intents) {
    const of = transactions.filter((one) => journal.attempts.get(one.id) === id && isPaid(one))
    if (of.length !== (status === 'SUCCEEDED' ? 1 : 0))
      found.push(`the intent ${id} is ${status} and ${of.length} times paid`)
    const [transaction] = of
    if ((receipt === undefined) !== (transaction === undefined))
      found.push(`the receipt of the intent ${id} is not that of a payment`)
    if (receipt === undefined || transaction === undefined) continue
    const told = [
      attemptId,
      receipt.invoice_number,
      receipt.approval_code,
      receipt.reconciliation_id,
      receipt.card_last_four,
    ]
    const kept = transaction.receipt
    const reported = [
      transaction.id,
      kept?.receipt_number,
      kept?.approval_code,
      kept?.reference_number,
      transaction.card_last_four,
    ]
    if (told.join() !== reported.join()) found.push(`the receipt of the intent ${id} is not that of its transaction`)
  }
  return found
}

/** What refunds gave back is what their payments say, in sum, in state and in their history. */
function refundsAndTransactions({ journal, refunds, transactions }: Story): string[] {
  const found: string[] = []
  for (const { id, amount, payment_intent_id: intentId, status } of refunds) {
    const asked = journal.refunds.get(id)
    if (asked?.amount !== amount || asked.intentId !== intentId)
      found.push(`the refund ${id} is another than was asked for`)
    if (status === 'PENDING') found.push(`the refund ${id} is open`)
  }
  for (const { id, amount, status, amount_details: money, events } of transactions.filter(isPaid)) {
    const of = refunds.filter((refund) => refund.payment_intent_id === journal.attempts.get(id))
    const given = total(of.filter((refund) => refund.status === 'SUCCEEDED').map((refund) => refund.amount))
    const told = total(
      events.filter(({ event_type }) => event_type === 'REFUNDED').map((event) => Number(event.amount)),
    )
    const says = given === 0 ? 'CAPTURED' : given < amount ? 'PARTIALLY_REFUNDED' : 'REFUNDED'
    if (money.amount_refunded !== given || told !== given || status !== says || given > amount)
      found.push(`the refunds of the transaction ${id} are ${given}, and it says ${status} of ${money.amount_refunded}`)
    const asked = events.filter(({ event_type }) => event_type === 'REFUND_REQUESTED').length
    if (asked !== of.length) found.push(`the history of the transaction ${id} has ${asked} of ${of.length} refunds`)
  }
  return found
}

const eventOf: Readonly<Record<string, string>> = {
  CAPTURED: 'payment.succeeded',
  PARTIALLY_REFUNDED: 'payment.succeeded',
  REFUNDED: 'payment.succeeded',
  DECLINED: 'payment.declined',
  FAILED: 'payment.failed',
}

/** Each end of an attempt was told once, with its money; what was abandoned was not; and nothing expired that was paid. */
function webhooksAndTransactions({ journal, intents, transactions }: Story): string[] {
  const found: string[] = []
  for (const { id, status, amount, currency, merchant_details: of } of transactions) {
    const told = journal.webhooks.filter(
      ({ type, data }) => type !== 'payment.expired' && data['payment_attempt_id'] === id,
    )
    const expected = eventOf[status]
    if (told.length !== (expected === undefined ? 0 : 1) || (told[0] !== undefined && told[0].type !== expected))
      found.push(
        `of the transaction ${id}, which is ${status}, was told: ${told.map(({ type }) => type).join() || 'nothing'}`,
      )
    for (const { data } of told) {
      const said = [data['amount'], data['currency'], data['merchant_id'], data['branch_id'], data['payment_intent_id']]
      if (said.join() !== [amount, currency, of.merchant_id, of.branch_id, journal.attempts.get(id)].join())
        found.push(`the webhook of the transaction ${id} tells of other money`)
    }
  }
  const known = new Set(transactions.map(({ id }) => id))
  for (const { id, type, data } of journal.webhooks) {
    if (type !== 'payment.expired' && !known.has(String(data['payment_attempt_id'])))
      found.push(`the webhook ${id} tells of no transaction`)
  }
  for (const { id, status } of intents) {
    const expiries = journal.webhooks.filter(
      ({ type, data }) => type === 'payment.expired' && data['payment_intent_id'] === id,
    )
    if (expiries.length > (status === 'EXPIRED' ? 1 : 0))
      found.push(`the intent ${id} is ${status} and was told to have expired`)
  }
  return found
}

function exportAndTransactions({ csv, transactions }: Story): string[] {
  const [header = '', ...lines] = csv.trimEnd().split('\r\n')
  const column = (name: string) => header.split(',').indexOf(name)
  // A name with a comma is quoted, and stands in none of these columns.
  const cells = lines.map(
    (line) => line.match(/("([^"]|"")*"|[^,]*)(,|$)/g)?.map((cell) => cell.replace(/,$/, '')) ?? [],
  )
  const row = (id: string, ...numbers: number[]) => [id, ...numbers].join(' ')
  const [id, received, refunded] = ['id', 'amount_details.amount_received', 'amount_details.amount_refunded'].map(
    column,
  )
  const exported = cells
    .map((cell) => [cell[id ?? -1], cell[received ?? -1], cell[refunded ?? -1]].join(' '))
    .toSorted()
  const listed = transactions.map((one) =>
    row(one.id, one.amount_details.amount_received, one.amount_details.amount_refunded),
  )
  return exported.join() === listed.toSorted().join() ? [] : ['the export is not the list']
}

/** Each day is the sum of what was captured and given back on it, for every merchant, and every payment is in one day. */
function settlementsAndTransactions({ transactions, settlements }: Story): string[] {
  const found: string[] = []
  const sums = new Map<string, { count: number; gross: number; refunds: number }>()
  const sumOf = (midnight: Date, merchantId: string) => {
    const key = `${dayOf(midnight)} ${merchantId}`
    const sum = sums.get(key) ?? { count: 0, gross: 0, refunds: 0 }
    sums.set(key, sum)
    return sum
  }
  for (const one of transactions) {
    if (!isPaid(one)) {
      if (one.settlement_status !== 'NOT_APPLICABLE')
        found.push(`the transaction ${one.id} is not paid, and ${one.settlement_status}`)
      continue
    }
    const { merchant_id: merchantId } = one.merchant_details
    const captured = one.events.find(({ event_type }) => event_type === 'CAPTURED')
    if (captured === undefined) {
      found.push(`the transaction ${one.id} was never captured`)
      continue
    }
    const midnight = midnightAfter(new Date(captured.created_at))
    if (one.settled_at !== midnight.toISOString() || one.receipt?.batch_number !== dayOf(midnight))
      found.push(
        `the transaction ${one.id} is settled in ${one.receipt?.batch_number}, and was captured before ${dayOf(midnight)}`,
      )
    const sum = sumOf(midnight, merchantId)
    sum.count += 1
    sum.gross += one.amount_details.amount_received
    for (const { event_type, created_at, amount } of one.events)
      if (event_type === 'REFUNDED') sumOf(midnightAfter(new Date(created_at)), merchantId).refunds += Number(amount)
  }
  for (const { batch_number: day, merchants, count, gross, refunds, net } of settlements) {
    for (const share of merchants) {
      const sum = sums.get(`${day} ${share.merchant_id}`) ?? { count: 0, gross: 0, refunds: 0 }
      sums.delete(`${day} ${share.merchant_id}`)
      const told = [share.count, share.gross, share.refunds, share.net]
      if (told.join() !== [sum.count, sum.gross, sum.refunds, sum.gross - sum.refunds].join())
        found.push(`the settlement of ${day} for ${share.merchant_id} is not the sum of its transactions`)
    }
    const whole = [count, gross, refunds, net]
    const parts = (['count', 'gross', 'refunds', 'net'] as const).map((name) =>
      total(merchants.map((share) => share[name])),
    )
    if (whole.join() !== parts.join()) found.push(`the settlement of ${day} is not the sum of its shares`)
  }
  for (const key of sums.keys()) found.push(`there is no settlement of ${key}`)
  return found
}

// The sums of a test stay below what a number holds exactly.
const total = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0)
