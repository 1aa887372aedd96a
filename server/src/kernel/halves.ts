import { isAway } from './db.ts'

/**
 * Does a batch; where that fails, in halves, so that one holds up no other. What fails by itself goes to `alone`. Throws where the database
 * is away.
 */
export async function inHalves<Item>(
  batch: readonly Item[],
  work: (some: readonly Item[]) => Promise<void>,
  alone: (one: Item, error: unknown) => Promise<void>,
): Promise<void> {
  try {
    return await work(batch)
  } catch (error) {
    if (isAway(error) || batch.length === 0) throw error
    if (batch.length === 1) return alone(batch[0] as Item, error)
  }
  const half = Math.ceil(batch.length / 2)
  await inHalves(batch.slice(0, half), work, alone)
  await inHalves(batch.slice(half), work, alone)
}
