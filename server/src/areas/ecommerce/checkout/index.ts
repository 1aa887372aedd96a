import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { serveAsset } from '../../../kernel/http/asset.ts'
import { languageOf } from '../../../kernel/http/language.ts'
import { leadHome } from '../../../kernel/http/page-home.ts'
import { preparePageRoom } from '../../../kernel/http/page-room.ts'
import { assets } from './assets.ts'
import type { CheckoutDependencies } from './dependencies.ts'
import { noticeOf } from './notices.ts'
import { createParts } from './parts.ts'
import { mountCodeRoutes } from './routes-codes.ts'
import { mountIntentRoutes } from './routes-intents.ts'
import { mountLinkRoutes } from './routes-links.ts'

const formBytesMax = 16 * 1024
const prefix = '/pay'

/** The payer's pages: `/l/{token}` of a link, `/i/{token}` of an intent. A GET changes nothing; a POST that begins something ends in a redirect. */
export async function mountCheckout(app: FastifyInstance, deps: CheckoutDependencies): Promise<void> {
  const { edge, addresses } = deps
  const parts = createParts(deps)
  const { send } = parts

  const refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.slice(prefix.length)
    const { page, status, retryAfterSeconds } = noticeOf(error, languageOf(request), deps, path)
    if (status >= 500) edge.log.error({ err: error, correlation_id: request.id }, 'a page failed for a cause of ours')
    if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
    return send(reply, page, null, status)
  }
  app.refusers.push({ prefix, refuse })

  await app.register(
    async (room) => {
      preparePageRoom(room, formBytesMax, refuse)
      leadHome(room, prefix, () => addresses.checkout)
      mountLinkRoutes(room, parts)
      mountIntentRoutes(room, parts)
      mountCodeRoutes(room, parts)
    },
    { prefix },
  )

  for (const asset of assets) serveAsset(app, asset, 'checkout.asset', ['', prefix])
}
