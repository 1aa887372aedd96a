import { setTimeout as sleep } from 'node:timers/promises'
import { isAway, type Db, type Queries } from '../kernel/db.ts'
import { inHalves } from '../kernel/halves.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import type { Attempted } from './attempt.ts'
import type { Figures } from './figures.ts'
import { nameOf, type LeaveHands } from './held.ts'
import { handStore } from './store-hands.ts'
import { settleStore, type LaneChange, type SettledDelivery, type Stored } from './store-settle.ts'

/** A result, and what is to happen once it is stored (or is not ours to store any more). */
export interface Result {
  readonly eventId: string
  readonly settlement: SettledDelivery
  readonly change: LaneChange | null
  /** The failures of ours in a row before this attempt. */
  readonly setbackCount: number
  settled(ours: boolean): void
}

/** Stores results in batches: what comes in while one batch is stored is the next. Keeps them while the database is away. */
export interface Settler extends AsyncDisposable {
  add(result: Result): void
  /** Not stored yet. The caller bounds it by taking no more work. */
  readonly waiting: number
  /** The last batch could not be stored: what is in hand goes first, before more work is taken. */
  readonly troubled: boolean
  /** Resolves to true when nothing waits any more, or to false after that time. */
  drained(waitMsMax: number): Promise<boolean>
}

const batchMax = 500
// Under load a moment's wait makes the batches larger; nobody waits for a result to be stored.
const gapMs = 5
const gapFrom = 8

export interface SettlerDependencies {
  readonly db: Db
  readonly log: Log
  readonly figures: Pick<Figures, 'resultUnstored' | 'disabled'>
  /** What is stored instead of a result that cannot be stored. */
  readonly setbackOf: (result: Result) => SettledDelivery
  readonly leaveHands: LeaveHands
}

export function createSettler(dependencies: SettlerDependencies): Settler {
  const results = new Set<Result>()
  let troubled = false
  const store = storing(
    dependencies,
    () => troubled,
    (result, ours) => {
      results.delete(result)
      result.settled(ours)
    },
  )
  let drainers: (() => void)[] = []

  const turn = async () => {
    const batch = results.values().take(batchMax).toArray()
    if (batch.length === 0) return Infinity
    try {
      for (const part of [batch.filter(inHand), batch.filter(ends), batch.filter(waits)]) {
        if (part.length > 0) await store(part)
      }
      troubled = false
    } catch (error) {
      troubled = true
      throw error
    }
    if (results.size === 0) {
      for (const drained of drainers) drained()
      drainers = []
    }
    if (batch.length >= gapFrom && results.size < batchMax) await sleep(gapMs)
    return results.size > 0 ? 0 : Infinity
  }

  const loop = startLoop('delivery.settle', { log: dependencies.log }, turn)
  return {
    add(result) {
      results.add(result)
      if (results.size === 1) loop.wake()
    },
    get waiting() {
      return results.size
    },
    get troubled() {
      return troubled
    },
    async drained(waitMsMax) {
      if (results.size === 0) return true
      return new Promise((resolve) => {
        const timer = setTimeout(() => resolve(false), waitMsMax)
        drainers.push(() => {
          clearTimeout(timer)
          resolve(true)
        })
      })
    },
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  }
}

const inHand = ({ settlement: { held } }: Result): boolean => held.hand !== null
const ends = (result: Result): boolean => result.settlement.end !== null && !inHand(result)
const waits = (result: Result): boolean => result.settlement.end === null && !inHand(result)

/**
 * Stores a batch of one kind. One result that cannot be stored must not hold up the others, nor be sent again and again. `isAgain` tells whether
 * what is stored now may have been stored before.
 */
function storing(
  { db, log, figures, setbackOf, leaveHands }: SettlerDependencies,
  isAgain: () => boolean,
  done: (result: Result, ours: boolean) => void,
) {
  const settle = async (batch: readonly Storable[]): Promise<Stored['lost']> => {
    const { lost, disabled } = await storeAll(batch)
    for (const { cause, ...whose } of disabled) {
      figures.disabled(cause)
      log.warn({ ...whose, cause }, 'an endpoint is disabled, and what is queued for it is dropped')
    }
    return lost
  }

  const storeAll = (batch: readonly Storable[]): Promise<Stored> => {
    const held = batch.map(({ settlement }) => settlement.held)
    if (held[0]?.hand == null) return settleStore.settle(db, settlementsOf(batch), changesOf(batch))
    const handed = (on: Queries, some: readonly Storable[], over: readonly bigint[]) =>
      settleStore.settleHanded(on, settlementsOf(some), changesOf(some), over)
    return leaveHands(held, (over) => {
      if (!isAgain()) return handed(db, batch, over)
      return db.tx(async (tx) => {
        const left = await handStore.left(tx, held)
        return handed(
          tx,
          batch.filter(({ settlement }) => !left.has(settlement.held)),
          over,
        )
      })
    })
  }

  const store = async (batch: readonly Result[]) => {
    const lost = new Set((await settle(batch)).map(nameOf))
    for (const result of batch) done(result, lost.size === 0 || !lost.has(nameOf(result.settlement.held)))
  }

  const storeAsSetback = async (result: Result, error: unknown) => {
    const what = { err: error, event_id: result.eventId }
    figures.resultUnstored()
    log.error(what, 'the result of an attempt could not be stored; the attempt is repeated later')
    try {
      const lost = await settle([{ settlement: setbackOf(result), change: null }])
      done(result, lost.length === 0)
    } catch (again) {
      if (isAway(again)) throw again
      log.error({ ...what, err: again }, 'nor could that be stored; it is repeated when its lease has run out')
      done(result, false)
    }
  }

  return (batch: readonly Result[]) => inHalves(batch, store, storeAsSetback)
}

type Storable = Pick<Result, 'settlement' | 'change'>

const settlementsOf = (batch: readonly Storable[]) => batch.map(({ settlement }) => settlement)

/** One change for each destination of a batch. */
function changesOf(batch: readonly Pick<Attempted, 'change'>[]): LaneChange[] {
  const changes = new Map<string, LaneChange>()
  for (const { change } of batch) {
    if (change === null) continue
    const before = changes.get(change.destinationId)
    const slow = change.slow ?? before?.slow ?? null
    // Of two addresses only one is its own: what disables is not left out.
    if (before !== undefined && before.url !== change.url) {
      const counts = before.disable !== null && change.disable === null ? before : change
      changes.set(change.destinationId, { ...counts, slow })
      continue
    }
    changes.set(change.destinationId, {
      ...change,
      slow,
      failingSince: before?.failingSince ?? change.failingSince,
      disable: change.disable ?? before?.disable ?? null,
    })
  }
  return [...changes.values()]
}
