import type { TerminalPrincipal } from '../../identity/terminal-keys.ts'
import { isAway, isFull } from '../../kernel/db.ts'
import { Fault } from '../../kernel/fault.ts'
import { newId } from '../../kernel/ids.ts'
import { together } from '../../kernel/together.ts'
import { busyMs, newCourse, reachMs } from './course.ts'
import type { TerminalsDependencies } from './dependencies.ts'
import { refuse } from './errors.ts'
import { storedTogether } from './ledger.ts'
import { isOpen, waitMs } from './machine.ts'
import { checkOrder, isRequestOf, type PaymentAsked, type Order } from './order.ts'
import { isPastRetention } from './retention.ts'
import { rememberedMs } from './signature.ts'
import type { TerminalRow } from './store-connections.ts'
import { takingStore, type Looked, type Offered } from './store-taking.ts'
import { transactionStore as store, type TransactionRow } from './store-transactions.ts'

/** How a payment came in. */
export interface Way {
  readonly way: 'http' | 'socket'
  /** Of a signed request: the decoded signature, and its time in ms. */
  readonly signed?: { readonly signature: Buffer; readonly atMs: number }
}

interface Cases {
  findTerminal(groupId: string, terminalId: string): Promise<TerminalRow>
  /** `isFresh`: it was begun in this moment, and nobody can have changed it. */
  waitFor(row: TransactionRow, isFresh: boolean): Promise<TransactionRow>
}

interface Asking {
  readonly principal: TerminalPrincipal
  readonly terminalId: string
  readonly order: Order
  readonly way: Way
}

interface Taking extends Asking {
  /** Where it is named by something else than its device id. */
  readonly terminal: TerminalRow | undefined
}

/** A payment that has begun, or whose id or signature somebody has used before, or whose terminal has another. */
type Taken =
  | { readonly begun: TransactionRow; readonly connectionId: string }
  | { readonly used: Looked }
  | { readonly busy: Looked }

const ofTerminal: readonly string[] = ['TERMINAL_NOT_FOUND', 'TERMINAL_OFFLINE', 'PAYMENT_IN_PROGRESS']

/** A payment as it is stored when it begins. */
function rowOf({ wanted, here, reach_at }: Offered, looked: Looked): TransactionRow {
  const isHere = here === looked.connection
  return {
    ...newCourse,
    ...wanted,
    terminal_id: looked.terminal,
    device_id: looked.device,
    branch_id: looked.branch,
    sent_to: isHere ? here : null,
    reach_at: isHere ? null : reach_at,
    updated_at: wanted.created_at,
    version: 0,
  }
}

