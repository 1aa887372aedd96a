import type { TerminalPrincipal } from '../../identity/terminal-keys.ts'
import { isAway, type Queries } from '../../kernel/db.ts'
import { Fault } from '../../kernel/fault.ts'
import { newId } from '../../kernel/ids.ts'
import { together } from '../../kernel/together.ts'
import { busyMs, newCourse, reachMs } from './course.ts'
import type { TerminalsDependencies } from './dependencies.ts'
import { waitMs } from './machine.ts'
import { checkOrder, type Asked, type Order } from './order.ts'
import { refuse } from './refusals.ts'
import { isPastRetention } from './retention.ts'
import { windowMs } from './signature.ts'
import { connectionStore, type TerminalRow } from './store-connections.ts'
import {
  transactionStore as store,
  type Named,
  type NewTransaction,
  type Signed,
  type TransactionRow,
} from './store-transactions.ts'

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

interface Taking {
  readonly principal: TerminalPrincipal
  readonly terminalId: string
  readonly terminal: TerminalRow
  readonly order: Order
  readonly way: Way
}

type Taken = { readonly row: TransactionRow; readonly isNew: boolean; readonly connectionId: string }

const togetherMax = 64

const takenBefore = (row: TransactionRow | Fault, held: TerminalRow): Taken | Fault =>
  row instanceof Fault ? row : { row, isNew: false, connectionId: held.connection_id }

const nameOf = ({ group_id: groupId, transaction_id: transactionId }: NewTransaction): Named => ({
  groupId,
  transactionId,
})

/** A payment as it is stored when it begins. */
const begun = (fresh: NewTransaction): TransactionRow => ({
  ...newCourse,
  ...fresh,
  updated_at: fresh.created_at,
  version: 0,
})

