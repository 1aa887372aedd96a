import Type, { type Static } from 'typebox'
import { exampleIds } from './example-ids.ts'
import { operation } from './operation.ts'
import { Closed, Nullable, OneOf, Text, Timestamp, WebAddress } from './primitives.ts'
import { createdWebhook, disabledWebhook, newWebhook, webhook, webhookList } from './terminal-examples.ts'
import { GroupHeader } from './terminal-types.ts'

export const terminalEventTypes = [
  'payment.completed',
  'payment.failed',
  'payment.cancelled',
  'payment.timeout',
] as const

/** An id of area D's webhooks: a prefix and a ULID. */
const Named = (prefix: string, description: string) =>
  Type.String({ pattern: `^${prefix}_[0-7][0-9A-HJKMNP-TV-Z]{25}$`, description })

const AnyObject = (description: string) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description })

const Events = Type.Array(OneOf(terminalEventTypes, 'What became of a payment.'), {
  minItems: 1,
  uniqueItems: true,
  description: 'Event types that are sent to the endpoint.',
})

const Status = OneOf(
  ['active', 'disabled'],
  'Nothing is queued for a disabled one. What was queued waits where you disabled it, and is dropped where we did: at a 410, or after 5 days of failures alone.',
)

const address =
  'Public HTTPS URL, without user information or fragment; a sandbox also takes http on loopback addresses. It is sent a signed ping, which it must answer with a 2xx.'

// Tills send more than is asked for: what is not listed is left aside.
export const CreateTerminalWebhook = Type.Object({
  url: WebAddress(address),
  events: Events,
  description: Type.Optional(Text(255, 'A label of your own.')),
  metadata: Type.Optional(AnyObject('Yours: kept, and given back unchanged; an empty one is left out.')),
})

export const UpdateTerminalWebhook = Type.Object({
  url: Type.Optional(WebAddress(`${address} Replaces the URL, also for what is queued already.`)),
  events: Type.Optional(Events),
  description: Type.Optional(Nullable(Text(255, 'Replaces the label; null removes it.'))),
  status: Type.Optional(Status),
  metadata: Type.Optional(AnyObject('Replaces the whole object.')),
})

const fields = {
  endpointId: Named('wh', 'The endpoint.'),
  url: Type.String({ format: 'uri', description: 'Where webhooks are posted.' }),
  events: Events,
  description: Type.Optional(Type.String({ description: 'Your label.' })),
  status: Status,
  metadata: Type.Optional(AnyObject('As it was sent; left out where it is empty.')),
  createdAt: Timestamp('When it was made.'),
  updatedAt: Timestamp('When it last changed.'),
}

export const TerminalWebhook = Closed(fields)

export const CreatedTerminalWebhook = Closed({
  ...fields,
  secret: Type.String({ description: '`whsec_` and base64: what webhooks are signed with. It is in no other answer.' }),
})

export const TerminalWebhookList = Closed({
  endpoints: Type.Array(TerminalWebhook, { description: 'The newest first.' }),
  count: Type.Integer({ minimum: 0 }),
  timestamp: Timestamp('The time of this answer.'),
})

/** What a delivery carries: made once per event, the same bytes on every attempt. */
export const TerminalWebhookPayload = Closed({
  eventType: OneOf(terminalEventTypes, 'What became of the payment.'),
  eventId: Named('evt', 'The event, as in the header webhook-id: your key against doubles.'),
  timestamp: Timestamp('When it was decided.'),
  data: Closed({
    transactionId: Type.String({ description: 'The name of the payment.' }),
    status: OneOf(
      ['SUCCESS', 'FAILED', 'CANCELLED', 'TIMEOUT'],
      'TIMEOUT: no result that counts within 90 seconds; an approval that comes later is voided.',
    ),
    amount: Type.String({ description: "A decimal with the currency's decimals." }),
    currency: Type.String({ description: 'As it was asked for.' }),
    paymentMethod: Type.String({ description: 'As it was asked for.' }),
    authorizationCode: Type.Optional(Type.String({ description: 'With SUCCESS.' })),
    errorCode: Type.Optional(Type.String({ description: 'With FAILED and TIMEOUT.' })),
    errorMessage: Type.Optional(Type.String({ description: 'With FAILED and TIMEOUT; for people.' })),
    receiptData: Type.Optional(Type.String({ description: "Passed on as it is; its form is the terminal's." })),
    terminalId: Type.String({ description: 'The device id; where there is none, as the payment named the terminal.' }),
    metadata: Type.Optional(AnyObject("The payment's, unchanged.")),
  }),
})

