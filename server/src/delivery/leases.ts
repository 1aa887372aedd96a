import type { Db } from '../kernel/db.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import { nameOf, type Held, type HeldDelivery } from './held.ts'
import { handStore } from './store-hands.ts'
import { settleStore } from './store-settle.ts'

/** The leases that this process holds, each from a claim or a dispatch until the results are stored. Renewed until then. */
export interface Leases extends AsyncDisposable {
  /** `since`: on the monotonic clock, no later than it began. */
  hold(delivery: HeldDelivery, since: number): void
  /** Whether nobody else can have taken it yet. */
  inForce(delivery: HeldDelivery): boolean
  end(delivery: HeldDelivery): void
}

const renewedMax = 1_000
// With one that is about to run out nothing more is begun.
const marginShare = 1 / 5

/** Renews a lease at a third of its length, so most attempts end before theirs is. One that somebody else has taken is let go. */
export function startLeases({ db, log, leaseMs }: { db: Db; log: Log; leaseMs: number }): Leases {
  // Since when each is had, and for how many deliveries.
  const leases = new Map<Held, { since: number; deliveries: number }>()
  const heldBy = (delivery: HeldDelivery): Held => delivery.hand ?? delivery

  const turn = async (): Promise<number> => {
    const now = performance.now()
    const old = leases
      .entries()
      .filter(([, { since }]) => now - since >= leaseMs / 3)
      .map(([held]) => held)
      .take(renewedMax)
      .toArray()
    for (const [some, store] of [
      [old.filter(({ fence }) => fence > 0), settleStore],
      [old.filter(({ fence }) => fence === 0), handStore],
    ] as const) {
      if (some.length === 0) continue
      const ours = new Set((await store.renew(db, some, leaseMs)).map(nameOf))
      for (const held of some) {
        const lease = leases.get(held)
        if (!ours.has(nameOf(held))) leases.delete(held)
        else if (lease !== undefined) lease.since = now
      }
    }
    return old.length === renewedMax ? 0 : leaseMs / 6
  }

  const loop = startLoop('delivery.leases', { log }, turn)
  return {
    hold(delivery, since) {
      const held = heldBy(delivery)
      const lease = leases.get(held)
      if (lease === undefined) leases.set(held, { since, deliveries: 1 })
      else lease.deliveries += 1
    },
    inForce: (delivery) =>
      performance.now() - (leases.get(heldBy(delivery))?.since ?? -Infinity) < leaseMs * (1 - marginShare),
    end(delivery) {
      const held = heldBy(delivery)
      const lease = leases.get(held)
      if (lease === undefined) return
      lease.deliveries -= 1
      if (lease.deliveries === 0) leases.delete(held)
    },
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  }
}
