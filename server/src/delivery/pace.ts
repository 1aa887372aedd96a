/** When the sender looks again. A claim for each slot that comes free would be one statement for each delivery. */
export interface Pace extends Disposable {
  /** A look begins. */
  looking(): void
  /** It ended; whether somebody got as much as it may hold, so that more may be due, and how many attempts are in flight. */
  looked(hungry: boolean, inFlight: number): void
  slotFreed(inFlight: number): void
  /** Something is to be looked at, and a moment's wait does no harm. */
  soon(): void
}

// So many free slots are worth a claim, or half of those in use, or any that long after the first.
const freedWorthAClaim = 32
const waitMs = 20

export function createPace(wake: () => void): Pace {
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
    looked(more, inFlight) {
      hungry = more
      half = Math.floor(inFlight / 2)
    },
    slotFreed(inFlight) {
      freed += 1
      if (!hungry) return
      if (freed === freedWorthAClaim || inFlight === half) wake()
      else soon()
    },
    soon,
    [Symbol.dispose]: forget,
  }
}
