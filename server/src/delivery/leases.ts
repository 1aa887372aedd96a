import type { Db } from '../kernel/db.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import { nameOf, settleStore, type Held } from './store-settle.ts'

/** The leases that this process holds, each from a claim until its result is stored. Renewed until then. */
export interface Leases extends AsyncDisposable {
  hold(held: Held): Lease
}

export interface Lease {
  readonly held: Held
  /** Whether nobody else can have taken it yet. */
  inForce(): boolean
  end(): void
}

const renewedMax = 1_000
// What a claim's own way back may have taken of it.
const marginShare = 1 / 5

/** Renews a lease at a third of its length, so most attempts end before theirs is. One that somebody else has taken is let go. */
export function startLeases({ db, log, leaseMs }: { db: Db; log: Log; leaseMs: number }): Leases {
  // When each was had, on the monotonic clock.
  const heldSince = new Map<Lease, number>()

  const turn = async (): Promise<number> => {
    const now = performance.now()
    const old = heldSince
      .entries()
      .filter(([, since]) => now - since >= leaseMs / 3)
      .map(([lease]) => lease)
      .take(renewedMax)
      .toArray()
    if (old.length > 0) {
      const held = old.map((lease) => lease.held)
      const ours = new Set((await settleStore.renew(db, held, leaseMs)).map(nameOf))
      for (const lease of old) {
        if (!ours.has(nameOf(lease.held))) heldSince.delete(lease)
        else if (heldSince.has(lease)) heldSince.set(lease, now)
      }
    }
    return old.length === renewedMax ? 0 : leaseMs / 6
  }

  const loop = startLoop('delivery.leases', log, turn)
  return {
    hold(held) {
      const lease = {
        held,
        inForce: () => performance.now() - (heldSince.get(lease) ?? -Infinity) < leaseMs * (1 - marginShare),
        end: () => void heldSince.delete(lease),
      }
      heldSince.set(lease, performance.now())
      return lease
    },
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  }
}
