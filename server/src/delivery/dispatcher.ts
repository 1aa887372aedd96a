import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '../kernel/bus.ts'
import { isAway, type Db } from '../kernel/db.ts'
import { inHalves } from '../kernel/halves.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import type { Figures } from './figures.ts'
import { waitAfterSetback } from './schedule.ts'
import type { Sender } from './sender.ts'
import type { Taken } from './store-claim.ts'
import { dispatchStore as store, type ClaimedEvent, type Dispatched } from './store-dispatch.ts'
import { handStore } from './store-hands.ts'

export interface DispatcherDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly log: Log
  readonly figures: Figures
  readonly sender: Pick<Sender, 'hand' | 'freed'>
  readonly options: { readonly leaseMs: number; readonly restMs: number; readonly random: () => number }
}

const batchMax = 500
// Where each event goes to many destinations fewer go together, so that no statement takes long: about so many deliveries at once.
const deliveriesMax = 10_000
const shareAfterFailure = 1 / 8
// While there are more events than can be sent, room that is worth a dispatch is waited for, that long: what is handed over needs no claim, and
// what is queued does.
const waitMsMax = 100
// After a pause so few go first: the worker sends them while the others are dispatched.
const firstMax = 64
const pauseMs = 100

/** Turns events into deliveries, one for each destination that subscribes. Works until disposed. */
export function startDispatcher({ db, bus, log, figures, sender, options }: DispatcherDependencies): AsyncDisposable {
  const { leaseMs, restMs, random } = options
  // After a failure the events are claimed and dispatched apart from each other. They stay in hand while the database is away; whoever
  // takes them over meanwhile has the fence.
  let inHand: readonly ClaimedEvent[] = []
  let handing = false
  let waitingSince: number | undefined
  let missing = 0
  let dispatchedAt = -Infinity
  let batch = batchMax

  const suit = (events: number, deliveries: number) => {
    const next = deliveries > deliveriesMax ? Math.floor((events * deliveriesMax) / deliveries) : batch * 2
    batch = Math.max(1, Math.min(batchMax, next))
  }

  const dispatched = ({ queued, lags }: Dispatched) => {
    for (const lagMs of lags) figures.dispatched(lagMs)
    if (queued > 0) bus.hint('deliveries')
  }

  const dispatch = async (events: readonly ClaimedEvent[]): Promise<void> =>
    dispatched(await store.dispatchClaimed(db, events))

  const fail = async (event: ClaimedEvent, error: unknown): Promise<void> => {
    figures.dispatchFailed()
    const what = { err: error, event_id: event.event_id }
    log.error(what, 'an event could not be dispatched; it is tried again')
    try {
      await store.fail(db, event, waitAfterSetback(event.setback_count + 1, random))
    } catch (again) {
      if (isAway(again)) throw again
      log.error({ ...what, err: again }, 'nor could that be stored; it is tried again when its lease has run out')
    }
  }

  const turn = async (): Promise<number> => {
    while (inHand.length > 0) {
      await inHalves(inHand.slice(0, batch), dispatch, fail)
      inHand = inHand.slice(batch)
    }
    try {
      let lookInMs = 0
      let taken = 0
      await sender.hand(async (request, room) => {
        if (handing && room.missing > 0) {
          waitingSince ??= performance.now()
          lookInMs = waitingSince + waitMsMax - performance.now()
          missing = room.missing
          if (lookInMs > 0) return nothing
        }
        waitingSince = undefined
        const most = performance.now() - dispatchedAt > pauseMs ? Math.min(batch, firstMax) : batch
        const events = room.missing > 0 ? batch : Math.min(room.worth, most)
        const done = await store.dispatchDue(db, events, request)
        suit(done.lags.length, done.queued + done.handed.count)
        lookInMs = done.lookInMs
        taken = done.lags.length
        if (taken > 0) dispatchedAt = performance.now()
        handing = done.handed.count > 0 && done.lookInMs === 0
        dispatched(done)
        return done.handed.count > 0 ? handStore.read(db, done.handed) : nothing
      })
      // Where events come one by one, a dispatch for each would cost more than all else that is done about them: those of a moment go
      // together. What comes after a pause is dispatched at once.
      if (taken === 0 || lookInMs === 0) return lookInMs
      await sleep(restMs)
      return Math.max(0, lookInMs - restMs)
    } catch (error) {
      if (isAway(error)) throw error
      inHand = await store.claim(db, batch, leaseMs)
      return 0
    }
  }
  // A statement that takes too long is told like a database that is away.
  const turnOrLess = async () => {
    try {
      return await turn()
    } catch (error) {
      batch = Math.max(1, Math.floor(batch * shareAfterFailure))
      throw error
    }
  }

  const loop = startLoop('delivery.dispatch', { log, bus, wokenBy: ['events', 'clock'] }, turnOrLess)
  sender.freed(() => {
    missing -= 1
    if (missing === 0) loop.wake()
  })
  return loop
}

const nothing: Taken = { deliveries: [], lanes: new Map() }
