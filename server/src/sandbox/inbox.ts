import type { FastifyInstance } from 'fastify'
import type { Delivery } from '../delivery/index.ts'
import { isUuid, largestId } from '../kernel/ids.ts'
import { keyOfSecret, sign } from '../delivery/signature.ts'

/** A webhook that came in at the sandbox's own receiver. */
export interface Arrival {
  readonly type: string
  readonly id: string
}

export interface InboxDependencies {
  readonly delivery: Delivery
  readonly wall: () => number
  readonly arrived: (arrival: Arrival) => void
}

const endpointsMax = 100
const toleranceSeconds = 300
const bodyBytesMax = 256 * 1024

/**
 * A receiver for people who have none yet: `POST /sandbox/inbox/{endpoint}` takes a delivery, verifies it as a merchant would,
 * and tells the console.
 */
export async function mountInbox(app: FastifyInstance, { delivery, wall, arrived }: InboxDependencies): Promise<void> {
  await app.register(async (room) => {
    room.removeAllContentTypeParsers()
    room.addContentTypeParser('*', { parseAs: 'string', bodyLimit: bodyBytesMax }, (_request, body, done) =>
      done(null, body),
    )
    room.post<{ Params: { merchant: string } }>(
      '/sandbox/inbox/:merchant',
      { config: { operationId: 'sandbox.inbox' } },
      async (request, reply) => {
        const secret = await secretFor(delivery, request.params.merchant, request.url)
        const body = typeof request.body === 'string' ? request.body : ''
        const header = (name: string) => String(request.headers[name] ?? '')
        const [id, timestamp] = [header('webhook-id'), Number(header('webhook-timestamp'))]
        const fresh = Math.abs(wall() / 1000 - timestamp) <= toleranceSeconds
        const verified =
          fresh &&
          secret !== undefined &&
          header('webhook-signature')
            .split(' ')
            .includes(sign([keyOfSecret(secret)], { id, timestamp, body }))
        if (!verified) return reply.code(401).send()
        const { type } = JSON.parse(body) as { type: string }
        arrived({ id, type })
        return reply.code(204).send()
      },
    )
  })
}

/** The signing secret of the merchant's endpoint that points here. */
async function secretFor(delivery: Delivery, merchantId: string, path: string): Promise<string | undefined> {
  if (!isUuid(merchantId)) return undefined
  const owner = {
    keyId: '',
    level: 'merchant',
    entityId: merchantId,
    partnerId: '',
    merchantId,
    branchId: null,
    scopes: new Set<string>(),
  } as const
  const endpoints = await delivery.destinations.list(owner, { before: largestId, rowsMax: endpointsMax })
  const endpoint = endpoints.find(({ url }) => new URL(url).pathname === path)
  return endpoint === undefined ? undefined : (await delivery.destinations.signingSecret(endpoint.id)).secret
}
