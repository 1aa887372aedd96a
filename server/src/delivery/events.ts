import type { Principal } from '../identity/principal.ts'
import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../kernel/db.ts'
import { newId, smallestId } from '../kernel/ids.ts'
import type { DialectName } from './dialects.ts'
import type { DestinationRow } from './store-destinations.ts'
import { eventDetailStore, type EventDetail, type EventRecord } from './store-event-detail.ts'
import { eventStore, type EventFilter, type EventPage, type EventRow } from './store-events.ts'
import { recoverStore, type Place, type Wanted } from './store-recover.ts'
import { resendStore } from './store-resend.ts'

/** Why nothing was sent: the event is not dispatched yet; the destination is unknown, deleted or disabled; there is none. */
export type SendRefusal = 'undispatched' | 'unknown' | 'deleted' | 'disabled' | 'nowhere'
export type Sent<Result> = Result | { readonly refusal: SendRefusal }

/** A test of a destination. Its branch stands for the payment's. */
export interface TestEvent {
  readonly type: string
  readonly partnerId: string
  readonly merchantId: string
  readonly branchId: string
  /** Makes the bytes that are sent. */
  readonly write: (event: { readonly id: string; readonly at: Date }) => string
}

/** What happened, for the entities that it belongs to and those above them. */
export interface Events {
  list(principal: Principal, filter: EventFilter): Promise<EventPage>
  find(principal: Principal, id: string, dialect?: DialectName): Promise<EventRecord | undefined>
  /** Whether anybody has such an event: for the answer to a key that may not see it. */
  exists(id: string, dialect?: DialectName): Promise<boolean>
  /** With its deliveries to the destinations that the principal sees, 50 at most, and the newest 20 attempts of each. */
  detail(principal: Principal, id: string, dialect?: DialectName): Promise<EventDetail | undefined>
  /**
   * Sends an event again, with the same id and bytes: to one destination, else to all that subscribe now, of those that the principal sees;
   * a test to those that it went to. A waiting retry is replaced by an attempt now; one in flight counts as the resend.
   */
  resend(principal: Principal, event: EventRecord, destinationId?: string): Promise<Sent<EventRow>>
  /**
   * Queues what a destination missed of the branches that `branchesAfter` gives, a page at a time by id. Resolves to how many events: it stops
   * at 100,000, and when it has looked at 1,000,000. Repeating it does no harm.
   */
  recover(
    destination: Pick<DestinationRow, 'id' | 'dialect' | 'types'>,
    range: { readonly from: string; readonly before: string },
    branchesAfter: (branchId: string) => Promise<readonly string[]>,
  ): Promise<number>
  /** Sends a made-up event to one destination, through the queue and past every list. */
  sendTest(
    principal: Principal,
    destination: Pick<DestinationRow, 'id' | 'dialect'>,
    event: TestEvent,
  ): Promise<Sent<EventRow>>
}

/** How much one recovery does, in events. */
export interface RecoverLimits {
  readonly lookedAtOnceMax: number
  readonly lookedMax: number
  readonly queuedMax: number
}

const recoverLimits: RecoverLimits = { lookedAtOnceMax: 1_000, lookedMax: 1_000_000, queuedMax: 100_000 }

export interface EventsDependencies {
  readonly work: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly limits?: RecoverLimits
}

