import type { Delivery, DestinationRow, EventRow } from '../../delivery/index.ts'
import type { Principal } from '../../identity/principal.ts'
import type { Cursors } from '../../kernel/cursor.ts'
import { firstIdOf, largestId, smallestId } from '../../kernel/ids.ts'
import { webAddressProblem } from '../../kernel/web-address.ts'
import { refuse } from './errors.ts'

export interface WebhooksDependencies {
  readonly delivery: Delivery
  readonly cursors: Cursors
  /** A reason why an address can never be reached from here, or null. */
  readonly vet: (url: string) => string | null
  readonly sandbox: boolean
}

export interface NewEndpoint {
  readonly url: string
  readonly enabled_events: readonly string[]
  readonly description?: string | null
  readonly metadata?: Readonly<Record<string, string>> | null
}

export interface EventQuery {
  readonly page_size?: number
  readonly cursor?: string
  readonly branch_id?: string
  readonly type?: string
  readonly status?: readonly string[]
  readonly date_from?: string
  readonly date_to?: string
}

export interface Page<Row> {
  readonly rows: readonly Row[]
  readonly pageSize: number
  readonly nextCursor: string | null
}

const pageSizeDefault = 20

export type WebhooksService = ReturnType<typeof createWebhooksService>

export function createWebhooksService({ delivery, cursors, vet, sandbox }: WebhooksDependencies) {
  const positionIn = (cursor: string | undefined, bound: readonly unknown[]): string | undefined => {
    if (cursor === undefined) return undefined
    const position = cursors.read(cursor, bound)
    if (position === null)
      throw refuse('INVALID_CURSOR', 'cursor: is not one of this list with these filters; start again without it.')
    return position[0]
  }

  const pageOf = <Row extends { id: string }>(
    found: readonly Row[],
    pageSize: number,
    bound: readonly unknown[],
  ): Page<Row> => {
    const rows = found.slice(0, pageSize)
    const last = rows.at(-1)
    const nextCursor = found.length > pageSize && last !== undefined ? cursors.write([last.id], bound) : null
    return { rows, pageSize, nextCursor }
  }

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
    ): Promise<Page<DestinationRow>> {
      const pageSize = query.page_size ?? pageSizeDefault
      const bound = ['endpoints', principal.entityId]
      const before = positionIn(query.cursor, bound) ?? largestId
      return pageOf(await delivery.destinations.list(principal, { before, rowsMax: pageSize + 1 }), pageSize, bound)
    },

    findEndpoint,

    async signingSecret(principal: Principal, id: string) {
      return delivery.destinations.signingSecret((await findEndpoint(principal, id)).id)
    },

    async listEvents(principal: Principal, query: EventQuery): Promise<Page<EventRow>> {
      const branchId = query.branch_id ?? principal.branchId
      if (branchId === null)
        throw refuse('INVALID_BRANCH_ID', 'branch_id: is required for keys of partners and merchants.')
      const pageSize = query.page_size ?? pageSizeDefault
      const bound = [
        'events',
        principal.entityId,
        branchId,
        query.type ?? null,
        query.status ?? null,
        query.date_from ?? null,
        query.date_to ?? null,
      ]
      const { from, before } = idBounds(query.date_from, query.date_to)
      const found = await delivery.events.list(principal, {
        branchId,
        type: query.type ?? null,
        statuses: query.status ?? null,
        from,
        before: positionIn(query.cursor, bound) ?? before,
        rowsMax: pageSize + 1,
      })
      return pageOf(found, pageSize, bound)
    },
  }
}

// Date.parse cuts what is finer than a millisecond; an event of that millisecond came before.
const finerThanMs = /\.\d{3}\d*[1-9]/

/** Both dates inclusive. A millisecond is the grain of an id. */
function idBounds(from: string | undefined, to: string | undefined): { from: string; before: string } {
  const fromMs = from === undefined ? undefined : Date.parse(from)
  const toMs = to === undefined ? undefined : Date.parse(to)
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs) {
    throw refuse('INVALID_DATE_RANGE', 'date_from: must not be later than date_to.')
  }
  const rest = from !== undefined && finerThanMs.test(from) ? 1 : 0
  return {
    from: fromMs === undefined ? smallestId : firstIdOf(Math.max(0, fromMs + rest)),
    before: toMs === undefined ? largestId : firstIdOf(Math.max(0, toMs + 1)),
  }
}
