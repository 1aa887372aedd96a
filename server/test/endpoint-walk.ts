import { KahaError, type WebhookEndpoint } from '@kaha/sdk'
import fc from 'fast-check'
import { newId } from '../src/kernel/ids.ts'
import {
  assertArrivals,
  assertEnd,
  assertReachable,
  expose,
  type Arrival,
  type EventModel,
  type EventType,
  type Move,
  type Queued,
  type Standing,
} from './endpoint-model.ts'
import type { Platform } from './platform.ts'
import type { Received } from './receiver.ts'
import { selectOpen } from './delivery-room.ts'
import { sql } from './sql.ts'

/** Moves that come at once, and how long the platform is left alone after them. */
export interface Round {
  readonly moves: readonly Move[]
  readonly after: 'next' | 'idle' | 'advance'
}

const types: readonly EventType[] = ['payment.succeeded', 'payment.declined']
const paths = ['/one', '/two', '/three']

const happen = fc.record({
  does: fc.constant('happen' as const),
  type: fc.constantFrom(...types),
  count: fc.integer({ min: 1, max: 4 }),
  answer: fc.oneof(
    { weight: 6, arbitrary: fc.constant('takes' as const) },
    { weight: 6, arbitrary: fc.constant('takes late' as const) },
    { weight: 1, arbitrary: fc.constant('is gone' as const) },
  ),
})
const change = fc.oneof(
  fc.record({ does: fc.constantFrom('pause' as const, 'resume' as const) }),
  fc.record({ does: fc.constantFrom('pause' as const, 'resume' as const, 'rotate' as const, 'describe' as const) }),
  fc.record({ does: fc.constant('rename' as const), path: fc.constantFrom(...paths) }),
  fc.record({ does: fc.constant('subscribe' as const), types: fc.subarray([...types], { minLength: 1 }) }),
)
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 10, arbitrary: happen },
  { weight: 10, arbitrary: change },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('delete' as const) }) },
)

/** The life of one endpoint. */
export const lives: fc.Arbitrary<readonly Round[]> = fc.array(
  fc.record({
    moves: fc.array(move, { minLength: 1, maxLength: 5 }),
    after: fc.constantFrom('next' as const, 'next' as const, 'idle' as const, 'advance' as const),
  }),
  { minLength: 1, maxLength: 8 },
)

/** Longer than the first wait for a retry. */
const advanceSeconds = 7

/**
 * Lives one endpoint's life beside the model of it: each round's moves at once, the workers at work all the while. Throws where the platform
 * and the model differ. In the end the endpoint is deleted. No other endpoint of the branch may be there.
 */
export async function live(p: Platform, rounds: readonly Round[]): Promise<void> {
  const walk = await begin(p)
  for (const round of rounds) await walk.round(round)
  await walk.end()
}

