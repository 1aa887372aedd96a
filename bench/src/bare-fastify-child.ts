// The bare route: the server's own query for a page of links, through the same driver, and then bytes that were made before.
import fastify from 'fastify'
import pg from 'pg'
import { ecommerceStore } from '../../server/src/areas/ecommerce/store.ts'
import type { Principal } from '../../server/src/identity/principal.ts'
import { connectionConfig } from '../../server/src/kernel/db.ts'
import { largestId, smallestId } from '../../server/src/kernel/ids.ts'
import { serve } from './child.ts'
import { queriesOn } from './pg-connections.ts'
import type { Target } from './place.ts'

export interface BareRoute {
  readonly target: Target
  readonly merchantId: string
  readonly bytes: string
  readonly contentType: string
}

const connectionsMax = 8
const rowsMax = 21
const held = new AsyncDisposableStack()

async function listen({ target, merchantId, bytes, contentType }: BareRoute): Promise<string> {
  const pool = new pg.Pool({ ...connectionConfig(target), max: connectionsMax })
  held.defer(() => pool.end())
  const queries = queriesOn(pool)
  const principal = { level: 'merchant', entityId: merchantId } as Principal
  const filters = { before: largestId, from: smallestId, statuses: null, branchReference: null, rowsMax }
  const app = fastify({ logger: false, forceCloseConnections: true })
  held.defer(() => app.close())
  app.get('/page', async (_request, reply) => {
    const { rows } = await ecommerceStore.listLinks(queries, principal, filters)
    if (rows.length !== rowsMax) throw new Error(`the query found ${rows.length} rows`)
    reply.header('content-type', contentType)
    return bytes
  })
  return app.listen({ host: '127.0.0.1', port: 0 })
}

serve({ listen }, held)