export function paymentCases(
  { db, bus, clock, ledger, sending, settings, hasActiveWebhook }: TerminalsDependencies,
  { findTerminal, waitFor }: Cases,
) {
  /** A request whose id is known: the same one again, or a conflict. */
  const repeated = (row: TransactionRow, { terminalId, order }: Asking, id?: string) => {
    const isSameTerminal = row.addressed === terminalId || row.terminal_id === id
    // However it is to be answered: who was not to wait for it may wait after all, or ask over a socket.
    const isSameRequest = () => row.request_hash.equals(order.hash) || isRequestOf(row.request, order)
    if (isSameTerminal && !isPastRetention(row, clock.now()) && isSameRequest()) return row
    throw conflict()
  }

  /** The payment that this one repeats. */
  const findKnown = ({ principal: { keyId, groupId }, order: { transactionId }, way: { signed } }: Asking) => {
    if (transactionId !== undefined) return store.find(db, groupId, transactionId)
    return signed === undefined ? undefined : store.findBySignature(db, keyId, signed.signature, groupId)
  }

  const offerOf = ({ principal, terminalId, terminal, order, way }: Taking, at: Date): Offered => {
    const id = newId(at)
    const transactionId = order.transactionId ?? id
    return {
      wanted: {
        id,
        group_id: principal.groupId,
        transaction_id: transactionId,
        partner_id: principal.partnerId,
        merchant_id: principal.merchantId,
        addressed: terminalId,
        key_id: principal.keyId,
        way: way.way,
        webhook_mode: order.webhookMode,
        request_hash: order.hash,
        request: `{"transactionId":${JSON.stringify(transactionId)},${order.text.slice(1)}`,
        amount: order.amountMinor,
        currency: order.currency,
        payment_method: reportedMethods[order.paymentMethod] ?? 'OTHER',
        created_at: at,
        wait_at: new Date(at.getTime() + waitMs),
      },
      terminal_id: terminal?.id ?? null,
      is_chosen: order.transactionId !== undefined,
      // Its socket is in this process: that it is about to be written there is stored with it, and by no statement of its own.
      here: sending.connectionOf(principal.groupId, terminalId) ?? null,
      reach_at: new Date(at.getTime() + reachMs),
      signature: way.signed?.signature ?? null,
      signed_until: way.signed === undefined ? null : new Date(way.signed.atMs + rememberedMs),
    }
  }

  const takenOr = (offered: Offered, looked: Looked): Taken | Fault => {
    if (looked.is_added) return { begun: rowOf(offered, looked), connectionId: looked.connection }
    if (looked.repeats !== null) return { used: looked }
    if (looked.status !== 'online')
      return refuse('TERMINAL_OFFLINE', `The terminal is ${looked.status}; nothing was sent.`)
    if (looked.is_busy) return { busy: looked }
    // By somebody else, at another terminal of the group, in this very moment; or long ago.
    return { used: looked }
  }

  /** Undefined where the group has no such terminal. */
  const take = together({
    async work(all: readonly Taking[]) {
      const at = clock.now()
      const offered = all.map((taking) => offerOf(taking, at))
      try {
        const { isPast, looked } = await takingStore.take(db, offered, busySince(at))
        // The retention of one of these ends in this very moment: nothing is stored, and tried again it is refused by itself.
        if (isPast) throw conflict()
        return offered.map((one, place) => {
          const found = looked[place]
          return found === undefined ? undefined : takenOr(one, found)
        })
      } catch (error) {
        if (isAway(error) && !isFull(error))
          sending.unsent(offered.flatMap(({ wanted, here }) => (here === null ? [] : [wanted.id])))
        throw error
      }
    },
    ...storedTogether,
    // Payments of one terminal come one after the other, whichever way it is named.
    apart: ({ principal: { keyId, groupId }, terminalId, terminal, order, way }) => [
      `at ${groupId} ${terminal === undefined ? terminalId : (terminal.device_id ?? terminal.id)}`,
      ...(order.transactionId === undefined ? [] : [`${groupId} ${order.transactionId}`]),
      ...(way.signed === undefined ? [] : [`${keyId} ${way.signed.signature.toString('base64')}`]),
    ],
  })

  // It is not whoever comes next who is to answer for it.
  const asItWas = (row: TransactionRow) => (error: unknown) => {
    if (isAway(error)) throw error
    ledger.unstored(row, error, 'the end of a payment could not be stored; its terminal stays busy')
    return row
  }

  /** Of the payments that keep a terminal busy one that does so after all that is due of them has been stored. */
  const keeperOf = async ({ terminal }: Looked): Promise<TransactionRow | undefined> => {
    const rows = await store.busyWith(db, terminal, busySince(clock.now()))
    const left = await Promise.all(rows.map(async (row) => (await ledger.upToNow(row).catch(asItWas(row))) === row))
    return rows.find((_row, index) => left[index])
  }

  const takeOnceFree = async (taking: Taking): Promise<Exclude<Taken, { busy: Looked }> | undefined> => {
    const taken = await take(taking)
    if (taken === undefined || !('busy' in taken)) return taken
    const keeper = await keeperOf(taken.busy)
    if (keeper !== undefined) throw inProgress(keeper.transaction_id)
    const again = await take(taking)
    if (again === undefined || !('busy' in again)) return again
    throw inProgress((await keeperOf(again.busy))?.transaction_id)
  }

  /** Under an id whose payment is gone none is taken, whatever may be with the terminal now: to repeat the call would be in vain. */
  const orPast =
    ({ principal: { groupId }, order: { transactionId } }: Asking) =>
    async (failure: unknown): Promise<never> => {
      const isOfTerminal = failure instanceof Fault && ofTerminal.includes(failure.code)
      if (isOfTerminal && transactionId !== undefined && (await store.isPast(db, groupId, transactionId)))
        throw conflict()
      throw failure
    }

  /** Takes a payment and sends it on, or finds the one that it repeats. Committed before anything is sent. */
  const start = async (principal: TerminalPrincipal, terminalId: string, asked: PaymentAsked, way: Way) => {
    const order = checkOrder(asked, settings.currencies)
    const asking = { principal, terminalId, order, way }
    if (order.webhookMode && !(await hasActiveWebhook(principal.groupId))) {
      // One that was taken so while there was an endpoint is still itself, and of one that has ended nothing is left to tell.
      const known = await findKnown(asking)
      if (known === undefined || (isOpen(known.state) && !known.webhook_mode))
        throw refuse(
          'NO_WEBHOOK_ENDPOINTS',
          'webhookMode needs an active webhook endpoint of the group; there is none.',
        )
    }
    let taken = await takeOnceFree({ ...asking, terminal: undefined }).catch(orPast(asking))
    if (taken === undefined) {
      const terminal = await findTerminal(principal.groupId, terminalId).catch(async (failure: unknown) => {
        const before = await findKnown(asking)
        if (before === undefined) return orPast(asking)(failure)
        return ledger.upToNow(repeated(before, asking))
      })
      if ('transaction_id' in terminal) return { row: terminal, isNew: false }
      taken = await takeOnceFree({ ...asking, terminal }).catch(orPast(asking))
    }
    if (taken === undefined)
      throw refuse('TERMINAL_NOT_FOUND', 'The group has no such terminal; it has one from its first connection on.')
    if ('used' in taken) {
      const before = await findUsed(taken.used, asking)
      // Its retention has ended.
      if (before === undefined) throw conflict()
      return { row: await ledger.upToNow(repeated(before, asking, taken.used.terminal)), isNew: false }
    }
    const { begun: row, connectionId } = taken
    ledger.remember(row)
    if (row.sent_to !== null) sending.send(row)
    else bus.say('terminals', ['tell', connectionId, row.group_id, row.id, 'payment'])
    return { row, isNew: true }
  }

  const findUsed = async ({ repeats }: Looked, asking: Asking): Promise<TransactionRow | undefined> => {
    if (repeats === null) return findKnown(asking)
    const [row] = await store.readAll(db, [{ id: repeats, groupId: asking.principal.groupId }])
    return row
  }

  return {
    startPayment: async (principal: TerminalPrincipal, terminalId: string, asked: PaymentAsked, way: Way) =>
      (await start(principal, terminalId, asked, way)).row,

    /**
     * The same, and its end: what the terminal said, or that it was given up. Still open only with webhookMode, and where the server
     * stops.
     */
    async pay(
      principal: TerminalPrincipal,
      terminalId: string,
      asked: PaymentAsked,
      way: Way,
    ): Promise<TransactionRow> {
      const { row, isNew } = await start(principal, terminalId, asked, way)
      return asked.webhookMode ? row : waitFor(row, isNew)
    },
  }
}

/** Whatever was given up before keeps no terminal busy. */
const busySince = (at: Date) => new Date(at.getTime() - busyMs)

const inProgress = (transactionId = 'one that has just ended') =>
  refuse(
    'PAYMENT_IN_PROGRESS',
    `The terminal is busy with another payment (${transactionId}); wait for its end, or cancel it. One that was given up keeps it for 2 minutes at most.`,
  )

const conflict = () =>
  refuse(
    'TRANSACTION_CONFLICT',
    'This transactionId was used before, with another body or terminal, or too long ago. Read that transaction before you pay under a new one; where it is not found it is past its retention, and only reports tell of it.',
  )

const reportedMethods: Readonly<Record<string, string>> = {
  CARD: 'CARD_PRESENT',
  CASH: 'CASH',
  MOBILE: 'MOBILE',
  OTHER: 'OTHER',
}
