/** When the sender looks again. A claim for each slot that comes free would be one statement for each delivery. */
export interface Pace extends Disposable {
  /** A look begins. */
  looking(): void
  /** It ended; whether somebody got as much as it may hold, so that more may be due, and how many deliveries are in hand. */
  looked(hungry: boolean, inHand: number): void
  slotFreed(inHand: number): void
  /** Something is to be looked at, and a moment's wait does no harm. */
  soon(): void
}

// So many free slots are worth a claim, or half of those in use, or any that long after the first.
const freedWorthAClaim = 64
const waitMs = 20

export function createClaimPace(wake: () => void): Pace {
  let hungry = false
  let freed = 0
  let half = 0
  let timer: NodeJS.Timeout | undefined
  const forget = () => {
    clearTimeout(timer)
    timer = undefined
  }
  const soon = () => {
    timer ??= setTimeout(wake, waitMs)
  }
  return {
    looking() {
      forget()
      freed = 0
    },
    looked(more, inHand) {
      hungry = more
      half = Math.floor(inHand / 2)
    },
    slotFreed(inHand) {
      freed += 1
      if (!hungry) return
      if (freed === freedWorthAClaim || inHand === half) wake()
      else soon()
    },
    soon,
    [Symbol.dispose]: forget,
  }
}
