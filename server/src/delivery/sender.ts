import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import { isAway, type Db } from '../kernel/db.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import type { Attempted, Work } from './attempt.ts'
import { createClaimPace } from './claim-pace.ts'
import type { Figures } from './figures.ts'
import { createFlights } from './flights.ts'
import { createLeaveHands, type HeldDelivery, type LeaveHands } from './held.ts'
import { startLeases } from './leases.ts'
import { waitAfterSetback } from './schedule.ts'
import { createSettler, type Result } from './settler.ts'
import type { HandRoom, Slots } from './slots.ts'
import { claimStore, type Taken } from './store-claim.ts'
import type { HandRequest } from './store-dispatch.ts'
import { handStore } from './store-hands.ts'
import { settleStore, type SettledDelivery } from './store-settle.ts'

export interface SenderDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly slots: Slots
  readonly attempt: (work: Work, signal: AbortSignal) => Promise<Attempted>
  readonly figures: Figures
  readonly options: {
    readonly leaseMs: number
    readonly drainMsMax: number
    /** Attempts in flight to one origin, over all its destinations. */
    readonly flyingPerOriginMax: number
    readonly random: () => number
  }
}

const troubleWaitMs = 100
const unsettledMax = 2_000
// What a dispatch hands to another worker, nobody hears of; when that worker dies, the end of the lease is found by looking.
const lookAgainMs = 1_000

/** Claims what is due, sends it, has the results stored. Works until disposed, which lets attempts in flight end first. */
export interface Sender extends AsyncDisposable {
  /**
   * Runs a dispatch with the room that there is for its deliveries, none while results wait to be stored; sends what it brings. No claim is made
   * meanwhile, for it would take the same room.
   */
  hand(dispatch: (request: HandRequest, room: HandRoom) => Promise<Taken>): Promise<void>
  /** `heard` is called whenever there is room for one more. */
  freed(heard: () => void): void
}

export function startSender(dependencies: SenderDependencies): Sender {
  const { db, bus, clock, log, slots, options } = dependencies
  const setbackOf = ({ settlement: { held }, setbackCount }: Result): SettledDelivery => {
    const runAt = new Date(clock.now().getTime() + waitAfterSetback(setbackCount + 1, options.random))
    return { held, end: null, runAt, attempt: null }
  }
  let hearFreed = () => {}
  const leaveHands = createLeaveHands()
  const settler = createSettler({ db, log, figures: dependencies.figures, setbackOf, leaveHands })
  const giveBack = givingBack(dependencies, leaveHands)
  const leases = startLeases({ db, log, leaseMs: options.leaseMs })
  const pace = createClaimPace(() => loop.wake())
  const flights = createFlights(dependencies, leases, {
    ended() {
      pace.slotFreed(slots.inHand)
      hearFreed()
    },
    settle(attempted, { row }) {
      const { settlement, change } = attempted
      settler.add({
        eventId: row.event_id,
        setbackCount: row.setback_count,
        settlement,
        change,
        settled(ours) {
          leases.end(row)
          if (!ours) dependencies.figures.resultLost()
          // Whoever waits behind one that failed is for the queue again, which knows by now how to go on with a destination that fails.
          if (attempted.outcome !== 'delivered') void giveBack(flights.takeBack(row.destination_id))
          // When to look next has changed: there is a retry, or a lane to close.
          if (settlement.runAt !== null || change?.disable != null) pace.soon()
        },
      })
    },
  })

  let lookedAnewAt = 0
  let takeOverAt = -Infinity
  const changedMeanwhile = new Set<string | null>()
  /** A destination, or any where none is named, may be paused or gone: what has not begun is looked at anew. */
  const lookAnew = (destinationId: string | null) => {
    changedMeanwhile.add(destinationId)
    if (destinationId !== null) return giveBack(flights.takeBack(destinationId))
    lookedAnewAt = performance.now()
    return giveBack(flights.takeBackAll())
  }

  /** Sends what `take` brings, but for what is read while its destination changes: that may be from before. One after the other. */
  const begin = async <Brought extends Taken>(take: () => Promise<Brought>): Promise<Brought> => {
    changedMeanwhile.clear()
    const askedAt = performance.now()
    const taken = await take()
    await giveBack(flights.begin(taken, askedAt, changedMeanwhile))
    return taken
  }

  const turn = async (): Promise<number> => {
    // Nobody could tell us.
    if (!bus.connected && performance.now() - lookedAnewAt >= lookAgainMs) await lookAnew(null)
    // What is in hand is stored before more is taken, or this process would take its own deliveries again after an outage.
    if (settler.troubled) return troubleWaitMs
    if (performance.now() >= takeOverAt)
      takeOverAt = performance.now() + Math.min(await handStore.takeOver(db), lookAgainMs)
    pace.looking()
    const request = slots.request()
    if (request.rowsMax === 0 || settler.waiting >= unsettledMax) {
      pace.looked(true, slots.inHand)
      // Nobody tells of results that are stored.
      return troubleWaitMs
    }
    const claim = await begin(() => claimStore.claimDue(db, { ...request, leaseMs: options.leaseMs }))
    pace.looked(claim.more || claim.cut || request.full.length > 0, slots.inHand)
    const lookInMs = claim.closing ? Math.min(claim.lookInMs, await settleStore.closeLanes(db)) : claim.lookInMs
    return claim.more ? 0 : Math.min(lookInMs, lookAgainMs, Math.max(0, takeOverAt - performance.now()))
  }

  const loop = startLoop('delivery.send', { log, bus, wokenBy: ['deliveries', 'clock'] }, () => slots.inTurn(turn))
  const unlisten = [
    bus.hear('destinations', ([destinationId = null]) => void lookAnew(destinationId)),
    bus.listen('destinations', () => void lookAnew(null)),
  ]

  return {
    hand: (dispatch) =>
      slots.inTurn(async () => {
        const { rowsMax, worth, missing, ...request } = slots.handRequest()
        const room = settler.troubled || settler.waiting >= unsettledMax ? 0 : rowsMax
        await begin(() => dispatch({ ...request, rowsMax: room, leaseMs: options.leaseMs }, { worth, missing }))
      }),
    freed(heard) {
      hearFreed = heard
    },
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
      await giveBack(cutOff)
    },
  }
}

/** What was cut off is due at once, for any worker. Where that fails the leases do it, a little later. Never rejects. */
const givingBack =
  ({ db, bus, log }: SenderDependencies, leaveHands: LeaveHands) =>
  async (held: readonly HeldDelivery[]): Promise<void> => {
    if (held.length === 0) return
    try {
      const [queued, handed] = [held.filter(({ hand }) => hand === null), held.filter(({ hand }) => hand !== null)]
      if (queued.length > 0) await settleStore.giveBack(db, queued)
      if (handed.length > 0) await leaveHands(handed, (over) => handStore.giveBack(db, handed, over))
      bus.hint('deliveries')
    } catch (error) {
      if (!isAway(error))
        log.error({ err: error }, 'deliveries could not be given back; they go out when their leases have run out')
    }
  }
