import {
  deleteQrWebhook,
  listQrWebhooks,
  pingWebhooks,
  registerQrWebhook,
  simulateQr,
  updateQrWebhook,
  type AnswerOf,
  type QrPaymentNotification,
} from '@kaha/contract'
import { openToken, tokenKey, TokenError } from '@kaha/qrph/token'
import { mustBeBody, mustBeKey, mustBeObject, mustBeText, mustFitHeader } from './arguments.ts'
import type { BodyOf } from './given.ts'
import { createSend, unexpected, type CallOptions, type ConnectionOptions } from './request.ts'

/** What a client of the webhook service is made with. */
export interface KahaQrWebhooksOptions extends Omit<ConnectionOptions, 'baseUrl'> {
  /** Where the webhook service answers, as in `https://pay.example.com/webhooks`. */
  readonly webhooksUrl: string
  /** A secret key of a merchant or a branch, exactly as issued. Notifications are encrypted with the one that registers. */
  readonly secretKey: string
}

type Registered = AnswerOf<typeof registerQrWebhook>

/** The encrypted webhooks of one account. */
export interface KahaQrWebhooks {
  /** `activationCode` narrows it to one branch. Never sent twice by itself. */
  register(
    body: BodyOf<typeof registerQrWebhook>,
    options?: CallOptions & { readonly activationCode?: string },
  ): Promise<Registered>
  list(options?: CallOptions): Promise<Registered[]>
  /** Changes what is named; `status` pauses and resumes. */
  update(id: number, body: BodyOf<typeof updateQrWebhook>, options?: CallOptions): Promise<Registered>
  /** For good. */
  delete(id: number, options?: CallOptions): Promise<void>
  /**
   * In a sandbox: the bank settles the code with the text `qrBody`, else the newest that is PENDING; without any, each webhook gets a test
   * notification. Never sent twice by itself.
   */
  simulate(body: BodyOf<typeof simulateQr>, options?: CallOptions): Promise<AnswerOf<typeof simulateQr>>
  ping(options?: CallOptions): Promise<'Pong!'>
}

/** A client of the encrypted webhooks. It throws KahaError, whose `code` is one of the webhook service, and KahaConnectionError. */
export function createKahaQrWebhooks(account: KahaQrWebhooksOptions): KahaQrWebhooks {
  const { webhooksUrl, secretKey, ...connection } = mustBeObject('options', account)
  mustBeKey('secretKey', secretKey)
  const sendAs = (headers: Readonly<Record<string, string>> = {}) =>
    createSend({ ...connection, baseUrl: webhooksUrl, basicUser: secretKey, prefix: '/webhooks', headers })
  const send = sendAs()
  return {
    async register(body, given = {}) {
      const { activationCode, ...options } = mustBeObject('options', given)
      if (activationCode !== undefined) mustFitHeader('activationCode', activationCode)
      const sendIt = activationCode === undefined ? send : sendAs({ 'activation-code': activationCode })
      return sendIt(registerQrWebhook, { body }, options)
    },
    async list(options) {
      const { webhooks } = await send(listQrWebhooks, {}, options)
      if (!Array.isArray(webhooks)) throw unexpected(listQrWebhooks.id)
      return webhooks
    },
    update: async (id, body, options) => send(updateQrWebhook, { params: { id: numberOf(id) }, body }, options),
    delete: async (id, options) => {
      await send(deleteQrWebhook, { params: { id: numberOf(id) } }, options)
    },
    simulate: (body, options) => send(simulateQr, { body }, options),
    ping: (options) => send(pingWebhooks, {}, options),
  }
}

/** Also of a text, as many keep it. */
function numberOf(id: number): string {
  if (!/^\d+$/.test(String(id))) throw new TypeError('id must be the id of a webhook')
  return String(id)
}

/**
 * What a notification holds, from its body exactly as it came, text or bytes. Throws TokenError for one that is not under this secret key, and
 * TypeError for a body that was parsed. Notifications come more than once: go by `referenceNumber`.
 */
export async function openNotification(
  payload: string | Uint8Array,
  secretKey: string,
): Promise<QrPaymentNotification> {
  mustBeBody(payload)
  const data = dataIn(payload)
  if (data === undefined) throw new TokenError()
  return (await openToken(await tokenKey(mustBeText('secretKey', secretKey)), data)) as QrPaymentNotification
}

function dataIn(payload: string | Uint8Array): string | undefined {
  try {
    const text = typeof payload === 'string' ? payload : new TextDecoder('utf-8', { fatal: true }).decode(payload)
    const body = JSON.parse(text) as unknown
    const data = typeof body === 'object' && body !== null && 'data' in body ? body.data : undefined
    return typeof data === 'string' ? data : undefined
  } catch {
    return undefined
  }
}
