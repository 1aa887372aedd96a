import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { selectOpen, startDeliveryRoom, type DeliveryRoom, type DeliveryRoomOptions } from '../delivery-room.ts'
import { startReceiver } from '../receiver.ts'
import { eventually } from './eventually.ts'

export interface FairnessOptions {
  /** Each goes to every endpoint. */
  readonly events: number
  readonly goodEndpoints: number
  /** Four bad endpoints beside the good ones. */
  readonly withBad: boolean
  /** Null: all at once. */
  readonly eventsPerSecond: number | null
  /** Deliveries that the worker takes in hand at most. */
  readonly inHandMax: number
  readonly waitMsMax: number
  readonly room?: DeliveryRoomOptions
  /** A worker in this process unless told. */
  readonly startWorker?: (room: DeliveryRoom) => Promise<AsyncDisposable>
}

export interface Fairness {
  /** What should not be, a sentence each; empty where all is well. */
  readonly losses: readonly string[]
  /** From the commit of its event to the receiver in ms, of each delivery to a good endpoint after the first tenth of the events. */
  readonly latenciesMs: readonly number[]
  /** Attempts that were left without an answer, and those of them that their sender had given up when the last good delivery was stored. */
  readonly hanging: { readonly begun: number; readonly givenUp: number }
}

const starvedLooksMin = 20

/** How a bad endpoint takes what is sent to it. Only the first of them keeps its sender waiting. */
const badManners: Readonly<Record<string, (response: ServerResponse) => void>> = {
  hangs: () => {},
  fails: (response) => void response.writeHead(500).end(),
  resets: (response) => void response.socket?.resetAndDestroy(),
  refuses: (response) => void response.writeHead(429, { 'retry-after': '7' }).end(),
}

interface Endpoint {
  readonly id: string
  /** How it is told apart in a sentence. */
  readonly name: string
  /** When each event came, on the monotonic clock, by webhook-id. */
  readonly arrivals: ReadonlyMap<string, readonly number[]>
  readonly hanging: readonly ServerResponse[]
}

/** Delivers events to many endpoints of which some are bad, and resolves to what that did to the good ones. */
export async function deliverBeside(options: FairnessOptions): Promise<Fairness> {
  const { goodEndpoints, withBad, inHandMax, waitMsMax } = options
  await using held = new AsyncDisposableStack()
  const room = held.use(await startDeliveryRoom({ inHandMax, ...options.room }))
  const open = async (name: string, manner?: (response: ServerResponse) => void): Promise<Endpoint> => {
    const receiver = held.use(await startReceiver())
    const arrivals = new Map<string, number[]>()
    const hanging: ServerResponse[] = []
    receiver.answer = ({ headers }, response) => {
      receiver.received.length = 0
      const id = String(headers['webhook-id'])
      arrivals.set(id, [...(arrivals.get(id) ?? []), performance.now()])
      if (manner === undefined) return response.writeHead(204).end()
      if (manner === badManners['hangs']) hanging.push(response)
      return manner(response)
    }
    return { id: (await room.endpoint(receiver.url)).id, name, arrivals, hanging }
  }
  // Among the others, as chance would have it: neither first nor last.
  const middle = Math.floor(goodEndpoints / 2)
  const good: Endpoint[] = []
  const bad: Endpoint[] = []
  for (let index = 0; index < goodEndpoints; index += 1) {
    if (index === middle && withBad)
      for (const [name, manner] of Object.entries(badManners)) bad.push(await open(`the endpoint that ${name}`, manner))
    good.push(await open(`the good endpoint ${index}`))
  }

  held.use(options.startWorker === undefined ? room.work() : await options.startWorker(room))
  const committedAt = await happen(room, options)
  const waited = { waitMsMax, pollMs: 100 }
  let starvedLooks = 0
  // A row is leased until its result is stored, which a slow disk puts off: slots are gone only where they are so for a while.
  const ended = async () => {
    const end = await endOf(room, { good, bad }, options)
    starvedLooks = end === 'starved' ? starvedLooks + 1 : 0
    return end === 'starved' && starvedLooks < starvedLooksMin ? undefined : end
  }
  const end = await eventually(ended, waited).catch(() => 'late' as const)
  const hanging = bad.flatMap((endpoint) => endpoint.hanging)
  const givenUp = hanging.filter((response) => response.destroyed).length
  return {
    losses: [
      ...(end === 'starved' ? ['the bad endpoints hold every slot'] : []),
      ...good.flatMap((endpoint) => wrongAt(endpoint, committedAt)),
      ...(await wrongInQueue(room, { good, bad }, options)),
    ],
    // A worker that has just started takes longer, whoever else is there.
    latenciesMs: [...committedAt]
      .slice(committedAt.size / 10)
      .flatMap(([id, at]) => good.map(({ arrivals }) => (arrivals.get(id)?.[0] ?? Infinity) - at)),
    hanging: { begun: hanging.length, givenUp },
  }
}

