import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify, { type FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import { newId } from '../ids.ts'
import type { Edge } from './area.ts'

export interface HttpOptions extends Edge {
  readonly clock: Clock
  readonly trustProxy: false | string[]
  /** Host names that carry one service each, with the path under which that service lives. */
  readonly prefixOfHost: ReadonlyMap<string, string>
}

const connectionsMax = 10_000
const requestMsMax = 30_000
const keepAliveMs = 60_000

/**
 * The HTTP server before any area is mounted. One log line and one measurement per request; the path in both is the route's pattern,
 * for an address may hold a token.
 */
export function createHttp(options: HttpOptions): FastifyInstance {
  const { log, metrics, clock, prefixOfHost } = options
  const app = fastify({
    logger: false,
    genReqId: () => newId(new Date(clock.wall())),
    requestIdHeader: false,
    trustProxy: options.trustProxy,
    requestTimeout: requestMsMax,
    keepAliveTimeout: keepAliveMs,
    bodyLimit: 64 * 1024,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 500, querystringParser: () => ({}) },
    rewriteUrl: (request: IncomingMessage) => underPrefix(request.url ?? '/', request.headers.host, prefixOfHost),
  })
  app.server.maxConnections = connectionsMax
  app.decorateRequest('principal', null)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-correlation-id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => {
    const operation = request.routeOptions.config.operationId ?? 'none'
    metrics.requests.inc({ operation, status: String(reply.statusCode) })
    metrics.requestSeconds.observe({ operation }, reply.elapsedTime / 1000)
    log.info(
      {
        operation,
        method: request.method,
        path: request.routeOptions.url ?? null,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        correlation_id: request.id,
      },
      'request',
    )
  })
  return app
}

function underPrefix(url: string, host: string | undefined, prefixOfHost: ReadonlyMap<string, string>): string {
  const prefix = prefixOfHost.get((host ?? '').toLowerCase())
  return prefix === undefined || prefix === '' ? url : `${prefix}${url}`
}

/** Where a listening server answers. */
export function portOf(app: FastifyInstance): number {
  return (app.server.address() as AddressInfo).port
}
