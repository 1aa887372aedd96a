import { setTimeout as sleep } from 'node:timers/promises'
import { startDeliveryRoom, type DeliveryRoom } from '../delivery-room.ts'
import { startReceiver } from '../receiver.ts'
import { eventually } from './eventually.ts'
import { randomFrom } from './random.ts'
import { deliveryOf } from './witness.ts'

export interface ClockStepsOptions {
  readonly rounds: number
  readonly seed: number
  readonly say: (line: string) => void
}

const hour = 3_600_000
const endpoints = 4
const eventsPerRound = 40
const failing = 0.1
const stepDelayMsMax = 150
const arrivalMsMax = 30_000
// The first two waits of the schedule, with the most that chance adds.
// After the start of the attempt, which is told later rather than earlier than it was: by as long as its claim waited for a connection.
const firstWaitMs = { least: 5_000, most: 6_250 }

interface Arrival {
  /** Of each request; system time that nobody steps. */
  readonly times: readonly number[]
  /** Whether the first of them was answered 500. */
  readonly failed: boolean
}

interface Course {
  readonly room: DeliveryRoom
  readonly workers: readonly DeliveryRoom[]
  readonly arrivals: ReadonlyMap<string, Arrival>
  /** Deliveries that were committed, and when, in system time that nobody steps. */
  readonly committed: ReadonlyMap<string, number>
}

/**
 * Steps the system clock of two workers on one database by an hour, forward and backward, while they deliver, and resolves to what that did
 * to the deliveries: what was lost, repeated, given up by its lease or moved to another time. The clock of the database stands where it was.
 */
export async function stepClock({ rounds, seed, say }: ClockStepsOptions): Promise<string[]> {
  const random = randomFrom(seed)
  await using held = new AsyncDisposableStack()
  let stepMs = 0
  const room = held.use(await startDeliveryRoom({ wall: () => Date.now() + stepMs }))
  const workers = [room, held.use(await room.another())]
  const arrivals = new Map<string, Arrival>()
  const ids: string[] = []
  for (let index = 0; index < endpoints; index += 1) {
    const receiver = held.use(await startReceiver())
    const { id } = await room.endpoint(receiver.url)
    ids.push(id)
    receiver.answer = ({ headers }, response) => {
      receiver.received.length = 0
      const delivery = deliveryOf(String(headers['webhook-id']), id)
      const { times, failed } = arrivals.get(delivery) ?? { times: [], failed: random() < failing }
      arrivals.set(delivery, { times: [...times, Date.now()], failed })
      setTimeout(() => response.writeHead(failed && times.length === 0 ? 500 : 204).end(), 30 * random())
    }
  }
  for (const worker of workers) worker.work()

  const committed = new Map<string, number>()
  const wrong: string[] = []
  const course = { room, workers, arrivals, committed }
  for (let round = 1; round <= rounds; round += 1) {
    const events = await room.happen(eventsPerRound)
    for (const { id } of events) for (const endpoint of ids) committed.set(deliveryOf(id, endpoint), Date.now())
    await sleep(random() * stepDelayMsMax)
    // Only ever an hour from where it should be, and never twice the same.
    const [to = 0] = [-hour, 0, hour].filter((step) => step !== stepMs).toSorted(() => random() - 0.5)
    const by = (to - stepMs) / hour
    stepMs = to
    const late = await notArrived(course)
    wrong.push(...(late === 0 ? [] : [`${late} deliveries waited after the clock had been stepped by ${by} hours`]))
    wrong.push(...(await retriesAstray(course)))
    say(`round ${round}: stepped by ${by > 0 ? '+' : ''}${by} h, ${arrivals.size} deliveries, ${wrong.length} losses`)
    if (wrong.length > 0) break
  }
  stepMs = 0
  await room.sandboxClock.advanceBy(2 * hour)
  wrong.push(...(await lossesOf(course)))
  say(`${arrivals.size} deliveries, ${wrong.length} losses (seed ${seed})`)
  return wrong
}

/** Waits until everything that was committed arrived once; how much did not. */
async function notArrived({ arrivals, committed }: Course): Promise<number> {
  const missing = () => [...committed.keys()].filter((delivery) => !arrivals.has(delivery)).length
  return eventually(() => missing() === 0, { waitMsMax: arrivalMsMax }).then(() => 0, missing)
}

/** Retries that were made or wait for another time than the schedule says, counted from the attempt, in business time. */
async function retriesAstray({ room, arrivals, committed }: Course): Promise<string[]> {
  const earliest = (delivery: string) => (committed.get(delivery) ?? Number.NaN) + firstWaitMs.least
  const made = [...arrivals]
    .filter(([delivery, { times }]) => (times[1] ?? Infinity) < earliest(delivery))
    .map(([delivery]) => `the retry of ${delivery} came early`)
  const rows = await room.query<{ event_id: string; destination_id: string; run_at: Date }>(
    'select q.event_id, q.destination_id, q.run_at from delivery.queue q where q.attempt_no = 1 and q.lease_until is null',
  )
  const waiting = rows.flatMap(({ event_id, destination_id, run_at }) => {
    const delivery = deliveryOf(event_id, destination_id)
    const latest = (arrivals.get(delivery)?.times[0] ?? Number.NaN) + firstWaitMs.most
    if (run_at.getTime() < earliest(delivery)) return [`the retry of ${delivery} is too early`]
    if (run_at.getTime() > latest)
      return [`the retry of ${delivery} is ${Math.ceil(run_at.getTime() - latest)} ms late`]
    return []
  })
  return [...made, ...waiting]
}

async function lossesOf({ room, workers, arrivals, committed }: Course): Promise<string[]> {
  const losses = [...committed.keys()]
    .filter((delivery) => !arrivals.has(delivery))
    .map((delivery) => `the delivery ${delivery} never arrived`)
  for (const [delivery, { times, failed }] of arrivals)
    if (times.length !== (failed ? 2 : 1)) losses.push(`the delivery ${delivery} arrived ${times.length} times`)
  const stored = await room.query<{ count: number }>(
    `select count(*)::integer as count from delivery.deliveries d where d.state = 'DELIVERED'`,
  )
  if (stored[0]?.count !== committed.size) losses.push(`${stored[0]?.count} of ${committed.size} deliveries are stored`)
  for (const { metrics } of workers)
    for (const name of ['kaha_delivery_lease_expiries_total', 'kaha_delivery_results_lost_total']) {
      const { values = [] } = (await metrics.registry.getSingleMetric(name)?.get()) ?? {}
      const count = values.reduce((sum, { value }) => sum + value, 0)
      if (count > 0) losses.push(`${name} is ${count}`)
    }
  return losses
}
