import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { addressesOf, prefixesOf, type Addresses } from './addresses.ts'
import { mountApi } from './api.ts'
import { openBus } from './bus.ts'
import type { Config } from './config.ts'
import { paymentOwner } from './areas/ecommerce/index.ts'
import { createTerminals, socketPath, terminalDialect, type GatewayOptions } from './areas/terminals/index.ts'
import { createCodeWriter, encryptedDialect } from './areas/qr/index.ts'
import { byIndex, createDelivery, type Delivery, type DeliveryOptions } from './delivery/index.ts'
import { createEgress, type Lookup } from './delivery/egress.ts'
import { createAccounts } from './identity/accounts.ts'
import { keyPrefixOf } from './identity/keys.ts'
import { createIdentity, type Identity } from './identity/service.ts'
import { createTerminalIdentity } from './identity/terminal-keys.ts'
import type { Bus } from './kernel/bus.ts'
import { createClock, followClock, type Clock } from './kernel/clock.ts'
import { createCursors } from './kernel/cursor.ts'
import { createDb, type Db, type DbTarget } from './kernel/db.ts'
import type { Edge } from './kernel/http/area.ts'
import {
  createMetricsServer,
  createProbe,
  logDb,
  measureBus,
  measureClock,
  measureDb,
  mountOperations,
} from './kernel/http/operations.ts'
import { createHttp, portOf } from './kernel/http/server.ts'
import { countLoops } from './kernel/loop.ts'
import type { Log } from './kernel/log.ts'
import { createMetrics } from './kernel/metrics.ts'
import { newProcessName, sessionNameOf, watchProcesses } from './kernel/processes.ts'
import { createRateLimit } from './kernel/rate-limit.ts'
import type { Keyring } from './kernel/seal.ts'
import { openInstallation } from './kernel/installation.ts'
import type { Connector } from './payments/connectors/connector.ts'
import { withFailuresLogged } from './payments/connectors/logged.ts'
import { noConnector } from './payments/connectors/none.ts'
import { measurePutOff } from './payments/put-off.ts'
import { listen } from './listen.ts'
import { createPayments } from './payments/service.ts'
import type { SandboxClock } from './sandbox/clock.ts'
import type { Arrival } from './sandbox/inbox.ts'
import { startWorkers } from './workers.ts'

/** What a test may choose; production takes the defaults. */
export interface Choices {
  /** System time in ms. */
  readonly wall?: () => number
  readonly lookup?: Lookup
  readonly delivery?: DeliveryOptions
  readonly terminals?: GatewayOptions
  readonly confirmWaitMsMax?: number
  readonly exportStalledMsMax?: number
  /** How long a process that is to stop still answers. */
  readonly leaveMs?: number | undefined
  readonly databaseConnectionsMax?: number
}

/** A running platform: one process with its roles. */
export interface Kaha extends AsyncDisposable {
  /** What `kaha processes list` calls it. */
  readonly name: string
  readonly addresses: Addresses
  readonly db: Db
  /** For the tables of work. */
  readonly work: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly keyring: Keyring
  readonly identity: Identity
  readonly delivery: Delivery
  /** Null in live mode, which loads nothing of the sandbox. */
  readonly sandboxClock: SandboxClock | null
  /** Where this very process answers, whatever its public address is. */
  readonly localUrl: string
}

export type SandboxKaha = Kaha & { readonly sandboxClock: SandboxClock }

export const isSandbox = (kaha: Kaha): kaha is SandboxKaha => kaha.sandboxClock !== null

/** What a live installation cannot do yet, in the words of a note. */
export const refusedInLive = ({ qrBank }: Config): string =>
  [
    'no card connector is configured: card payments are refused',
    ...(qrBank === null ? [] : ['no bank tells what is paid: QR Ph codes are refused']),
  ].join('; ')

// Whoever stands before a process needs it to move away.
const leaveMsUsual = 500
// How long requests have to end before the workers stop too.
const requestsFirstMs = 1_000
// The worker's loops, and lists of events beside them.
const workConnectionsMax = 6

async function connectorFor(config: Config, db: Db, clock: Clock, addresses: Addresses): Promise<Connector> {
  if (config.mode === 'live') return noConnector
  const [{ simulator }, { simulatorStore }] = await Promise.all([
    import('./payments/connectors/simulator.ts'),
    import('./payments/connectors/simulator-store.ts'),
  ])
  return simulator({
    clock,
    store: simulatorStore({ db }),
    challengeUrlOf: (token) => `${addresses.sandbox}/challenges/${token}`,
  })
}

