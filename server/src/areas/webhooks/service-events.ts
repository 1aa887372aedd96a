import type { EventRow } from '../../delivery/index.ts'
import type { Principal } from '../../identity/principal.ts'
import { firstIdOf, largestId, smallestId } from '../../kernel/ids.ts'
import { listedBy, pageSizeDefault, type Listed } from '../../kernel/list.ts'
import { refuse } from './errors.ts'
import { positionIn } from './position.ts'
import type { WebhooksDependencies } from './service.ts'

export interface EventQuery {
  readonly page_size?: number
  readonly cursor?: string
  readonly branch_id?: string
  readonly type?: string
  readonly status?: readonly string[]
  readonly date_from?: string
  readonly date_to?: string
}

export function eventCases({ delivery, cursors }: WebhooksDependencies) {
  return {
    async listEvents(principal: Principal, query: EventQuery): Promise<Listed<EventRow>> {
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
        before: positionIn(cursors, query.cursor, bound) ?? before,
        rowsMax: pageSize + 1,
      })
      return listedBy(cursors, found, pageSize, bound)
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
