import { setMaxListeners } from 'node:events'
import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import { isAway, type Db } from '../kernel/db.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import type { Attempted, Work } from './attempt.ts'
import type { Figures } from './figures.ts'
import { startLeases, type Lease } from './leases.ts'
import { createPace } from './pace.ts'
import { waitAfterSetback } from './schedule.ts'
import { createSettler } from './settler.ts'
import type { Slots } from './slots.ts'
import { claimStore, type Claim } from './store-claim.ts'
import { settleStore, type Held, type Settlement } from './store-settle.ts'

export interface SenderDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly slots: Slots
  readonly attempt: (work: Work, signal: AbortSignal) => Promise<Attempted>
  readonly figures: Figures
  readonly options: { readonly leaseMs: number; readonly drainMsMax: number; readonly random: () => number }
}

const troubleWaitMs = 100
const unsettledMax = 2_000

/** Claims what is due, sends it, has the results stored. Works until disposed, which lets attempts in flight end first. */
export function startSender(dependencies: SenderDependencies): AsyncDisposable {
  const { db, bus, clock, log, slots, options } = dependencies
  const setbackOf = ({ held }: Settlement): Settlement => {
    const runAt = new Date(clock.now().getTime() + waitAfterSetback(1, options.random))
    return { held, end: null, runAt, attempt: null }
  }
  const settler = createSettler({ db, log, setbackOf })
  const leases = startLeases({ db, log, leaseMs: options.leaseMs })
  const pace = createPace(() => loop.wake())
  const flights = createFlights(dependencies, {
    ended: () => pace.slotFreed(slots.inFlight),
    settle(attempted, { row }, lease) {
      const { settlement, change } = attempted
      settler.add({
        eventId: row.event_id,
        settlement,
        change,
        settled(ours) {
          lease.end()
          if (!ours) dependencies.figures.resultLost()
          // When to look next has changed: there is a retry, or a lane to close.
          if (settlement.runAt !== null || change?.disable != null) pace.soon()
        },
      })
    },
  })

  const turn = async (): Promise<number> => {
    // What is in hand is stored before more is taken, or this process would take its own deliveries again after an outage.
    if (settler.troubled) return troubleWaitMs
    pace.looking()
    const request = slots.request()
    if (request.rowsMax === 0 || settler.waiting >= unsettledMax) {
      pace.looked(true, slots.inFlight)
      return Infinity
    }
    const claim = await claimStore.claimDue(db, { ...request, leaseMs: options.leaseMs })
    flights.begin(claim, (held) => leases.hold(held))
    pace.looked(claim.more || claim.cut || request.full.length > 0, slots.inFlight)
    if (claim.closing && (await settleStore.closeLanes(db))) return 0
    return claim.more ? 0 : claim.lookInMs
  }

  const loop = startLoop('delivery.send', log, turn)
  const unlisten = [bus.listen('deliveries', () => loop.wake()), bus.listen('clock', () => loop.wake())]

  return {
    async [Symbol.asyncDispose]() {
      for (const stopListening of unlisten) stopListening()
      await loop[Symbol.asyncDispose]()
      const cutOff = await flights.land(options.drainMsMax)
      if (!(await settler.drained(options.drainMsMax))) {
        log.warn({ results: settler.waiting }, 'stopped with results that could not be stored; they are repeated')
      }
      await settler[Symbol.asyncDispose]()
      await leases[Symbol.asyncDispose]()
      pace[Symbol.dispose]()
      await giveBack(dependencies, cutOff)
    },
  }
}

interface Flights {
  /** Starts an attempt for each delivery of a claim. */
  begin(claim: Claim, hold: (held: Held) => Lease): void
  /** Waits until all have ended, cuts off those that have not by then, and resolves to what was cut off. */
  land(waitMsMax: number): Promise<readonly Held[]>
}

interface FlightEvents {
  ended(): void
  settle(attempted: Attempted, work: Work, lease: Lease): void
}

function createFlights({ slots, attempt, figures, log }: SenderDependencies, events: FlightEvents): Flights {
  const flying = new Set<Promise<void>>()
  const cutOff: Held[] = []
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)

  const fly = async (work: Work, lease: Lease) => {
    const { event_id, destination_id } = work.row
    const attempted = await attempt(work, stop.signal)
    slots.give(destination_id)
    events.ended()
    const setback = attempted.outcome === 'setback'
    if (setback && stop.signal.aborted) {
      lease.end()
      cutOff.push(lease.held)
      return
    }
    const what = { err: attempted.cause, event_id, destination_id }
    if (setback) log.warn(what, 'an attempt failed on our side; it is repeated and not counted')
    figures.attempted(attempted)
    events.settle(attempted, work, lease)
  }

  return {
    begin({ deliveries, lanes }, hold) {
      for (const row of deliveries) {
        const lane = lanes.get(row.destination_id)
        if (lane === undefined) throw new Error(`the claim brought no destination ${row.destination_id}`)
        if (row.expired) figures.leaseExpired()
        slots.take(row.destination_id, lane.slow)
        const flight = fly({ row, lane }, hold({ id: row.id, fence: row.fence })).finally(() => flying.delete(flight))
        flying.add(flight)
      }
    },
    async land(waitMsMax) {
      const cut = setTimeout(() => stop.abort(), waitMsMax)
      await Promise.all(flying)
      clearTimeout(cut)
      return cutOff
    },
  }
}

/** What was cut off is due at once, for any worker. While the database is away the leases do it, a little later. */
async function giveBack({ db, bus }: SenderDependencies, held: readonly Held[]): Promise<void> {
  if (held.length === 0) return
  try {
    await settleStore.giveBack(db, held)
    bus.hint('deliveries')
  } catch (error) {
    if (!isAway(error)) throw error
  }
}
