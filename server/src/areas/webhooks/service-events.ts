import type { DestinationRow, EventDetail, EventRow, SendRefusal, Sent } from '../../delivery/index.ts'
import { sharerOf, type Principal } from '../../identity/principal.ts'
import { idsWithin, smallestId } from '../../kernel/ids.ts'
import { listedBy, pageSizeDefault, positionIn, type Listed } from '../../kernel/list.ts'
import { createPlaces } from '../../kernel/places.ts'
import { notOfThisList, refuse } from './errors.ts'
import type { WebhooksDependencies } from './service.ts'
import { testPayload } from './test-payload.ts'

export interface EventQuery {
  readonly page_size?: number
  readonly cursor?: string
  readonly branch_id?: string
  readonly type?: string
  readonly status?: readonly string[]
  readonly date_from?: string
  readonly date_to?: string
}

const branchesAtOnce = 500
const recoveriesOfOneMax = 2
const recoveriesMax = 4

export function eventCases(
  { delivery, identity, cursors }: WebhooksDependencies,
  findEndpoint: (principal: Principal, id: string) => Promise<DestinationRow>,
) {
  const recovering = createPlaces({
    eachMax: 1,
    eachRefusal: 'This endpoint is being recovered; wait for that.',
    retryAfterSeconds: 1,
  })
  const recoveries = createPlaces({
    eachMax: recoveriesOfOneMax,
    eachRefusal: `${recoveriesOfOneMax} recoveries of yours are under way, those of a merchant and of its branches together; wait and try again.`,
    all: {
      max: recoveriesMax,
      refusal: 'As many endpoints are being recovered as can be at once; wait and try again.',
    },
    retryAfterSeconds: 1,
  })

  /** What a look by the principal found, or why it found nothing. */
  const found = async <Found>(id: string, look: Promise<Found | undefined>): Promise<Found> => {
    const event = await look
    if (event !== undefined) return event
    if (await delivery.events.exists(id)) throw refuse('FORBIDDEN', 'This event belongs to another entity.')
    throw refuse('NOT_FOUND', 'There is no such event.')
  }

  const enabledEndpoint = async (principal: Principal, id: string): Promise<DestinationRow> => {
    const endpoint = await findEndpoint(principal, id)
    if (endpoint.state === 'DISABLED') throw refusals.disabled()
    return endpoint
  }

  const branchesUnder = (endpoint: DestinationRow, page: { after: string; rowsMax: number }) =>
    identity.branchesUnder(ownerOf(endpoint), page)

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
      const { rows, stoppedAt } = await delivery.events.list(principal, {
        branchId,
        type: query.type ?? null,
        statuses: query.status ?? null,
        from,
        before: positionIn(cursors, query.cursor, bound, notOfThisList) ?? before,
        rowsMax: pageSize + 1,
      })
      return listedBy(cursors, rows, pageSize, bound, stoppedAt)
    },

    retrieveEvent: (principal: Principal, id: string): Promise<EventDetail> =>
      found(id, delivery.events.detail(principal, id)),

    async resendEvent(principal: Principal, id: string, { endpoint_id }: { endpoint_id?: string }): Promise<EventRow> {
      const event = await found(id, delivery.events.find(principal, id))
      return taken(await delivery.events.resend(principal, event, endpoint_id))
    },

    async recoverEndpoint(principal: Principal, id: string, range: RecoverRange): Promise<{ events: number }> {
      const bounds = idBounds(range.date_from, range.date_to)
      const endpoint = await enabledEndpoint(principal, id)
      using places = new DisposableStack()
      places.use(recovering.take(endpoint.id))
      places.use(recoveries.take(sharerOf(principal)))
      const events = await delivery.events.recover(endpoint, bounds, async (after) => {
        const branches = await branchesUnder(endpoint, { after, rowsMax: branchesAtOnce })
        return branches.map((branch) => branch.id)
      })
      return { events }
    },

    async testEndpoint(principal: Principal, id: string, { type }: { type: TestedType }): Promise<EventRow> {
      const endpoint = await enabledEndpoint(principal, id)
      const [branch] = await branchesUnder(endpoint, { after: smallestId, rowsMax: 1 })
      if (branch === undefined) throw refuse('CONFLICT', 'The entity of this endpoint has no branch yet: make one.')
      const event = {
        type,
        partnerId: branch.partner_id,
        merchantId: branch.merchant_id,
        branchId: branch.id,
        write: (made: { id: string; at: Date }) => testPayload({ ...made, type }, branch),
      }
      return taken(await delivery.events.sendTest(principal, endpoint, event))
    },
  }
}

type TestedType = Parameters<typeof testPayload>[0]['type']

export interface RecoverRange {
  readonly date_from: string
  readonly date_to?: string
}

const refusals: Readonly<Record<SendRefusal, () => Error>> = {
  undispatched: () => refuse('CONFLICT', 'The event is not dispatched yet; resend it when it is.'),
  unknown: () => refuse('NOT_FOUND', 'endpoint_id: names no endpoint that this event can be sent to.'),
  deleted: () => refuse('CONFLICT', 'The endpoint is deleted.'),
  disabled: () => refuse('CONFLICT', 'The endpoint is DISABLED; enable it first.'),
  nowhere: () => refuse('CONFLICT', 'There is no endpoint to send it to: none is ENABLED and subscribes to its type.'),
}

/** What was sent; throws where nothing was. */
function taken<Result extends object>(sent: Sent<Result>): Result {
  if ('refusal' in sent) throw refusals[sent.refusal]()
  return sent
}

const ownerOf = ({ partner_id, merchant_id, branch_id }: DestinationRow): Pick<Principal, 'level' | 'entityId'> => {
  if (branch_id !== null) return { level: 'branch', entityId: branch_id }
  if (merchant_id !== null) return { level: 'merchant', entityId: merchant_id }
  return { level: 'partner', entityId: partner_id }
}

/** Both dates inclusive. */
function idBounds(from: string | undefined, to: string | undefined): { from: string; before: string } {
  const bounds = idsWithin(from, to)
  if (bounds === null) throw refuse('INVALID_DATE_RANGE', 'date_from: must not be later than date_to.')
  return bounds
}
