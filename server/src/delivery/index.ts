import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db, Queries } from '../kernel/db.ts'
import type { Log } from '../kernel/log.ts'
import type { Metrics } from '../kernel/metrics.ts'
import type { Keyring } from '../kernel/seal.ts'
import { createAttempt } from './attempt.ts'
import { createDestinations, type Destinations } from './destinations.ts'
import { signed, type Dialects } from './dialects.ts'
import { startDispatcher } from './dispatcher.ts'
import { connectionsToOneOrigin, type Egress } from './egress.ts'
import { createEvents, type Events } from './events.ts'
import { createFigures } from './figures.ts'
import {
  ensurePartitions,
  keepPartitions,
  retentionDefaults,
  startRetention,
  type RetentionOptions,
} from './retention.ts'
import { createOpenedSecrets } from './secrets.ts'
import { startSender } from './sender.ts'
import { createSlots } from './slots.ts'
import { eventRecords, eventStore, type NewEvent } from './store-events.ts'

export type { SendRefusal, Sent } from './events.ts'
export type { NewestSecret } from './destinations.ts'
export type { DestinationRow } from './store-destinations.ts'
export type { EventDetail } from './store-event-detail.ts'
export type { EventRow, NewEvent } from './store-events.ts'
export { byIndex } from './store-plan.ts'

export interface DeliveryOptions {
  /** For one attempt, instead of the dialect's own. */
  readonly deadlineMs?: number
  /** How long a claim is respected without a sign of life. */
  readonly leaseMs?: number
  readonly inHandMax?: number
  readonly perDestinationMax?: number
  readonly flyingMax?: number
  /** Over all destinations of an origin. */
  readonly flyingPerOriginMax?: number
  /** How long after a dispatch that left nothing over no other begins. */
  readonly dispatchRestMs?: number
  /** How long a stop waits for attempts in flight, and again for their results to be stored. */
  readonly drainMsMax?: number
  readonly retention?: RetentionOptions
  /** Gives [0, 1). */
  readonly random?: () => number
  /** Besides the dialect of area A. */
  readonly dialects?: Dialects
}

export interface DeliveryDependencies {
  readonly db: Db
  /** The same database with the settings `byIndex`: for what goes through the tables of work. */
  readonly work: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly keyring: Keyring
  readonly egress: Egress
  readonly log: Log
  readonly metrics: Metrics
  readonly options?: DeliveryOptions
}

/** The door of the room: what other rooms may do with events and destinations. */
export interface Delivery {
  /** Writes an event in the caller's transaction. The caller hints `events` once that is committed. */
  appendEvent(tx: Queries, event: NewEvent): Promise<void>
  /** Events as the published `delivery.append_events` takes them: for a statement of the caller's that writes several. */
  eventRecords(events: readonly NewEvent[]): Buffer
  readonly destinations: Destinations
  readonly events: Events
  /** Starts dispatching, sending and retention. Disposing stops: what is in flight ends or is given back. */
  worker(): AsyncDisposable
  /** Before business time jumps: events and attempts of that time need a place. */
  ensurePartitions(around: Date): Promise<void>
  /** Makes partitions ahead, and goes on making them: in every process, and before it takes anything. */
  keepPartitions(): Promise<AsyncDisposable>
}

export function createDelivery({
  db,
  work,
  bus,
  clock,
  keyring,
  egress,
  log,
  metrics,
  options = {},
}: DeliveryDependencies): Delivery {
  const {
    // So that what a dead worker had is repeated within 15 s, the look and the attempt included.
    leaseMs = 14_000,
    inHandMax = 2_048,
    perDestinationMax = 960,
    flyingMax = 64,
    // More would wait for a connection, in an order of its own and with the time of their attempt running.
    flyingPerOriginMax = connectionsToOneOrigin,
    dispatchRestMs = 10,
    // A stop has four seconds before the database goes: one is the requests', and what does not end is given back in what is left.
    drainMsMax = 2_500,
    random = Math.random,
  } = options
  const slots = createSlots({ inHandMax, perDestinationMax, flyingMax })
  const figures = createFigures({ metrics, db: work, inFlight: () => slots.inFlight })
  const dialects: Dialects = { signed, ...options.dialects }
  const attempt = createAttempt({
    clock,
    egress,
    dialects,
    open: createOpenedSecrets(keyring),
    random,
    deadlineMs: options.deadlineMs,
  })

  return {
    async appendEvent(tx, event) {
      await eventStore.append(tx, event)
    },
    eventRecords,
    destinations: createDestinations({ db, work, bus, clock, keyring }),
    events: createEvents({ work, bus, clock }),
    worker() {
      const parts = new AsyncDisposableStack()
      parts.use(startRetention({ db: work, bus, clock, log }, options.retention ?? retentionDefaults))
      const sender = parts.use(
        startSender({
          db: work,
          bus,
          clock,
          log,
          slots,
          attempt,
          figures,
          options: { leaseMs, drainMsMax, flyingPerOriginMax, random },
        }),
      )
      parts.use(
        startDispatcher({ db: work, bus, log, figures, sender, options: { leaseMs, restMs: dispatchRestMs, random } }),
      )
      return parts
    },
    ensurePartitions: (around) => ensurePartitions(db, around),
    keepPartitions: () => keepPartitions({ db, bus, clock, log }),
  }
}
