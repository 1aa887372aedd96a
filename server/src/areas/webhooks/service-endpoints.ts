import type { DestinationRow, NewestSecret } from '../../delivery/index.ts'
import type { Principal } from '../../identity/principal.ts'
import { largestId } from '../../kernel/ids.ts'
import { listedBy, pageSizeDefault, positionIn, type Listed } from '../../kernel/list.ts'
import { webAddressProblem, webAddressWords } from '../../kernel/web-address.ts'
import { notOfThisList, refuse } from './errors.ts'
import type { WebhooksDependencies } from './service.ts'

export interface NewEndpoint {
  readonly url: string
  readonly enabled_events: readonly string[]
  readonly description?: string
  readonly metadata?: Readonly<Record<string, string>> | null
}

/** Of one entity, deleted ones not counted. Each of them is sent every event that it subscribes to. */
const endpointsMax = 500
/** How long the secrets before a new one sign beside it, unless told. */
const overlapSecondsDefault = 86_400

export interface EndpointChange {
  readonly url?: string
  readonly enabled_events?: readonly string[]
  readonly description?: string | null
  readonly disabled?: boolean
  readonly metadata?: Readonly<Record<string, string>> | null
}

export function endpointCases({ delivery, cursors, vet, sandbox }: WebhooksDependencies) {
  const { destinations } = delivery

  /** What the principal found, or why it found nothing. */
  const found = async <Found>(id: string, looking: Promise<Found | undefined>): Promise<Found> => {
    const one = await looking
    if (one !== undefined) return one
    if (await destinations.exists(id)) throw refuse('FORBIDDEN', 'This endpoint belongs to another entity.')
    throw refuse('NOT_FOUND', 'There is no such endpoint.')
  }

  const findEndpoint = (principal: Principal, id: string): Promise<DestinationRow> =>
    found(id, destinations.find(principal, id))

  const mustBeReachable = (url: string): void => {
    const problem = webAddressProblem(url, { loopbackHttp: sandbox, fragment: false })
    if (problem !== null) throw refuse('INVALID_URL', `url: ${webAddressWords(problem, { loopbackHttp: sandbox })}`)
    const reason = vet(url)
    if (reason !== null) throw refuse('INVALID_URL', reason.replace(/^The URL/, 'url:'))
  }

  return {
    async createEndpoint(principal: Principal, input: NewEndpoint): Promise<DestinationRow> {
      mustBeReachable(input.url)
      const made = await destinations.createWithin(endpointsMax, principal, {
        dialect: 'signed',
        url: input.url,
        types: input.enabled_events,
        description: input.description ?? null,
        metadata: input.metadata ?? {},
      })
      if (made !== undefined) return made
      throw refuse('CONFLICT', `This entity has ${endpointsMax} endpoints, as many as it may; delete one first.`)
    },

    async listEndpoints(
      principal: Principal,
      query: { page_size?: number; cursor?: string },
    ): Promise<Listed<DestinationRow>> {
      const pageSize = query.page_size ?? pageSizeDefault
      const bound = ['endpoints', principal.entityId]
      const before = positionIn(cursors, query.cursor, bound, notOfThisList) ?? largestId
      const rows = await destinations.list(principal, { before, rowsMax: pageSize + 1 })
      return listedBy(cursors, rows, pageSize, bound)
    },

    findEndpoint,

    async updateEndpoint(principal: Principal, id: string, input: EndpointChange): Promise<DestinationRow> {
      if (input.url !== undefined) mustBeReachable(input.url)
      const change = {
        url: input.url ?? null,
        types: input.enabled_events ?? null,
        description: input.description ?? null,
        metadata: input.metadata ?? null,
        disabled: input.disabled ?? null,
      }
      return found(id, destinations.change(principal, id, change))
    },

    deleteEndpoint: (principal: Principal, id: string): Promise<DestinationRow> =>
      found(id, destinations.delete(principal, id)),

    async signingSecret(principal: Principal, id: string): Promise<NewestSecret> {
      return destinations.signingSecret((await findEndpoint(principal, id)).id)
    },

    rotateSigningSecret: (
      principal: Principal,
      id: string,
      { overlap_seconds = overlapSecondsDefault }: { readonly overlap_seconds?: number },
    ): Promise<NewestSecret> => found(id, destinations.rotateSecret(principal, id, overlap_seconds)),
  }
}
