import { Fault } from './fault.ts'

/** How many of something may be under way at once, in this process alone. */
export interface Places {
  /** A place, until it is disposed of. RATE_LIMITED where none is free. */
  take(key: string): Disposable
}

export interface PlacesOptions {
  /** Of one key. */
  readonly eachMax: number
  readonly eachRefusal: string
  /** Of all keys together. Without it that has no limit. */
  readonly all?: { readonly max: number; readonly refusal: string }
  /** What whoever is refused is told to wait. */
  readonly retryAfterSeconds: number
}

export function createPlaces({ eachMax, eachRefusal, all, retryAfterSeconds }: PlacesOptions): Places {
  const taken = new Map<string, number>()
  let takenInAll = 0
  const refuse = (message: string) => new Fault('RATE_LIMITED', message, { retryAfterSeconds })

  const free = (key: string): void => {
    takenInAll -= 1
    const left = (taken.get(key) ?? 1) - 1
    if (left === 0) taken.delete(key)
    else taken.set(key, left)
  }

  return {
    take(key) {
      const ofKey = taken.get(key) ?? 0
      if (ofKey >= eachMax) throw refuse(eachRefusal)
      if (all !== undefined && takenInAll >= all.max) throw refuse(all.refusal)
      taken.set(key, ofKey + 1)
      takenInAll += 1
      let held = true
      return {
        [Symbol.dispose]() {
          if (held) free(key)
          held = false
        },
      }
    },
  }
}