/** Builds everything, once, in order, and takes it down in reverse. The only place that builds things, with api.ts and workers.ts. */
export async function startKaha(options: {
  config: Config
  target: DbTarget
  masterKey: Buffer
  log: Log
  choices?: Choices
  arrived?: (arrival: Arrival) => void
}): Promise<Kaha> {
  const { config, target, choices = {} } = options
  await using building = new AsyncDisposableStack()
  const metrics = createMetrics()
  const log = countLoops(options.log, metrics)
  const edge: Edge = { log, metrics }
  const processName = newProcessName()
  const logged = { target, sessionName: sessionNameOf(config.roles, processName), ...logDb(log) }
  const db = building.use(createDb({ ...logged, connectionsMax: choices.databaseConnectionsMax }))
  const work = building.use(createDb({ ...logged, connectionsMax: workConnectionsMax, settings: byIndex }))
  const probe = building.use(createProbe(logged))
  // First, so that they are read before other figures ask for a connection to be read with.
  measureDb(metrics, [db, work, probe])
  const keyring = await openInstallation(db, options.masterKey, config.mode)
  const bus = building.use(await openBus({ config, db, target, keyring, log }))
  const clock = createClock(choices.wall)
  await clock.refresh(db)
  building.use(followClock(clock, db, bus, log))
  measureClock(metrics, clock)
  const cursors = createCursors(keyring)

  const rateLimit = createRateLimit({
    perSecond: config.rateLimitPerSecond,
    burst: config.rateLimitPerSecond * 2,
    wall: clock.wall,
  })
  const identity = createIdentity({
    db,
    bus,
    clock,
    rateLimit,
    keyPrefix: keyPrefixOf(config.mode),
  })
  const egress = building.use(
    createEgress({
      targets: config.webhookTargets,
      userAgent: 'Kaha/0.1',
      ...(choices.lookup === undefined ? {} : { lookup: choices.lookup }),
    }),
  )
  const accounts = createAccounts({ db, keyring })
  const delivery = createDelivery({
    db,
    work,
    bus,
    clock,
    keyring,
    egress,
    log,
    metrics,
    options: {
      dialects: { encrypted: encryptedDialect({ db: work, accounts }), terminal: terminalDialect },
      ...choices.delivery,
    },
  })
  building.use(await delivery.keepPartitions())

  const sandbox = config.mode === 'sandbox'
  const addresses = addressesOf(config)
  const owner = paymentOwner({
    db,
    bus,
    clock,
    identity,
    keyring,
    addresses,
    appendEvent: (tx, event) => delivery.appendEvent(tx, event),
  })
  const payments = createPayments({
    db,
    clock,
    keyring,
    connector: withFailuresLogged(await connectorFor(config, db, clock, addresses), log),
    owner,
    // Nobody hears of a live bank's money yet: a payer who was shown a code would pay it for nothing.
    codeWriter: sandbox && config.qrBank ? createCodeWriter({ bank: config.qrBank, identity }) : null,
    confirmWaitMsMax: choices.confirmWaitMsMax ?? config.confirmWaitSeconds * 1_000,
  })
  const terminalIdentity = createTerminalIdentity({ db, bus, clock, keyring, rateLimit })
  const terminals = building.use(
    createTerminals({
      db,
      bus,
      clock,
      cursors,
      log,
      metrics,
      identity: terminalIdentity,
      delivery,
      egress,
      settings: { currencies: config.terminalCurrencies, sandbox },
      ...(choices.delivery?.deadlineMs === undefined ? {} : { pingMsMax: choices.delivery.deadlineMs }),
    }),
  )
  const sandboxClock = sandbox
    ? (await import('./sandbox/clock.ts')).createSandboxClock({
        db,
        bus,
        clock,
        ensurePartitions: (around) => delivery.ensurePartitions(around),
      })
    : null

  const prefixOfHost = prefixesOf(config)
  const pathOfSocket = socketPath(prefixOfHost)
  const takesSockets = (request: IncomingMessage) => pathOfSocket(request) !== null
  const leaveMs = choices.leaveMs ?? leaveMsUsual
  const http = createHttp({ ...edge, clock, trustProxy: config.trustProxy, prefixOfHost, takesSockets, leaveMs })
  measureBus(metrics, bus, building.use(watchProcesses({ db, bus, log, name: processName })))
  measurePutOff(metrics, db)
  mountOperations(http, {
    metrics,
    db,
    probe,
    bus,
    withMetrics: config.metrics === 'main',
    note: sandbox ? null : refusedInLive(config),
  })
  if (config.roles.includes('api')) {
    await mountApi(http, building, {
      config,
      edge,
      db,
      bus,
      clock,
      keyring,
      cursors,
      identity,
      terminalIdentity,
      accounts,
      egress,
      delivery,
      payments,
      terminals,
      addresses,
      sandboxClock,
      exportStalledMsMax: choices.exportStalledMsMax,
      arrived: options.arrived ?? (() => {}),
    })
  }
  // Requests that are still under way when the workers have ended.
  let closing: Promise<unknown> | undefined
  building.defer(async () => {
    await closing
  })
  if (config.roles.includes('worker')) {
    startWorkers(building, { db, work, bus, log, payments, terminals, delivery, owner, sandbox })
  }
  const gateway = config.roles.includes('gateway')
    ? await terminals.gateway({ ...choices.terminals, pathOf: pathOfSocket })
    : undefined
  if (gateway === undefined) terminals.declineSockets(http.server)
  else gateway.attach(http.server)
  // Taken down first: no request is let in any more while the workers end what they have in hand. Both at once, and a request that does not end
  // is not waited for first, for that would leave the workers none of the time that a stop may take.
  building.defer(async () => {
    closing = Promise.all([http.close(), gateway?.[Symbol.asyncDispose]()])
    await Promise.race([closing, sleep(requestsFirstMs, undefined, { ref: false })])
  })
  // Before all that: calls that wait for a terminal are answered as things stand.
  building.defer(() => terminals.service.stop())

  if (typeof config.metrics === 'object') {
    const metricsServer = createMetricsServer(metrics)
    building.defer(() => metricsServer.close())
    await listen(metricsServer, config.metrics, 'KAHA_METRICS')
  }
  await listen(http, config, 'KAHA_PORT')
  addresses.listensOn(portOf(http))
  // Before anything else, so that whoever stands before it sends nobody here any more.
  building.defer(() => void (http.leaving.is = true))
  const held = building.move()
  return {
    name: processName,
    addresses,
    db,
    work,
    bus,
    clock,
    keyring,
    identity,
    delivery,
    sandboxClock,
    localUrl: addresses.local,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}
