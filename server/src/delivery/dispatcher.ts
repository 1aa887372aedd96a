import type { Bus } from '../kernel/bus.ts'
import { isAway, type Db } from '../kernel/db.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import type { Figures } from './figures.ts'
import { waitAfterSetback } from './schedule.ts'
import { eventStore as store, type ClaimedEvent } from './store-events.ts'

export interface DispatcherDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly log: Log
  readonly figures: Figures
  readonly options: { readonly leaseMs: number; readonly random: () => number }
}

const batchMax = 500

/** Turns events into deliveries, one for each destination that subscribes. Works until disposed. */
export function startDispatcher({ db, bus, log, figures, options }: DispatcherDependencies): AsyncDisposable {
  const { leaseMs, random } = options
  // A batch stays in hand while the database is away; whoever takes it over meanwhile has the fence.
  let inHand: readonly ClaimedEvent[] = []

  // An event that cannot be queued must not hold up the others.
  const dispatch = async (events: readonly ClaimedEvent[]): Promise<number> => {
    try {
      return await store.dispatch(db, events)
    } catch (error) {
      if (isAway(error)) throw error
      const [only] = events
      if (events.length === 1 && only !== undefined) return fail(only, error)
    }
    const half = Math.ceil(events.length / 2)
    return (await dispatch(events.slice(0, half))) + (await dispatch(events.slice(half)))
  }

  const fail = async (event: ClaimedEvent, error: unknown): Promise<0> => {
    figures.dispatchFailed()
    const what = { err: error, event_id: event.event_id }
    log.error(what, 'an event could not be dispatched; it is tried again')
    try {
      await store.failDispatch(db, event, waitAfterSetback(event.setback_count + 1, random))
    } catch (again) {
      if (isAway(again)) throw again
      log.error({ ...what, err: again }, 'nor could that be stored; it is tried again when its lease has run out')
    }
    return 0
  }

  const turn = async (): Promise<number> => {
    let lookInMs = 0
    if (inHand.length === 0) {
      const claim = await store.claim(db, batchMax, leaseMs)
      inHand = claim.events
      lookInMs = claim.lookInMs
    }
    if (inHand.length === 0) return lookInMs
    const batch = inHand
    if ((await dispatch(batch)) > 0) bus.hint('deliveries')
    inHand = []
    for (const event of batch) figures.dispatched(event.lag_ms)
    return lookInMs
  }

  const loop = startLoop('delivery.dispatch', log, turn)
  const unlisten = [bus.listen('events', () => loop.wake()), bus.listen('clock', () => loop.wake())]
  return {
    async [Symbol.asyncDispose]() {
      for (const stopListening of unlisten) stopListening()
      await loop[Symbol.asyncDispose]()
    },
  }
}
