import type { Bus } from '../../kernel/bus.ts'
import type { Db } from '../../kernel/db.ts'
import { startLoop, type Loop } from '../../kernel/loop.ts'
import type { Log } from '../../kernel/log.ts'
import { createPace } from '../../kernel/pace.ts'
import { atOnceOrOneByOne } from '../../payments/put-off.ts'
import { qrStore as store } from './store.ts'

export { createCodeBank } from './bank.ts'
export { createCodeWriter } from './code-writer.ts'
export { createQrFigures } from './figures.ts'
export { createCallers } from './callers.ts'
export { createAnnounce, encryptedDialect } from './notifications.ts'
export { qrWebhooksArea, qrWebhooksRoutes } from './routes-webhooks.ts'
export { createQrSimulation } from './service-simulate.ts'
export { createQrWebhooksService } from './service-webhooks.ts'
export { qrArea, qrRoutes } from './routes.ts'
export { createQrService } from './service.ts'

const rowsMax = 200

/** Stores expiries of codes as they pass. Worker role. */
export function startQrTimers({ db, bus, log }: { db: Db; bus: Bus; log: Log }): Loop {
  const pace = createPace()
  return startLoop('qr', { log, bus, wokenBy: ['clock'] }, async () => {
    const ended = await atOnceOrOneByOne(db, {
      atOnce: () => store.expireCodes(db, { rowsMax }),
      due: () => store.findOverdueCodes(db, rowsMax),
      one: (due) => store.expireCodes(db, due),
    })
    return pace({ moved: ended > 0, waitMs: ended === rowsMax ? 0 : await store.nextExpiry(db) })
  })
}
