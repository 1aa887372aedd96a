import { startEcommerceTimers, type paymentOwner } from './areas/ecommerce/index.ts'
import { startQrTimers } from './areas/qr/index.ts'
import type { Terminals } from './areas/terminals/index.ts'
import type { Delivery } from './delivery/index.ts'
import type { Bus } from './kernel/bus.ts'
import type { Db } from './kernel/db.ts'
import type { Log } from './kernel/log.ts'
import { startLoop } from './kernel/loop.ts'
import { answerAsWorker } from './kernel/workers.ts'
import type { Payments } from './payments/service.ts'
import { createSettlement } from './payments/settlement.ts'

/** What the workers are built of: parts that every process has. */
export interface WorkerParts {
  readonly db: Db
  readonly work: Db
  readonly bus: Bus
  readonly log: Log
  readonly payments: Payments
  readonly terminals: Terminals
  readonly delivery: Delivery
  readonly owner: ReturnType<typeof paymentOwner>
  readonly sandbox: boolean
}

/** Starts whatever does what falls due: the process role `worker`. */
export function startWorkers(
  building: AsyncDisposableStack,
  { db, work, bus, log, payments, terminals, delivery, owner, sandbox }: WorkerParts,
): void {
  const inquiring = { log, bus, wokenBy: ['clock', 'payments'] } as const
  building.use(startLoop('payments.sweep', { log, bus, wokenBy: ['clock'] }, () => payments.sweep()))
  building.use(startLoop('payments.reconcile', inquiring, () => payments.reconcile()))
  building.use(startLoop('refunds.reconcile', inquiring, () => payments.refunds.reconcile()))
  building.use(startEcommerceTimers({ db, bus, log, owner }))
  building.use(startQrTimers({ db, bus, log }))
  building.use(delivery.worker())
  building.defer(answerAsWorker(bus))
  building.use(terminals.worker())
  // A live installation's money is settled by its acquirer, a sandbox's by this timer.
  if (sandbox)
    building.use(startLoop('payments.settle', { log, bus, wokenBy: ['clock'] }, createSettlement({ db: work })))
}
