import type { Db } from '../kernel/db.ts'
import type { Metrics } from '../kernel/metrics.ts'
import type { Attempted } from './attempt.ts'
import { claimStore, type OldestDue } from './store-claim.ts'
import type { Disabled } from './store-settle.ts'

/** What an operator sees of the room. */
export interface Figures {
  attempted(attempted: Attempted): void
  leaseExpired(): void
  /** A result that came when somebody else had the delivery already. */
  resultLost(): void
  /** A result that cannot be stored: its attempt is repeated. */
  resultUnstored(): void
  /** An endpoint that we disabled. */
  disabled(cause: Disabled['cause']): void
  dispatched(lagMs: number): void
  dispatchFailed(): void
}

const lagSecondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120, 600]
const cachedMs = 1_000
const outcomes: readonly Pick<Attempted, 'outcome' | 'owner'>[] = [
  { outcome: 'delivered', owner: 'none' },
  { outcome: 'failed', owner: 'destination' },
  { outcome: 'failed', owner: 'path' },
  { outcome: 'exhausted', owner: 'destination' },
  { outcome: 'exhausted', owner: 'path' },
  { outcome: 'gone', owner: 'destination' },
  { outcome: 'setback', owner: 'ours' },
]

export function createFigures({
  metrics,
  db,
  inFlight,
}: {
  metrics: Metrics
  db: Db
  inFlight: () => number
}): Figures {
  const attempts = metrics.tallies(
    'kaha_delivery_attempts_total',
    'Delivery attempts, by outcome and by owner of the failure.',
    ['outcome', 'owner'],
    outcomes,
  )
  const expiries = metrics.counter(
    'kaha_delivery_lease_expiries_total',
    'Deliveries taken over from a worker whose lease had run out.',
    [],
  )
  const lost = metrics.counter(
    'kaha_delivery_results_lost_total',
    'Results that came after the lease, and were not stored.',
    [],
  )
  const unstored = metrics.counter(
    'kaha_delivery_results_unstored_total',
    'Results that could not be stored, so that their attempts are repeated.',
    [],
  )
  const disabled = metrics.counter(
    'kaha_delivery_endpoints_disabled_total',
    'Endpoints disabled by Kaha, by cause: what was queued for them is dropped.',
    ['cause'],
    [{ cause: 'gone' }, { cause: 'failing' }],
  )
  const lag = metrics.histogram(
    'kaha_delivery_dispatch_lag_seconds',
    'From an event to its dispatch.',
    [],
    lagSecondsBuckets,
  )
  const failures = metrics.counter(
    'kaha_delivery_dispatch_failures_total',
    'Events that could not be dispatched, and are tried again.',
    [],
  )

  // One query for all ages.
  let read: { at: number; ages: Promise<OldestDue> } | undefined
  const ages = () => {
    if (read === undefined || performance.now() - read.at > cachedMs) {
      read = {
        at: performance.now(),
        ages: claimStore.oldestDue(db),
      }
    }
    return read.ages
  }
  metrics.gauge('kaha_delivery_attempts_in_flight', 'Delivery attempts in flight in this process.', inFlight)
  metrics.gauge(
    'kaha_delivery_oldest_due_seconds',
    "Age of the oldest delivery that is due and in nobody's hands.",
    async () => (await ages()).due,
  )
  metrics.gauge(
    'kaha_delivery_oldest_throttled_seconds',
    'The same, of destinations that fail or are slow.',
    async () => (await ages()).throttled,
  )
  metrics.gauge(
    'kaha_delivery_oldest_undispatched_seconds',
    'Age of the oldest event that waits for its dispatch.',
    async () => (await ages()).undispatched,
  )

  return {
    attempted({ outcome, owner }) {
      const tally = attempts.find(({ labels }) => labels.outcome === outcome && labels.owner === owner)
      if (tally !== undefined) tally.count += 1
    },
    leaseExpired: () => expiries.inc(),
    resultLost: () => lost.inc(),
    resultUnstored: () => unstored.inc(),
    disabled: (cause) => disabled.inc({ cause }),
    dispatched: (lagMs) => lag.observe(lagMs / 1_000),
    dispatchFailed: () => failures.inc(),
  }
}
