import assert from 'node:assert/strict'

export type EventType = 'payment.succeeded' | 'payment.declined'

/** How the receiver answers an event: at once, at its second attempt, or by 410, for which we disable the endpoint. */
export type Answer = 'takes' | 'takes late' | 'is gone'

/** What somebody does to the endpoint, or to the world around it. Those of a round come at once. */
export type Move =
  | { readonly does: 'happen'; readonly type: EventType; readonly count: number; readonly answer: Answer }
  | { readonly does: 'pause' | 'resume' | 'rotate' | 'describe' | 'delete' }
  | { readonly does: 'rename'; readonly path: string }
  | { readonly does: 'subscribe'; readonly types: readonly EventType[] }

/** An endpoint as it stands between two rounds. */
export interface Standing {
  readonly deleted: boolean
  readonly paused: boolean
  readonly path: string
  readonly types: readonly string[]
}

/** What the queue holds for the endpoint, and what of it is in flight, at one moment. */
export interface Queued {
  readonly all: ReadonlySet<string>
  readonly inFlight: ReadonlySet<string>
}

export interface Arrival {
  readonly eventId: string
  readonly path: string
  readonly acknowledged: boolean
}

/** An event, and whether the endpoint may have been open to it, and closed to it, while it was to be dispatched. */
export interface EventModel {
  readonly id: string
  readonly type: EventType
  readonly answer: Answer
  mayBeQueued: boolean
  mayBeLeft: boolean
  dispatched: boolean
}

const has = (moves: readonly Move[], does: Move['does']): boolean => moves.some((move) => move.does === does)

/**
 * The endpoint after a round is one that the moves of the round can have made of it, in whatever order they happened; and `struck`, that we
 * may have disabled it beside them.
 */
export function assertReachable(before: Standing, moves: readonly Move[], after: Standing, struck: boolean): void {
  assert.equal(after.deleted, before.deleted || has(moves, 'delete'), 'deleted')
  if (after.deleted) return
  const among = <Value>(value: Value, old: Value, wished: readonly Value[], what: string) =>
    assert.ok(
      (wished.length === 0 ? [old] : wished).some((one) => JSON.stringify(one) === JSON.stringify(value)),
      `${what} is ${JSON.stringify(value)}`,
    )
  if (!struck || !after.paused) among(after.paused, before.paused, pausesOf(moves), 'paused')
  among(
    after.path,
    before.path,
    moves.flatMap((move) => (move.does === 'rename' ? [move.path] : [])),
    'path',
  )
  among(after.types, before.types, typesOf(moves), 'types')
}

const pausesOf = (moves: readonly Move[]): boolean[] =>
  moves.flatMap(({ does }) => (does === 'pause' ? [true] : does === 'resume' ? [false] : []))
const typesOf = (moves: readonly Move[]): (readonly string[])[] =>
  moves.flatMap((move) => (move.does === 'subscribe' ? [move.types] : []))

/** What a round can mean for an event that is to be dispatched in it, in which we may disable the endpoint, or may not. */
export function expose(event: EventModel, before: Standing, moves: readonly Move[], mayStrike: boolean): void {
  const types = [before.types, ...typesOf(moves)]
  const wanted = types.some((one) => one.includes(event.type))
  const unwanted = types.some((one) => !one.includes(event.type))
  const pauses = [before.paused, ...(mayStrike ? [true] : []), ...pausesOf(moves)]
  if (!before.deleted && pauses.includes(false) && wanted) event.mayBeQueued = true
  if (before.deleted || has(moves, 'delete') || pauses.includes(true) || unwanted) event.mayBeLeft = true
}

/** What arrived during a round fits the endpoint as it was before, and what was queued and in flight then. */
export function assertArrivals(
  before: Standing,
  moves: readonly Move[],
  queued: { readonly before: Queued; readonly after: Queued },
  arrivals: readonly Arrival[],
): void {
  const fresh = arrivals.filter(({ eventId }) => !queued.before.inFlight.has(eventId))
  if (before.deleted || (before.paused && !has(moves, 'resume'))) {
    assert.deepEqual(fresh, [], 'nothing but what was in flight arrives at an endpoint that is paused or deleted')
    const ids = arrivals.map(({ eventId }) => eventId)
    assert.equal(new Set(ids).size, ids.length, 'what was in flight arrives once')
    assert.ok(queued.after.all.isSubsetOf(queued.before.all), 'nothing is queued for one that is paused or deleted')
  }
  if (!has(moves, 'rename'))
    for (const { path } of fresh) assert.equal(path, before.path, 'what is sent goes to the address of now')
}

/**
 * The end of an event, when all is sent, or may have been `dropped` with the endpoint. What a 410 left for one that was resumed so often, and so
 * soon that nothing had been dropped yet, was sent again; so was what an address answered with it that was left meanwhile, to the new one.
 */
export function assertEnd(
  event: EventModel,
  status: string,
  arrivals: readonly Arrival[],
  { dropped, resumes, renames }: { readonly dropped: boolean; readonly resumes: number; readonly renames: number },
): void {
  const acknowledged = arrivals.filter((one) => one.acknowledged).length
  const what = `${JSON.stringify(event)} is ${status} after ${arrivals.length} arrivals`
  const ends = [
    ...(event.mayBeQueued ? ['DELIVERED', ...(dropped ? ['EXHAUSTED'] : [])] : []),
    ...(event.mayBeLeft ? ['NOT_SUBSCRIBED'] : []),
  ]
  assert.ok(ends.includes(status), what)
  assert.equal(acknowledged, status === 'DELIVERED' ? 1 : 0, what)
  if (status === 'NOT_SUBSCRIBED') assert.equal(arrivals.length, 0, what)
  const arrivalsMax = { takes: 1, 'takes late': 2, 'is gone': 1 + resumes + renames }
  assert.ok(arrivals.length <= arrivalsMax[event.answer], what)
}
