import type { ClaimRequest } from './store-claim.ts'

export interface SlotOptions {
  /** Attempts in flight, over all destinations. */
  readonly inFlightMax: number
  /** And to any one of them. */
  readonly perDestinationMax: number
}

/** Who may send how much at once. */
export interface Slots {
  readonly inFlight: number
  /** What may be claimed now. */
  request(): Omit<ClaimRequest, 'leaseMs'>
  take(destinationId: string, slow: boolean): void
  give(destinationId: string): void
}

interface Lane {
  inFlight: number
  slow: boolean
}

const claimedMax = 256
const reserveShareOfAll = 1 / 4
const quickShareOfFree = 1 / 8
const slowShareOfAll = 1 / 2
const slowShareOfFree = 1 / 16

/**
 * Slots are kept free by three rules, so that no destination waits for another:
 *
 * - A destination may hold a part of what is free, not of what there is (dynamic thresholds; Choudhury and Hahne, 1998): the fewer slots
 *   are left, the less more each may take.
 * - A quarter of the slots is for destinations that hold none, one each: also those that stopped answering a moment ago, all at once,
 *   leave them free.
 * - Slow destinations, those whose last attempt failed or took more than a second, share half of the slots, however many they are.
 */
export function createSlots({ inFlightMax, perDestinationMax }: SlotOptions): Slots {
  const lanes = new Map<string, Lane>()
  const slowMax = Math.floor(inFlightMax * slowShareOfAll)
  let inFlight = 0
  let slowInFlight = 0

  const reserve = Math.floor(inFlightMax * reserveShareOfAll)
  const roomIn = (free: number, share: number) => Math.max(1, Math.min(perDestinationMax, Math.floor(free * share)))

  return {
    get inFlight() {
      return inFlight
    },
    request() {
      const free = inFlightMax - inFlight
      const slowFree = Math.max(0, slowMax - slowInFlight)
      const quickRoom = roomIn(free - reserve, quickShareOfFree)
      const slowRoom = roomIn(slowFree, slowShareOfFree)
      const full: string[] = []
      const busy: { destinationId: string; room: number }[] = []
      for (const [destinationId, lane] of lanes) {
        const room = (lane.slow ? slowRoom : quickRoom) - lane.inFlight
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
    take(destinationId, slow) {
      inFlight += 1
      const lane = lanes.get(destinationId) ?? { inFlight: 0, slow }
      lanes.set(destinationId, lane)
      // The claim knows best what the destination is; what it holds changes class with it.
      if (lane.slow !== slow) {
        slowInFlight += slow ? lane.inFlight : -lane.inFlight
        lane.slow = slow
      }
      lane.inFlight += 1
      if (slow) slowInFlight += 1
    },
    give(destinationId) {
      const lane = lanes.get(destinationId)
      if (lane === undefined) throw new Error(`the destination ${destinationId} holds no slot`)
      inFlight -= 1
      lane.inFlight -= 1
      if (lane.slow) slowInFlight -= 1
      if (lane.inFlight === 0) lanes.delete(destinationId)
    },
  }
}
