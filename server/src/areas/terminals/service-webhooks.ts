import type { Egress } from '../../delivery/egress.ts'
import type { Delivery, DestinationRow } from '../../delivery/index.ts'
import { newSecret } from '../../delivery/secrets.ts'
import { keyOfSecret } from '../../delivery/signature.ts'
import type { TerminalPrincipal } from '../../identity/terminal-keys.ts'
import type { Clock } from '../../kernel/clock.ts'
import { largestId, uuidOfUlid } from '../../kernel/ids.ts'
import { createPlaces } from '../../kernel/places.ts'
import { webAddressProblem } from '../../kernel/web-address.ts'
import { refuse } from './errors.ts'
import { pingMessage, terminalDialect } from './notifications.ts'

export interface NewWebhook {
  readonly url: string
  readonly events: readonly string[]
  readonly description?: string
  readonly metadata?: Readonly<Record<string, unknown>>
}

export interface WebhookChange extends Partial<Omit<NewWebhook, 'description'>> {
  /** Null: none any more. */
  readonly description?: string | null
  readonly status?: 'active' | 'disabled'
}

export interface WebhooksDependencies {
  readonly destinations: Delivery['destinations']
  readonly egress: Egress
  readonly clock: Clock
  readonly sandbox: boolean
  /** For one ping, instead of an attempt's. */
  readonly pingMsMax: number | undefined
}

export type TerminalWebhooks = ReturnType<typeof createTerminalWebhooks>

const endpointsMax = 16
/** Pings of a group that are under way at a time. */
const pingsMax = 4

const dialect = 'terminal'
const scopeOf = (groupId: string) => ({ level: 'group' as const, entityId: groupId })

/** Where a group's webhooks go. Every call is within the group of its key. */
export function createTerminalWebhooks({ destinations, egress, clock, sandbox, pingMsMax }: WebhooksDependencies) {
  const pinging = createPlaces({
    eachMax: pingsMax,
    eachRefusal: 'Too many URLs of this group are being tried; wait for them.',
    retryAfterSeconds: 1,
  })

  const list = (groupId: string): Promise<DestinationRow[]> =>
    destinations.list(scopeOf(groupId), { before: largestId, rowsMax: endpointsMax, dialect })

  /** Whether the URL answers a signed ping as it would have to answer a webhook. */
  const answers = async (url: string, secret: string): Promise<boolean> => {
    if (webAddressProblem(url, { loopbackHttp: sandbox, fragment: false }) !== null) return false
    const ping = pingMessage(keyOfSecret(secret), clock)
    const result = await egress.post({ url, ...ping, deadlineMs: pingMsMax ?? terminalDialect.deadlineMs })
    return result.ok && terminalDialect.acknowledges(result.answer.status)
  }

  /** One answer whatever the cause: it must not tell what stands behind an address. */
  const mustAnswer = async (groupId: string, url: string, secret: string): Promise<void> => {
    using _ = pinging.take(groupId)
    if (await answers(url, secret)) return
    throw refuse(
      'INVALID_REQUEST',
      `url: must be ${sandbox ? 'an https or loopback http' : 'a public https'} address, without user information or fragment, that answers a signed ping with a 2xx.`,
      'url',
      'answers_ping',
    )
  }

  const limitReached = () => refuse('ENDPOINT_LIMIT_REACHED', `A group has at most ${endpointsMax} endpoints.`)

  const noEndpoint = () => refuse('NOT_FOUND', 'There is no such endpoint.')

  const found = async <Found>(id: string, looking: Promise<Found | undefined>): Promise<Found> => {
    const one = await looking
    if (one !== undefined) return one
    if (await destinations.exists(id, dialect))
      throw refuse('GROUP_MISMATCH', 'This endpoint belongs to another group.')
    throw noEndpoint()
  }

  const idOf = (endpointId: string): string => {
    const id = uuidOfUlid(endpointId.replace(/^wh_/, ''))
    if (id === undefined) throw noEndpoint()
    return id
  }

  const find = ({ groupId }: TerminalPrincipal, endpointId: string): Promise<DestinationRow> => {
    const id = idOf(endpointId)
    return found(id, destinations.find(scopeOf(groupId), id, dialect))
  }

  return {
    find,
    list: ({ groupId }: TerminalPrincipal) => list(groupId),
    /** Whether anything would be told of a payment. */
    hasActive: async (groupId: string): Promise<boolean> =>
      (await list(groupId)).some(({ state }) => state === 'ENABLED'),

    /** With the secret, which nothing else gives. */
    async create(principal: TerminalPrincipal, input: NewWebhook): Promise<{ row: DestinationRow; secret: string }> {
      const { groupId, partnerId, merchantId } = principal
      if ((await list(groupId)).length >= endpointsMax) throw limitReached()
      const secret = newSecret()
      await mustAnswer(groupId, input.url, secret)
      const owner = { ...scopeOf(groupId), partnerId, merchantId, branchId: null }
      const row = await destinations.createWithin(endpointsMax, owner, {
        dialect,
        url: input.url,
        types: input.events,
        description: input.description ?? null,
        metadata: input.metadata ?? {},
        secret,
      })
      if (row === undefined) throw limitReached()
      return { row, secret }
    },

    async update(principal: TerminalPrincipal, endpointId: string, input: WebhookChange): Promise<DestinationRow> {
      const before = await find(principal, endpointId)
      if (input.url !== undefined && input.url !== before.url)
        await mustAnswer(principal.groupId, input.url, (await destinations.signingSecret(before.id)).secret)
      const change = {
        url: input.url ?? null,
        types: input.events ?? null,
        description: input.description === null ? '' : (input.description ?? null),
        metadata: input.metadata ?? null,
        disabled: input.status === undefined ? null : input.status === 'disabled',
      }
      return found(before.id, destinations.change(scopeOf(principal.groupId), before.id, change, dialect))
    },

    async delete({ groupId }: TerminalPrincipal, endpointId: string): Promise<void> {
      const id = idOf(endpointId)
      await found(id, destinations.delete(scopeOf(groupId), id, dialect))
    },
  }
}
