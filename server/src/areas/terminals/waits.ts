import type { Bus } from '../../kernel/bus.ts'
import type { TransactionRow } from './store-transactions.ts'

/** A call of this process that waits for a payment. */
export interface Wait {
  /**
   * Resolves when the payment has changed since the last time, when `ms` have passed, or when everybody is woken; to the payment as this
   * process changed it last, undefined where it must be read.
   */
  happened(ms: number): Promise<TransactionRow | undefined>
  leave(): void
}

/** Calls of this process that wait for a payment, by its id. */
export interface Waits {
  /** Begin before the row is read. */
  next(id: string): Wait
  /** A payment that was changed in this process: whoever waits for it here need not read it. */
  give(row: TransactionRow): void
  wakeAll(): void
  readonly count: number
}

export function createWaits(bus: Bus): Waits & AsyncDisposable {
  type Hear = (row?: TransactionRow) => void
  const waiting = new Map<string, Set<Hear>>()
  let count = 0
  const wake = (id: string) => waiting.get(id)?.forEach((one) => one())
  const wakeAll = () => waiting.forEach((set) => set.forEach((one) => one()))
  const forget = [
    bus.hear('terminals', ([what, id = '']) => what === 'changed' && wake(id)),
    bus.listen('terminals', wakeAll),
    bus.listen('clock', wakeAll),
  ]
  return {
    get count() {
      return count
    },
    wakeAll,
    give: (row) => waiting.get(row.id)?.forEach((one) => one(row)),
    next(id) {
      let changed = false
      let given: TransactionRow | undefined
      let resolve = () => {}
      const set = waiting.get(id) ?? new Set<Hear>()
      const hear: Hear = (row) => {
        changed = true
        given = row
        resolve()
      }
      waiting.set(id, set.add(hear))
      count += 1
      return {
        async happened(ms) {
          if (!changed) {
            let timer: NodeJS.Timeout | undefined
            await new Promise<void>((done) => {
              resolve = done
              timer = setTimeout(done, ms)
            })
            clearTimeout(timer)
          }
          const last = given
          changed = false
          given = undefined
          return last
        },
        leave() {
          count -= 1
          set.delete(hear)
          if (set.size === 0) waiting.delete(id)
        },
      }
    },
    async [Symbol.asyncDispose]() {
      for (const stop of forget) stop()
    },
  }
}
