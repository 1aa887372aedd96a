import type { Operation } from '@kaha/contract'
import type { FastifyInstance } from 'fastify'

/**
 * Lets a page of any origin read an answer (Fetch, 3.3). It sends no cookie, and no key: what a browser asks for first does not offer
 * X-API-Key, so that a secret key that strayed into a page is of no use there.
 */
export const readableAnywhere: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'retry-after, x-correlation-id',
}

const preflightSecondsMax = 7_200

/** Answers what a browser asks before such a page may send JSON. */
export function mountPreflight(room: FastifyInstance, url: string, { id, method }: Operation): void {
  const headers = {
    ...readableAnywhere,
    'access-control-allow-methods': method,
    'access-control-allow-headers': 'content-type',
    'access-control-max-age': String(preflightSecondsMax),
  }
  room.options(url, { config: { operationId: `${id}.preflight` } }, async (_request, reply) =>
    reply.code(204).headers(headers).send(),
  )
}
