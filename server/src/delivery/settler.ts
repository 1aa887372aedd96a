import { isAway, type Db } from '../kernel/db.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import type { Attempted } from './attempt.ts'
import { nameOf, settleStore, type LaneChange, type Settlement } from './store-settle.ts'

/** A result, and what is to happen once it is stored (or is not ours to store any more). */
export interface Result {
  readonly eventId: string
  readonly settlement: Settlement
  readonly change: LaneChange | null
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

export function createSettler({
  db,
  log,
  setbackOf,
}: {
  db: Db
  log: Log
  setbackOf: (settlement: Settlement) => Settlement
}): Settler {
  const results = new Set<Result>()
  let troubled = false
  let drainers: (() => void)[] = []

  const store = async (batch: readonly Result[]) => {
    const rows = await settleStore.settle(
      db,
      batch.map(({ settlement }) => settlement),
      changesOf(batch),
    )
    const ours = new Set(rows.map(nameOf))
    for (const result of batch) {
      results.delete(result)
      result.settled(ours.has(nameOf(result.settlement.held)))
    }
  }

  // One result that cannot be stored must not hold up the others, nor be sent again and again.
  const storeApart = async (batch: readonly Result[]): Promise<void> => {
    try {
      return await store(batch)
    } catch (error) {
      if (isAway(error)) throw error
      const [only] = batch
      if (batch.length === 1 && only !== undefined) return storeAsSetback(only, error)
    }
    const half = Math.ceil(batch.length / 2)
    await storeApart(batch.slice(0, half))
    await storeApart(batch.slice(half))
  }

  const storeAsSetback = async (result: Result, error: unknown) => {
    const what = { err: error, event_id: result.eventId }
    log.error(what, 'the result of an attempt could not be stored; the attempt is repeated later')
    try {
      await store([{ ...result, settlement: setbackOf(result.settlement), change: null }])
    } catch (again) {
      if (isAway(again)) throw again
      log.error({ ...what, err: again }, 'nor could that be stored; it is repeated when its lease has run out')
      result.settled(false)
    }
    results.delete(result)
  }

  const turn = async () => {
    const batch = results.values().take(batchMax).toArray()
    if (batch.length === 0) return Infinity
    try {
      await storeApart(batch)
      troubled = false
    } catch (error) {
      troubled = true
      throw error
    }
    if (results.size === 0) {
      for (const drained of drainers) drained()
      drainers = []
    }
    if (batch.length >= gapFrom && results.size < batchMax) await new Promise((resolve) => setTimeout(resolve, gapMs))
    return results.size > 0 ? 0 : Infinity
  }

  const loop = startLoop('delivery.settle', log, turn)
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

/** One change for each destination of a batch. */
function changesOf(batch: readonly Pick<Attempted, 'change'>[]): LaneChange[] {
  const changes = new Map<string, LaneChange>()
  for (const { change } of batch) {
    if (change === null) continue
    const before = changes.get(change.destinationId)
    changes.set(change.destinationId, {
      destinationId: change.destinationId,
      slow: change.slow ?? before?.slow ?? null,
      failingSince: before?.failingSince ?? change.failingSince,
      disable: change.disable ?? before?.disable ?? null,
    })
  }
  return [...changes.values()]
}
