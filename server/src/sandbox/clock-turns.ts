import { setTimeout as sleep } from 'node:timers/promises'
import { isFull, type Db, type Queries } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { createTurns } from '../kernel/turns.ts'
import { clockStore as store } from './store-clock.ts'

const turnWaitMsMax = 120_000
const askEveryMs = 40
/** More often than the database ends a transaction that says nothing. */
const holdEveryMs = 1_000

/** What falls due may have all connections for a while: that ends no move, which waits for it anyway, two minutes at most. */
export async function patiently<Value>(work: () => Promise<Value>): Promise<Value> {
  for (const until = performance.now() + turnWaitMsMax; ;) {
    try {
      return await work()
    } catch (error) {
      if (!isFull(error) || performance.now() > until) throw error
    }
  }
}

/**
 * Runs moves of the clock one after another, whichever processes begin them. A transaction holds the turn and nothing else: what a move does is
 * stored as it goes. A turn is repeatable, as a transaction is. Throws UNAVAILABLE where another process has the turn for longer than two minutes.
 */
export function clockTurns(db: Db): (turn: () => Promise<void>) => Promise<void> {
  const inTurn = createTurns()

  const taken = async (tx: Queries): Promise<void> => {
    const until = performance.now() + turnWaitMsMax
    while (!(await store.takeTurn(tx))) {
      if (performance.now() > until)
        throw new Fault('UNAVAILABLE', 'Another move of the clock has not ended in two minutes; try again.', {
          retryAfterSeconds: 5,
        })
      await sleep(askEveryMs)
    }
  }

  const held = (turn: () => Promise<void>) =>
    db.tx(async (tx) => {
      await taken(tx)
      let asked: Promise<unknown> | undefined
      // One at a time, as its connection wants it. Where the turn is lost, the end of the transaction tells.
      const askAgain = () => {
        asked ??= store
          .takeTurn(tx)
          .catch(() => {})
          .finally(() => (asked = undefined))
      }
      const hold = setInterval(askAgain, holdEveryMs)
      try {
        await turn()
      } finally {
        clearInterval(hold)
        await asked
      }
    })

  /** What was done while the turn was lost is done again: somebody else may have moved the clock meanwhile. */
  const heldToItsEnd = async (turn: () => Promise<void>) => {
    let isDone = false
    const noted = async () => {
      await turn()
      isDone = true
    }
    await held(noted).catch((error: unknown) => {
      if (!isDone) throw error
      return held(turn)
    })
  }
  return (turn) => inTurn(() => patiently(() => heldToItsEnd(turn)))
}
