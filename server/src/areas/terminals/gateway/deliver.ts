import type { Bus, Words } from '../../../kernel/bus.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { isAway, type Db } from '../../../kernel/db.ts'
import { together } from '../../../kernel/together.ts'
import type { Sending } from '../dependencies.ts'
import { isOpen } from '../machine.ts'
import { presentNow, presentTerminal, requestOf } from '../present.ts'
import type { TerminalCases } from '../service-terminal.ts'
import { connectionStore } from '../store-connections.ts'
import { transactionStore as store, unseenMax, type Missed, type TransactionRow } from '../store-transactions.ts'
import { fitting } from './frames.ts'
import type { Link, Links } from './links.ts'

export type DisconnectReason =
  'api_key_used_elsewhere' | 'stale_connection_timeout' | 'admin_action' | 'server_restarting' | 'other'

const askedTogetherMax = 128
const readTogetherMax = 128
const missedReadMax = 32
const unpushedMax = 10_000
const earlyMax = 1_000

/** The code that a socket is closed with, for each reason. */
const closeCodes: Readonly<Record<DisconnectReason, number>> = {
  other: 4000,
  api_key_used_elsewhere: 4001,
  stale_connection_timeout: 4002,
  admin_action: 4003,
  server_restarting: 4004,
}

const sentences: Readonly<Record<DisconnectReason, string>> = {
  other: 'The connection is closed.',
  api_key_used_elsewhere: 'This key or device has connected elsewhere.',
  stale_connection_timeout: 'Nothing came over this connection for too long.',
  admin_action: 'An operator closed this connection.',
  server_restarting: 'The server restarts; connect again in a few seconds.',
}

export interface Deliverer {
  /** Says why, and closes. */
  dismiss(link: Link, reason: DisconnectReason): void
  /** Writes a payment that was stored as sent to one of the sockets here. */
  sendStored(row: TransactionRow): void
  /** A terminal that has connected is asked about what it may have missed. */
  askTerminal(link: Link): void
  /** What could not be read before is told to those who are still here. */
  tellAgain(): void
  /** Tills that are here are told of what no word came of, as of a process that died before it said it. */
  tellMissed(): Promise<void>
  /** One whose place was taken before its socket was here is told now. */
  arrived(link: Link): void
  /** Pushes what became of a payment to this link alone; nothing where it goes on. */
  tellEnd(link: Link, row: TransactionRow): void
  /** A desktop that has connected is told what it missed. */
  catchUp(link: Link): void
  stop(): void
}

/** Which pushes of a payment a desktop was told. */
interface Told {
  readonly id: string
  readonly complete: boolean
  readonly voided: boolean
}

const toldName = (id: string, push: string): string => `${id} ${push}`

