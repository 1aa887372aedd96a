import { setMaxListeners } from 'node:events'
import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import { isAway, type Db } from '../kernel/db.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import type { Attempted, Work } from './attempt.ts'
import type { Figures } from './figures.ts'
import { waitAfterSetback } from './schedule.ts'
import { createSettler, type Settler } from './settler.ts'
import type { Slots } from './slots.ts'
import { claimStore, type Claim } from './store-claim.ts'
import { nameOf, settleStore, type Held, type Settlement } from './store-settle.ts'

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

/** A claimed delivery from its claim until its result is stored. */
interface InHand {
  readonly held: Held
  /** When its lease was had or renewed; monotonic, in ms. */
  leasedAt: number
}

// A slot that comes free is not worth a claim of its own: so many are, or half of those taken, or so long after the first.
const freedWorthAClaim = 32
const freedWaitMs = 20
const troubleWaitMs = 100
const unsettledMax = 2_000
const renewedMax = 1_000

/** Claims what is due, sends it, has the results stored. Works until disposed, which lets attempts in flight end first. */
export function startSender(dependencies: SenderDependencies): AsyncDisposable {
  const { db, bus, clock, log, slots, attempt, figures, options } = dependencies
  const { leaseMs, drainMsMax, random } = options
  const inHand = new Set<InHand>()
  const attempts = new Set<Promise<void>>()
  const cutOff: Held[] = []
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  let hungry = false
  let freed = 0
  let inFlightHalf = 0
  let freedTimer: NodeJS.Timeout | undefined

  const setbackOf = (settlement: Settlement): Settlement => ({
    held: settlement.held,
    end: null,
    runAt: new Date(clock.now().getTime() + waitAfterSetback(1, random)),
    attempt: null,
  })
  const settler: Settler = createSettler({ db, log, setbackOf })

  const lookSoon = () => {
    freedTimer ??= setTimeout(() => loop.wake(), freedWaitMs)
  }

  const slotFreed = () => {
    freed += 1
    if (!hungry) return
    if (freed === freedWorthAClaim || slots.inFlight === inFlightHalf) loop.wake()
    else lookSoon()
  }

  const send = async (work: Work, hand: InHand) => {
    const attempted = await attempt(work, stop.signal)
    slots.give(work.row.destination_id)
    slotFreed()
    if (attempted.outcome === 'setback' && stop.signal.aborted) {
      inHand.delete(hand)
      cutOff.push(hand.held)
      return
    }
    if (attempted.outcome === 'setback') {
      const { event_id, destination_id } = work.row
      log.warn(
        { err: attempted.cause, event_id, destination_id },
        'an attempt failed on our side; it is repeated and not counted',
      )
    }
    figures.attempted(attempted)
    settler.add({
      eventId: work.row.event_id,
      settlement: attempted.settlement,
      change: attempted.change,
      settled(ours) {
        inHand.delete(hand)
        if (!ours) figures.resultLost()
        // When to look next has changed: there is a retry, or a lane to close.
        if (hungry || attempted.settlement.runAt !== null || attempted.change?.disable != null) lookSoon()
      },
    })
  }

  const begin = ({ deliveries, lanes }: Claim) => {
    const leasedAt = performance.now()
    for (const row of deliveries) {
      const lane = lanes.get(row.destination_id)
      if (lane === undefined) throw new Error(`the claim brought no destination ${row.destination_id}`)
      if (row.expired) figures.leaseExpired()
      const hand: InHand = { held: { id: row.id, fence: row.fence }, leasedAt }
      inHand.add(hand)
      slots.take(row.destination_id, lane.slow)
      const sent = send({ row, lane }, hand).finally(() => attempts.delete(sent))
      attempts.add(sent)
    }
  }

  const turn = async (): Promise<number> => {
    // What is in hand is stored before more is taken, or this process would take its own deliveries again after an outage.
    if (settler.troubled) return troubleWaitMs
    clearTimeout(freedTimer)
    freedTimer = undefined
    freed = 0
    const request = slots.request()
    if (request.rowsMax === 0 || settler.waiting >= unsettledMax) {
      hungry = true
      return Infinity
    }
    const claim = await claimStore.claimDue(db, { ...request, leaseMs })
    begin(claim)
    inFlightHalf = Math.floor(slots.inFlight / 2)
    hungry = claim.more || claim.cut || request.full.length > 0
    // Slots that came free while the claim was on its way were told to nobody.
    if (hungry && freed > 0) lookSoon()
    if (claim.closing && (await settleStore.closeLanes(db))) return 0
    return claim.more ? 0 : claim.lookInMs
  }

  // Only what takes longer than most comes to this: a lease is renewed at a third of its length.
  const renew = async (): Promise<number> => {
    const now = performance.now()
    const old = inHand
      .values()
      .filter((hand) => now - hand.leasedAt >= leaseMs / 3)
      .take(renewedMax)
      .toArray()
    if (old.length > 0) {
      const held = old.map((hand) => hand.held)
      const ours = new Set((await settleStore.renew(db, held, leaseMs)).map(nameOf))
      for (const hand of old) hand.leasedAt = ours.has(nameOf(hand.held)) ? now : Infinity
    }
    return old.length === renewedMax ? 0 : leaseMs / 6
  }

  const loop = startLoop('delivery.send', log, turn)
  const renewal = startLoop('delivery.renew', log, renew)
  const unlisten = [bus.listen('deliveries', () => loop.wake()), bus.listen('clock', () => loop.wake())]

  const stopAll = async () => {
    for (const stopListening of unlisten) stopListening()
    await loop[Symbol.asyncDispose]()
    clearTimeout(freedTimer)
    const cut = setTimeout(() => stop.abort(), drainMsMax)
    await Promise.all(attempts)
    clearTimeout(cut)
    const drained = await settler.drained(drainMsMax)
    if (!drained)
      log.warn(
        { results: settler.waiting },
        'stopped with results that could not be stored; those attempts are repeated',
      )
    await settler[Symbol.asyncDispose]()
    await renewal[Symbol.asyncDispose]()
    if (cutOff.length === 0) return
    try {
      await settleStore.giveBack(db, cutOff)
      bus.hint('deliveries')
    } catch (error) {
      if (!isAway(error)) throw error
    }
  }

  return { [Symbol.asyncDispose]: stopAll }
}
