import type { NewEvent } from '../../delivery/index.ts'
import type { Bus } from '../../kernel/bus.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isAway, type Db, type Queries } from '../../kernel/db.ts'
import type { Log } from '../../kernel/log.ts'
import { together } from '../../kernel/together.ts'
import { putOff } from '../../payments/put-off.ts'
import { asOf, standsAs, unchanged, type Alarm, type Effect, type Step } from './course.ts'
import { notConnected } from './errors.ts'
import type { TerminalFigures } from './figures.ts'
import { isOpen } from './machine.ts'
import { announcementOf } from './notifications.ts'
import { connectionStore } from './store-connections.ts'
import { StaleRow, transactionStore as store, type TransactionRow } from './store-transactions.ts'
import type { Waits } from './waits.ts'

/** What to do with a payment as it stands, every deadline up to now applied. The same course again changes nothing; an alarm needs no change. */
export type Stepper = (row: TransactionRow, now: Date) => Step

/** A change that is written; what follows from it is to be said once it is committed. */
export interface Changed {
  readonly row: TransactionRow
  readonly effects: readonly Effect[]
  /** What a person must see to since then. */
  readonly raised: readonly Alarm[]
  /** An event that was written with it is to be dispatched. */
  readonly isHeard: boolean
}

export interface Ledger {
  /** A payment that this process has begun. */
  remember(row: TransactionRow): void
  /** An open payment, where this process was the last to write it; what cannot change of it is right. */
  recall(groupId: string, transactionId: string): TransactionRow | undefined
  /**
   * One change of one payment, committed with all that belongs to it. Undefined where there is no such payment. With a connection, only while
   * that is one; else it is refused as notConnected.
   */
  change(id: string, stepper: Stepper, connectionId?: string): Promise<TransactionRow | undefined>
  /** The same within the caller's transaction; `follow` is called after its commit. */
  changeIn(tx: Queries, asked: readonly { readonly id: string; readonly stepper: Stepper }[]): Promise<Changed[]>
  follow(changes: readonly Changed[]): Promise<void>
  /** The payment with every deadline up to now applied, though no worker has come by. */
  upToNow(row: TransactionRow): Promise<TransactionRow>
  /** The same for all of a group that are due, a thousand at most. One that cannot be written stays as it is. */
  applyDue(groupId: string): Promise<void>
  /** Applies what is due, and resolves to the ms until something else is. */
  runDue(): Promise<number>
  /** Tells an operator that what is due of a payment could not be stored. */
  unstored(row: TransactionRow, error: unknown, message: string): void
}

export interface LedgerDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly figures: TerminalFigures
  readonly waits: Waits
  /** Events as `delivery.append_events` takes them. */
  readonly eventRecords: (events: readonly NewEvent[]) => Buffer
}

const claimedMax = 50
const applyTurnsMax = 20
const rememberedMax = 20_000
const idleMs = 5_000
// Whoever waits for a deadline of a payment applies it: the sweep is for all others, and need not come for each one.
const sweepMsMin = 25

/**
 * How payments of one moment are stored. Larger batches cost hardly less for each, and while all that is under way is in one the rest of the
 * machine has nothing to do.
 */
export const storedTogether = { itemsMax: 128, restFrom: 4 } as const

/** Codes with which an issuer or a rule of it declines; any other failure is one on the way. */
export const declineCodes: readonly string[] = [
  'DECLINED',
  'CARD_DECLINED',
  'DO_NOT_HONOR',
  'INSUFFICIENT_FUNDS',
  'EXPIRED_CARD',
  'INVALID_PIN',
  'LOST_CARD',
  'STOLEN_CARD',
  'LIMIT_EXCEEDED',
]

/** How reports call it. */
function reportStatusOf({ state, error_code, our_code }: Pick<TransactionRow, 'state' | 'error_code' | 'our_code'>) {
  switch (state) {
    case 'COMPLETED':
      return 'CAPTURED'
    case 'CANCELLED':
      return 'CANCELLED'
    case 'VOIDED':
      return 'VOIDED'
    case 'FAILED':
      return our_code === null && declineCodes.includes(error_code ?? '') ? 'DECLINED' : 'FAILED'
    case 'PENDING':
    case 'AWAITING_RECONNECT':
      return 'PENDING'
  }
}

interface ChangeAsked {
  readonly id: string
  readonly stepper: Stepper
  /** By whose word. */
  readonly connectionId?: string | undefined
}

/** What is to be written of one payment. */
interface Draft {
  readonly before: TransactionRow
  readonly heldBy: string | null
  readonly row: TransactionRow
  readonly at: Date
  readonly effects: readonly Effect[]
}

const nameOf = (groupId: string, transactionId: string) => `${groupId} ${transactionId}`

