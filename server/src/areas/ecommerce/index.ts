import type { Bus } from '../../kernel/bus.ts'
import type { Db } from '../../kernel/db.ts'
import { startLoop, type Loop } from '../../kernel/loop.ts'
import type { Log } from '../../kernel/log.ts'
import { createPace } from '../../kernel/pace.ts'
import { atOnceOrOneByOne } from '../../payments/put-off.ts'
import type { paymentOwner } from './owner.ts'
import { ecommerceStore as store } from './store.ts'

export { createIdempotency } from './idempotency.ts'
export { paymentOwner } from './owner.ts'
export { ecommerceArea, ecommerceRoutes } from './routes.ts'
export { createEcommerceService } from './service.ts'

const rowsMax = 200

/** Stores expiries of links as they pass and tells of them, and drops answers that were kept long enough. Worker role. */
export function startEcommerceTimers(deps: {
  db: Db
  bus: Bus
  log: Log
  owner: ReturnType<typeof paymentOwner>
}): Loop {
  const { db, bus, log, owner } = deps
  const pace = createPace()
  const expire = async (which: { readonly rowsMax: number } | { readonly id: string }): Promise<number> => {
    const ended = await db.tx(async (tx) => {
      const rows = await store.expireLinks(tx, which)
      for (const { id } of rows) await owner.announceExpiry(tx, id)
      return rows.length
    })
    if (ended > 0) owner.announced()
    return ended
  }
  return startLoop('ecommerce', { log, bus, wokenBy: ['clock'] }, async () => {
    const dropped = await store.dropAnswers(db, rowsMax)
    const ended = await atOnceOrOneByOne(db, {
      atOnce: () => expire({ rowsMax }),
      due: () => store.findOverdueLinks(db, rowsMax),
      one: expire,
    })
    const waitMs = ended === rowsMax || dropped === rowsMax ? 0 : await store.nextTurn(db)
    return pace({ moved: ended + dropped > 0, waitMs })
  })
}
