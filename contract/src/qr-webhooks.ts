import Type, { type Static } from 'typebox'
import { exampleIds } from './example-ids.ts'
import { operation } from './operation.ts'
import { Closed, OneOf, Text, Timestamp, Uuid, WebAddress } from './primitives.ts'
import { activationCodePattern, qrDeclineReasons, qrErrors, qrWireCodes } from './qr.ts'

export const qrActions = ['QRPH_SUCCESS', 'QRPH_DECLINED'] as const

const fields = {
  webhookUrl: WebAddress('Where notifications are posted: https and publicly reachable.'),
  actions: Type.Array(OneOf(qrActions, 'What it is told of.'), {
    minItems: 1,
    uniqueItems: true,
    description: 'One or both.',
  }),
  status: OneOf(['ENABLED', 'DISABLED'], 'Nothing is queued for a DISABLED one, and what was queued waits.'),
}

export const RegisterQrWebhook = Closed(fields)

export const UpdateQrWebhook = Closed({
  webhookUrl: Type.Optional(fields.webhookUrl),
  actions: Type.Optional(fields.actions),
  status: Type.Optional(fields.status),
})

export const QrWebhook = Closed({
  id: Type.Integer({ description: 'The webhook.' }),
  ...fields,
  createdAt: Timestamp('When it was registered.'),
  updatedAt: Timestamp('When it last changed.'),
})

export const QrWebhookList = Closed({ webhooks: Type.Array(QrWebhook, { description: 'The newest first.' }) })

/** What a notification holds once it is decrypted. */
export const QrNotification = Closed({
  action: OneOf(qrActions, 'What happened.'),
  referenceNumber: Type.String({
    description: 'The merchantReferenceNumber of the code: the same on every attempt, and your key against doubles.',
  }),
  amount: Type.Integer({ description: 'In minor units.' }),
  currency: Type.String({ description: 'PHP.' }),
  timestamp: Timestamp('When it happened.'),
  transactionId: Type.String({ format: 'uuid', description: 'The code, and its transaction in reporting.' }),
  status: OneOf(['PAID', 'DECLINED'], 'How the code stands.'),
  declineReason: Type.Optional(OneOf(qrDeclineReasons, 'Why the bank declined.')),
})

const [, ...simulatedReasons] = qrDeclineReasons
export const qrUseCases = ['SUCCESS', 'DECLINED', ...simulatedReasons] as const

export const SimulateQr = Closed({
  useCase: OneOf(qrUseCases, 'What the bank says: it pays, declines, or declines for the cause that is named.'),
  qrBody: Type.Optional(
    Text(2_048, "The text of the code, `qrText`, not its picture. The account's newest PENDING code when absent."),
  ),
})

export const SimulatedQr = Closed({
  id: Uuid('The code; of a test notification without a code, a UUID of its own.'),
})

export type QrPaymentNotification = Static<typeof QrNotification>

const {
  TOKEN_REFUSED: _token,
  INVALID_REQUEST: _request,
  DUPLICATE_REFERENCE: _reference,
  UNKNOWN_ACTIVATION_CODE: _code,
  AMOUNT_OUT_OF_RANGE: _amount,
  UNSUPPORTED_CURRENCY: _currency,
  ACCOUNT_NOT_FOUND: _account,
  ...common
} = qrErrors

/** Every code of the webhook service and its HTTP status; none comes as a Token. */
export const qrWebhookErrors = {
  ...common,
  WEBHOOK_NOT_FOUND: 404,
  URL_REGISTERED: 409,
  CODE_NOT_PENDING: 409,
} as const
export type QrWebhookCode = keyof typeof qrWebhookErrors

/** How the codes are written on the wire. */
export const qrWebhookWireCodes: Readonly<Record<QrWebhookCode, string>> = {
  ...qrWireCodes,
  WEBHOOK_NOT_FOUND: '20000004',
  URL_REGISTERED: '20000003',
  CODE_NOT_PENDING: '20000015',
}

const ByNumber = Closed({ id: Type.String({ pattern: '^[1-9][0-9]{0,17}$', description: 'The id of the webhook.' }) })
const newWebhook: Static<typeof RegisterQrWebhook> = {
  webhookUrl: 'https://shop.example.com/qrph',
  actions: ['QRPH_SUCCESS'],
  status: 'ENABLED',
}
const webhook: Static<typeof QrWebhook> = {
  id: 1,
  ...newWebhook,
  createdAt: '2026-01-15T09:00:00.000Z',
  updatedAt: '2026-01-15T09:00:00.000Z',
}
const disabledWebhook: Static<typeof QrWebhook> = {
  ...webhook,
  status: 'DISABLED',
  updatedAt: '2026-01-15T12:00:00.000Z',
}

