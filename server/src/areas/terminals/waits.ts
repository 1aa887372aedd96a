import type { Bus } from '../../kernel/bus.ts'

/** Calls of this process that wait for a payment, by its id. */
export interface Waits {
  /** Resolves when the payment changed, when `ms` have passed, or when everybody is woken. Begin before the row is read. */
  next(id: string): { happened(ms: number): Promise<void>; leave(): void }
  wakeAll(): void
  readonly count: number
}

export function createWaits(bus: Bus): Waits & AsyncDisposable {
  const waiting = new Map<string, Set<() => void>>()
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
    next(id) {
      let changed = false
      let resolve = () => {}
      const set = waiting.get(id) ?? new Set<() => void>()
      const hear = () => {
        changed = true
        resolve()
      }
      waiting.set(id, set.add(hear))
      count += 1
      return {
        async happened(ms) {
          if (changed) return
          let timer: NodeJS.Timeout | undefined
          await new Promise<void>((done) => {
            resolve = done
            timer = setTimeout(done, ms)
          })
          clearTimeout(timer)
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
