import type { Words } from '../../../kernel/bus.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { isAway, type Db } from '../../../kernel/db.ts'
import { makeRoom } from '../../../kernel/oldest.ts'
import { together } from '../../../kernel/together.ts'
import { isOpen } from '../machine.ts'
import { presentNow, presentTerminal } from '../present.ts'
import { connectionStore, type ConnectionStatus } from '../store-connections.ts'
import { transactionStore as store, unseenMax, type Missed, type TransactionRow } from '../store-transactions.ts'
import { fitting } from './frames.ts'
import type { Link, Links } from './links.ts'
import { stamp, terminalIdOf, type ReadRow } from './stamp.ts'

const seenTogetherMax = 128
const missedReadMax = 32
const unpushedMax = 10_000
const awaitedMax = 10_000
// Nothing is given up sooner.
const awaitedMsMin = 10_000
// What was given up just now is being told.
const givenUpMsMin = 5_000

const toldAs: Readonly<Record<ConnectionStatus, string>> = {
  online: 'connected',
  reconnecting: 'reconnecting',
  offline: 'disconnected',
}

export interface ToDesktops {
  /** Pushes what became of a payment to the desktops of its group. */
  push(words: Words): void
  /** Tells them that a terminal came, or went. */
  tellStatus(words: Words): void
  /** Pushes what became of a payment to this link alone; nothing where it goes on. */
  tellEnd(link: Link, row: TransactionRow): void
  /** A desktop that has connected is told what it missed. */
  catchUp(link: Link): void
  /** All that are here are told of what no word may have come of. */
  catchUpAll(): void
  /** Those that are here and missed something, as of a process that died before it said it, are told it. */
  tellMissed(): Promise<void>
  /** What could not be read before is told to those who are still here. */
  tellAgain(): void
}

/** Which pushes of a payment a desktop was told. */
interface Told {
  readonly id: string
  readonly complete: boolean
  readonly voided: boolean
}

const toldName = (id: string, push: string): string => `${id} ${push}`

