import { setTimeout as sleep } from 'node:timers/promises'
import { clockStepSecondsMax } from '@kaha/contract'
import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { workersOf } from '../kernel/workers.ts'
import { clockTurns, patiently } from './clock-turns.ts'
import { clockStore as store } from './store-clock.ts'

/** Moves business time, and knows when there is nothing left to do at its present. */
export interface SandboxClock {
  /**
   * Goes to a time, through every time at which something falls due on the way, and resolves when all of it is done. Throws
   * INVALID_TO for a time that has passed or that lies beyond the year 9998, UNAVAILABLE when work is still in flight after two minutes,
   * and after ten seconds in which none of it was done and no worker answered: the clock is on its way then, and the message says how to go on.
   */
  advance(to: Date): Promise<void>
  /**
   * The same by a span: business time is ahead of system time by just so much more afterwards, whoever else moves it meanwhile. Throws
   * INVALID_SECONDS, UNAVAILABLE.
   */
  advanceBy(ms: number): Promise<void>
  /** Resolves when nothing is due and nothing is in flight, in any process. */
  idle(): Promise<void>
  /** Counts work of this process that stands in no row as in flight: it resolves when what was begun is done. */
  waitsFor(settled: () => Promise<void>): void
}

export interface SandboxClockDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly ensurePartitions: (around: Date) => Promise<void>
}

const stepMsMax = clockStepSecondsMax * 1_000
const idleWaitMsMax = 120_000
const silentMsMax = 10_000
const askEveryMs = 1_000
const pollMs = 4
const pollMsMax = 40

// Later times could not be written with four digits of year, nor could what falls due a day or a month after them.
const timeEnds = new Date('9999-01-01T00:00:00Z')

function refuseBeyondEnd(field: 'seconds' | 'to', target: Date): void {
  if (target <= timeEnds) return
  const message = `${field}: leads beyond the year 9998, where the time of a sandbox ends.`
  throw new Fault(`INVALID_${field.toUpperCase()}`, message, { field, rule: 'maximum' })
}

export function createSandboxClock({ db, bus, clock, ensurePartitions }: SandboxClockDependencies): SandboxClock {
  const workers = workersOf(bus)
  const rowless: (() => Promise<void>)[] = []

  /** Throws when nobody does what is due: none of it is done, and no worker answers, as far as one could be heard. */
  const watchWorkers = () => {
    let askedMs = performance.now()
    let aliveMs = askedMs
    let lookedMs = askedMs
    let dueMs: number | undefined
    return (next: Date | null) => {
      const nowMs = performance.now()
      // A process that stood still, as its machine may, could neither ask nor hear.
      aliveMs += Math.max(0, nowMs - lookedMs - askEveryMs)
      lookedMs = nowMs
      if (next?.getTime() !== dueMs || !bus.connected) aliveMs = nowMs
      dueMs = next?.getTime()
      aliveMs = Math.max(aliveMs, workers.heardMs)
      if (nowMs - aliveMs > silentMsMax)
        throw new Fault(
          'UNAVAILABLE',
          'Work is due and no worker answers: start a process whose KAHA_ROLES name worker.',
          { retryAfterSeconds: 5 },
        )
      if (nowMs - askedMs < askEveryMs) return
      askedMs = nowMs
      workers.ask()
    }
  }

  const idle = async (): Promise<Date | null> => {
    const until = performance.now() + idleWaitMsMax
    const watch = watchWorkers()
    let isSettled = rowless.length === 0
    for (let waitMs = pollMs; ; waitMs = Math.min(pollMsMax, waitMs * 2)) {
      const { next, busy } = await patiently(() => store.due(db))
      if (!busy && isSettled) return next
      if (!busy) {
        // It may leave rows behind, which fall due next.
        await Promise.all(rowless.map((settled) => settled()))
        isSettled = true
        continue
      }
      isSettled = rowless.length === 0
      watch(next)
      if (performance.now() > until) {
        throw new Fault('UNAVAILABLE', 'Work is still in flight after two minutes.', {
          retryAfterSeconds: 5,
        })
      }
      await sleep(waitMs)
    }
  }

  const move = async (write: () => Promise<unknown>, around: Date) => {
    await patiently(() => ensurePartitions(around))
    await patiently(write)
    await patiently(() => clock.refresh(db))
    bus.hint('clock')
  }
  const moveTo = (at: Date) => move(() => store.moveTo(db, at), at)

  // One move at a time, or two would run each other's timers out of order, and go the way of one by their seconds.
  const inTurn = clockTurns(db)

  /** A move that fails has gone a part of its way: the same seconds again would lead too far. */
  const toldHow = (error: unknown, target: Date): unknown => {
    if (!(error instanceof Fault) || error.code !== 'UNAVAILABLE') return error
    const rest = JSON.stringify(clock.now() < target ? { to: target.toISOString() } : { seconds: 0 })
    const { retryAfterSeconds = 5 } = error
    const message = `${error.message} To go on where it stopped, send ${rest}.`
    return new Fault('UNAVAILABLE', message, { retryAfterSeconds, cause: error })
  }

  const passThrough = async (target: () => Date) => {
    for (let next = await idle(); next !== null && next <= target(); next = await idle()) await moveTo(next)
  }

  return {
    async advance(to) {
      if (to.getTime() > clock.now().getTime() + stepMsMax) {
        throw new Fault('INVALID_TO', 'to: is more than ten years away; go in steps.', {
          field: 'to',
          rule: 'ten_years_at_most',
        })
      }
      if (to < clock.now())
        throw new Fault('INVALID_TO', 'to: has passed; business time never goes back.', {
          field: 'to',
          rule: 'not_past',
        })
      refuseBeyondEnd('to', to)
      await inTurn(async () => {
        await passThrough(() => to)
        await moveTo(to)
        await idle()
      }).catch((error: unknown) => {
        throw toldHow(error, to)
      })
    },
    async advanceBy(ms) {
      let offsetMs: number | undefined
      await inTurn(async () => {
        await patiently(() => clock.refresh(db))
        // Where the turn is taken again, it goes on to where it was to go.
        const whole = (offsetMs ??= clock.offsetMs + ms)
        const target = () => new Date(clock.wall() + whole)
        // Going nowhere only does what is due, which is how a move that failed is gone on with.
        if (ms > 0) refuseBeyondEnd('seconds', target())
        await passThrough(target)
        await move(() => store.raiseOffset(db, whole), target())
        await idle()
      }).catch((error: unknown) => {
        throw offsetMs === undefined ? error : toldHow(error, new Date(clock.wall() + offsetMs))
      })
    },
    async idle() {
      await idle()
    },
    waitsFor(settled) {
      rowless.push(settled)
    },
  }
}