export const registerQrWebhook = operation({
  id: 'registerQrWebhook',
  area: 'qr_webhooks',
  method: 'POST',
  path: '/webhooks/v1/webhooks',
  summary: 'Register a webhook',
  description:
    'Registers a URL for encrypted notifications of codes that are paid or declined. The header `activation-code` narrows it to that branch, and is sent back with each notification. Notifications are encrypted with the secret key that registers.',
  auth: 'basic',
  scope: 'qr_webhooks.write',
  headers: Closed({
    'activation-code': Type.Optional(
      Type.String({
        pattern: activationCodePattern,
        description:
          'The branch that the webhook is narrowed to, by its activation code. A key of a branch needs none.',
      }),
    ),
  }),
  body: RegisterQrWebhook,
  success: { 201: { description: 'The webhook.', schema: QrWebhook, example: webhook } },
  errors: ['BAD_REQUEST', 'URL_REGISTERED'],
  example: newWebhook,
})

export const listQrWebhooks = operation({
  id: 'listQrWebhooks',
  area: 'qr_webhooks',
  method: 'GET',
  path: '/webhooks/v1/webhooks',
  summary: 'List webhooks',
  description: 'All webhooks of the account, or of the branch of the key; 1,000 at most.',
  auth: 'basic',
  scope: 'qr_webhooks.write',
  success: { 200: { description: 'The webhooks.', schema: QrWebhookList, example: { webhooks: [webhook] } } },
  errors: ['BAD_REQUEST'],
})

export const updateQrWebhook = operation({
  id: 'updateQrWebhook',
  area: 'qr_webhooks',
  method: 'PUT',
  path: '/webhooks/v1/webhooks/{id}',
  summary: 'Update a webhook',
  description: 'Changes what is named and nothing else; `status` pauses and resumes.',
  auth: 'basic',
  scope: 'qr_webhooks.write',
  params: ByNumber,
  body: UpdateQrWebhook,
  success: { 200: { description: 'The webhook.', schema: QrWebhook, example: disabledWebhook } },
  errors: ['BAD_REQUEST', 'WEBHOOK_NOT_FOUND', 'URL_REGISTERED'],
  example: { status: 'DISABLED' },
  exampleParameters: { id: '1' },
})

export const deleteQrWebhook = operation({
  id: 'deleteQrWebhook',
  area: 'qr_webhooks',
  method: 'DELETE',
  path: '/webhooks/v1/webhooks/{id}',
  summary: 'Delete a webhook',
  description: 'For good: what was queued for it is dropped.',
  auth: 'basic',
  scope: 'qr_webhooks.write',
  params: ByNumber,
  success: { 204: { description: 'It is gone.', schema: Type.Undefined(), empty: true } },
  errors: ['BAD_REQUEST', 'WEBHOOK_NOT_FOUND'],
  exampleParameters: { id: '1' },
})

export const simulateQr = operation({
  id: 'simulateQr',
  area: 'qr_webhooks',
  method: 'POST',
  path: '/webhooks/v1/webhooks/qrph/simulate',
  summary: 'Simulate what a bank does',
  description:
    'In a sandbox alone: settles a code of the account as its bank would, and so notifies. Without `qrBody` it is the newest code that is PENDING; where there is none, each ENABLED webhook that takes the action is sent a test notification, with a referenceNumber that begins with TEST- and no payment behind it.',
  auth: 'basic',
  scope: 'qr_webhooks.write',
  body: SimulateQr,
  success: {
    200: {
      description: 'It is settled, and the notifications are on their way.',
      schema: SimulatedQr,
      example: { id: exampleIds.code },
    },
  },
  errors: ['BAD_REQUEST', 'CODE_NOT_FOUND', 'WEBHOOK_NOT_FOUND', 'CODE_NOT_PENDING'],
  example: { useCase: 'SUCCESS' },
})

export const pingWebhooks = operation({
  id: 'pingWebhooks',
  area: 'qr_webhooks',
  method: 'GET',
  path: '/webhooks/ping',
  summary: 'Ask whether the service is there',
  description: 'Answers with a text.',
  auth: 'none',
  success: { 200: { description: 'It is.', schema: Type.Literal('Pong!'), text: true, example: 'Pong!' } },
  errors: ['BAD_REQUEST'],
})

export const qrWebhookOperations = {
  registerQrWebhook,
  listQrWebhooks,
  updateQrWebhook,
  deleteQrWebhook,
  simulateQr,
  pingWebhooks,
} as const
