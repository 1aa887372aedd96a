import type { Clock } from './clock.ts'

const firstWaitMs = 50
const waitMsMax = 5_000

/**
 * How long a timer rests after a turn: until the next is due, as it was told. Where something is due and yet nothing moved, it is in
 * somebody else's hands or cannot be moved: then each rest is twice the one before, from 50 ms to 5 s, until a turn moves something or
 * nothing is due any more.
 */
export function createPace(): (turn: { readonly moved: boolean; readonly waitMs: number }) => number {
  let restMs = 0
  return ({ moved, waitMs }) => {
    restMs = moved || waitMs > 0 ? 0 : Math.min(waitMsMax, Math.max(firstWaitMs, restMs * 2))
    return restMs === 0 ? waitMs : restMs
  }
}

/**
 * The turn of a loop that does its work once in so many ms of business time: at once, or that long after `doneAt`. What fails is tried again by
 * the next turn, or where it is none of what `isRepeated` names, when it is due again. Resolves to ms until it is due.
 */
export function onceIn(
  ms: number,
  clock: Pick<Clock, 'now'>,
  work: (now: number) => Promise<void>,
  {
    doneAt = -Infinity,
    isRepeated = () => true,
  }: { readonly doneAt?: number; readonly isRepeated?: (error: unknown) => boolean } = {},
): () => Promise<number> {
  let lastAt = doneAt
  return async () => {
    const now = clock.now().getTime()
    if (now - lastAt < ms) return lastAt + ms - now
    try {
      await work(now)
    } catch (error) {
      if (!isRepeated(error)) lastAt = now
      throw error
    }
    lastAt = now
    return ms
  }
}
