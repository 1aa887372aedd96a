import { startEcommerceTimers, type paymentOwner } from './areas/ecommerce/index.ts'
import { startQrTimers } from './areas/qr/index.ts'
import type { Terminals } from './areas/terminals/index.ts'
import type { Delivery } from './delivery/index.ts'
import type { Bus } from './kernel/bus.ts'
import type { Db } from './kernel/db.ts'
import type { Log } from './kernel/log.ts'
import { startLoop, type Loop } from './kernel/loop.ts'
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
  const sweeper: Loop = building.use(startLoop('payments.sweep', log, () => payments.sweep()))
  const reconciler: Loop = building.use(startLoop('payments.reconcile', log, () => payments.reconcile()))
  const refunds: Loop = building.use(startLoop('refunds.reconcile', log, () => payments.refunds.reconcile()))
  for (const loop of [sweeper, reconciler, refunds]) bus.listen('clock', () => loop.wake())
  for (const loop of [reconciler, refunds]) bus.listen('payments', () => loop.wake())
  building.use(startEcommerceTimers({ db, bus, log, owner }))
  building.use(startQrTimers({ db, bus, log }))
  building.use(delivery.worker())
  building.defer(answerAsWorker(bus))
  building.use(terminals.worker())
  if (sandbox) startSettlement(building, { db: work, bus, log })
}

/** A live installation's money is settled by its acquirer, a sandbox's by this timer. */
function startSettlement(building: AsyncDisposableStack, { db, bus, log }: { db: Db; bus: Bus; log: Log }): void {
  const loop: Loop = building.use(startLoop('payments.settle', log, createSettlement({ db })))
  bus.listen('clock', () => loop.wake())
}