/** Turns words between processes into frames on the sockets of this one. */
export function createDeliverer({
  db,
  bus,
  clock,
  links,
  cases,
  unsent,
  onError,
}: {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly links: Links
  readonly cases: TerminalCases
  readonly unsent: Sending['unsent']
  readonly onError: (error: unknown) => void
}): Deliverer {
  const stamp = (groupId: string) => ({ timestamp: clock.now().toISOString(), groupId, version: 'v1' as const })
  const terminalIdOf = (row: TransactionRow, link?: Link) => row.device_id ?? link?.connectionId ?? row.addressed

  const dismiss = (link: Link, reason: DisconnectReason) => {
    link.dismissed = true
    link.send({ action: 'forceDisconnect', reason, message: sentences[reason], ...stamp(link.principal.groupId) })
    link.close(closeCodes[reason], reason)
  }

  const read = together({
    async work(those: readonly { readonly id: string; readonly groupId: string }[]) {
      const rows = new Map((await store.readAll(db, those)).map((row) => [row.id, row]))
      return those.map(({ id }) => rows.get(id))
    },
    itemsMax: readTogetherMax,
  })
  const tellVoid = (link: Link, row: TransactionRow) =>
    link.send({
      action: 'voidPayment',
      transactionId: row.transaction_id,
      reason: row.void_reason ?? 'requested',
      ...stamp(row.group_id),
    })
  const tellCancel = (link: Link, row: TransactionRow) =>
    link.send({ action: 'cancelPayment', transactionId: row.transaction_id, ...stamp(row.group_id) })

  const writePayment = (link: Link, row: TransactionRow) =>
    link.send({
      action: 'payment',
      transactionId: row.transaction_id,
      terminalId: terminalIdOf(row, link),
      connectionId: link.connectionId,
      paymentRequest: requestOf(row),
      ...stamp(row.group_id),
    })
  // It may be stored as sent, and was not.
  const settledLater = (id: string) => (error: unknown) => {
    if (isAway(error)) unsent([id])
    throw error
  }
  const notSent = (id: string) => cases.notSent(id).catch(settledLater(id))
  const sendPayment = async (link: Link, id: string) => {
    const row = await cases.beforeSending(id, link.connectionId).catch(settledLater(id))
    if (row !== undefined && !writePayment(link, row)) await notSent(id)
  }
  // At once, not in the link's turn: nothing may become of the payment between its commit and this.
  const sendStored = (row: TransactionRow) => {
    const link = links.find(row.sent_to ?? '')
    if (link === undefined || link.dismissed || !writePayment(link, row)) notSent(row.id).catch(onError)
  }

  const tell = ([connectionId = '', groupId = '', id = '', action = '']: Words) => {
    const link = links.find(connectionId)
    if (link === undefined || link.dismissed) return
    link.inTurn(async () => {
      if (action === 'payment') return sendPayment(link, id)
      const row = await read({ id, groupId })
      if (row === undefined) return
      if (action === 'cancelPayment' && isOpen(row.state)) tellCancel(link, row)
      if (action === 'voidPayment' && row.void_state === 'ASKED') tellVoid(link, row)
    })
  }

  const pushOf = (row: TransactionRow, push: string) => {
    const about = { transactionId: row.transaction_id, terminalId: terminalIdOf(row) }
    switch (push) {
      case 'paymentComplete':
        return fitting({ action: push, ...about, paymentResponse: presentNow(row), ...stamp(row.group_id) })
      case 'paymentVoided':
        return {
          action: push,
          ...about,
          reason: row.void_reason ?? 'requested',
          voidedAt: row.voided_at?.toISOString() ?? null,
          ...stamp(row.group_id),
        }
      default:
        return { action: push, ...about, code: row.given_up, ...stamp(row.group_id) }
    }
  }

  const markSeen = together({
    async work(those: readonly Told[]) {
      await store.markSeen(db, those)
      return those.map(() => undefined)
    },
    itemsMax: readTogetherMax,
    apart: ({ id }) => [id],
  })
  /** The desktop that started these has seen them when the ping behind them came back, and is not told them again as missed before that is stored. */
  const untilSeen = (link: Link, those: readonly Told[]): void => {
    const names = those.flatMap(({ id, complete, voided }) => [
      ...(complete ? [toldName(id, 'paymentComplete')] : []),
      ...(voided ? [toldName(id, 'paymentVoided')] : []),
    ])
    const forget = () => {
      for (const name of names) link.told.delete(name)
    }
    for (const name of names) link.told.add(name)
    // What it missed may have been looked up before this was stored, and is sent in the turn that is under way.
    const seen = () =>
      Promise.all(those.map(markSeen))
        .catch(onError)
        .finally(() => link.inTurn(async () => forget()))
    if (!link.confirm(() => void seen())) forget()
  }
  const pushTo = (link: Link, row: TransactionRow, push: string): void => {
    if (!link.send(pushOf(row, push))) return
    const [complete, voided] = [push === 'paymentComplete', push === 'paymentVoided']
    if (link.principal.keyId === row.key_id && (complete || voided)) untilSeen(link, [{ id: row.id, complete, voided }])
  }

  const endOf = ({ state, given_up }: TransactionRow): string | undefined => {
    if (isOpen(state)) return given_up === null ? undefined : 'paymentTimeout'
    return state === 'VOIDED' ? 'paymentVoided' : 'paymentComplete'
  }
  const tellEnd = (link: Link, row: TransactionRow) => {
    const end = endOf(row)
    if (end === undefined) return
    link.inTurn(async () => pushTo(link, row, end))
  }

  /** Does something with what is read, for each of them in its turn. A read that failed before is told then: unheard until that, it would end the process. */
  const withRow = <Row>(
    those: readonly Link[],
    reading: Promise<Row | undefined>,
    work: (link: Link, row: Row) => void,
  ) => {
    reading.catch(() => {})
    for (const link of those) {
      link.inTurn(async () => {
        const row = await reading
        if (row !== undefined) work(link, row)
      })
    }
  }

  // A word asks to look, and may be anybody's: told is what the row says.
  const isSo = (row: TransactionRow, what: string): boolean => {
    if (what === 'paymentTimeout') return row.given_up !== null
    if (what === 'paymentVoided') return row.state === 'VOIDED'
    return what === 'paymentComplete' && !isOpen(row.state)
  }
  // Pushes whose payments could not be read as they came.
  const unpushed = new Map<string, Words>()
  /** Of a push that is made late: who began the payment may have caught up since, and a payment that was given up may have ended. */
  const isWanted = (link: Link, row: TransactionRow, what: string): boolean => {
    if (what === 'paymentTimeout') return endOf(row) === what
    const isUnseen = what === 'paymentComplete' ? row.complete_unseen : row.voided_unseen
    return link.principal.keyId !== row.key_id || isUnseen
  }
  const push = ([groupId = '', id = '', what = '']: Words, isAgain = false) => {
    const those = [...links.desktopsOf(groupId)]
    if (those.length === 0) return
    const reading = read({ id, groupId })
    withRow(those, reading, (link, row) => {
      if (isSo(row, what) && (!isAgain || isWanted(link, row, what))) pushTo(link, row, what)
    })
    reading.catch((error: unknown) => {
      if (isAway(error) && unpushed.size < unpushedMax) unpushed.set(`${id} ${what}`, [groupId, id, what])
    })
  }

  const status = ([groupId = '', id = '', connectionId = '', what = '']: Words) => {
    const those = [...links.desktopsOf(groupId)]
    if (those.length === 0) return
    withRow(those, connectionStore.read(db, id, groupId), (link, row) => {
      const terminalId = row.device_id ?? connectionId
      const info = { ...presentTerminal(row), connectionId, terminalId }
      const device = row.device_id === null ? {} : { deviceId: row.device_id }
      const shapes: Readonly<Record<string, object>> = {
        connected: {
          terminalId,
          connectionId,
          ...device,
          status: 'connected',
          terminalInfo: { ...info, status: 'online' },
        },
        reconnecting: { terminalId, ...device, status: 'reconnecting' },
        disconnected: { terminalId, status: 'disconnected' },
      }
      if (Object.hasOwn(shapes, what)) link.send({ action: 'terminalStatusUpdate', ...shapes[what], ...stamp(groupId) })
    })
  }

  // Connections of other processes, and those whose answer from the database was behind this word.
  const early = new Map<string, DisconnectReason>()
  const close = ([connectionId = '', word = '']: Words) => {
    const link = links.find(connectionId)
    const reason = Object.hasOwn(closeCodes, word) ? (word as DisconnectReason) : 'other'
    if (link === undefined) {
      early.set(connectionId, reason)
      for (const oldest of early.size > earlyMax ? early.keys().take(1) : []) early.delete(oldest)
    } else if (!link.dismissed) dismiss(link, reason)
  }

  const toAsk = together({
    async work(those: readonly { readonly terminalId: string; readonly connectionId: string }[]) {
      const rows = Map.groupBy(await store.toAsk(db, those), ({ terminal_id }) => terminal_id)
      return those.map(({ terminalId }) => rows.get(terminalId) ?? [])
    },
    itemsMax: askedTogetherMax,
    apart: ({ terminalId }) => [terminalId],
  })
  // Terminals and desktops whose payments could not be read as they came.
  const unasked = new Set<Link>()
  const uncaught = new Map<Link, Missed | undefined>()
  const askTerminal = (link: Link) => {
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
          link.send({ action: 'paymentStatus', transactionId: row.transaction_id, ...stamp(row.group_id) })
        }
        if (isOpen(row.state) && (row.cancel_asked || row.given_up !== null)) tellCancel(link, row)
        if (row.void_state === 'ASKED') tellVoid(link, row)
      }
    })
  }

  /** Sends those, whose rows are read a few at a time as the line takes them. False where the line is closed. */
  const sendMissed = async (link: Link, missed: readonly Missed[]): Promise<boolean> => {
    const { groupId } = link.principal
    for (let from = 0; from < missed.length; from += missedReadMax) {
      const some = missed.slice(from, from + missedReadMax)
      const names = some.map(({ id }) => ({ id, groupId }))
      const rows = new Map((await store.readAll(db, names)).map((row) => [row.id, row]))
      for (const { id, complete_unseen, voided_unseen } of some) {
        const row = rows.get(id)
        if (row === undefined) continue
        for (const [unseen, what] of [
          [complete_unseen, 'paymentComplete'],
          [voided_unseen, 'paymentVoided'],
        ] as const)
          if (unseen && !link.told.has(toldName(id, what)) && !link.send(pushOf(row, what))) return false
        await link.drained()
      }
      // For all of them at once: more than so many are not waited for.
      untilSeen(
        link,
        some.map(({ id, complete_unseen: complete, voided_unseen: voided }) => ({ id, complete, voided })),
      )
    }
    return true
  }
  /** `after` is the last that it was told before: what else it says has its turn in between. */
  const catchUp = (link: Link, after?: Missed) =>
    link.inTurn(async () => {
      try {
        const missed = await store.unseen(db, link.principal, clock.now(), after)
        if ((await sendMissed(link, missed)) && missed.length === unseenMax) catchUp(link, missed.at(-1))
      } catch (error) {
        if (isAway(error)) uncaught.set(link, after)
        throw error
      }
    })

  const act: Readonly<Record<string, (words: Words) => void>> = {
    tell,
    push: (words) => push(words),
    terminal: status,
    close,
  }
  const forget = [
    bus.hear('terminals', ([what = '', ...words]) => Object.hasOwn(act, what) && act[what]?.(words)),
    // After an outage of the line between processes: whatever was missed is in the rows.
    bus.listen('terminals', () => {
      for (const link of links.all()) {
        if (link.principal.role === 'desktop') catchUp(link)
      }
    }),
  ]
  return {
    dismiss,
    sendStored,
    askTerminal,
    tellAgain() {
      const isHere = (link: Link) => links.find(link.connectionId) === link && !link.dismissed
      const [asked, caughtUp, pushes] = [[...unasked], [...uncaught], [...unpushed.values()]]
      for (const waiting of [unasked, uncaught, unpushed]) waiting.clear()
      for (const link of asked) if (isHere(link)) askTerminal(link)
      // Who catches up after a push is not told of it again.
      for (const words of pushes) push(words, true)
      for (const [link, after] of caughtUp) if (isHere(link)) catchUp(link, after)
    },
    async tellMissed() {
      const tills = [...links.all()].filter(({ principal, dismissed }) => principal.role === 'desktop' && !dismissed)
      if (tills.length === 0) return
      const keys = tills.map(({ principal }) => principal.keyId)
      const missed = new Set(await store.keysThatMissed(db, keys, clock.now()))
      for (const link of tills) if (missed.has(link.principal.keyId)) catchUp(link)
    },
    arrived(link) {
      const reason = early.get(link.connectionId)
      if (reason !== undefined) dismiss(link, reason)
    },
    tellEnd,
    catchUp,
    stop() {
      for (const one of forget) one()
    },
  }
}
