import type { FastifyInstance } from 'fastify'
import type { Addresses } from './addresses.ts'
import { mountCheckout } from './areas/ecommerce/checkout/index.ts'
import { createEcommerceService, createIdempotency, ecommerceArea, ecommerceRoutes } from './areas/ecommerce/index.ts'
import {
  createAnnounce,
  createCallers,
  createCodeBank,
  createQrFigures,
  createQrService,
  createQrSimulation,
  createQrWebhooksService,
  qrArea,
  qrRoutes,
  qrWebhooksArea,
  qrWebhooksRoutes,
} from './areas/qr/index.ts'
import { createReportingService, reportingArea, reportingRoutes } from './areas/reporting/index.ts'
import {
  terminalsArea,
  terminalsBase,
  terminalsRoutes,
  terminalWebhooksRoutes,
  type Terminals,
} from './areas/terminals/index.ts'
import { createWebhooksService, webhooksArea, webhooksRoutes } from './areas/webhooks/index.ts'
import type { Config } from './config.ts'
import type { Egress } from './delivery/egress.ts'
import type { Delivery } from './delivery/index.ts'
import type { Accounts } from './identity/accounts.ts'
import type { Identity } from './identity/service.ts'
import type { TerminalIdentity } from './identity/terminal-keys.ts'
import type { Bus } from './kernel/bus.ts'
import type { Clock } from './kernel/clock.ts'
import type { Cursors } from './kernel/cursor.ts'
import type { Db } from './kernel/db.ts'
import { mountArea, type Edge } from './kernel/http/area.ts'
import { createRateLimit } from './kernel/rate-limit.ts'
import type { Keyring } from './kernel/seal.ts'
import { mountPages } from './pages.ts'
import type { Payments } from './payments/service.ts'
import type { CodeBank } from './sandbox/bank.ts'
import type { SandboxClock } from './sandbox/clock.ts'
import type { Arrival } from './sandbox/inbox.ts'

/** What the API is built of: parts that every process has. */
export interface ApiParts {
  readonly config: Config
  readonly edge: Edge
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly keyring: Keyring
  readonly cursors: Cursors
  readonly identity: Identity
  readonly terminalIdentity: TerminalIdentity
  readonly accounts: Accounts
  readonly egress: Egress
  readonly delivery: Delivery
  readonly payments: Payments
  readonly terminals: Terminals
  readonly addresses: Addresses
  /** Null in live mode. */
  readonly sandboxClock: SandboxClock | null
  readonly exportStalledMsMax: number | undefined
  readonly arrived: (arrival: Arrival) => void
}

const confirmLimit = ({ confirmsPerMinute }: Config, clock: Clock) =>
  createRateLimit({ perSecond: confirmsPerMinute / 60, burst: confirmsPerMinute, wall: clock.wall })

/** Builds the areas and the pages beside them, and mounts them: the process role `api`. */
export async function mountApi(http: FastifyInstance, building: AsyncDisposableStack, parts: ApiParts): Promise<void> {
  const { config, edge, db, clock, keyring, cursors, identity, terminalIdentity } = parts
  const { egress, delivery, payments, terminals, addresses, sandboxClock } = parts
  const sandbox = config.mode === 'sandbox'
  mountPages(http, addresses, { sandbox, qr: config.qrBank !== null })
  const ecommerce = createEcommerceService({
    db,
    clock,
    keyring,
    cursors,
    identity,
    payments,
    idempotency: createIdempotency({ db, keyring }),
    settings: { currencies: config.currencies, sandbox, addresses },
  })
  const webhooks = createWebhooksService({ delivery, identity, cursors, vet: (url) => egress.vet(url), sandbox })
  await mountArea(http, webhooksArea(identity), webhooksRoutes(webhooks), edge)
  const reporting = createReportingService({ db, clock, cursors })
  await mountArea(http, reportingArea(identity, parts.exportStalledMsMax), reportingRoutes(reporting), edge)
  const ofTerminals = [
    ...terminalsRoutes(terminals.service, clock),
    ...terminalWebhooksRoutes(terminals.webhooks, clock),
  ]
  await mountArea(http, terminalsArea(terminalIdentity, clock), ofTerminals, edge)
  const confirms = confirmLimit(config, clock)
  await mountArea(http, ecommerceArea(identity, confirms), ecommerceRoutes(ecommerce, addresses), edge)
  await mountCheckout(http, { ecommerce, identity, clock, keyring, edge, addresses, confirmLimit: confirms, sandbox })
  const codeBank = await mountQr(http, parts)
  if (sandboxClock !== null) {
    const { mountSandbox } = await import('./sandbox/index.ts')
    const mounted = await mountSandbox(http, {
      ...parts,
      sandboxClock,
      codeBank,
      merchantOf: (groupId) => terminalIdentity.merchantOf(groupId),
      socketUrl: () => `${addresses.local.replace(/^http/, 'ws')}${terminalsBase}`,
    })
    building.use(mounted)
  }
}

/** Mounts area E; where no bank is set none of it is there. Gives whoever speaks for that bank, who is of the sandbox. */
async function mountQr(
  http: FastifyInstance,
  { config, edge, db, bus, clock, identity, accounts, egress, delivery, payments }: ApiParts,
): Promise<CodeBank | null> {
  const { qrBank } = config
  const sandbox = config.mode === 'sandbox'
  const announce = createAnnounce((tx, event) => delivery.appendEvent(tx, event))
  const announced = () => bus.hint('events')
  const { log, metrics } = edge
  // Without a bank, too: money that came while there was one may still wait for a person.
  const figures = createQrFigures(metrics, db)
  const who = { callers: createCallers({ identity, accounts }), now: () => clock.now() }
  if (qrBank === null) {
    // Nothing is there, and that is told in the area's own words.
    await mountArea(http, qrArea(who), [], edge)
    await mountArea(http, qrWebhooksArea(who), [], edge)
    return null
  }
  const codeBank = sandbox
    ? createCodeBank({ db, clock, bank: qrBank, checkout: payments.codes, log, figures, announce, announced })
    : null
  const qr = createQrService({ db, clock, accounts, bank: qrBank, isTold: sandbox })
  await mountArea(http, qrArea(who), qrRoutes(qr), edge)
  const { destinations, events } = delivery
  const registered = createQrWebhooksService({ db, destinations, accounts, vet: (url) => egress.vet(url), sandbox })
  const simulation = codeBank && createQrSimulation({ db, clock, bank: qrBank, codeBank, events, identity })
  await mountArea(http, qrWebhooksArea(who), qrWebhooksRoutes(registered, simulation), edge)
  return codeBank
}
