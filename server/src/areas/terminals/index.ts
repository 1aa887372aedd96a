import type { IncomingMessage, Server } from 'node:http'
import type { Egress } from '../../delivery/egress.ts'
import type { Delivery } from '../../delivery/index.ts'
import type { TerminalIdentity } from '../../identity/terminal-keys.ts'
import { allOver } from '../../kernel/all-over.ts'
import type { Bus } from '../../kernel/bus.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Cursors } from '../../kernel/cursor.ts'
import type { Db } from '../../kernel/db.ts'
import { newId } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import { startLoop } from '../../kernel/loop.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import { createConnections } from './connections.ts'
import type { Sending } from './dependencies.ts'
import { declineSockets } from './gateway/handshake.ts'
import { createGateway, type Gateway, type GatewayOptions } from './gateway/index.ts'
import { createTerminalFigures } from './figures.ts'
import { createLedger } from './ledger.ts'
import { startRetention } from './retention.ts'
import { createTerminalsService, type TerminalsService } from './service.ts'
import { createTerminalCases } from './service-terminal.ts'
import { createTerminalWebhooks, type TerminalWebhooks } from './service-webhooks.ts'
import { transactionStore } from './store-transactions.ts'
import { createWaits } from './waits.ts'

export { terminalDialect } from './notifications.ts'
export { socketPath, terminalsArea, terminalsBase, terminalsRoutes } from './routes.ts'
export { terminalWebhooksRoutes } from './routes-webhooks.ts'
export type { GatewayOptions } from './gateway/index.ts'

export interface Terminals extends AsyncDisposable {
  readonly service: TerminalsService
  readonly webhooks: TerminalWebhooks
  /** Sockets in this process. It counts as one that holds some from here on. */
  gateway(options: { pathOf: (request: IncomingMessage) => string | null } & GatewayOptions): Promise<Gateway>
  /** In a process without a gateway: refuses handshakes for now. */
  declineSockets(server: Server): void
  /** Applies deadlines, ends what dead processes held. */
  worker(): AsyncDisposable
}

const reapMs = 5_000
const signaturesDroppedMax = 1_000

/** The room of area D. */
export function createTerminals(deps: {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly cursors: Cursors
  readonly log: Log
  readonly metrics: Metrics
  readonly identity: TerminalIdentity
  readonly delivery: Delivery
  readonly egress: Egress
  readonly settings: { readonly currencies: readonly string[]; readonly sandbox: boolean }
  /** For one ping of a URL, instead of an attempt's. */
  readonly pingMsMax?: number
}): Terminals {
  const { db, bus, clock, log, metrics, identity, delivery, egress, settings, pingMsMax } = deps
  const waits = createWaits(bus)
  const figures = createTerminalFigures(metrics, {
    waitingCalls: () => waits.count,
    open: () => transactionStore.openAttention(db),
  })
  const { destinations, eventRecords } = delivery
  const ledger = createLedger({ db, bus, clock, log, figures, waits, eventRecords })
  const webhooks = createTerminalWebhooks({ destinations, egress, clock, sandbox: settings.sandbox, pingMsMax })
  const hasActiveWebhook = (groupId: string) => webhooks.hasActive(groupId)
  // Until there is a gateway here, no terminal is.
  let gatewayHere: Gateway | undefined
  const sending: Sending = {
    connectionOf: (groupId, terminalId) => gatewayHere?.connectionOf(groupId, terminalId),
    send: (row) => gatewayHere?.send(row),
    unsent: (ids) => gatewayHere?.unsent(ids),
  }
  const service = createTerminalsService({ ...deps, ledger, waits, sending, hasActiveWebhook })
  const connections = createConnections({ db, bus, clock, ledger, nodeId: newId(clock.now()) })
  const cases = createTerminalCases({ db, clock, connections, ledger, log, figures })
  return {
    service,
    webhooks,
    async gateway({ pathOf, ...options }) {
      await connections.beat()
      gatewayHere = createGateway({
        db,
        bus,
        clock,
        log,
        metrics,
        figures,
        identity,
        service,
        cases,
        connections,
        options,
        pathOf,
      })
      return gatewayHere
    },
    declineSockets: (server) => declineSockets(server, { clock, log, metrics }),
    worker() {
      const parts = new AsyncDisposableStack()
      const turn = async () => {
        // One that fails does not keep the other from its turn.
        const [hasMore, dueInMs] = await allOver([connections.expire(), ledger.runDue()])
        return hasMore ? 0 : dueInMs
      }
      parts.use(startLoop('terminals.due', { log, bus, wokenBy: ['clock'] }, turn))
      parts.use(startRetention({ db, bus, clock, log }))
      parts.use(
        startLoop('terminals.reap', { log }, async () => {
          const reaped = await connections.reap()
          return reaped > 0 ? 0 : reapMs
        }),
      )
      parts.use(
        startLoop('terminals.signatures', { log }, async () => {
          const dropped = await transactionStore.dropSignatures(db, clock.wall(), signaturesDroppedMax)
          return dropped === signaturesDroppedMax ? 0 : reapMs
        }),
      )
      return { [Symbol.asyncDispose]: () => parts.disposeAsync() }
    },
    [Symbol.asyncDispose]: () => waits[Symbol.asyncDispose](),
  }
}
