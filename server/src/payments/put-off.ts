import { isAway, type Db } from '../kernel/db.ts'
import type { Metrics } from '../kernel/metrics.ts'
import { putOffStore as store } from './store-put-off.ts'

/** Leaves alone for a while, ever longer, what is due and could not be written. */
export const putOff = (db: Db, id: string) => store.putOff(db, id)

/**
 * What is due, one after another. One that fails is put off, ever longer, so that it keeps no other from its turn, in this round or in a later
 * one; the first failure is thrown when all have had theirs. Resolves to how much moved.
 */
export async function oneByOne<Due extends { readonly id: string }>(
  db: Db,
  all: readonly Due[],
  move: (due: Due) => Promise<number>,
): Promise<number> {
  let moved = 0
  const failures: unknown[] = []
  for (const due of all) {
    try {
      moved += await move(due)
    } catch (error) {
      if (isAway(error)) throw error
      await putOff(db, due.id)
      failures.push(error)
    }
  }
  const [cause] = failures
  if (cause === undefined) return moved
  throw new Error(`${failures.length} of ${all.length} that were due could not be ended, and are put off`, { cause })
}

/** What is due, all at once; where that fails, for one of them fails all, one by one. */
export async function atOnceOrOneByOne(
  db: Db,
  {
    atOnce,
    due,
    one,
  }: {
    readonly atOnce: () => Promise<number>
    readonly due: () => Promise<readonly { readonly id: string }[]>
    readonly one: (due: { readonly id: string }) => Promise<number>
  },
): Promise<number> {
  try {
    return await atOnce()
  } catch (error) {
    if (isAway(error)) throw error
    return oneByOne(db, await due(), one)
  }
}

/** What an operator sees of it. */
export function measurePutOff(metrics: Metrics, db: Db): void {
  metrics.gauge(
    'kaha_expiries_put_off',
    'Ends of links, intents, challenges and codes and deadlines of terminal payments that failed and wait for their next try, the same in every process.',
    () => store.countPutOff(db),
  )
}
