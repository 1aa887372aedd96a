import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Principal } from './principal.ts'

export interface KnownOptions<Found> {
  readonly bus: Bus
  readonly clock: Clock
  /** What there is of a name now; undefined where there is nothing. */
  readonly read: (name: string) => Promise<Found | undefined>
}

const knownMax = 20_000
// However a hint was lost, a revoked key works for a second at most.
const knownMsMax = 1_000
// One that is in use is read anew before that, and nobody waits for it.
const renewedAfterMs = 700
// One that takes longer than readings do holds up nobody else.
const joinedMsMax = 250
const keptByPrincipalMax = 100

/**
 * Finds keys and accounts, and remembers them for a second. A change of any of them counts from the next call on, and where no word of it
 * comes, within that second. Whoever asks for one that has just begun to be read waits for that reading and makes none of its own.
 */
export function createKnown<Found>({ bus, clock, read }: KnownOptions<Found>) {
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

  const remember = (name: string, found: Found, readAt: number) => {
    if (known.size >= knownMax) known.clear()
    // All at once: what was deleted before is walked over until a map is packed anew.
    else if (ageOf(sweptAt) >= knownMsMax) {
      sweptAt = clock.wall()
      for (const [old, one] of known) if (ageOf(one.readAt) >= knownMsMax) known.delete(old)
    }
    known.set(name, { found, readAt })
  }

  const readAnew = async (name: string, readAt: number): Promise<Found | undefined> => {
    const before = changes
    const found = await read(name)
    // What was read before a change must not be remembered after it.
    if (changes !== before) return found
    if (found === undefined) known.delete(name)
    else remember(name, found, readAt)
    return found
  }

  const readOnce = (name: string): Promise<Found | undefined> => {
    const begun = readings.get(name)
    if (begun !== undefined && begun.before === changes && ageOf(begun.readAt) < joinedMsMax) return begun.found
    const readAt = clock.wall()
    const reading = { found: readAnew(name, readAt), readAt, before: changes }
    readings.set(name, reading)
    const end = () => {
      if (readings.get(name) === reading) readings.delete(name)
    }
    reading.found.then(end, end)
    return reading.found
  }

  return (name: string): Promise<Found | undefined> => {
    const one = known.get(name)
    const age = one === undefined ? Infinity : ageOf(one.readAt)
    if (one === undefined || age >= knownMsMax || !bus.connected) return readOnce(name)
    // Where that fails, whoever comes after this second is told.
    if (age >= renewedAfterMs) readOnce(name).catch(() => {})
    return Promise.resolve(one.found)
  }
}

/** What a principal found, kept as long as the principal itself: a second at most, and never past a hint. What is not there is looked for anew. */
export function keptByPrincipal<Name, Found>(
  read: (principal: Principal, name: Name) => Promise<Found | undefined>,
): (principal: Principal, name: Name) => Promise<Found | undefined> {
  const keptOf = new WeakMap<Principal, Map<Name, Found>>()
  return async (principal, name) => {
    const kept = keptOf.get(principal) ?? new Map<Name, Found>()
    const known = kept.get(name)
    if (known !== undefined) return known
    const found = await read(principal, name)
    if (found !== undefined && kept.size < keptByPrincipalMax) keptOf.set(principal, kept.set(name, found))
    return found
  }
}
