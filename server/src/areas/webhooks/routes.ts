import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  listWebhookEndpoints,
  listWebhookEvents,
  recoverWebhookEndpoint,
  resendWebhookEvent,
  retrieveSigningSecret,
  retrieveWebhookEndpoint,
  retrieveWebhookEvent,
  rotateSigningSecret,
  scopesOf,
  testWebhookEndpoint,
  updateWebhookEndpoint,
  type WebhooksError,
} from '@kaha/contract'
import type { Static } from 'typebox'
import { requireScopes, type Principal } from '../../identity/principal.ts'
import type { Identity } from '../../identity/service.ts'
import { route, type Area, type Route } from '../../kernel/http/area.ts'
import { headerOf } from '../../kernel/http/header.ts'
import type { Violation } from '../../kernel/http/validation.ts'
import { listEnvelope } from '../../kernel/list.ts'
import { statuses } from './errors.ts'
import { presentDeleted, presentEndpoint, presentEvent, presentEventDetail, presentSigningSecret } from './present.ts'
import type { WebhooksService } from './service.ts'

const bodyBytesMax = 64 * 1024

export function webhooksArea(identity: Identity): Area<Principal> {
  return {
    name: 'webhooks',
    prefix: '/v1',
    bodyBytesMax,
    statuses,
    envelope: ({ code, message, correlationId }): Static<typeof WebhooksError> => ({
      error: { code, message, correlation_id: correlationId },
    }),
    codeOf: codeOfField,
    async authenticate(request, operation) {
      const principal = await identity.authenticate(headerOf(request, 'x-api-key'))
      requireScopes(principal, scopesOf(operation))
      return principal
    },
  }
}

/** The code of a field whose code is not its own name. */
function codeOfField({ field, rule }: Violation): string | undefined {
  if (rule === 'unknown') return undefined
  const [top] = field.split('.')
  if ((top === 'date_from' || top === 'date_to') && rule !== 'required') return 'INVALID_DATE_RANGE'
  if (top === 'cursor') return 'INVALID_CURSOR'
  return undefined
}

export function webhooksRoutes(service: WebhooksService): Route<Principal>[] {
  return [
    route<typeof createWebhookEndpoint, Principal>(createWebhookEndpoint, async ({ principal, body }) => ({
      status: 201,
      body: presentEndpoint(await service.createEndpoint(principal, body)),
    })),

    route<typeof listWebhookEndpoints, Principal>(listWebhookEndpoints, async ({ principal, query }) => ({
      status: 200,
      body: listEnvelope(await service.listEndpoints(principal, query), presentEndpoint),
    })),

    route<typeof retrieveWebhookEndpoint, Principal>(retrieveWebhookEndpoint, async ({ principal, params }) => ({
      status: 200,
      body: presentEndpoint(await service.findEndpoint(principal, params.id)),
    })),

    route<typeof updateWebhookEndpoint, Principal>(updateWebhookEndpoint, async ({ principal, params, body }) => ({
      status: 200,
      body: presentEndpoint(await service.updateEndpoint(principal, params.id, body)),
    })),

    route<typeof deleteWebhookEndpoint, Principal>(deleteWebhookEndpoint, async ({ principal, params }) => ({
      status: 200,
      body: presentDeleted(await service.deleteEndpoint(principal, params.id)),
    })),

    route<typeof retrieveSigningSecret, Principal>(retrieveSigningSecret, async ({ principal, params }) => ({
      status: 200,
      body: presentSigningSecret(await service.signingSecret(principal, params.id)),
    })),

    route<typeof rotateSigningSecret, Principal>(rotateSigningSecret, async ({ principal, params, body }) => ({
      status: 200,
      body: presentSigningSecret(await service.rotateSigningSecret(principal, params.id, body)),
    })),

    route<typeof listWebhookEvents, Principal>(listWebhookEvents, async ({ principal, query }) => ({
      status: 200,
      body: listEnvelope(await service.listEvents(principal, query), presentEvent),
    })),

    route<typeof retrieveWebhookEvent, Principal>(retrieveWebhookEvent, async ({ principal, params }) => ({
      status: 200,
      body: presentEventDetail(await service.retrieveEvent(principal, params.id)),
    })),

    route<typeof resendWebhookEvent, Principal>(resendWebhookEvent, async ({ principal, params, body }) => ({
      status: 202,
      body: presentEvent(await service.resendEvent(principal, params.id, body)),
    })),

    route<typeof recoverWebhookEndpoint, Principal>(recoverWebhookEndpoint, async ({ principal, params, body }) => ({
      status: 202,
      body: await service.recoverEndpoint(principal, params.id, body),
    })),

    route<typeof testWebhookEndpoint, Principal>(testWebhookEndpoint, async ({ principal, params, body }) => ({
      status: 202,
      body: presentEvent(await service.testEndpoint(principal, params.id, body)),
    })),
  ]
}