async function begin(p: Platform) {
  const { webhooks } = p.as(p.branch.secret_key)
  const { origin } = new URL(p.receiver.url)
  const events = new Map<string, EventModel>()
  const since = p.kaha.clock.now().toISOString()
  p.receiver.received.length = 0
  const arrivals = watch(p, events)
  const { id } = await webhooks.createEndpoint({ url: `${origin}${paths[0]}`, enabled_events: [...types] })

  const standing = async (): Promise<Standing> => {
    try {
      return standingOf(await webhooks.retrieveEndpoint(id))
    } catch (error) {
      if (error instanceof KahaError && error.code === 'NOT_FOUND')
        return { deleted: true, paused: true, path: '', types: [] }
      throw error
    }
  }

  // The lock waits for whoever began to claim or queue before, and holds off the others: what is in flight is all that is.
  const queued = (): Promise<Queued> =>
    p.kaha.db.tx(async (tx) => {
      await sql(tx, 'lock table delivery.hands, delivery.queue in share mode')
      const rows = await sql<{ event_id: string; leased: boolean }>(
        tx,
        `select o.event_id, o.leased from (${selectOpen}) o where o.destination_id = $1`,
        [id],
      )
      const leased = rows.filter((row) => row.leased)
      return {
        all: new Set(rows.map((row) => row.event_id)),
        inFlight: new Set(leased.map((row) => row.event_id)),
      }
    })

  const doMove = async (one: Move): Promise<unknown> => {
    switch (one.does) {
      case 'happen':
        return write(p, events, one)
      case 'pause':
      case 'resume':
        return webhooks.updateEndpoint(id, { disabled: one.does === 'pause' })
      case 'rename':
        return webhooks.updateEndpoint(id, { url: `${origin}${one.path}` })
      case 'subscribe':
        return webhooks.updateEndpoint(id, { enabled_events: [...one.types] })
      case 'describe':
        return webhooks.updateEndpoint(id, { description: 'Described', metadata: { told: 'twice' } })
      case 'rotate':
        return webhooks.rotateSigningSecret(id, { overlap_seconds: 60 })
      case 'delete':
        return webhooks.deleteEndpoint(id)
    }
  }

  let now = await standing()
  let held = await queued()
  let seen = 0
  let struckBefore = false
  let resumes = 0
  let renames = 0
  const isGone = (eventId: string): boolean => events.get(eventId)?.answer === 'is gone'
  const anyGone = (): boolean => [...events.keys()].some(isGone)

  const round = async ({ moves, after }: Round, mayStrike = anyGone): Promise<void> => {
    resumes += moves.filter(({ does }) => does === 'resume').length
    renames += moves.filter(({ does }) => does === 'rename').length
    const leaving = now.deleted || moves.some(({ does }) => does === 'delete')
    const done = await Promise.allSettled(moves.map(doMove))
    const refused = done.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
    for (const reason of refused) {
      if (!leaving || !(reason instanceof KahaError) || reason.code !== 'NOT_FOUND') throw reason
    }
    for (const event of events.values()) if (!event.dispatched) expose(event, now, moves, mayStrike())
    if (after === 'idle') await p.idle()
    if (after === 'advance') await p.advance(advanceSeconds)
    if (after !== 'next') for (const event of events.values()) event.dispatched = true

    const [before, heldBefore] = [now, held]
    now = await standing()
    held = await queued()
    const fresh = arrivals.slice(seen)
    seen += fresh.length
    const struck = fresh.some(({ eventId }) => isGone(eventId))
    // What a 410 means is stored while its event is still in flight, moments or rounds after it was answered.
    assertReachable(before, moves, now, struck || struckBefore)
    struckBefore = struck || (struckBefore && held.inFlight.size > 0)
    assertArrivals(before, moves, { before: heldBefore, after: held }, fresh)
  }

  const compareEnds = async (): Promise<void> => {
    const statuses = new Map<string, string>()
    for await (const { id: eventId, status } of webhooks.listAllEvents({ date_from: since, page_size: 100 })) {
      statuses.set(eventId, status)
    }
    for (const event of events.values()) {
      const its = arrivals.filter(({ eventId }) => eventId === event.id)
      assertEnd(event, statuses.get(event.id) ?? 'lost', its, { dropped: now.deleted || anyGone(), resumes, renames })
    }
  }

  return {
    round,
    async end(): Promise<void> {
      if (!now.deleted) await round({ moves: [{ does: 'resume' }], after: 'idle' })
      // The first for what failed, the second for what is dropped with it.
      for (let time = 0; time < 2; time += 1) await round({ moves: [], after: 'advance' })
      await compareEnds()
      if (now.deleted) return
      // Whoever was gone is back, and is sent what happens from now on.
      const [type = 'payment.succeeded'] = now.types as readonly EventType[]
      await round({ moves: [{ does: 'resume' }], after: 'idle' })
      await round({ moves: [{ does: 'happen', type, count: 2, answer: 'takes' }], after: 'idle' }, () => false)
      await compareEnds()
      await round({ moves: [{ does: 'delete' }], after: 'idle' })
    },
  }
}

const standingOf = ({ status, url, enabled_events: enabled }: WebhookEndpoint): Standing => ({
  deleted: false,
  paused: status === 'DISABLED',
  path: new URL(url).pathname,
  types: enabled,
})

/** The receiver answers each event as that wants it. */
function watch({ receiver }: Platform, events: ReadonlyMap<string, EventModel>): Arrival[] {
  const arrivals: Arrival[] = []
  receiver.answer = ({ path, headers }: Received, response) => {
    const eventId = String(headers['webhook-id'])
    const again = arrivals.some((one) => one.eventId === eventId)
    const wanted = events.get(eventId)?.answer ?? 'takes'
    const status = wanted === 'is gone' ? 410 : wanted === 'takes late' && !again ? 500 : 204
    arrivals.push({ eventId, path, acknowledged: status === 204 })
    response.writeHead(status).end()
  }
  return arrivals
}

async function write(
  { kaha, seed, merchant, branch }: Platform,
  events: Map<string, EventModel>,
  { type, count, answer }: Extract<Move, { does: 'happen' }>,
): Promise<void> {
  const at = kaha.clock.now()
  const made = Array.from({ length: count }, (): EventModel => {
    const event = { id: newId(at), type, answer, mayBeQueued: false, mayBeLeft: false, dispatched: false }
    events.set(event.id, event)
    return event
  })
  const owner = { partnerId: seed.partner.id, merchantId: merchant.id, branchId: branch.id }
  await kaha.db.tx(async (tx) => {
    for (const { id } of made) {
      const body = JSON.stringify({ id, type, data: {} })
      const ids = { paymentIntentId: null, paymentLinkId: null }
      await kaha.delivery.appendEvent(tx, { id, dialect: 'signed', type, ...owner, ...ids, body, at })
    }
  })
  kaha.bus.hint('events')
}
