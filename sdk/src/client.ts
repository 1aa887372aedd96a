import {
  advanceSandboxClock,
  cancelPaymentIntent,
  cancelPaymentLink,
  confirmPaymentIntent,
  createPaymentIntent,
  createPaymentLink,
  createRefund,
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  listPaymentLinks,
  listReportBranches,
  listReportMerchants,
  listReportTransactions,
  listSettlements,
  listWebhookEndpoints,
  listWebhookEvents,
  payAsBank,
  readAsBank,
  readSandboxClock,
  recoverWebhookEndpoint,
  resendWebhookEvent,
  retrievePaymentIntent,
  retrievePaymentLink,
  retrieveReportTransaction,
  retrieveSettlement,
  retrieveRefund,
  retrieveSigningSecret,
  retrieveWebhookEndpoint,
  retrieveWebhookEvent,
  rotateSigningSecret,
  startVirtualTerminal,
  stopVirtualTerminal,
  testWebhookEndpoint,
  updatePaymentLink,
  updateWebhookEndpoint,
  type AnswerOf,
} from '@kaha/contract'
import { mustBeKey, mustBeObject } from './arguments.ts'
import type { BodyOf, QueryOf } from './given.ts'
import { eachOf, readPage } from './pages.ts'
import {
  createOpen,
  createSend,
  unexpected,
  type CallOptions,
  type ConnectionOptions,
  type CreateOptions,
  type Open,
  type Send,
} from './request.ts'

/** What a client for one secret key is made with. */
export interface KahaOptions extends ConnectionOptions {
  /** A secret key, exactly as issued. It belongs on a server, never in a browser. */
  readonly apiKey: string
  /** Where the controls of a sandbox answer, where that is not below `baseUrl`: `sandbox_url` in its `sandbox.json`. */
  readonly sandboxUrl?: string | undefined
}

/** The operations of links, intents, refunds, webhooks, reports and a sandbox's controls. */
export type Kaha = ReturnType<typeof clientOf>

/** A client for one secret key. Every method is the operation of the contract with the same meaning, and throws what `Send` throws. */
export function createKaha(options: KahaOptions): Kaha {
  const { sandboxUrl, ...connection } = mustBeObject('options', options)
  mustBeKey('apiKey', connection.apiKey)
  const send = createSend(connection)
  const toSandbox =
    sandboxUrl === undefined ? send : createSend({ ...connection, baseUrl: sandboxUrl, prefix: '/sandbox' })
  return clientOf(send, createOpen(connection), toSandbox)
}

/** A clock's move answers when everything that fell due on the way is done. */
const advanceMsDefault = 150_000

/** A recovery answers when all that was missed is queued. */
const recoverMsDefault = 120_000