/** The one place where a payment changes. */
export function createLedger({ db, bus, clock, log, figures, waits, eventRecords }: LedgerDependencies): Ledger {
  const draft = (before: TransactionRow, stepper: Stepper, heldBy: string | null = null): Draft => {
    const at = new Date(Math.max(clock.now().getTime(), before.created_at.getTime()))
    const due = asOf(before, before.created_at, at)
    const step = stepper(due.course === before ? before : { ...before, ...due.course }, at)
    if (step.course === before) return { before, heldBy, row: before, at, effects: step.effects }
    const updatedAt = standsAs(before, step.course) ? before.updated_at : at
    const row = { ...before, ...step.course, version: before.version + 1, updated_at: updatedAt }
    return { before, heldBy, row, at, effects: [...due.effects, ...step.effects] }
  }

  const writeAll = async (on: Queries, drafts: readonly Draft[]): Promise<Changed[]> => {
    const changed = drafts.filter(({ before, row }) => row !== before)
    const events = changed.flatMap(({ row, at, effects }) =>
      effects.flatMap((effect) => (effect.kind === 'announce' ? [announcementOf(row, effect.type, at)] : [])),
    )
    const saves = changed.map(({ before, heldBy, row }) => {
      const report = reportStatusOf(row)
      return { before, heldBy, course: row, report: report === reportStatusOf(before) ? null : report }
    })
    const isHeard =
      saves.length > 0 && (await store.saveAll(on, saves, events.length === 0 ? null : eventRecords(events)))
    const done: Changed[] = []
    for (const { row, at, effects } of drafts) {
      const raised: Alarm[] = []
      for (const effect of effects) {
        if (effect.kind !== 'alarm') continue
        // A person goes to the terminal that the payment was sent to, and must know which it is.
        const detail = `${row.device_id ?? row.addressed}: ${effect.detail}`
        if (await store.raise(on, row.id, effect.alarm, detail, at)) raised.push(effect.alarm)
      }
      done.push({ row, effects, raised, isHeard })
    }
    return done
  }

  const lock = (tx: Queries, asked: readonly ChangeAsked[]) =>
    store.lock(
      tx,
      asked.map(({ id }) => id),
    )
  /** Of these rows, which are locked, those that are asked for. */
  const changeRows = (
    tx: Queries,
    rows: readonly TransactionRow[],
    asked: readonly ChangeAsked[],
  ): Promise<Changed[]> => {
    const steppers = new Map(asked.map(({ id, stepper }) => [id, stepper]))
    return writeAll(
      tx,
      rows.flatMap((row) => {
        const stepper = steppers.get(row.id)
        return stepper === undefined ? [] : [draft(row, stepper)]
      }),
    )
  }
  const changeIn = async (tx: Queries, asked: readonly ChangeAsked[]): Promise<Changed[]> =>
    asked.length === 0 ? [] : changeRows(tx, await lock(tx, asked), asked)

  // Open payments as this process wrote them last: they are changed from there, unless somebody else was first.
  const latest = new Map<string, TransactionRow>()
  const byName = new Map<string, string>()
  const forget = (row: TransactionRow) => {
    latest.delete(row.id)
    byName.delete(nameOf(row.group_id, row.transaction_id))
  }
  const remember = (row: TransactionRow) => {
    forget(row)
    if (!isOpen(row.state)) return
    if (latest.size >= rememberedMax) {
      const [oldest] = latest.values()
      if (oldest !== undefined) forget(oldest)
    }
    latest.set(row.id, row)
    byName.set(nameOf(row.group_id, row.transaction_id), row.id)
  }

  const changeFromLatest = async (asked: readonly ChangeAsked[]): Promise<readonly Changed[] | undefined> => {
    const rows = asked.flatMap(({ id }) => latest.get(id) ?? [])
    if (rows.length < asked.length) return undefined
    const drafts = asked.map(({ stepper, connectionId }, index) =>
      draft(rows[index] as TransactionRow, stepper, connectionId),
    )
    // What is written finds out whether the row was still the same, and the connection still one; that nothing is to be done must be looked
    // up. An alarm is more than one statement.
    const isMore = ({ before, row, effects }: Draft) => row === before || effects.some(({ kind }) => kind === 'alarm')
    if (drafts.some(isMore)) return undefined
    try {
      return await writeAll(db, drafts)
    } catch (error) {
      rows.forEach(forget)
      if (!(error instanceof StaleRow)) throw error
      return undefined
    }
  }

  const goneOf = async (tx: Queries, asked: readonly ChangeAsked[]): Promise<ReadonlySet<string>> => {
    const ids = asked.flatMap(({ connectionId }) => connectionId ?? [])
    return new Set(ids.length === 0 ? [] : await connectionStore.missing(tx, ids))
  }

  // Changes of many payments in one moment are one transaction: each costs as much as its row, not as much as its way to the disk.
  const change = together({
    async work(asked: readonly ChangeAsked[]) {
      let gone: ReadonlySet<string> = new Set()
      const changeLocked = async (tx: Queries) => {
        const rows = await lock(tx, asked)
        // Now, for whoever takes the place of a connection locks its payments as well.
        gone = await goneOf(tx, asked)
        return changeRows(
          tx,
          rows,
          asked.filter(({ connectionId = '' }) => !gone.has(connectionId)),
        )
      }
      const changes = (await changeFromLatest(asked)) ?? (await db.tx(changeLocked))
      await follow(changes)
      const rows = new Map(changes.map(({ row }) => [row.id, row]))
      return asked.map(({ id, connectionId = '' }) => (gone.has(connectionId) ? notConnected() : rows.get(id)))
    },
    ...storedTogether,
    apart: ({ id }) => [id],
  })

  // Told is then the connection that each was sent to: one that took its place asks what there is.
  const unread = (error: unknown) => {
    if (!isAway(error)) log.error({ err: error }, 'terminals could not be looked up to be told of their payments')
    return undefined
  }
  const follow = async (changes: readonly Changed[]): Promise<void> => {
    if (changes.some(({ isHeard }) => isHeard)) bus.hint('events')
    for (const { row, effects, raised } of changes) {
      remember(row)
      for (const cause of raised) {
        figures.attention(cause)
        const about = { transaction: row.id, payment: row.transaction_id, device: row.device_id ?? row.addressed }
        log.warn({ ...about, cause }, 'a terminal payment needs a person')
      }
      bus.say('terminals', ['changed', row.id])
      waits.give(row)
      for (const effect of effects) {
        if (effect.kind === 'push') bus.say('terminals', ['push', row.group_id, row.id, effect.push])
      }
    }
    const telling = changes.flatMap(({ row, effects }) => {
      const told = new Set(effects.flatMap((effect) => (effect.kind === 'tell' ? [effect.action] : [])))
      if (told.has('cancelPayment') && !isOpen(row.state)) told.delete('cancelPayment')
      return told.size === 0 ? [] : [{ row, told }]
    })
    if (telling.length === 0) return
    const ids = new Set(telling.map(({ row }) => row.terminal_id))
    const terminals = await connectionStore.readAll(db, [...ids]).catch(unread)
    const connections = new Map(
      terminals?.map(({ id, status, connection_id }) => [id, status === 'online' ? connection_id : null]),
    )
    for (const { row, told } of telling) {
      const connectionId = terminals === undefined ? row.sent_to : connections.get(row.terminal_id)
      if (typeof connectionId !== 'string') continue
      for (const action of told) bus.say('terminals', ['tell', connectionId, row.group_id, row.id, action])
    }
  }

  const unstored: Ledger['unstored'] = ({ id }, error, message) => {
    figures.unstored()
    log.error({ err: error, transaction: id }, message)
  }

  type Claim = (tx: Queries) => Promise<readonly TransactionRow[]>
  /** Resolves to how many rows there were, how many of them changed, and how many could not and are put off. */
  const applySome = async (claim: Claim): Promise<{ found: number; changed: number; failed: number }> => {
    try {
      const { found, changes } = await db.tx(async (tx) => {
        const rows = await claim(tx)
        const drafts = rows.map((row) => draft(row, unchanged))
        return { found: new Set(rows), changes: await writeAll(tx, drafts) }
      })
      await follow(changes)
      return { found: found.size, changed: changes.filter(({ row }) => !found.has(row)).length, failed: 0 }
    } catch (error) {
      if (isAway(error)) throw error
      return applyApart(claim)
    }
  }
  // One that cannot be written holds up no other, now or later.
  const applyApart = async (claim: Claim) => {
    const rows = await db.tx(claim)
    const done = await Promise.allSettled(rows.map(({ id }) => change({ id, stepper: unchanged })))
    const failures = done.filter((one) => one.status === 'rejected').map(({ reason }) => reason as Error)
    const away = failures.find(isAway)
    if (away !== undefined) throw away
    for (const [at, row] of rows.entries()) {
      const one = done[at]
      if (one?.status !== 'rejected') continue
      unstored(row, one.reason, 'what is due of a payment could not be stored; it is tried again')
      await putOff(db, row.id)
    }
    const isChanged = (one: (typeof done)[number], at: number) =>
      one.status === 'fulfilled' && one.value?.version !== rows[at]?.version
    return { found: rows.length, changed: done.filter(isChanged).length, failed: failures.length }
  }

  return {
    changeIn,
    follow,
    unstored,
    remember,
    recall: (groupId, transactionId) => latest.get(byName.get(nameOf(groupId, transactionId)) ?? ''),
    change: (id, stepper, connectionId) => change({ id, stepper, connectionId }),
    async upToNow(row) {
      const isNow = asOf(row, row.created_at, clock.now()).course === row
      return isNow ? row : ((await change({ id: row.id, stepper: unchanged })) ?? row)
    },
    async applyDue(groupId) {
      try {
        for (let turns = 0; turns < applyTurnsMax && (await store.isDue(db, groupId)); turns += 1) {
          const { changed, failed } = await applySome((tx) => store.lockDueOf(tx, groupId, claimedMax))
          if (changed + failed === 0) return
        }
      } catch (error) {
        if (isAway(error)) throw error
        log.error({ err: error }, 'deadlines of terminal payments could not be applied for a list')
      }
    },
    async runDue() {
      const { found, changed } = await applySome((tx) => store.lockDue(tx, claimedMax))
      if (found === claimedMax && changed > 0) return 0
      const next = await store.nextDue(db)
      return next === null ? idleMs : Math.max(sweepMsMin, next.getTime() - clock.now().getTime())
    },
  }
}
