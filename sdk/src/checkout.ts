import { confirmPaymentIntent, type AnswerOf } from '@kaha/contract'
import { mustBeObject } from './arguments.ts'
import type { BodyOf } from './given.ts'
import { createSend, type CallOptions, type ConnectionOptions } from './request.ts'

// A page tells by them what became of a confirm, and the whole client is not for a browser.
export { KahaConnectionError, KahaError } from './errors.ts'
export type { CallOptions, ConnectionOptions } from './request.ts'

/** A confirm as a payer's page sends it: with the client_secret of the intent. */
export type PayerConfirmation = BodyOf<typeof confirmPaymentIntent> & { readonly client_secret: string }

/** What a payer's page may do. */
export interface Checkout {
  /**
   * Never sent twice by itself. After a KahaConnectionError, `UNEXPECTED_ANSWER` or any 5xx nobody knows what became of it, and the payment may
   * have happened: ask your server, which retrieves the intent.
   */
  confirm(id: string, body: PayerConfirmation, options?: CallOptions): Promise<AnswerOf<typeof confirmPaymentIntent>>
}

/** A client for a payer's page of your own. It has no secret key and can confirm one intent, whose client_secret it was given. */
export function createCheckout(options: Omit<ConnectionOptions, 'maxRetries'>): Checkout {
  const { baseUrl, fetch, timeoutMs } = mustBeObject('options', options)
  const send = createSend({
    baseUrl,
    ...(fetch === undefined ? {} : { fetch }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
  return { confirm: (id, body, call) => send(confirmPaymentIntent, { params: { id }, body }, call) }
}
