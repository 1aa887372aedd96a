// Payments as they come: events are written at an even rate, each in a transaction of its own, whether or not the last are through.
import { eventStore } from '../../server/src/delivery/store-events.ts'
import { postgresBus } from '../../server/src/kernel/bus-postgres.ts'
import { createDb } from '../../server/src/kernel/db.ts'
import { serve } from './child.ts'
import { eventOf, eventType, type Source } from './events.ts'
import type { Target } from './place.ts'

export interface Offer {
  readonly target: Target
  readonly sources: readonly Source[]
  readonly perSecond: number
  readonly seconds: number
}

/** What was offered, one place for each event; times in ns of the monotonic clock, the same in every process. */
export interface Offered {
  readonly ids: readonly string[]
  /** When it was to happen. */
  readonly dueAt: BigInt64Array
  /** When the answer to its commit was there. */
  readonly committedAt: BigInt64Array
}

const connectionsMax = 4
const acquireWaitMsMax = 60_000
const tickMs = 2
const fail = (error: Error): void => {
  throw error
}

async function offer({ target, sources, perSecond, seconds }: Offer): Promise<Offered> {
  await using db = createDb({ target, connectionsMax, acquireWaitMsMax, onError: fail })
  await using bus = await postgresBus({ db, target, onLost: fail })
  const count = Math.round(perSecond * seconds)
  const ids: string[] = []
  const dueAt = new BigInt64Array(count)
  const committedAt = new BigInt64Array(count)
  const begun = process.hrtime.bigint()
  const dueOf = (place: number): bigint => begun + BigInt(Math.round((place / perSecond) * 1e9))

  const happen = async (place: number): Promise<void> => {
    const source = sources[place % sources.length]
    if (source === undefined) throw new Error('there is no source')
    const at = new Date()
    const { id, intentId: paymentIntentId, body } = eventOf(source, at)
    ids[place] = id
    dueAt[place] = dueOf(place)
    const { partnerId, merchantId, branchId } = source
    const event = { id, partnerId, merchantId, branchId, paymentIntentId, paymentLinkId: null, body, at }
    await eventStore.append(db, { ...event, dialect: 'signed', type: eventType })
    committedAt[place] = process.hrtime.bigint()
    bus.hint('events')
  }

  const happening: Promise<void>[] = []
  while (happening.length < count) {
    const now = process.hrtime.bigint()
    while (happening.length < count && dueOf(happening.length) <= now) happening.push(happen(happening.length))
    await new Promise((resolve) => setTimeout(resolve, tickMs))
  }
  await Promise.all(happening)
  return { ids, dueAt, committedAt }
}

serve({ offer }, { [Symbol.asyncDispose]: async () => {} })
