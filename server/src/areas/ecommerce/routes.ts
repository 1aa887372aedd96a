import {
  cancelPaymentIntent,
  cancelPaymentLink,
  confirmPaymentIntent,
  createPaymentIntent,
  createPaymentLink,
  createRefund,
  ecommerceWireCodes,
  isForPages,
  listPaymentLinks,
  retrievePaymentIntent,
  retrievePaymentLink,
  retrieveRefund,
  scopesOf,
  updatePaymentLink,
} from '@kaha/contract'
import { requireScopes, type Principal } from '../../identity/principal.ts'
import type { Identity } from '../../identity/service.ts'
import { errorWithDetails } from '../../kernel/http/error-envelope.ts'
import { listEnvelope } from '../../kernel/list.ts'
import { countOrRefuse, visitorOf, type RateLimit } from '../../kernel/rate-limit.ts'
import { keyed, route, type Area, type Route } from '../../kernel/http/area.ts'
import { headerOf } from '../../kernel/http/header.ts'
import type { Violation } from '../../kernel/http/validation.ts'
import { statuses } from './errors.ts'
import type { Replayable } from './idempotency.ts'
import { presentConfirmedIntent, presentCreatedIntent, presentIntent, presentLink, presentRefund } from './present.ts'
import type { EcommerceService } from './service.ts'

/** A caller without a key may still confirm, by the client_secret of the intent. */
export type Caller = Principal | null

const bodyBytesMax = 256 * 1024

/** `confirmLimit` bounds what one client address may try by client_secret. */
export function ecommerceArea(identity: Identity, confirmLimit: RateLimit): Area<Caller> {
  return {
    name: 'ecommerce',
    prefix: '/ecom/v1',
    bodyBytesMax,
    statuses,
    wireCodes: ecommerceWireCodes,
    envelope: errorWithDetails,
    codeOf: codeOfField,
    async authenticate(request, operation) {
      const apiKey = headerOf(request, 'x-api-key')
      if (apiKey === undefined && isForPages(operation)) {
        countOrRefuse(confirmLimit, visitorOf(request.ip), 'Too many attempts from this address; wait and try again.')
        return null
      }
      const principal = await identity.authenticate(apiKey)
      requireScopes(principal, scopesOf(operation))
      return principal
    },
  }
}

const isOfCard = ({ field }: Violation): boolean => /^payment_method\.card(\.|$)/.test(field)

/** The code of a field whose code is not its own name. */
function codeOfField(violation: Violation): string | undefined {
  const { field, rule } = violation
  const path = field.split('.')
  if (rule === 'unknown') return undefined
  if (isOfCard(violation) && rule !== 'required') return 'INVALID_CARD'
  if (path.includes('metadata')) return 'INVALID_METADATA'
  if (path[0] === 'date_from' || path[0] === 'date_to') return 'INVALID_DATE_RANGE'
  if (path[0] === 'cursor') return 'INVALID_CURSOR'
  return undefined
}

// A kept answer was made by this operation's own presenter.
const created = ({ status, body, replayed }: Replayable & { replayed: boolean }) => ({
  status: status as 201,
  body: body as never,
  ...ifReplayed(replayed),
})
const changed = ({ body, replayed }: Replayable & { replayed: boolean }) => ({
  status: 200 as const,
  body: body as never,
  ...ifReplayed(replayed),
})
const ifReplayed = (replayed: boolean) => (replayed ? { headers: { 'idempotent-replayed': 'true' } } : {})

export function ecommerceRoutes(service: EcommerceService, addresses: { readonly checkout: string }): Route<Caller>[] {
  const requestOf = (
    operation: { id: string },
    call: { principal: Caller; body: unknown; header(name: string): string | undefined },
  ) => ({
    principal: keyed(call.principal),
    operation: operation.id,
    key: call.header('idempotency-key'),
    body: call.body,
  })
  /** Of what is there already: the same request is one to the same resource. */
  const changeOf = (
    operation: { id: string },
    call: { principal: Caller; params: { id: string }; body: unknown; header(name: string): string | undefined },
  ) => requestOf(operation, { ...call, body: { id: call.params.id.toLowerCase(), body: call.body ?? {} } })

  return [
    route<typeof createPaymentLink, Caller>(createPaymentLink, async (call) =>
      created(
        await service.createLink(requestOf(createPaymentLink, call), call.body, (link) =>
          presentLink(link, addresses.checkout),
        ),
      ),
    ),

    route<typeof listPaymentLinks, Caller>(listPaymentLinks, async ({ principal, query }) => ({
      status: 200,
      body: listEnvelope(await service.listLinks(keyed(principal), query), (link) =>
        presentLink(link, addresses.checkout),
      ),
    })),

    route<typeof retrievePaymentLink, Caller>(retrievePaymentLink, async ({ principal, params }) => ({
      status: 200,
      body: presentLink(await service.findLink(keyed(principal), params.id), addresses.checkout),
    })),

    route<typeof updatePaymentLink, Caller>(updatePaymentLink, async ({ principal, params, body }) => ({
      status: 200,
      body: presentLink(await service.updateLink(keyed(principal), params.id, body), addresses.checkout),
    })),

    route<typeof cancelPaymentLink, Caller>(cancelPaymentLink, async (call) =>
      changed(
        await service.cancelLink(changeOf(cancelPaymentLink, call), call.params.id, call.body.reason, (link) =>
          presentLink(link, addresses.checkout),
        ),
      ),
    ),

    route<typeof createPaymentIntent, Caller>(createPaymentIntent, async (call) =>
      created(
        await service.createIntent(
          requestOf(createPaymentIntent, call),
          call.body,
          ({ intent, clientSecret, checkoutUrl }) =>
            presentCreatedIntent(presentIntent(intent), clientSecret, checkoutUrl),
        ),
      ),
    ),

    route<typeof retrievePaymentIntent, Caller>(retrievePaymentIntent, async ({ principal, params }) => ({
      status: 200,
      body: presentIntent(await service.findIntent(keyed(principal), params.id)),
    })),

    route<typeof confirmPaymentIntent, Caller>(
      confirmPaymentIntent,
      async ({ principal, params, body, correlationId }) => {
        const intent = await service.intentToConfirm(principal, params.id, body.client_secret)
        const confirmed = await service.confirm(intent, body.payment_method, correlationId)
        return { status: confirmed.shown.status === 'PROCESSING' ? 202 : 200, body: presentConfirmedIntent(confirmed) }
      },
      // Whoever may not pay, or can no more, is told that before anything of how it would be paid.
      async ({ principal, id, body }, { field }) => {
        if (!/^payment_method(\.|$)/.test(field)) return
        const { client_secret: secret } = body as { client_secret?: unknown }
        const given = typeof secret === 'string' ? secret : undefined
        service.refuseUnlessOpen(await service.intentToConfirm(principal, id, given))
      },
    ),

    route<typeof cancelPaymentIntent, Caller>(cancelPaymentIntent, async (call) =>
      changed(await service.cancelIntent(changeOf(cancelPaymentIntent, call), call.params.id, presentIntent)),
    ),

    route<typeof createRefund, Caller>(createRefund, async (call) =>
      created(await service.createRefund(requestOf(createRefund, call), call.body, presentRefund)),
    ),

    route<typeof retrieveRefund, Caller>(retrieveRefund, async ({ principal, params }) => ({
      status: 200,
      body: presentRefund(await service.findRefund(keyed(principal), params.id)),
    })),
  ]
}
