import { eventTypes } from '@kaha/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Delivery, DestinationRow } from '../delivery/index.ts'
import { keyOfSecret, sign } from '../delivery/signature.ts'
import type { Principal } from '../identity/principal.ts'
import { isUuid, largestId } from '../kernel/ids.ts'
import { Fault } from '../kernel/fault.ts'
import { requireOwnHost } from './routes.ts'

/** A webhook that came in at the sandbox's own receiver. */
export interface Arrival {
  readonly type: string
  readonly id: string
}

export interface InboxDependencies {
  readonly delivery: Delivery
  readonly wall: () => number
  readonly addresses: { readonly sandbox: string }
  readonly arrived: (arrival: Arrival) => void
}

const endpointsAtOnceMax = 100
const toleranceSeconds = 300
const bodyBytesMax = 256 * 1024

/**
 * A receiver for people who have none yet: `POST /sandbox/inbox/{merchant}` takes a delivery, verifies it as a merchant would,
 * and tells the console.
 */
export async function mountInbox(
  app: FastifyInstance,
  { delivery, wall, addresses, arrived }: InboxDependencies,
): Promise<void> {
  await app.register(async (room) => {
    room.addHook('onRequest', async (request) => requireOwnHost(request, addresses))
    room.removeAllContentTypeParsers()
    room.addContentTypeParser('*', async ({ sent }: FastifyRequest) => (await sent).toString())
    room.post<{ Params: { merchant: string } }>(
      '/sandbox/inbox/:merchant',
      { config: { operationId: 'sandbox.inbox' }, bodyLimit: bodyBytesMax },
      async (request, reply) => {
        const body = typeof request.body === 'string' ? request.body : ''
        const header = (name: string) => String(request.headers[name] ?? '')
        const [id, timestamp] = [header('webhook-id'), Number(header('webhook-timestamp'))]
        const fresh = Math.abs(wall() / 1000 - timestamp) <= toleranceSeconds
        const signatures = header('webhook-signature').split(' ')
        const verified =
          fresh && (await isSigned(delivery, request.params.merchant, signatures, { id, timestamp, body }))
        if (!verified) return reply.code(401).send()
        arrived({ id, type: typeOf(body) })
        return reply.code(204).send()
      },
    )
  })
}

/** The type of an event; it is printed, so nothing else is taken for one. */
function typeOf(body: string): string {
  const known: readonly unknown[] = eventTypes
  try {
    const type = (JSON.parse(body) as { type?: unknown } | null)?.type
    if (typeof type === 'string' && known.includes(type)) return type
  } catch {
    // Told below.
  }
  throw new Fault('BAD_REQUEST', `The body is no event: its type must be one of ${eventTypes.join(', ')}.`)
}

const pathFor = (merchantId: string): string => `/sandbox/inbox/${merchantId}`

const principalOf = (merchantId: string): Principal => ({
  keyId: '',
  level: 'merchant',
  entityId: merchantId,
  partnerId: '',
  merchantId,
  branchId: null,
  scopes: new Set(),
})

/** The merchant's endpoints that lead to its inbox, under whatever address; the newest first. */
async function* endpointsTo(delivery: Delivery, merchantId: string): AsyncGenerator<DestinationRow> {
  let before: string | undefined = largestId
  while (before !== undefined) {
    const page = await delivery.destinations.list(principalOf(merchantId), { before, rowsMax: endpointsAtOnceMax })
    yield* page.filter(({ url }) => new URL(url).pathname === pathFor(merchantId))
    before = page.length < endpointsAtOnceMax ? undefined : page.at(-1)?.id
  }
}

/** Whether one of them signed the message. */
async function isSigned(
  delivery: Delivery,
  merchantId: string,
  signatures: readonly string[],
  message: Parameters<typeof sign>[1],
): Promise<boolean> {
  if (!isUuid(merchantId)) return false
  for await (const { id } of endpointsTo(delivery, merchantId)) {
    const { secret } = await delivery.destinations.signingSecret(id)
    if (signatures.includes(sign([keyOfSecret(secret)], message))) return true
  }
  return false
}

/** Where the inbox of a merchant is, on the process that answers there. */
export const inboxUrl = (localUrl: string, merchantId: string): string => localUrl + pathFor(merchantId)

/** Lets the merchant's inbox follow this process, which may answer on another port than the one before it. */
export async function moveInbox(delivery: Delivery, merchantId: string, localUrl: string): Promise<void> {
  const url = inboxUrl(localUrl, merchantId)
  let left: DestinationRow | undefined
  for await (const endpoint of endpointsTo(delivery, merchantId)) {
    if (endpoint.url === url) return
    // Plain http leads to this machine; another address is one that somebody gave to the inbox on purpose.
    if (endpoint.url.startsWith('http://')) left ??= endpoint
  }
  if (left === undefined) return
  const unchanged = { types: null, description: null, metadata: null, disabled: null }
  await delivery.destinations.change(principalOf(merchantId), left.id, { ...unchanged, url })
}

/** Whether this process hears at the inbox what becomes of the merchant's payments. */
export async function isHeard(delivery: Delivery, merchantId: string, localUrl: string): Promise<boolean> {
  for await (const { url, state } of endpointsTo(delivery, merchantId))
    if (url === inboxUrl(localUrl, merchantId) && state === 'ENABLED') return true
  return false
}
