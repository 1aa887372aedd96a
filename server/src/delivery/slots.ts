import { createTurns } from '../kernel/turns.ts'
import type { ClaimRequest } from './store-claim.ts'
import type { HandRequest } from './store-dispatch.ts'

export interface SlotOptions {
  /** Deliveries in hand, over all destinations: in flight, or next in line. */
  readonly inHandMax: number
  /** And of any one of them. */
  readonly perDestinationMax: number
  /** Attempts in flight to any one of them; the rest of what is in hand for it waits for one to end, and for no look at the queue. */
  readonly flyingMax: number
}

/** For how much there is room in a dispatch that is handed over. */
export interface HandRoom {
  /** Deliveries that find a slot, where they go to the quick destinations that are busy now, or to one where none is. */
  readonly worth: number
  /** Slots that must come free before a dispatch is worth its price to a worker that has work meanwhile. */
  readonly missing: number
}

/** Who may send how much at once. */
export interface Slots {
  readonly inHand: number
  readonly inFlight: number
  /** What may be claimed now. */
  request(): Omit<ClaimRequest, 'leaseMs'>
  /** What may be handed over by a dispatch now. */
  handRequest(): Omit<HandRequest, 'leaseMs'> & HandRoom
  /** Runs one after another what asks for slots and takes some of them: two requests at once would offer the same ones. */
  inTurn<T>(taking: () => Promise<T>): Promise<T>
  take(destinationId: string, slow: boolean): void
  /** Whether one more attempt may begin now; if so, it has. */
  begin(destinationId: string): boolean
  /** An attempt ended. */
  end(destinationId: string): void
  /** One that had not begun is given back. */
  give(destinationId: string): void
}

interface Lane {
  inHand: number
  inFlight: number
  slow: boolean
}

const claimedMax = 256
// As many as one dispatch makes of events with one destination each: what it does not hand over goes through the queue, and so does what
// comes for the same destination after it.
const handedMax = 500
const reserveShareOfAll = 1 / 4
const quickShareOfFree = 1 / 2
const slowShareOfAll = 1 / 2
const slowShareOfFree = 1 / 16
// While a worker has work, room for so many is waited for, and until so much of what it may have is free: each dispatch costs as much as a hundred
// deliveries, and what is left in hand meanwhile lasts longer than one takes.
const handedMin = 256
const freeShareForHands = 1 / 3
// A dispatch is for several destinations at once, not for each as much as it has room for. What it brings beyond that, up to so many, saves
// those their way through the queue.
const handedBeyondMax = 64

/**
 * Slots are kept free by three rules, so that no destination waits for another:
 *
 * - A destination may hold a part of what is free, not of what there is (dynamic thresholds; Choudhury and Hahne, 1998): the fewer slots
 *   are left, the less more each may take.
 * - A quarter of the slots is for destinations that hold none, one each: also those that stopped answering a moment ago, all at once,
 *   leave them free.
 * - Slow destinations, those whose last attempt failed or took more than a second, share half of the slots, however many they are.
 */
export function createSlots({ inHandMax, perDestinationMax, flyingMax }: SlotOptions): Slots {
  const lanes = new Map<string, Lane>()
  const slowMax = Math.floor(inHandMax * slowShareOfAll)
  let inHand = 0
  let inFlight = 0
  let slowInHand = 0

  const reserve = Math.floor(inHandMax * reserveShareOfAll)
  const roomIn = (free: number, share: number) => Math.max(1, Math.min(perDestinationMax, Math.floor(free * share)))

  const give = (destinationId: string): Lane => {
    const lane = lanes.get(destinationId)
    if (lane === undefined) throw new Error(`the destination ${destinationId} holds no slot`)
    inHand -= 1
    lane.inHand -= 1
    if (lane.slow) slowInHand -= 1
    if (lane.inHand === 0) lanes.delete(destinationId)
    return lane
  }

  return {
    get inHand() {
      return inHand
    },
    get inFlight() {
      return inFlight
    },
    request() {
      const free = inHandMax - inHand
      const slowFree = Math.max(0, slowMax - slowInHand)
      const quickRoom = roomIn(free - reserve, quickShareOfFree)
      const slowRoom = roomIn(slowFree, slowShareOfFree)
      const full: string[] = []
      const busy: { destinationId: string; room: number }[] = []
      for (const [destinationId, lane] of lanes) {
        const room = (lane.slow ? slowRoom : quickRoom) - lane.inHand
        if (room > 0) busy.push({ destinationId, room })
        else full.push(destinationId)
      }
      return {
        rowsMax: Math.min(free, claimedMax),
        full,
        busy,
        quickRoom,
        slowRoom,
        slowLanesMax: Math.floor(slowFree / slowRoom),
      }
    },
    handRequest() {
      const free = inHandMax - inHand - reserve
      const quickRoom = roomIn(free, quickShareOfFree)
      const full: string[] = []
      const busy: { destinationId: string; room: number }[] = []
      let worth = 0
      let quick = 0
      for (const [destinationId, lane] of lanes) {
        const room = quickRoom - lane.inHand
        const most = Math.min(perDestinationMax - lane.inHand, room + handedBeyondMax)
        if (most > 0) busy.push({ destinationId, room: most })
        else full.push(destinationId)
        if (lane.slow) continue
        quick += 1
        worth += Math.max(0, room)
      }
      if (quick === 0) worth = quickRoom
      const freeWanted = Math.ceil((free + inHand - slowInHand) * freeShareForHands)
      const missing = Math.max(0, handedMin - worth, freeWanted - free)
      return { rowsMax: Math.max(0, Math.min(free, handedMax)), full, busy, quickRoom, worth, missing }
    },
    inTurn: createTurns(),
    take(destinationId, slow) {
      inHand += 1
      const lane = lanes.get(destinationId) ?? { inHand: 0, inFlight: 0, slow }
      lanes.set(destinationId, lane)
      // The claim knows best what the destination is; what it holds changes class with it.
      if (lane.slow !== slow) {
        slowInHand += slow ? lane.inHand : -lane.inHand
        lane.slow = slow
      }
      lane.inHand += 1
      if (slow) slowInHand += 1
    },
    begin(destinationId) {
      const lane = lanes.get(destinationId)
      if (lane === undefined || lane.inFlight >= flyingMax) return false
      lane.inFlight += 1
      inFlight += 1
      return true
    },
    end(destinationId) {
      give(destinationId).inFlight -= 1
      inFlight -= 1
    },
    give: (destinationId) => void give(destinationId),
  }
}
