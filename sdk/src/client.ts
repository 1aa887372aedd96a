import {
  advanceSandboxClock,
  confirmPaymentIntent,
  createPaymentIntent,
  createPaymentLink,
  createWebhookEndpoint,
  listPaymentLinks,
  listWebhookEndpoints,
  listWebhookEvents,
  readSandboxClock,
  retrievePaymentIntent,
  retrievePaymentLink,
  retrieveSigningSecret,
  retrieveWebhookEndpoint,
  type AnswerOf,
  type BodyOf,
  type QueryOf,
} from '@kaha/contract'
import { eachOf } from './pages.ts'
import { createSend, type CallOptions, type ConnectionOptions, type CreateOptions, type Send } from './request.ts'

export interface KahaOptions extends ConnectionOptions {
  /** A secret key, exactly as issued. It belongs on a server, never in a browser. */
  readonly apiKey: string
}

export type Kaha = ReturnType<typeof clientOf>

/** A client for one secret key. Every method is the operation of the contract with the same meaning, and throws what `Send` throws. */
export function createKaha(options: KahaOptions): Kaha {
  return clientOf(createSend(options))
}

/** A clock's move answers when everything that fell due on the way is done. */
const advanceMsDefault = 150_000

/** The client's methods over any way of sending. */
export function clientOf(send: Send) {
  return {
    /** Area A: endpoints that receive events, and the events. */
    webhooks: {
      createEndpoint: (body: BodyOf<typeof createWebhookEndpoint>, options?: CallOptions) =>
        send(createWebhookEndpoint, { body }, options),
      listEndpoints: pageOf(send, listWebhookEndpoints),
      listAllEndpoints: allOf(send, listWebhookEndpoints),
      retrieveEndpoint: (id: string, options?: CallOptions) =>
        send(retrieveWebhookEndpoint, { params: { id } }, options),
      retrieveSigningSecret: (id: string, options?: CallOptions) =>
        send(retrieveSigningSecret, { params: { id } }, options),
      listEvents: pageOf(send, listWebhookEvents),
      listAllEvents: allOf(send, listWebhookEvents),
    },

    /** Area C: checkout pages to share. */
    paymentLinks: {
      create: (body: BodyOf<typeof createPaymentLink>, options?: CreateOptions) =>
        send(createPaymentLink, { body }, options),
      list: pageOf(send, listPaymentLinks),
      listAll: allOf(send, listPaymentLinks),
      retrieve: (id: string, options?: CallOptions) => send(retrievePaymentLink, { params: { id } }, options),
    },

    /** Area C: single payments. */
    paymentIntents: {
      create: (body: BodyOf<typeof createPaymentIntent>, options?: CreateOptions) =>
        send(createPaymentIntent, { body }, options),
      retrieve: (id: string, options?: CallOptions) => send(retrievePaymentIntent, { params: { id } }, options),
      /** Never sent twice by itself. After a KahaConnectionError or a 503 retrieve the intent: the payment may have happened. */
      confirm: (id: string, body: BodyOf<typeof confirmPaymentIntent>, options?: CallOptions) =>
        send(confirmPaymentIntent, { params: { id }, body }, options),
    },

    /** Only a sandbox has these, and only the partner's key may use them. */
    sandbox: {
      readClock: (options?: CallOptions) => send(readSandboxClock, {}, options),
      advanceClock: (body: BodyOf<typeof advanceSandboxClock>, options?: CallOptions) =>
        send(advanceSandboxClock, { body }, { timeoutMs: advanceMsDefault, ...options }),
    },
  }
}

type List = typeof listWebhookEndpoints | typeof listWebhookEvents | typeof listPaymentLinks

/** One page of a list. */
function pageOf<O extends List>(send: Send, operation: O) {
  return (query: QueryOf<O> = {} as QueryOf<O>, options?: CallOptions): Promise<AnswerOf<O>> =>
    send<List>(operation, { query }, options) as Promise<AnswerOf<O>>
}

/** All items of a list from the newest on, as an async iterable that reads pages when it needs them. */
function allOf<O extends List>(send: Send, operation: O) {
  const page = pageOf(send, operation)
  return (query: QueryOf<O> = {} as QueryOf<O>, options?: CallOptions): AsyncIterable<AnswerOf<O>['data'][number]> =>
    eachOf<AnswerOf<O>['data'][number]>((cursor) => {
      const at = cursor === undefined ? query : { ...query, cursor }
      return page(at, options)
    }, query.cursor)
}
