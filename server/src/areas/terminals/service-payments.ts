import type { TerminalPrincipal } from '../../identity/terminal-keys.ts'
import type { Queries } from '../../kernel/db.ts'
import { newId } from '../../kernel/ids.ts'
import { busyMs, reachMs } from './course.ts'
import type { TerminalsDependencies } from './dependencies.ts'
import { waitMs } from './machine.ts'
import { checkOrder, type Asked, type Order } from './order.ts'
import { refuse } from './refusals.ts'
import { isPastRetention } from './retention.ts'
import { windowMs } from './signature.ts'
import { connectionStore, type TerminalRow } from './store-connections.ts'
import { transactionStore as store, type NewTransaction, type TransactionRow } from './store-transactions.ts'

/** How a payment came in. */
export interface Way {
  readonly way: 'http' | 'socket'
  /** Of a signed request: the decoded signature, and its time in ms. */
  readonly signed?: { readonly signature: Buffer; readonly atMs: number }
}

interface Cases {
  findTerminal(groupId: string, terminalId: string): Promise<TerminalRow>
  waitFor(row: TransactionRow): Promise<TransactionRow>
}

type Taken = { readonly row: TransactionRow; readonly isNew: boolean; readonly connectionId: string }

export function paymentCases(
  { db, bus, clock, settings, hasActiveWebhook }: TerminalsDependencies,
  { findTerminal, waitFor }: Cases,
) {
  /** A request whose id is known: the same one again, or a conflict. */
  const repeated = (row: TransactionRow, terminalId: string, resolved: TerminalRow | undefined, order: Order) => {
    const isSameTerminal = row.addressed === terminalId || row.terminal_id === resolved?.id
    if (!isSameTerminal || !row.request_hash.equals(order.hash) || isPastRetention(row, clock.now())) throw conflict()
    return row
  }

  const known = async (on: Queries, principal: TerminalPrincipal, order: Order, { signed }: Way) => {
    if (order.transactionId !== undefined) return store.find(on, principal.groupId, order.transactionId)
    return signed === undefined
      ? undefined
      : store.findBySignature(on, principal.keyId, signed.signature, principal.groupId)
  }

  const take = (principal: TerminalPrincipal, terminalId: string, terminal: TerminalRow, order: Order, way: Way) =>
    db.tx(async (tx): Promise<Taken> => {
      // Payments of one terminal come one after the other.
      const held = (await connectionStore.lock(tx, terminal.id, principal.groupId)) ?? terminal
      const before = await known(tx, principal, order, way)
      if (before !== undefined)
        return { row: repeated(before, terminalId, held, order), isNew: false, connectionId: held.connection_id }
      if (held.status !== 'online')
        throw refuse('TERMINAL_OFFLINE', `The terminal is ${held.status}; nothing was sent.`)
      const at = clock.now()
      if (await store.isBusy(tx, held.id, new Date(at.getTime() - busyMs)))
        throw refuse(
          'PAYMENT_IN_PROGRESS',
          'The terminal is busy with another payment; wait for its end, or cancel it.',
        )
      const id = newId(at)
      const transactionId = order.transactionId ?? id
      const fresh: NewTransaction = {
        id,
        group_id: principal.groupId,
        transaction_id: transactionId,
        partner_id: principal.partnerId,
        merchant_id: principal.merchantId,
        branch_id: held.branch_id,
        terminal_id: held.id,
        device_id: held.device_id,
        addressed: terminalId,
        key_id: principal.keyId,
        way: way.way,
        webhook_mode: order.webhookMode,
        request_hash: order.hash,
        request: JSON.stringify({ transactionId, ...order.request }),
        amount: order.amountMinor,
        currency: order.currency,
        payment_method: reportedMethods[order.paymentMethod] ?? 'OTHER',
        created_at: at,
        reach_at: new Date(at.getTime() + reachMs),
        wait_at: new Date(at.getTime() + waitMs),
      }
      if (!(await store.insert(tx, fresh))) {
        // Somebody else's, at another terminal of the group, in this very moment.
        const other = await store.find(tx, principal.groupId, transactionId)
        // Its retention has ended in this very moment.
        if (other === undefined) throw conflict()
        return { row: repeated(other, terminalId, held, order), isNew: false, connectionId: held.connection_id }
      }
      if (way.signed !== undefined) {
        const untilMs = way.signed.atMs + windowMs
        await store.useSignature(tx, {
          keyId: principal.keyId,
          signature: way.signed.signature,
          transactionId: id,
          untilMs,
        })
      }
      await store.report(tx, fresh, 'PENDING', null, at, true)
      const row = await store.readNew(tx, id, principal.groupId)
      if (row === undefined) throw new Error(`the transaction ${id} was not stored`)
      if (row.is_past) throw conflict()
      return { row, isNew: true, connectionId: held.connection_id }
    })

  /** Takes a payment and sends it on, or finds the one that it repeats. Committed before anything is sent. */
  const startPayment = async (principal: TerminalPrincipal, terminalId: string, asked: Asked, way: Way) => {
    const order = checkOrder(asked, settings.currencies)
    if (order.webhookMode && !(await hasActiveWebhook(principal.groupId))) {
      // One that was taken while there was an endpoint is still itself.
      const before = await known(db, principal, order, way)
      if (before === undefined)
        throw refuse(
          'NO_WEBHOOK_ENDPOINTS',
          'webhookMode needs an active webhook endpoint of the group; there is none.',
        )
    }
    const terminal = await findTerminal(principal.groupId, terminalId).catch(async (failure: unknown) => {
      const before = await known(db, principal, order, way)
      if (before !== undefined) return repeated(before, terminalId, undefined, order)
      throw failure
    })
    if ('transaction_id' in terminal) return terminal
    const { row, isNew, connectionId } = await take(principal, terminalId, terminal, order, way)
    if (isNew) bus.say('terminals', ['tell', connectionId, row.group_id, row.id, 'payment'])
    return row
  }

  return {
    startPayment,

    /**
     * The same, and its end: what the terminal said, or that it was given up. Still open only with webhookMode, and where the server
     * stops.
     */
    async pay(principal: TerminalPrincipal, terminalId: string, asked: Asked, way: Way): Promise<TransactionRow> {
      const row = await startPayment(principal, terminalId, asked, way)
      return asked.webhookMode ? row : waitFor(row)
    },
  }
}

const conflict = () =>
  refuse(
    'TRANSACTION_CONFLICT',
    'This transactionId was used before, with another body or terminal, or too long ago; take a new one.',
  )

const reportedMethods: Readonly<Record<string, string>> = {
  CARD: 'CARD_PRESENT',
  CASH: 'CASH',
  MOBILE: 'MOBILE',
  OTHER: 'OTHER',
}
