import { setTimeout as sleep } from 'node:timers/promises'
import fastify, { type FastifyInstance } from 'fastify'
import type { Bus } from '../bus.ts'
import type { Clock } from '../clock.ts'
import { createDb, isCrowded, isFull, statement, type Db, type DbOptions, type Queries } from '../db.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Watched } from '../processes.ts'

// A standby answers too, and takes no payment: it refuses the lock, of which nothing is taken, and that is told and ends the connection,
// for one that was made while changes were refused may refuse them for as long as it lives.
const ping = statement('kernel.ping', 'select from kernel.clock where false for key share')

/** What an operator reads in the log of a database that does not do what it is asked. */
export const logDb = (log: Log): Pick<DbOptions, 'onError' | 'onAway'> => ({
  onError: (error) => log.warn({ err: error }, 'a connection to the database broke; it is made anew'),
  onAway: (error, times) =>
    log.warn(
      { err: error, times },
      isFull(error)
        ? 'no connection to the database came free in time: requests are answered 503, work is tried again'
        : isCrowded(error)
          ? 'the database lets no further connection in: what finds none of those there are free is answered 503 or tried again; let it have more, or end some'
          : 'the database does not do what it is asked: requests are answered 503, work is tried again',
    ),
})

// With what a refusal takes, within the two seconds of a load balancer.
const crowdedMsMax = 1_500

/**
 * A connection that only readiness is asked with: that those of requests are all in use does not tell that the database is away. Together
 * these take two seconds, which is what a load balancer waits.
 */
export const createProbe = (options: Pick<DbOptions, 'target' | 'onError' | 'onAway'>): Db =>
  createDb({ ...options, connectionsMax: 1, acquireWaitMsMax: 1_000, statementMsMax: 750, silenceMsMax: 250 })

const tooLate = async () => {
  await sleep(crowdedMsMax, undefined, { ref: false })
  throw new Error('it does not answer in time')
}

/**
 * What an operator asks a process: `/healthz` (it runs), `/readyz` (it can serve: its database answers and takes changes, and it is not about
 * to stop) and `/metrics`. A note is something that a person should know though the process is ready.
 */
export function mountOperations(
  app: FastifyInstance,
  {
    metrics,
    db,
    probe,
    bus,
    withMetrics,
    note,
  }: { metrics: Metrics; db: Queries; probe: Db; bus: Bus; withMetrics: boolean; note: string | null },
): void {
  app.get('/healthz', { config: { operationId: 'healthz' } }, async () => ({ status: 'ok' }))
  let asked: Promise<boolean> | undefined
  // Whoever asks meanwhile is given the same answer.
  const answers = (): Promise<boolean> =>
    (asked ??= probe
      .run(ping, [])
      // Where it takes no further connection, those of requests tell whether it serves.
      .catch((error: unknown) =>
        isCrowded(error) ? Promise.race([db.run(ping, []), tooLate()]) : Promise.reject(error),
      )
      .then(
        () => true,
        () => false,
      )
      .finally(() => (asked = undefined)))
  app.get('/readyz', { config: { operationId: 'readyz' } }, async (_request, reply) => {
    const database = await answers()
    const ready = database && !app.leaving.is
    reply.code(ready ? 200 : 503)
    return { ready, database, bus: bus.connected, ...(note === null ? {} : { note }) }
  })
  if (withMetrics) mountMetrics(app, metrics)
}

function mountMetrics(app: FastifyInstance, metrics: Metrics): void {
  app.get('/metrics', { config: { operationId: 'metrics' } }, async (_request, reply) => {
    reply.type(metrics.registry.contentType)
    return metrics.text()
  })
}

/** A server for metrics alone, for an address that is not the public one. */
export function createMetricsServer(metrics: Metrics): FastifyInstance {
  const app = fastify({ logger: false, forceCloseConnections: true })
  mountMetrics(app, metrics)
  return app
}

/** Connections and statements of the database over all pools, as metrics. */
export function measureDb(metrics: Metrics, pools: readonly Db[]): void {
  const sumOf = (figure: keyof ReturnType<Db['stats']>) => () =>
    pools.reduce((sum, pool) => sum + pool.stats()[figure], 0)
  metrics.gauge('kaha_db_connections', 'Connections to the database.', sumOf('total'))
  metrics.gauge('kaha_db_connections_idle', 'Connections that nobody uses.', sumOf('idle'))
  metrics.gauge('kaha_db_waiting', 'Callers waiting for a connection.', sumOf('waiting'))
  metrics.gauge('kaha_db_statements', 'Statements run since the start.', sumOf('statements'))
}

/** The line between processes, as metrics. */
export function measureBus(metrics: Metrics, bus: Pick<Bus, 'connected' | 'outages'>, others: Watched): void {
  metrics.gauge('kaha_bus_connected', 'Whether hints of other processes arrive: 1, or 0 while the line is down.', () =>
    Number(bus.connected),
  )
  metrics.gauge('kaha_bus_outages', 'Outages of the line between processes since the start.', () => bus.outages)
  metrics.gauge(
    'kaha_bus_unheard',
    'Processes that work with the same database and are not heard by this one.',
    () => others.unheard,
  )
}

/** This host's clock beside the database's, as a metric. */
export function measureClock(metrics: Metrics, clock: Pick<Clock, 'aheadMs'>): void {
  metrics.gauge(
    'kaha_clock_skew_seconds',
    "How far this host's clock is ahead of the database's; below 0 where it is behind.",
    () => clock.aheadMs / 1_000,
  )
}