/** What a URL is asked with before it is taken. */
export const TerminalWebhookPing = Closed({
  eventType: Type.Literal('ping'),
  eventId: Named('evt', 'As in the header webhook-id.'),
  timestamp: Timestamp('When it was sent.'),
})

export type TerminalWebhook = Static<typeof TerminalWebhook>
export type TerminalWebhookPayload = Static<typeof TerminalWebhookPayload>
export type TerminalWebhookPing = Static<typeof TerminalWebhookPing>

/** Those that have a name in the OpenAPI document. */
export const terminalWebhookSchemas = {
  TerminalWebhook,
  CreateTerminalWebhook,
  CreatedTerminalWebhook,
  UpdateTerminalWebhook,
  TerminalWebhookList,
  TerminalWebhookPayload,
  TerminalWebhookPing,
} as const

const ByEndpoint = Closed({ endpointId: Named('wh', 'The endpoint.') })

export const createTerminalWebhook = operation({
  id: 'createTerminalWebhook',
  area: 'terminals',
  method: 'POST',
  path: '/v1/webhooks/endpoints',
  summary: 'Create a webhook endpoint',
  description:
    "Registers a URL for what becomes of the payments of the key's group, at most 16 of them. The URL is sent a signed ping first; where that fails nothing is made, and the answer is the same whatever the cause. The answer alone has the secret.",
  auth: 'signed',
  headers: GroupHeader,
  body: CreateTerminalWebhook,
  success: {
    201: {
      description: 'The endpoint, with its secret.',
      schema: CreatedTerminalWebhook,
      example: createdWebhook,
      neverStored: true,
    },
  },
  errors: ['ENDPOINT_LIMIT_REACHED'],
  example: newWebhook,
})

export const listTerminalWebhooks = operation({
  id: 'listTerminalWebhooks',
  area: 'terminals',
  method: 'GET',
  path: '/v1/webhooks/endpoints',
  summary: 'List webhook endpoints',
  description: "All endpoints of the key's group.",
  auth: 'signed',
  headers: GroupHeader,
  success: { 200: { description: 'The endpoints.', schema: TerminalWebhookList, example: webhookList } },
  errors: [],
})

export const retrieveTerminalWebhook = operation({
  id: 'retrieveTerminalWebhook',
  area: 'terminals',
  method: 'GET',
  path: '/v1/webhooks/endpoints/{endpointId}',
  summary: 'Retrieve a webhook endpoint',
  description: 'Without its secret.',
  auth: 'signed',
  headers: GroupHeader,
  params: ByEndpoint,
  success: { 200: { description: 'The endpoint.', schema: TerminalWebhook, example: webhook } },
  errors: ['NOT_FOUND'],
  exampleParameters: { endpointId: exampleIds.terminalEndpoint },
})

export const updateTerminalWebhook = operation({
  id: 'updateTerminalWebhook',
  area: 'terminals',
  method: 'PUT',
  path: '/v1/webhooks/endpoints/{endpointId}',
  summary: 'Update a webhook endpoint',
  description:
    'Changes what is named and nothing else; `status` pauses and resumes. Another URL is sent a signed ping first; where that fails nothing is changed.',
  auth: 'signed',
  headers: GroupHeader,
  params: ByEndpoint,
  body: UpdateTerminalWebhook,
  success: { 200: { description: 'The endpoint.', schema: TerminalWebhook, example: disabledWebhook } },
  errors: ['NOT_FOUND'],
  exampleParameters: { endpointId: exampleIds.terminalEndpoint },
  example: { status: 'disabled' },
})

export const deleteTerminalWebhook = operation({
  id: 'deleteTerminalWebhook',
  area: 'terminals',
  method: 'DELETE',
  path: '/v1/webhooks/endpoints/{endpointId}',
  summary: 'Delete a webhook endpoint',
  description: 'For good: what was queued for it is dropped.',
  auth: 'signed',
  headers: GroupHeader,
  params: ByEndpoint,
  success: { 204: { description: 'It is gone.', schema: Type.Undefined(), empty: true } },
  errors: ['NOT_FOUND'],
  exampleParameters: { endpointId: exampleIds.terminalEndpoint },
})

export const terminalWebhookOperations = {
  createTerminalWebhook,
  listTerminalWebhooks,
  retrieveTerminalWebhook,
  updateTerminalWebhook,
  deleteTerminalWebhook,
} as const
