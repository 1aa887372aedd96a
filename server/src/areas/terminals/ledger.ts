import type { Bus } from '../../kernel/bus.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db, Queries } from '../../kernel/db.ts'
import type { Log } from '../../kernel/log.ts'
import { asOf, type Effect, type Step } from './course.ts'
import type { TerminalFigures } from './figures.ts'
import { isOpen } from './machine.ts'
import type { Announce } from './notifications.ts'
import { connectionStore } from './store-connections.ts'
import { transactionStore as store, type TransactionRow } from './store-transactions.ts'

/** What to do with a payment as it stands, every deadline up to now applied. */
export type Stepper = (row: TransactionRow, now: Date) => Step

/** A change that is written; what follows from it is to be said once it is committed. */
export interface Changed {
  readonly row: TransactionRow
  readonly effects: readonly Effect[]
}

export interface Ledger {
  /** One change of one payment in a transaction of its own, with all that belongs to it. Undefined where there is no such payment. */
  change(id: string, stepper: Stepper): Promise<TransactionRow | undefined>
  /** The same within the caller's transaction; `follow` is called after its commit. */
  changeIn(tx: Queries, id: string, stepper: Stepper): Promise<Changed | undefined>
  follow(changes: readonly Changed[]): Promise<void>
  /** Applies what is due, and resolves to the ms until something else is. */
  runDue(): Promise<number>
}

export interface LedgerDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly figures: TerminalFigures
  readonly announce: Announce
}

const claimedMax = 50
const idleMs = 5_000

/** Codes with which an issuer or a rule of it declines; any other failure is one on the way. */
const declineCodes: readonly string[] = [
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

/** The one place where a payment changes. */
export function createLedger({ db, bus, clock, log, figures, announce }: LedgerDependencies): Ledger {
  const write = async (tx: Queries, before: TransactionRow, stepper: Stepper): Promise<Changed> => {
    const now = new Date(Math.max(clock.now().getTime(), before.created_at.getTime()))
    const due = asOf(before, before.created_at, now)
    const step = stepper(due.course === before ? before : { ...before, ...due.course }, now)
    const effects = [...due.effects, ...step.effects]
    const row = { ...before, ...step.course }
    if (step.course === before) return { row, effects: [] }
    await store.save(tx, before, step.course, now)
    if (reportStatusOf(before) !== reportStatusOf(row))
      await store.report(tx, row, reportStatusOf(row), row.authorization_code, now, false)
    for (const effect of effects) {
      if (effect.kind === 'announce') await announce(tx, row, effect.type, now)
      if (effect.kind !== 'alarm') continue
      if (!(await store.raise(tx, row.id, effect.alarm, effect.detail, now))) continue
      figures.attention(effect.alarm)
      log.warn({ transaction: row.id, cause: effect.alarm }, 'a terminal payment needs a person')
    }
    return { row: { ...row, version: before.version + 1, updated_at: now }, effects }
  }

  const changeIn = async (tx: Queries, id: string, stepper: Stepper): Promise<Changed | undefined> => {
    const before = await store.lock(tx, id)
    return before === undefined ? undefined : write(tx, before, stepper)
  }

  const follow = async (changes: readonly Changed[]): Promise<void> => {
    for (const { row, effects } of changes) {
      bus.say('terminals', ['changed', row.id])
      if (effects.some(({ kind }) => kind === 'announce')) bus.hint('events')
      for (const effect of effects) {
        if (effect.kind === 'push') bus.say('terminals', ['push', row.group_id, row.id, effect.push])
      }
      const told = new Set(effects.flatMap((effect) => (effect.kind === 'tell' ? [effect.action] : [])))
      if (told.has('cancelPayment') && !isOpen(row.state)) told.delete('cancelPayment')
      if (told.size === 0) continue
      const terminal = await connectionStore.read(db, row.terminal_id, row.group_id)
      if (terminal?.status !== 'online') continue
      for (const action of told) bus.say('terminals', ['tell', terminal.connection_id, row.group_id, row.id, action])
    }
  }

  return {
    changeIn,
    follow,
    async change(id, stepper) {
      const changed = await db.tx((tx) => changeIn(tx, id, stepper))
      if (changed === undefined) return undefined
      // Words that are lost are made up for by timers and by whoever looks again.
      await follow([changed])
      return changed.row
    },
    async runDue() {
      const changes = await db.tx(async (tx) => {
        const done: Changed[] = []
        for (const row of await store.claimDue(tx, claimedMax)) {
          done.push(await write(tx, row, (course) => ({ course, effects: [] })))
        }
        return done
      })
      await follow(changes)
      if (changes.length === claimedMax) return 0
      const next = await store.nextDue(db)
      return next === null ? idleMs : Math.max(1, next.getTime() - clock.now().getTime())
    },
  }
}
