import type { Words } from '../../../kernel/bus.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { isAway, type Db } from '../../../kernel/db.ts'
import { together } from '../../../kernel/together.ts'
import type { Sending } from '../dependencies.ts'
import { isOpen } from '../machine.ts'
import { requestOf } from '../present.ts'
import type { TerminalCases } from '../service-terminal.ts'
import { transactionStore as store, type TransactionRow } from '../store-transactions.ts'
import { createEarly } from './early.ts'
import type { Link, Links } from './links.ts'
import { stamp, terminalIdOf, type ReadRow } from './stamp.ts'

const askedTogetherMax = 128
const untoldMax = 10_000

/** Whether its terminal is to end it. */
const isToEnd = ({ state, cancel_asked, given_up }: TransactionRow): boolean =>
  isOpen(state) && (cancel_asked || given_up !== null)

export interface ToTerminals {
  /** Tells a connection of this process something about a payment, as it stands when it is told. */
  tell(words: Words): void
  /** One that a payment came for before its socket was here is sent it. */
  arrived(link: Link): void
  /** Writes a payment that was stored as sent to one of the sockets here. */
  sendStored(row: TransactionRow): void
  /** A terminal that has connected is asked about what it may have missed. */
  ask(link: Link): void
  /** What could not be read before is told, and asked, now. */
  tellAgain(): void
}

/** What terminals on the sockets of this process are told: payments, and that one is to be cancelled, voided or reported. */
export function createToTerminals({
  db,
  clock,
  links,
  cases,
  read,
  unsent,
  onError,
}: {
  readonly db: Db
  readonly clock: Clock
  readonly links: Links
  readonly cases: TerminalCases
  readonly read: ReadRow
  readonly unsent: Sending['unsent']
  readonly onError: (error: unknown) => void
}): ToTerminals {
  const tellVoid = (link: Link, row: TransactionRow) =>
    link.send({
      action: 'voidPayment',
      transactionId: row.transaction_id,
      reason: row.void_reason ?? 'requested',
      ...stamp(clock, row.group_id),
    })
  const tellCancel = (link: Link, row: TransactionRow) =>
    link.send({ action: 'cancelPayment', transactionId: row.transaction_id, ...stamp(clock, row.group_id) })

  const writePayment = (link: Link, row: TransactionRow) =>
    link.send({
      action: 'payment',
      transactionId: row.transaction_id,
      terminalId: terminalIdOf(row, link),
      connectionId: link.connectionId,
      paymentRequest: requestOf(row),
      ...stamp(clock, row.group_id),
    })
  // It may be stored as sent, and was not.
  const settledLater = (id: string) => (error: unknown) => {
    if (isAway(error)) unsent([id])
    throw error
  }
  const notSent = (id: string) => cases.notSent(id).catch(settledLater(id))
  const sendPayment = async (link: Link, id: string) => {
    const row = await cases.beforeSending(id, link).catch(settledLater(id))
    if (row !== undefined && !writePayment(link, row)) await notSent(id)
  }
  // At once, not in the link's turn: nothing may become of the payment between its commit and this.
  const sendStored = (row: TransactionRow) => {
    const link = links.find(row.sent_to ?? '')
    if (link === undefined || link.dismissed || !writePayment(link, row)) notSent(row.id).catch(onError)
  }

  // Its payment: a terminal has one at a time.
  const early = createEarly<string>()

  const toAsk = together({
    async work(those: readonly { readonly terminalId: string; readonly connectionId: string }[]) {
      const rows = Map.groupBy(await store.toAsk(db, those), ({ terminal_id }) => terminal_id)
      return those.map(({ terminalId }) => rows.get(terminalId) ?? [])
    },
    itemsMax: askedTogetherMax,
    apart: ({ terminalId }) => [terminalId],
  })
  // Terminals whose payments could not be read as they came.
  const unasked = new Set<Link>()
  const ask = (link: Link) => {
    const { terminalId } = link
    if (terminalId === null) return
    link.inTurn(async () => {
      const rows = await toAsk({ terminalId, connectionId: link.connectionId }).catch((error: unknown) => {
        unasked.add(link)
        throw error
      })
      for (const row of rows) {
        const hasNoResult = row.state === 'FAILED' && row.our_code === 'NO_RESULT'
        if (isOpen(row.state) || hasNoResult) {
          link.asked.add(row.transaction_id)
          link.send({ action: 'paymentStatus', transactionId: row.transaction_id, ...stamp(clock, row.group_id) })
        }
        if (isToEnd(row)) tellCancel(link, row)
        if (row.void_state === 'ASKED') tellVoid(link, row)
      }
    })
  }

  // Words whose payments could not be read as they came.
  const untold = new Map<string, Words>()
  const keptFor = (words: Words) => (error: unknown) => {
    if (isAway(error) && untold.size < untoldMax) untold.set(words.join(' '), words)
    throw error
  }
  const tell = (words: Words) => {
    const [connectionId = '', groupId = '', id = '', action = ''] = words
    const link = links.find(connectionId)
    if (link === undefined && action === 'payment') early.note(connectionId, id)
    if (link === undefined || link.dismissed) return
    link.tellInTurn(async () => {
      if (action === 'payment') return sendPayment(link, id)
      // A word asks to look, and may be anybody's: told is what the row says, to the terminal that it names.
      const row = await read({ id, groupId }).catch(keptFor(words))
      if (row === undefined || row.terminal_id !== link.terminalId) return
      if (action === 'cancelPayment' && isToEnd(row)) tellCancel(link, row)
      if (action === 'voidPayment' && row.void_state === 'ASKED') tellVoid(link, row)
    })
  }

  return {
    tell,
    arrived(link) {
      const id = early.take(link.connectionId)
      if (id !== undefined) link.tellInTurn(() => sendPayment(link, id))
    },
    sendStored,
    ask,
    tellAgain() {
      const [those, words] = [[...unasked], [...untold.values()]]
      unasked.clear()
      untold.clear()
      for (const link of those) if (links.isOpen(link)) ask(link)
      for (const one of words) tell(one)
    },
  }
}
