import {
  deleteQrWebhook,
  listQrWebhooks,
  pingWebhooks,
  qrChallenge,
  qrWebhookErrors,
  qrWebhookWireCodes,
  registerQrWebhook,
  scopesOf,
  simulateQr,
  updateQrWebhook,
  type QrWebhook,
  type QrWebhookCode,
} from '@kaha/contract'
import type { Static } from 'typebox'
import { newId } from '../../kernel/ids.ts'
import { keyed, route, type Area, type Route } from '../../kernel/http/area.ts'
import { authorizationOf } from '../../kernel/http/header.ts'
import type { Account, Callers } from './callers.ts'
import type { QrSimulation } from './service-simulate.ts'
import type { QrWebhooksService } from './service-webhooks.ts'
import type { WebhookRow } from './store-webhooks.ts'

const bodyBytesMax = 64 * 1024

/** Nobody, for an operation that asks for no key. */
type Caller = Account | null

export function qrWebhooksArea({ callers, now }: { callers: Callers; now: () => Date }): Area<Caller> {
  return {
    name: 'qr_webhooks',
    prefix: '/webhooks',
    bodyBytesMax,
    statuses: qrWebhookErrors satisfies Readonly<Record<QrWebhookCode, number>>,
    challenge: qrChallenge,
    envelope: ({ code, message }) => ({
      code: qrWebhookWireCodes[code as QrWebhookCode],
      error: message,
      referenceNumber: newId(now()),
    }),
    async authenticate({ raw }, operation) {
      return operation.auth === 'none' ? null : callers.account(authorizationOf(raw), scopesOf(operation))
    },
  }
}

type Shown = Static<typeof QrWebhook>

const presentWebhook = (row: WebhookRow): Shown => ({
  id: Number(row.number),
  webhookUrl: row.url,
  actions: row.types as Shown['actions'],
  status: row.state,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})

/** Only a sandbox has a simulation. */
export function qrWebhooksRoutes(service: QrWebhooksService, simulation: QrSimulation | null): Route<Caller>[] {
  return [
    route<typeof registerQrWebhook, Caller>(registerQrWebhook, async ({ principal, body, header }) => ({
      status: 201,
      body: presentWebhook(await service.register(keyed(principal), body, header('activation-code'))),
    })),

    route<typeof listQrWebhooks, Caller>(listQrWebhooks, async ({ principal }) => ({
      status: 200,
      body: { webhooks: (await service.list(keyed(principal))).map(presentWebhook) },
    })),

    route<typeof updateQrWebhook, Caller>(updateQrWebhook, async ({ principal, params, body }) => ({
      status: 200,
      body: presentWebhook(await service.update(keyed(principal), BigInt(params.id), body)),
    })),

    route<typeof deleteQrWebhook, Caller>(deleteQrWebhook, async ({ principal, params }) => {
      await service.delete(keyed(principal), BigInt(params.id))
      return { status: 204, body: undefined }
    }),

    route<typeof pingWebhooks, Caller>(pingWebhooks, async () => ({ status: 200, body: 'Pong!' })),

    ...(simulation === null ? [] : [simulateRoute(simulation)]),
  ]
}

const simulateRoute = (simulation: QrSimulation): Route<Caller> =>
  route<typeof simulateQr, Caller>(simulateQr, async ({ principal, body }) => ({
    status: 200,
    body: { id: await simulation.simulate(keyed(principal), body) },
  }))