/** The client's methods over any way of sending, of opening, and of sending to the controls of a sandbox. */
export function clientOf(send: Send, open: Open, toSandbox: Send = send) {
  return {
    /** Area A: endpoints that receive events, and the events. */
    webhooks: {
      /** ENABLED at once; `retrieveSigningSecret` has its secret. Each call makes one: after a lost answer list them. */
      createEndpoint: (body: BodyOf<typeof createWebhookEndpoint>, options?: CallOptions) =>
        send(createWebhookEndpoint, { body }, options),
      /** A page of endpoints, newest first. */
      listEndpoints: pageOf(send, listWebhookEndpoints),
      /** All endpoints, page after page as they are read. */
      listAllEndpoints: allOf(send, listWebhookEndpoints),
      /** One endpoint of the entity of the key, or of one under it. */
      retrieveEndpoint: (id: string, options?: CallOptions) =>
        send(retrieveWebhookEndpoint, { params: { id } }, options),
      /** Changes what is named; `disabled` pauses and resumes. */
      updateEndpoint: (id: string, body: BodyOf<typeof updateWebhookEndpoint>, options?: CallOptions) =>
        send(updateWebhookEndpoint, { params: { id }, body }, options),
      /** For good. A second call throws NOT_FOUND. */
      deleteEndpoint: (id: string, options?: CallOptions) => send(deleteWebhookEndpoint, { params: { id } }, options),
      /** The secret that signs every delivery to the endpoint. */
      retrieveSigningSecret: (id: string, options?: CallOptions) =>
        send(retrieveSigningSecret, { params: { id } }, options),
      /** Receivers have until `previous_expires_at` to change secrets. Never sent twice by itself: after a lost answer retrieve the secret. */
      rotateSigningSecret: (id: string, body: BodyOf<typeof rotateSigningSecret> = {}, options?: CallOptions) =>
        send(rotateSigningSecret, { params: { id }, body }, options),
      /** A page of events, newest first. One by a filter that hardly anything fits may be short: go on while `has_more`. */
      listEvents: pageOf(send, listWebhookEvents),
      /** All events of the filter, page after page as they are read. */
      listAllEvents: allOf(send, listWebhookEvents),
      /** One event, with its payload and each attempt to deliver it. */
      retrieveEvent: (id: string, options?: CallOptions) => send(retrieveWebhookEvent, { params: { id } }, options),
      /** Sends an event again: to the endpoint that is named, else to all that subscribe to it now. */
      resendEvent: (id: string, body: BodyOf<typeof resendWebhookEvent> = {}, options?: CallOptions) =>
        send(resendWebhookEvent, { params: { id }, body }, options),
      /** Sends what never reached an endpoint. Harmless to repeat: what is on its way is left out. */
      recoverEndpoint: (id: string, body: BodyOf<typeof recoverWebhookEndpoint>, options?: CallOptions) =>
        send(recoverWebhookEndpoint, { params: { id }, body }, options, recoverMsDefault),
      /** Queues a made-up event of a type for this endpoint alone: `retrieveEvent` tells what became of it. */
      testEndpoint: (id: string, body: BodyOf<typeof testWebhookEndpoint>, options?: CallOptions) =>
        send(testWebhookEndpoint, { params: { id }, body }, options),
    },

    /** Area B: what happened to the money. */
    reports: {
      /** A page of the merchants under the key. */
      listMerchants: pageOf(send, listReportMerchants),
      /** All of them, page after page as they are read. */
      listAllMerchants: allOf(send, listReportMerchants),
      /** A page of the branches under the key. */
      listBranches: pageOf(send, listReportBranches),
      /** All of them, page after page as they are read. */
      listAllBranches: allOf(send, listReportBranches),
      /** A page of transactions of every area, by the filters and the order of the query. */
      listTransactions: pageOf(send, listReportTransactions),
      /** All of them, page after page as they are read; for very many `exportTransactions` is faster. */
      listAllTransactions: allOf(send, listReportTransactions),
      /**
       * The whole filtered list as CSV, as a stream of bytes that is read as fast as its reader takes it. It fails with KahaConnectionError
       * where it breaks off. It is sent once, whatever `maxRetries` says, and `timeoutMs` is for it to begin: of two exports at most that a
       * merchant has at once, a third is told RATE_LIMITED.
       */
      exportTransactions: (query: QueryOf<typeof listReportTransactions> = {}, options?: CallOptions) =>
        open(listReportTransactions, { query }, 'text/csv', options),
      /** One transaction, by its id; throws FORBIDDEN for that of another entity. */
      retrieveTransaction: (id: string, options?: CallOptions) =>
        send(retrieveReportTransaction, { params: { id } }, options),
      /** A page of the daily settlement batches, the latest first. */
      listSettlements: pageOf(send, listSettlements),
      /** All of them, page after page as they are read. */
      listAllSettlements: allOf(send, listSettlements),
      /** `currency` only where the day has batches in several. */
      retrieveSettlement: (
        batchNumber: string,
        query: QueryOf<typeof retrieveSettlement> = {},
        options?: CallOptions,
      ) => send(retrieveSettlement, { params: { batch_number: batchNumber }, query }, options),
    },

    /** Area C: checkout pages to share. */
    paymentLinks: {
      /** Safe to repeat with its `idempotencyKey`, which the client makes where none is given. */
      create: (body: BodyOf<typeof createPaymentLink>, options?: CreateOptions) =>
        send(createPaymentLink, { body }, options),
      /** A page of links, newest first. */
      list: pageOf(send, listPaymentLinks),
      /** All links of the filter, page after page as they are read. */
      listAll: allOf(send, listPaymentLinks),
      /** One link, as it stands. */
      retrieve: (id: string, options?: CallOptions) => send(retrievePaymentLink, { params: { id } }, options),
      /** Changes what is named; null removes. */
      update: (id: string, body: BodyOf<typeof updatePaymentLink>, options?: CallOptions) =>
        send(updatePaymentLink, { params: { id }, body }, options),
      /** For good. Cancelling again changes nothing. */
      cancel: (id: string, body: BodyOf<typeof cancelPaymentLink> = {}, options?: CreateOptions) =>
        send(cancelPaymentLink, { params: { id }, body }, options),
    },

    /** Area C: single payments. */
    paymentIntents: {
      /** Of a link, or of its own amount. Safe to repeat with its `idempotencyKey`. Its `client_secret` is for the payer's page. */
      create: (body: BodyOf<typeof createPaymentIntent>, options?: CreateOptions) =>
        send(createPaymentIntent, { body }, options),
      /** How the payment stands: the truth after a confirm whose answer was lost. */
      retrieve: (id: string, options?: CallOptions) => send(retrievePaymentIntent, { params: { id } }, options),
      /**
       * Never sent twice by itself. After a KahaConnectionError, `UNEXPECTED_ANSWER` or any 5xx nobody knows what became of it, and the payment
       * may have happened: retrieve the intent.
       */
      confirm: (id: string, body: BodyOf<typeof confirmPaymentIntent>, options?: CallOptions) =>
        send(confirmPaymentIntent, { params: { id }, body }, options),
      /** For good. Throws INTENT_PROCESSING while a payment of it is being processed; cancelling again changes nothing. */
      cancel: (id: string, options?: CreateOptions) => send(cancelPaymentIntent, { params: { id } }, options),
    },

    /** Area C: payments given back, in whole or in part. */
    refunds: {
      /** PENDING while the processor has not answered: retrieve it. After a lost answer repeat it with the same key: nothing is refunded twice. */
      create: (body: BodyOf<typeof createRefund>, options?: CreateOptions) => send(createRefund, { body }, options),
      /** How the refund stands. */
      retrieve: (id: string, options?: CallOptions) => send(retrieveRefund, { params: { id } }, options),
    },

    /** Only a sandbox has these, and only the partner's key may use them. */
    sandbox: {
      /** Business time: the system's, and an offset that only grows. */
      readClock: (options?: CallOptions) => toSandbox(readSandboxClock, {}, options),
      /** Moves business time forward, and answers when what fell due on the way is done. */
      advanceClock: (body: BodyOf<typeof advanceSandboxClock>, options?: CallOptions) =>
        toSandbox(advanceSandboxClock, { body }, options, advanceMsDefault),
      /** A terminal that plays the script of its device id, as in `sim-approve`. */
      startTerminal: (body: BodyOf<typeof startVirtualTerminal>, options?: CallOptions) =>
        toSandbox(startVirtualTerminal, { body }, options),
      /** Takes it off the line; it is gone when this answers. */
      stopTerminal: (deviceId: string, options?: CallOptions) =>
        toSandbox(stopVirtualTerminal, { params: { device_id: deviceId } }, options),
      /** What a bank app shows of a code, from its text or from a picture of it. */
      readAsBank: (body: BodyOf<typeof readAsBank>, options?: CallOptions) => toSandbox(readAsBank, { body }, options),
      /** What a payer's bank does with the text of a QR Ph code. */
      payAsBank: (body: BodyOf<typeof payAsBank>, options?: CallOptions) => toSandbox(payAsBank, { body }, options),
    },
  }
}

type List =
  | typeof listWebhookEndpoints
  | typeof listWebhookEvents
  | typeof listReportMerchants
  | typeof listReportBranches
  | typeof listReportTransactions
  | typeof listSettlements
  | typeof listPaymentLinks

/** One page of a list. */
function pageOf<O extends List>(send: Send, operation: O) {
  return (query: QueryOf<O> = {} as QueryOf<O>, options?: CallOptions): Promise<AnswerOf<O>> =>
    send<List>(operation, { query }, options) as Promise<AnswerOf<O>>
}

/** All items of a list in its order, as an async iterable that reads pages when it needs them. */
function allOf<O extends List>(send: Send, operation: O) {
  const page = pageOf(send, operation)
  return (query: QueryOf<O> = {} as QueryOf<O>, options?: CallOptions): AsyncIterable<AnswerOf<O>['data'][number]> =>
    eachOf<AnswerOf<O>['data'][number]>(async (cursor) => {
      const at = cursor === undefined ? query : { ...query, cursor }
      const read = readPage<AnswerOf<O>['data'][number]>(await page(at, options))
      if (read === undefined) throw unexpected(operation.id)
      return read
    }, mustBeObject('query', query).cursor)
}
