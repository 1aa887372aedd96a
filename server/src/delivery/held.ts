import { createTurns } from '../kernel/turns.ts'

/** What somebody holds: a delivery, by its row of the queue and the fence of a claim; with the fence 0, all deliveries of a hand. */
export interface Held {
  readonly id: bigint
  readonly fence: number
}

/** What a dispatch gave one worker for one destination, held for as long as any of it is open. */
export interface Hand extends Held {
  /** How many of its deliveries are neither over nor back in the queue. */
  open: number
}

/** A delivery that somebody holds. */
export interface HeldDelivery extends Held {
  readonly event_id: string
  /** By which it is held; null: by a row of the queue. */
  readonly hand: Hand | null
}

/** One text for each. */
export const nameOf = ({ id, fence }: Held): string => `${id} ${fence}`

/**
 * Lets deliveries leave their hands by a statement, which is told the hands that are over then. They stay in them where it fails. One after
 * another: of two at once neither would be the last.
 */
export type LeaveHands = <T>(
  deliveries: readonly HeldDelivery[],
  leave: (over: readonly bigint[]) => Promise<T>,
) => Promise<T>

export function createLeaveHands(): LeaveHands {
  const turns = createTurns()
  return (deliveries, leave) =>
    turns(async () => {
      const leaving = new Map<Hand, number>()
      for (const { hand } of deliveries) if (hand !== null) leaving.set(hand, (leaving.get(hand) ?? 0) + 1)
      const left = await leave([...leaving].filter(([hand, count]) => hand.open === count).map(([hand]) => hand.id))
      for (const [hand, count] of leaving) hand.open -= count
      return left
    })
}
