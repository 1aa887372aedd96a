import type { DestinationRow } from '../../delivery/index.ts'
import type { Principal } from '../../identity/principal.ts'
import { largestId } from '../../kernel/ids.ts'
import { listedBy, pageSizeDefault, type Listed } from '../../kernel/list.ts'
import { webAddressProblem } from '../../kernel/web-address.ts'
import { refuse } from './errors.ts'
import { positionIn } from './position.ts'
import type { WebhooksDependencies } from './service.ts'

export interface NewEndpoint {
  readonly url: string
  readonly enabled_events: readonly string[]
  readonly description?: string | null
  readonly metadata?: Readonly<Record<string, string>> | null
}

export function endpointCases({ delivery, cursors, vet, sandbox }: WebhooksDependencies) {
  const findEndpoint = async (principal: Principal, id: string): Promise<DestinationRow> => {
    const endpoint = await delivery.destinations.find(principal, id)
    if (endpoint !== undefined) return endpoint
    if (await delivery.destinations.exists(id)) throw refuse('FORBIDDEN', 'This endpoint belongs to another entity.')
    throw refuse('NOT_FOUND', 'There is no such endpoint.')
  }

  return {
    async createEndpoint(principal: Principal, input: NewEndpoint): Promise<DestinationRow> {
      const problem = webAddressProblem(input.url, { loopbackHttp: sandbox, fragment: false }) ?? vet(input.url)
      if (problem !== null) {
        throw refuse('INVALID_URL', 'url: must be a public https address without user information or fragment.')
      }
      return delivery.destinations.create(principal, {
        dialect: 'signed',
        url: input.url,
        types: input.enabled_events,
        description: input.description ?? null,
        metadata: input.metadata ?? {},
      })
    },

    async listEndpoints(
      principal: Principal,
      query: { page_size?: number; cursor?: string },
    ): Promise<Listed<DestinationRow>> {
      const pageSize = query.page_size ?? pageSizeDefault
      const bound = ['endpoints', principal.entityId]
      const before = positionIn(cursors, query.cursor, bound) ?? largestId
      const found = await delivery.destinations.list(principal, { before, rowsMax: pageSize + 1 })
      return listedBy(cursors, found, pageSize, bound)
    },

    findEndpoint,

    async signingSecret(principal: Principal, id: string) {
      return delivery.destinations.signingSecret((await findEndpoint(principal, id)).id)
    },
  }
}
