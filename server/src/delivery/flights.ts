import type { Attempted, Work } from './attempt.ts'
import type { HeldDelivery } from './held.ts'
import type { Leases } from './leases.ts'
import type { SenderDependencies } from './sender.ts'
import type { Taken } from './store-claim.ts'

type FlightsDependencies = Pick<SenderDependencies, 'slots' | 'attempt' | 'figures' | 'log' | 'options'>

/** Attempts under way, and what waits in line behind them for its turn. */
export interface Flights {
  /**
   * Takes each delivery in hand: an attempt begins at once, or when another to the same destination has ended. No lease is older than `askedAt`,
   * on the monotonic clock. Left are those to destinations that have `changed`, null for any: they are not in hand.
   */
  begin(taken: Taken, askedAt: number, changed: ReadonlySet<string | null>): readonly HeldDelivery[]
  /** What is in hand for a destination and has not begun: no longer in hand. */
  takeBack(destinationId: string): readonly HeldDelivery[]
  takeBackAll(): readonly HeldDelivery[]
  /** Waits until all that have begun have ended, cuts off those that have not by then, and resolves to what was cut off. */
  land(waitMsMax: number): Promise<readonly HeldDelivery[]>
}

/** Where attempts of several destinations may go at once. */
interface Origin {
  readonly name: string
  flying: number
  /** Destinations with a line that could go on, but for this. */
  readonly waiting: Set<string>
}

/** What whoever has them fly is told. */
export interface FlightEvents {
  ended(): void
  settle(attempted: Attempted, work: Work): void
}

/** Has attempts fly, so many at once as the slots and their origins allow. Whoever stops has them land. */
export function createFlights(
  { slots, attempt, figures, log, options }: FlightsDependencies,
  leases: Pick<Leases, 'hold' | 'inForce' | 'end'>,
  events: FlightEvents,
): Flights {
  let flying = 0
  let landed = () => {}
  const nextInLine = new Map<string, Work[]>()
  const origins = new Map<string, Origin>()
  const cutOff: HeldDelivery[] = []
  const stop = new AbortController()
  let landing = false

  const originOf = (work: Work): Origin => {
    const name = originIn(work.lane.url)
    const known = origins.get(name)
    if (known !== undefined) return known
    const origin = { name, flying: 0, waiting: new Set<string>() }
    origins.set(name, origin)
    return origin
  }

  /** Whether it may begin now; if so, it has. */
  const take = (work: Work): boolean => {
    const { destination_id } = work.row
    const origin = originOf(work)
    if (origin.flying >= options.flyingPerOriginMax) {
      origin.waiting.add(destination_id)
      return false
    }
    if (!slots.begin(destination_id)) {
      // A destination may have just got another address, where nothing flies yet.
      if (origin.flying === 0 && origin.waiting.size === 0) origins.delete(origin.name)
      return false
    }
    origin.flying += 1
    void fly(work, origin)
    return true
  }

  const fly = async (work: Work, origin: Origin) => {
    flying += 1
    end(work, origin, await attempt(work, stop.signal))
    flying -= 1
    if (flying === 0) landed()
  }

  const end = (work: Work, origin: Origin, attempted: Attempted) => {
    const { event_id, destination_id } = work.row
    slots.end(destination_id)
    origin.flying -= 1
    if (attempted.outcome !== 'delivered') origin.waiting.delete(destination_id)
    else if (origin.waiting.size === 0) beginNext(destination_id)
    else if (nextInLine.has(destination_id)) origin.waiting.add(destination_id)
    passOn(origin)
    events.ended()
    const setback = attempted.outcome === 'setback'
    if (setback && stop.signal.aborted) {
      leases.end(work.row)
      cutOff.push(work.row)
      return
    }
    if (setback) {
      const what = { err: attempted.cause, event_id, destination_id }
      log.warn(what, 'an attempt failed on our side; it is repeated and not counted')
    }
    // Of QR Ph and terminals no operation shows it.
    if (attempted.outcome === 'exhausted') {
      const { status = null, errorClass = null } = attempted.settlement.attempt ?? {}
      const about = { event_id, destination_id, host: new URL(work.lane.url).host, status, error_class: errorClass }
      log.info(about, 'the last attempt at a webhook failed: it is sent no more')
    }
    figures.attempted(attempted)
    events.settle(attempted, work)
  }

  const newLine = (destinationId: string): Work[] => {
    const line: Work[] = []
    nextInLine.set(destinationId, line)
    return line
  }

  /** Destinations that wait for the same origin take turns. */
  const passOn = (origin: Origin) => {
    for (const destinationId of origin.waiting) {
      if (origin.flying >= options.flyingPerOriginMax) return
      origin.waiting.delete(destinationId)
      beginNext(destinationId)
    }
    if (origin.flying === 0) origins.delete(origin.name)
  }

  const beginNext = (destinationId: string) => {
    const line = nextInLine.get(destinationId) ?? []
    for (let [next] = line; next !== undefined; [next] = line) {
      if (leases.inForce(next.row)) {
        if (!take(next)) return
      } else {
        slots.give(destinationId)
        leases.end(next.row)
      }
      line.shift()
    }
    nextInLine.delete(destinationId)
  }

  const takeBack = (destinationId: string): HeldDelivery[] => {
    const line = nextInLine.get(destinationId) ?? []
    nextInLine.delete(destinationId)
    return line.map(({ row }) => {
      slots.give(destinationId)
      leases.end(row)
      return row
    })
  }

  const takeBackAll = () => [...nextInLine.keys()].flatMap(takeBack)

  return {
    begin({ deliveries, lanes }, askedAt, changed) {
      const left: HeldDelivery[] = []
      for (const row of deliveries) {
        const lane = lanes.get(row.destination_id)
        if (lane === undefined) throw new Error(`the claim brought no destination ${row.destination_id}`)
        if (row.expired) figures.leaseExpired()
        if (changed.has(null) || changed.has(row.destination_id)) {
          left.push(row)
          continue
        }
        leases.hold(row, askedAt)
        // The answer took longer than the lease: whoever looks next takes it over.
        if (!leases.inForce(row)) {
          leases.end(row)
          continue
        }
        slots.take(row.destination_id, lane.slow)
        const work = { row, lane, askedAt }
        if (landing || !take(work)) (nextInLine.get(row.destination_id) ?? newLine(row.destination_id)).push(work)
      }
      return left
    },
    takeBack,
    takeBackAll,
    async land(waitMsMax) {
      landing = true
      cutOff.push(...takeBackAll())
      const cut = setTimeout(() => stop.abort(), waitMsMax)
      if (flying > 0) await new Promise<void>((resolve) => (landed = resolve))
      clearTimeout(cut)
      return cutOff
    },
  }
}

/** As it is written: one that is written in two ways is two here, and then waits for a connection. */
function originIn(url: string): string {
  const end = url.indexOf('/', 'https://'.length)
  return end === -1 ? url : url.slice(0, end)
}