/** Writes the events, and resolves to when each was committed. */
async function happen(room: DeliveryRoom, { events, eventsPerSecond }: FairnessOptions): Promise<Map<string, number>> {
  const committedAt = new Map<string, number>()
  const begun = performance.now()
  while (committedAt.size < events) {
    if (eventsPerSecond !== null) {
      const waitMs = begun + (committedAt.size * 1_000) / eventsPerSecond - performance.now()
      if (waitMs > 0) await sleep(waitMs)
    }
    const written = await room.happen(eventsPerSecond === null ? Math.min(100, events - committedAt.size) : 1)
    for (const { id } of written) committedAt.set(id, performance.now())
  }
  return committedAt
}

interface Endpoints {
  readonly good: readonly Endpoint[]
  readonly bad: readonly Endpoint[]
}

/** Whether all results of the good endpoints are stored, or none can be now; undefined while neither is so. */
async function endOf(
  room: DeliveryRoom,
  { good, bad }: Endpoints,
  { events, inHandMax }: FairnessOptions,
): Promise<'stored' | 'starved' | undefined> {
  const ids = new Set(good.map(({ id }) => id))
  const rows = await openRows(room)
  if (good.every(({ arrivals }) => arrivals.size === events))
    return rows.some((row) => ids.has(row.destination_id)) ? undefined : 'stored'
  const heldByBad = rows.filter((row) => !ids.has(row.destination_id)).reduce((sum, row) => sum + row.held, 0)
  return bad.length > 0 && heldByBad >= inHandMax ? 'starved' : undefined
}

const openRows = (room: DeliveryRoom) =>
  room.query<{ destination_id: string; count: number; held: number }>(
    `select o.destination_id, count(*)::integer as count, (count(*) filter (where o.leased))::integer as held
       from (${selectOpen}) o group by o.destination_id`,
  )

function wrongAt({ name, arrivals }: Endpoint, committedAt: ReadonlyMap<string, number>): string[] {
  const missing = [...committedAt.keys()].filter((id) => !arrivals.has(id)).length
  const repeated = [...arrivals.values()].filter((times) => times.length > 1).length
  const madeUp = [...arrivals.keys()].filter((id) => !committedAt.has(id)).length
  return [
    ...(missing > 0 ? [`${name} never got ${missing} events`] : []),
    ...(repeated > 0 ? [`${name} got ${repeated} events more than once`] : []),
    ...(madeUp > 0 ? [`${name} got ${madeUp} events that did not happen`] : []),
  ]
}

async function wrongInQueue(
  room: DeliveryRoom,
  { good, bad }: Endpoints,
  { events }: FairnessOptions,
): Promise<string[]> {
  const open = new Map((await openRows(room)).map((row) => [row.destination_id, row.count]))
  const countOf = ({ id }: Endpoint) => open.get(id) ?? 0
  const undispatched = await room.query('select from delivery.outbox')
  return [
    ...good.filter((one) => countOf(one) > 0).map((one) => `${countOf(one)} deliveries of ${one.name} are open`),
    ...bad
      .filter((one) => countOf(one) !== events)
      .map((one) => `${countOf(one)} of ${events} of ${one.name} are open`),
    ...(undispatched.length > 0 ? [`${undispatched.length} events were not dispatched`] : []),
  ]
}
