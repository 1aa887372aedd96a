import {
  createTerminalWebhook,
  deleteTerminalWebhook,
  listTerminalWebhooks,
  retrieveTerminalWebhook,
  updateTerminalWebhook,
} from '@kaha/contract'
import type { Clock } from '../../kernel/clock.ts'
import { route, type Route } from '../../kernel/http/area.ts'
import { asWritten, holdsAll } from '../../kernel/json-digits.ts'
import { refuse } from './errors.ts'
import { presentWebhook } from './present.ts'
import type { Signer } from './routes.ts'
import type { TerminalWebhooks } from './service-webhooks.ts'

/** The body, refused where its metadata has a number that would come back as another. */
function kept<Body>(body: Body, text: string): Body {
  const { metadata } = asWritten(text, body) as { metadata?: unknown }
  if (holdsAll(metadata)) return body
  const message = 'metadata: has a number with more digits than are kept; send it as a string.'
  throw refuse('INVALID_REQUEST', message, 'metadata', 'digits')
}

export function terminalWebhooksRoutes(webhooks: TerminalWebhooks, clock: Clock): Route<Signer>[] {
  return [
    route<typeof createTerminalWebhook, Signer>(createTerminalWebhook, async ({ principal, body, text }) => {
      const { row, secret } = await webhooks.create(principal, kept(body, text))
      return { status: 201, body: { ...presentWebhook(row), secret } }
    }),

    route<typeof listTerminalWebhooks, Signer>(listTerminalWebhooks, async ({ principal }) => {
      const endpoints = (await webhooks.list(principal)).map(presentWebhook)
      return { status: 200, body: { endpoints, count: endpoints.length, timestamp: clock.now().toISOString() } }
    }),

    route<typeof retrieveTerminalWebhook, Signer>(retrieveTerminalWebhook, async ({ principal, params }) => ({
      status: 200,
      body: presentWebhook(await webhooks.find(principal, params.endpointId)),
    })),

    route<typeof updateTerminalWebhook, Signer>(updateTerminalWebhook, async ({ principal, params, body, text }) => ({
      status: 200,
      body: presentWebhook(await webhooks.update(principal, params.endpointId, kept(body, text))),
    })),

    route<typeof deleteTerminalWebhook, Signer>(deleteTerminalWebhook, async ({ principal, params }) => {
      await webhooks.delete(principal, params.endpointId)
      return { status: 204, body: undefined }
    }),
  ]
}
