import timers from 'node:timers/promises'
import { Fault } from './fault.ts'
import { isAway, isFull } from './db.ts'

export interface TogetherOptions<Item, Result> {
  /**
   * Does all of these, in one transaction or one statement, and gives a result for each in their order; a Fault is that one's refusal.
   * Where it throws, nothing has happened.
   */
  readonly work: (items: readonly Item[]) => Promise<readonly (Result | Fault)[]>
  readonly itemsMax: number
  /** Items that have one of these in common are not done together, but in the order in which they came. */
  readonly apart?: (item: Item) => readonly string[]
  /** Batches under way at once. Default 1. */
  readonly batchesMax?: number
  /**
   * After a batch of so many, and of fewer than 32, it rests, so that the next is larger: a batch costs as much as several items, however
   * small it is. It rests for half of the time that the batch took, which tells what one costs here and now. By default it never rests.
   */
  readonly restFrom?: number
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly names: readonly string[]
  readonly sinceMs: number
  readonly promised: PromiseWithResolvers<Result>
}

const waitingMax = 30_000
// Who comes alone waits for nobody, and large batches come by themselves.
const restBelow = 32
// A batch that was held up says little of the next one.
const restMsMax = 15

/**
 * What those who are told do then may take longer than the database, which would have nothing to do meanwhile. A pool hands out a connection in
 * the next tick, and the promise of it is kept in the microtasks after that: they are told in the tick that follows these, and so before
 * anything else comes in, such as a word of another process about the same thing.
 */
const onceNextIsSent = (tell: () => void) => process.nextTick(() => queueMicrotask(() => process.nextTick(tell)))

/**
 * Does many small things of one kind together: what comes in while a batch is under way is the next one, so that a batch is as large as
 * the load, and whoever comes alone does not wait. One that cannot be done fails alone: a batch that fails is tried again in halves. Where
 * the database is away everybody who waits is told so at once; where it has no connection free, whoever waited as long for one as the batch
 * that got none. UNAVAILABLE when too many wait.
 */
export function together<Item, Result>(options: TogetherOptions<Item, Result>): (item: Item) => Promise<Result> {
  const { work, itemsMax, apart = () => [], batchesMax = 1, restFrom = Infinity } = options
  let waiting: Waiting<Item, Result>[] = []
  const busy = new Set<string>()
  let batches = 0

  /** Does these, and gives what tells those who wait how it went. */
  const settle = async (batch: readonly Waiting<Item, Result>[]): Promise<() => void> => {
    const beganMs = performance.now()
    try {
      const results = await work(batch.map(({ item }) => item))
      const told = batch.map(({ promised }, index) => ({ promised, result: results[index] as Result | Fault }))
      return () => {
        for (const { promised, result } of told) {
          if (result instanceof Fault) promised.reject(result)
          else promised.resolve(result)
        }
      }
    } catch (error) {
      const rejected = (those: readonly Waiting<Item, Result>[]) => () => {
        for (const { promised } of those) promised.reject(error)
      }
      if (isAway(error)) {
        const isTold = ({ sinceMs }: Waiting<Item, Result>) => !isFull(error) || sinceMs <= beganMs
        const told = waiting.filter(isTold)
        waiting = waiting.filter((one) => !isTold(one))
        return rejected([...batch, ...told])
      }
      if (batch.length === 1) return rejected(batch)
      const half = Math.ceil(batch.length / 2)
      const tell = await settle(batch.slice(0, half))
      tell()
      return settle(batch.slice(half))
    }
  }

  /** The first that wait, without those that must wait for another; these keep their places. */
  const take = (): readonly Waiting<Item, Result>[] => {
    const batch: Waiting<Item, Result>[] = []
    const left: Waiting<Item, Result>[] = []
    const passed = new Set<string>()
    let looked = 0
    while (looked < waiting.length && batch.length < itemsMax) {
      const one = waiting[looked] as Waiting<Item, Result>
      const mustWait = one.names.some((name) => busy.has(name) || passed.has(name))
      for (const name of one.names) (mustWait ? passed : busy).add(name)
      ;(mustWait ? left : batch).push(one)
      looked += 1
    }
    waiting = [...left, ...waiting.slice(looked)]
    return batch
  }

  const run = async (): Promise<void> => {
    batches += 1
    // Whoever comes in this turn of the event loop comes along.
    await timers.setImmediate()
    for (let batch = take(); batch.length > 0; batch = take()) {
      const beganMs = performance.now()
      onceNextIsSent(await settle(batch))
      const restMs = Math.min(restMsMax, (performance.now() - beganMs) / 2)
      for (const { names } of batch) for (const name of names) busy.delete(name)
      if (batch.length >= restFrom && batch.length < restBelow) await timers.setTimeout(restMs)
    }
    batches -= 1
  }

  return (item) => {
    if (waiting.length >= waitingMax)
      return Promise.reject(new Fault('UNAVAILABLE', 'Too much is waiting; try again.', { retryAfterSeconds: 1 }))
    const promised = Promise.withResolvers<Result>()
    waiting.push({ item, names: apart(item), sinceMs: performance.now(), promised })
    if (batches < batchesMax) void run()
    return promised.promise
  }
}
