import type { Bus } from './bus.ts'

const question = 'who_works'
const answer = 'a_worker'

/** Has this process say that it is a worker, whenever somebody asks. Ends it when called. */
export const answerAsWorker = (bus: Bus): (() => void) =>
  bus.hear('clock', ([word]) => {
    if (word === question) bus.say('clock', [answer])
  })

/** Finds out whether any process does what falls due. */
export interface Workers {
  ask(): void
  /** When one was heard last, by `performance.now()`. */
  readonly heardMs: number
}

export function workersOf(bus: Bus): Workers {
  let heardMs = -Infinity
  bus.hear('clock', ([word]) => {
    if (word === answer) heardMs = performance.now()
  })
  return {
    ask: () => bus.say('clock', [question]),
    get heardMs() {
      return heardMs
    },
  }
}
