/** Runs what it is given one after another, each when the one before has ended, well or not. */
export function createTurns(): <T>(turn: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (turn) => {
    const taken = last.then(turn)
    last = taken.catch(() => {})
    return taken
  }
}