/** What desktops on the sockets of this process are told: what became of payments, and which terminals there are. */
export function createToDesktops({
  db,
  clock,
  links,
  read,
  onError,
}: {
  readonly db: Db
  readonly clock: Clock
  readonly links: Links
  readonly read: ReadRow
  readonly onError: (error: unknown) => void
}): ToDesktops {
  const pushOf = (row: TransactionRow, push: string) => {
    const about = { transactionId: row.transaction_id, terminalId: terminalIdOf(row) }
    switch (push) {
      case 'paymentComplete':
        return fitting({ action: push, ...about, paymentResponse: presentNow(row), ...stamp(clock, row.group_id) })
      case 'paymentVoided':
        return {
          action: push,
          ...about,
          reason: row.void_reason ?? 'requested',
          voidedAt: row.voided_at?.toISOString() ?? null,
          ...stamp(clock, row.group_id),
        }
      default:
        return { action: push, ...about, code: row.given_up, ...stamp(clock, row.group_id) }
    }
  }

  const markSeen = together({
    async work(those: readonly Told[]) {
      await store.markSeen(db, those)
      return those.map(() => undefined)
    },
    itemsMax: seenTogetherMax,
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
    link.awaited.delete(row.id)
    const [complete, voided] = [push === 'paymentComplete', push === 'paymentVoided']
    if (link.principal.keyId === row.key_id && (complete || voided)) untilSeen(link, [{ id: row.id, complete, voided }])
  }

  const endOf = ({ state, given_up }: TransactionRow): string | undefined => {
    if (isOpen(state)) return given_up === null ? undefined : 'paymentTimeout'
    return state === 'VOIDED' ? 'paymentVoided' : 'paymentComplete'
  }
  const tellEnd = (link: Link, row: TransactionRow) => {
    const end = endOf(row)
    if (end === undefined) awaitEnd(link, row)
    else link.tellInTurn(async () => pushTo(link, row, end))
  }

  // Where the word of it is lost nobody else tells a till of a timeout: no row says who has heard of one, and its line holds, so that it asks nothing.
  const awaitEnd = ({ awaited }: Link, { id }: TransactionRow) => {
    makeRoom(awaited, awaitedMax)
    awaited.set(id, clock.now().getTime())
  }
  const tellTimeouts = async (link: Link) => {
    const { groupId } = link.principal
    const nowMs = clock.now().getTime()
    const ids = [...link.awaited].flatMap(([id, sinceMs]) => (sinceMs <= nowMs - awaitedMsMin ? [id] : []))
    const rows = await Promise.all(ids.map((id) => read({ id, groupId })))
    for (const [index, id] of ids.entries()) {
      const row = rows[index]
      // Of any other end it is told as of what else it missed.
      if (row === undefined || !isOpen(row.state)) link.awaited.delete(id)
      else if ((row.given_up_at?.getTime() ?? Infinity) <= nowMs - givenUpMsMin)
        link.tellInTurn(async () => void (link.awaited.has(id) && pushTo(link, row, 'paymentTimeout')))
    }
  }

  /** Does something with what is read, for each of them in its turn. A read that failed before is told then: unheard until that, it would end the process. */
  const withRow = <Row>(
    those: readonly Link[],
    reading: Promise<Row | undefined>,
    work: (link: Link, row: Row) => void,
  ) => {
    reading.catch(() => {})
    for (const link of those) {
      link.tellInTurn(async () => {
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

  // Terminals that could not be read as they came or went, with their groups.
  const unread = new Map<string, string>()
  /** Without a word: as it stands. */
  const tellStatus = ([groupId = '', id = '', word]: Words) => {
    const those = [...links.desktopsOf(groupId)]
    if (those.length === 0) return
    const reading = connectionStore.read(db, id, groupId)
    reading.catch((error: unknown) => {
      if (isAway(error) && unread.size < unpushedMax) unread.set(id, groupId)
    })
    withRow(those, reading, (link, row) => {
      const status = toldAs[row.status]
      // What it was before is not told any more: another word follows.
      if (word !== undefined && status !== word) return
      const terminalInfo = presentTerminal(row)
      const { terminalId, connectionId, deviceId } = terminalInfo
      const about = { terminalId, status }
      const device = deviceId === undefined ? {} : { deviceId }
      const shapes: Readonly<Record<ConnectionStatus, object>> = {
        online: { ...about, ...device, connectionId, terminalInfo },
        reconnecting: { ...about, ...device },
        offline: about,
      }
      link.send({ action: 'terminalStatusUpdate', ...shapes[row.status], ...stamp(clock, groupId) })
    })
  }

  // Desktops whose payments could not be read as they came, and the last that each was told before.
  const uncaught = new Map<Link, Missed | undefined>()
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
    link.tellInTurn(async () => {
      try {
        const missed = await store.unseen(db, link.principal, clock.now(), after)
        if ((await sendMissed(link, missed)) && missed.length === unseenMax) catchUp(link, missed.at(-1))
      } catch (error) {
        if (isAway(error)) uncaught.set(link, after)
        throw error
      }
    })

  const desktops = () => [...links.all()].filter(({ principal }) => principal.role === 'desktop')
  return {
    push: (words) => push(words),
    tellStatus: (words) => tellStatus(words),
    tellEnd,
    catchUp: (link) => catchUp(link),
    catchUpAll() {
      for (const link of desktops()) catchUp(link)
    },
    async tellMissed() {
      const those = desktops().filter(({ dismissed }) => !dismissed)
      if (those.length === 0) return
      const keys = those.map(({ principal }) => principal.keyId)
      const missed = new Set(await store.keysThatMissed(db, keys, clock.now()))
      for (const link of those) if (missed.has(link.principal.keyId)) catchUp(link)
      await Promise.all(those.map(tellTimeouts))
    },
    tellAgain() {
      const [caughtUp, pushes, moved] = [[...uncaught], [...unpushed.values()], [...unread]]
      for (const waiting of [uncaught, unpushed, unread]) waiting.clear()
      for (const [id, groupId] of moved) tellStatus([groupId, id])
      // Who catches up after a push is not told of it again.
      for (const words of pushes) push(words, true)
      for (const [link, after] of caughtUp) if (links.isOpen(link)) catchUp(link, after)
    },
  }
}