export function createEvents({ work, bus, clock, limits = recoverLimits }: EventsDependencies): Events {
  return {
    list: (principal, filter) => eventStore.list(work, principal, filter),
    find: (principal, id, dialect = 'signed') => eventDetailStore.find(work, principal, id, dialect),
    exists: (id, dialect = 'signed') => eventDetailStore.exists(work, id, dialect),
    detail: (principal, id, dialect = 'signed') => eventDetailStore.detail(work, principal, id, dialect),

    async resend(principal, event, destinationId) {
      const targets = await targetsOf(work, principal, event, destinationId)
      if (typeof targets === 'string') return { refusal: targets }
      const resent = await work.tx(async (tx) => {
        const taken = await resendStore.resend(tx, event.id, targets)
        return taken === 0 ? undefined : eventDetailStore.find(tx, principal, event.id, event.dialect)
      })
      if (resent === undefined) return { refusal: destinationId === undefined ? 'nowhere' : 'disabled' }
      bus.hint('deliveries')
      return resent
    },

    async recover({ id, dialect, types }, range, branchesAfter) {
      const search = searchFor(work, { destinationId: id, dialect, types, ...range }, limits, () =>
        bus.hint('deliveries'),
      )
      for (let last: string | undefined = smallestId; last !== undefined && !search.isOver();) {
        const branchIds = await branchesAfter(last)
        await search.in(branchIds)
        last = branchIds.at(-1)
      }
      return search.queued()
    },

    async sendTest(principal, destination, { write, ...event }) {
      const at = clock.now()
      const id = newId(at)
      const made = { id, dialect: destination.dialect, at, ...event, body: write({ id, at }) }
      const sent = await work.tx(async (tx) => {
        // Before the event is written: a transaction that ends without a throw is committed.
        const { open } = await recoverStore.queue(tx, destination.id, [id], [0])
        if (!open) return undefined
        await recoverStore.insertTest(tx, made)
        return eventDetailStore.find(tx, principal, id, destination.dialect)
      })
      if (sent === undefined) return { refusal: 'disabled' }
      bus.hint('deliveries')
      return sent
    },
  }
}

const undispatched: readonly string[] = ['PENDING', 'SUBMITTING', 'SUBMIT_FAILED']

async function targetsOf(
  work: Db,
  principal: Principal,
  event: EventRecord,
  destinationId: string | undefined,
): Promise<readonly string[] | SendRefusal> {
  const named =
    destinationId === undefined ? undefined : await resendStore.target(work, principal, destinationId, event.dialect)
  const owners = [event.branch_id, event.merchant_id, event.partner_id]
  if (destinationId !== undefined && (named === undefined || !owners.includes(named.owner_id))) return 'unknown'
  // Once dispatched an event is never waiting for it again.
  if (undispatched.includes(event.status)) return 'undispatched'
  if (named?.deleted === true) return 'deleted'
  if (named?.state === 'DISABLED') return 'disabled'
  if (named !== undefined) return [named.id]
  return event.test ? resendStore.earlier(work, principal, event) : resendStore.subscribed(work, principal, event)
}

/** Looks through branches for what a destination missed, and queues it piece by piece, each in a statement of its own. */
function searchFor(work: Db, wanted: Wanted, limits: RecoverLimits, queuedSome: () => void) {
  const { lookedAtOnceMax, lookedMax, queuedMax } = limits
  let looked = 0
  let queued = 0
  let closed = false
  let full = false

  const turn = async (place: Place): Promise<Place | undefined> => {
    const missed = await recoverStore.missed(work, wanted, place, lookedAtOnceMax)
    if (missed === undefined) return undefined
    looked += missed.looked
    const most = queuedMax - queued
    const eventIds = missed.event_ids.slice(0, most)
    // Some are left for the next call, even where somebody else has queued one of these meanwhile.
    full = missed.event_ids.length >= most
    if (eventIds.length > 0) {
      const [attemptsBefore, dispatchedAt] = [
        missed.attempts_before.slice(0, most),
        missed.dispatched_at.slice(0, most),
      ]
      const done = await recoverStore.queue(work, wanted.destinationId, eventIds, attemptsBefore, dispatchedAt)
      closed = !done.open
      queued += done.queued
      queuedSome()
    }
    if (missed.looked < lookedAtOnceMax) return undefined
    const { branchIds } = place
    return { branchIds: branchIds.slice(branchIds.indexOf(missed.last_branch_id)), afterId: missed.last_id }
  }

  /** Nothing more is to be looked for. */
  const isOver = () => closed || full || looked >= lookedMax

  return {
    queued: () => (full && !closed ? queuedMax : queued),
    isOver,
    async in(branchIds: readonly string[]): Promise<void> {
      let place: Place | undefined = { branchIds, afterId: smallestId }
      while (place !== undefined && place.branchIds.length > 0 && !isOver()) place = await turn(place)
    },
  }
}