export function paymentCases(
  { db, bus, clock, ledger, sending, settings, hasActiveWebhook }: TerminalsDependencies,
  { findTerminal, waitFor }: Cases,
) {
  /** A request whose id is known: the same one again, or a conflict. */
  const repeated = (row: TransactionRow, { terminalId, order }: Pick<Taking, 'terminalId' | 'order'>, id?: string) => {
    const isSameTerminal = row.addressed === terminalId || row.terminal_id === id
    if (isSameTerminal && row.request_hash.equals(order.hash) && !isPastRetention(row, clock.now())) return row
    return conflict()
  }

  /** The payments that these repeat, each in its place. */
  const known = async (on: Queries, all: readonly Pick<Taking, 'principal' | 'order' | 'way'>[]) => {
    const named = all.flatMap(({ principal: { groupId }, order: { transactionId } }) =>
      transactionId === undefined ? [] : [{ groupId, transactionId }],
    )
    const signed = all.flatMap(({ principal: { keyId, groupId }, order, way }) =>
      order.transactionId !== undefined || way.signed === undefined
        ? []
        : [{ keyId, groupId, signature: way.signed.signature }],
    )
    const byName = new Map(
      (named.length === 0 ? [] : await store.findAll(on, named)).map((row) => [
        `${row.group_id} ${row.transaction_id}`,
        row,
      ]),
    )
    const bySignature = new Map(
      (signed.length === 0 ? [] : await store.findBySignatures(on, signed)).map((row) => [
        `${row.signer_id} ${row.signature}`,
        row as TransactionRow,
      ]),
    )
    return all.map(({ principal, order, way }) =>
      order.transactionId === undefined
        ? bySignature.get(`${principal.keyId} ${way.signed?.signature.toString('hex') ?? ''}`)
        : byName.get(`${principal.groupId} ${order.transactionId}`),
    )
  }

  const freshOf = ({ principal, terminalId, order, way }: Taking, held: TerminalRow, at: Date) => {
    const id = newId(at)
    const transactionId = order.transactionId ?? id
    // Its socket is in this process: that it is about to be written there is stored with it, and by no statement of its own.
    const isHere = sending.holds(held.connection_id)
    const row: NewTransaction = {
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
      sent_to: isHere ? held.connection_id : null,
      reach_at: isHere ? null : new Date(at.getTime() + reachMs),
      wait_at: new Date(at.getTime() + waitMs),
    }
    const signed: Signed = {
      signature: way.signed?.signature ?? null,
      signed_until_ms: way.signed === undefined ? null : way.signed.atMs + windowMs,
    }
    return { row, signed }
  }

  const takeIn = async (tx: Queries, all: readonly Taking[], toSend: string[]): Promise<(Taken | Fault)[]> => {
    // Payments of one terminal come one after the other.
    const locked = await connectionStore.lockThose(
      tx,
      all.map(({ terminal }) => terminal.id),
    )
    const terminals = new Map(locked.map((row) => [row.id, row]))
    const before = await known(tx, all)
    const at = clock.now()
    const busy = await store.busyOf(tx, [...terminals.keys()], new Date(at.getTime() - busyMs))
    const plans = all.map((taking, index) => {
      const held = terminals.get(taking.terminal.id) ?? taking.terminal
      const row = before[index]
      if (row !== undefined) return takenBefore(repeated(row, taking, held.id), held)
      if (held.status !== 'online')
        return refuse('TERMINAL_OFFLINE', `The terminal is ${held.status}; nothing was sent.`)
      if (busy.has(held.id))
        return refuse(
          'PAYMENT_IN_PROGRESS',
          'The terminal is busy with another payment; wait for its end, or cancel it.',
        )
      return { taking, held, fresh: freshOf(taking, held, at) }
    })
    const fresh = plans.flatMap((plan) => ('fresh' in plan ? [{ ...plan.fresh.row, ...plan.fresh.signed }] : []))
    for (const { id, sent_to } of fresh) if (sent_to !== null) toSend.push(id)
    const added = fresh.length === 0 ? new Set() : await store.insertAll(tx, fresh)
    // An id that we gave was never used.
    const chosen = fresh.filter(({ id, transaction_id }) => added.has(id) && transaction_id !== id)
    // The retention of one of these ends in this very moment: nothing is stored, and tried again it is refused by itself.
    if (chosen.length > 0 && (await store.isAnyPast(tx, chosen.map(nameOf)))) throw conflict()
    // Somebody else's, at another terminal of the group, in this very moment.
    const taken = fresh.filter(({ id }) => !added.has(id))
    const others = taken.length === 0 ? [] : await store.findAll(tx, taken.map(nameOf))
    return plans.map((plan) => {
      if (!('fresh' in plan)) return plan
      const { taking, held } = plan
      const { row: one } = plan.fresh
      if (added.has(one.id)) return { row: begun(one), isNew: true, connectionId: held.connection_id }
      const other = others.find((row) => row.group_id === one.group_id && row.transaction_id === one.transaction_id)
      // Its retention has ended.
      if (other === undefined) return conflict()
      return takenBefore(repeated(other, taking, held.id), held)
    })
  }

  const take = together({
    async work(all: readonly Taking[]) {
      const toSend: string[] = []
      try {
        return await db.tx((tx) => takeIn(tx, all, toSend))
      } catch (error) {
        if (isAway(error)) sending.unsent(toSend)
        throw error
      }
    },
    itemsMax: togetherMax,
    apart: ({ principal: { keyId, groupId }, terminal, order, way }) => [
      terminal.id,
      ...(order.transactionId === undefined ? [] : [`${groupId} ${order.transactionId}`]),
      ...(way.signed === undefined ? [] : [`${keyId} ${way.signed.signature.toString('base64')}`]),
    ],
    lanesMax: 2,
  })

  /** Takes a payment and sends it on, or finds the one that it repeats. Committed before anything is sent. */
  const start = async (principal: TerminalPrincipal, terminalId: string, asked: Asked, way: Way) => {
    const order = checkOrder(asked, settings.currencies)
    const asking = { principal, terminalId, order, way }
    const knownAlone = async () => (await known(db, [asking]))[0]
    if (order.webhookMode && !(await hasActiveWebhook(principal.groupId))) {
      // One that was taken while there was an endpoint is still itself.
      if ((await knownAlone()) === undefined)
        throw refuse(
          'NO_WEBHOOK_ENDPOINTS',
          'webhookMode needs an active webhook endpoint of the group; there is none.',
        )
    }
    const terminal = await findTerminal(principal.groupId, terminalId).catch(async (failure: unknown) => {
      const before = await knownAlone()
      const found = before === undefined ? failure : repeated(before, asking)
      if (found instanceof Error || before === undefined) throw found
      return before
    })
    if ('transaction_id' in terminal) return { row: terminal, isNew: false }
    const { row, isNew, connectionId } = await take({ ...asking, terminal })
    if (isNew) {
      ledger.begun(row)
      if (row.sent_to !== null) sending.send(row)
      else bus.say('terminals', ['tell', connectionId, row.group_id, row.id, 'payment'])
    }
    return { row, isNew }
  }

  return {
    startPayment: async (principal: TerminalPrincipal, terminalId: string, asked: Asked, way: Way) =>
      (await start(principal, terminalId, asked, way)).row,

    /**
     * The same, and its end: what the terminal said, or that it was given up. Still open only with webhookMode, and where the server
     * stops.
     */
    async pay(principal: TerminalPrincipal, terminalId: string, asked: Asked, way: Way): Promise<TransactionRow> {
      const { row, isNew } = await start(principal, terminalId, asked, way)
      return asked.webhookMode ? row : waitFor(row, isNew)
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
