import { hash as hashOf } from 'node:crypto'
import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'

export interface KnownKeysOptions<Found> {
  readonly bus: Bus
  readonly clock: Clock
  /** What there is of a key now, named by its SHA-256 in hex; undefined where there is no such key. */
  readonly read: (hash: string) => Promise<Found | undefined>
}

const keysMax = 20_000
// However a hint was lost, a revoked key works for a second at most.
const knownMsMax = 1_000
// One that is in use is read anew before that, and nobody waits for it.
const renewedAfterMs = 700
// One that takes longer than readings do holds up nobody else.
const joinedMsMax = 250

/**
 * Finds keys, and remembers them for a second. A change of any key or account counts from the next call on, and where no word of it comes,
 * within that second. Whoever asks for a key that has just begun to be read waits for that reading and makes none of its own.
 */
export function createKnownKeys<Found>({ bus, clock, read }: KnownKeysOptions<Found>) {
  const known = new Map<string, { readonly found: Found; readonly readAt: number }>()
  const readings = new Map<
    string,
    { readonly found: Promise<Found | undefined>; readonly readAt: number; readonly before: number }
  >()
  let sweptAt = -Infinity
  let changes = 0
  bus.listen('keys', () => {
    changes += 1
    known.clear()
  })
  const ageOf = (readAt: number): number => {
    const age = clock.wall() - readAt
    // A clock that was set back says nothing.
    return age >= 0 ? age : Infinity
  }

  const remember = (hash: string, found: Found, readAt: number) => {
    if (known.size >= keysMax) known.clear()
    // All at once: what was deleted before is walked over until a map is packed anew.
    else if (ageOf(sweptAt) >= knownMsMax) {
      sweptAt = clock.wall()
      for (const [old, one] of known) if (ageOf(one.readAt) >= knownMsMax) known.delete(old)
    }
    known.set(hash, { found, readAt })
  }

  const readAnew = async (hash: string, readAt: number): Promise<Found | undefined> => {
    const before = changes
    const found = await read(hash)
    // What was read before a change must not be remembered after it.
    if (changes !== before) return found
    if (found === undefined) known.delete(hash)
    else remember(hash, found, readAt)
    return found
  }

  const readOnce = (hash: string): Promise<Found | undefined> => {
    const begun = readings.get(hash)
    if (begun !== undefined && begun.before === changes && ageOf(begun.readAt) < joinedMsMax) return begun.found
    const readAt = clock.wall()
    const reading = { found: readAnew(hash, readAt), readAt, before: changes }
    readings.set(hash, reading)
    const end = () => {
      if (readings.get(hash) === reading) readings.delete(hash)
    }
    reading.found.then(end, end)
    return reading.found
  }

  return (key: string): Promise<Found | undefined> => {
    const hash = hashOf('sha256', key)
    const one = known.get(hash)
    const age = one === undefined ? Infinity : ageOf(one.readAt)
    if (one === undefined || age >= knownMsMax || !bus.connected) return readOnce(hash)
    // Where that fails, whoever comes after this second is told.
    if (age >= renewedAfterMs) readOnce(hash).catch(() => {})
    return Promise.resolve(one.found)
  }
}
