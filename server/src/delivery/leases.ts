import type { Db } from '../kernel/db.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import { nameOf, settleStore, type Held } from './store-settle.ts'

/** The leases that this process holds, each from a claim until its result is stored. Renewed until then. */
export interface Leases extends AsyncDisposable {
  hold(held: Held): void
  /** Whether nobody else can have taken it yet. */
  inForce(held: Held): boolean
  end(held: Held): void
}

const renewedMax = 1_000
// What a claim's own way back may have taken of it.
const marginShare = 1 / 5

/** Renews a lease at a third of its length, so most attempts end before theirs is. One that somebody else has taken is let go. */
export function startLeases({ db, log, leaseMs }: { db: Db; log: Log; leaseMs: number }): Leases {
  // When each was had, on the monotonic clock.
  const heldSince = new Map<Held, number>()

  const turn = async (): Promise<number> => {
    const now = performance.now()
    const old = heldSince
      .entries()
      .filter(([, since]) => now - since >= leaseMs / 3)
      .map(([held]) => held)
      .take(renewedMax)
      .toArray()
    if (old.length > 0) {
      const ours = new Set((await settleStore.renew(db, old, leaseMs)).map(nameOf))
      for (const held of old) {
        if (!ours.has(nameOf(held))) heldSince.delete(held)
        else if (heldSince.has(held)) heldSince.set(held, now)
      }
    }
    return old.length === renewedMax ? 0 : leaseMs / 6
  }

  const loop = startLoop('delivery.leases', log, turn)
  return {
    hold: (held) => void heldSince.set(held, performance.now()),
    inForce: (held) => performance.now() - (heldSince.get(held) ?? -Infinity) < leaseMs * (1 - marginShare),
    end: (held) => void heldSince.delete(held),
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  }
}
