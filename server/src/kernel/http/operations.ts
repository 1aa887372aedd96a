import fastify, { type FastifyInstance } from 'fastify'
import type { Bus } from '../bus.ts'
import { statement, type Db } from '../db.ts'
import type { Metrics } from '../metrics.ts'

// A standby answers too, and takes no payment.
const ping = statement('kernel.ping', `select current_setting('transaction_read_only') = 'off' as takes_changes`)

/**
 * What an operator asks a process: `/healthz` (it runs), `/readyz` (it can serve: its database answers and takes changes) and `/metrics`. A note is
 * something that a person should know though the process is ready.
 */
export function mountOperations(
  app: FastifyInstance,
  {
    metrics,
    db,
    bus,
    withMetrics,
    note,
  }: { metrics: Metrics; db: Db; bus: Bus; withMetrics: boolean; note: string | null },
): void {
  app.get('/healthz', { config: { operationId: 'healthz' } }, async () => ({ status: 'ok' }))
  app.get('/readyz', { config: { operationId: 'readyz' } }, async (_request, reply) => {
    const database = await db.run<{ takes_changes: boolean }>(ping, []).then(
      ([row]) => row?.takes_changes === true,
      () => false,
    )
    reply.code(database ? 200 : 503)
    return { ready: database, database, bus: bus.connected, ...(note === null ? {} : { note }) }
  })
  if (withMetrics) mountMetrics(app, metrics)
}

function mountMetrics(app: FastifyInstance, metrics: Metrics): void {
  app.get('/metrics', { config: { operationId: 'metrics' } }, async (_request, reply) => {
    reply.type(metrics.registry.contentType)
    return metrics.registry.metrics()
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
export function measureBus(metrics: Metrics, bus: Pick<Bus, 'connected' | 'outages'>): void {
  metrics.gauge('kaha_bus_connected', 'Whether hints of other processes arrive: 1, or 0 while the line is down.', () =>
    Number(bus.connected),
  )
  metrics.gauge('kaha_bus_outages', 'Outages of the line between processes since the start.', () => bus.outages)
}
