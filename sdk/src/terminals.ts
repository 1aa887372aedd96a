import { createHash, createHmac } from 'node:crypto'
import {
  cancelTerminalTransaction,
  createTerminalPayment,
  createTerminalWebhook,
  deleteTerminalWebhook,
  listTerminals,
  listTerminalTransactions,
  listTerminalWebhooks,
  retrieveTerminalTransaction,
  retrieveTerminalWebhook,
  updateTerminalWebhook,
  voidTerminalTransaction,
} from '@kaha/contract'
import { uuidv7 } from 'uuidv7'
import { checkSignal, mustBeKey, mustBeObject, mustBeText, segment } from './arguments.ts'
import type { BodyOf, QueryOf } from './given.ts'
import { eachOf } from './pages.ts'
import {
  createSend,
  retriesOf,
  unexpected,
  type CallOptions,
  type ConnectionOptions,
  type Sign,
  type Timing,
} from './request.ts'
import { backOff, beforeNextTry, isUnanswered, pause, waitBeforeRetry } from './retry.ts'

/** What a till's client is made with. */
export interface TerminalsOptions extends ConnectionOptions {
  /** The API key of a till (role desktop), exactly as issued. */
  readonly apiKey: string
  /** Its secret, which signs and is never sent. */
  readonly apiSecret: string
  /** System time. */
  readonly now?: () => Date
}

/** The operations of a till: payments at its group's terminals, their voids and cancels, transactions, and webhooks. */
export type Terminals = ReturnType<typeof createTerminals>

/** A payment waits 90 s for its terminal, a void 30 s. */
const payMsDefault = 100_000
const voidMsDefault = 40_000
/** They outlast a restart of the platform. */
const repeatsDefault = 4

/** Headers that sign a request of area D: HMAC-SHA256 over method, path, time and the SHA-256 of the body as it is sent. */
function signer(apiSecret: string, now: () => Date): Sign {
  return ({ method, path, body }) => {
    const timestamp = now().toISOString()
    const hash = createHash('sha256').update(body).digest('hex')
    const toSign = [method.toUpperCase(), path, timestamp, hash].join('\n')
    return {
      'x-timestamp': timestamp,
      'x-signature': createHmac('sha256', apiSecret).update(toSign).digest('base64'),
    }
  }
}

/** A till's client of the terminal service. `baseUrl` is the address of that service. Methods throw what `createKaha`'s throw. */
export function createTerminals(
  given: TerminalsOptions,
  { random, pause: wait }: Timing = { random: Math.random, pause },
) {
  const { apiSecret, now = () => new Date(), ...options } = mustBeObject('options', given)
  mustBeKey('apiKey', options.apiKey)
  const send = createSend(options, undefined, signer(mustBeText('apiSecret', apiSecret), now))
  const listTransactions = (query: QueryOf<typeof listTerminalTransactions> = {}, call?: CallOptions) =>
    send(listTerminalTransactions, { query }, call)
  return {
    list: (call?: CallOptions) => send(listTerminals, {}, call),

    /**
     * Pays at a terminal and waits for its result. Without a transactionId one is made; where the line is lost, or a proxy or the platform
     * says that it cannot answer now, the same payment is asked for again, later each time, which joins the running wait and never charges
     * twice. So is one that a process which stops has left PENDING; with webhookMode that is the answer. What is thrown tells the
     * transactionId; where your signal ends it, one that was made. A KahaError TIMEOUT or TERMINAL_CONNECTION_ERROR means that no money is kept.
     */
    async pay(terminalId: string, body: BodyOf<typeof createTerminalPayment>, call: CallOptions = {}) {
      const asked = { ...mustBeObject('body', body), transactionId: body.transactionId ?? uuidv7() }
      // What could not be read or voided afterwards is not begun.
      segment('transactionId', asked.transactionId)
      const input = { params: { terminalId }, body: asked }
      const repeatsMax = retriesOf(mustBeObject('options', call).maxRetries ?? options.maxRetries ?? repeatsDefault)
      const transactionId = body.transactionId == null ? asked.transactionId : undefined
      const made = { operation: createTerminalPayment.id, transactionId }
      checkSignal(call.signal)
      call.signal?.throwIfAborted()
      for (let triesMade = 1; ; triesMade += 1) {
        try {
          const answer = await send(createTerminalPayment, input, call, payMsDefault)
          if (answer.status !== 'PENDING' || body.webhookMode === true || triesMade > repeatsMax) return answer
          await wait(backOff(triesMade, random), call.signal)
        } catch (failure) {
          const isToRepeat = isUnanswered(failure) && triesMade <= repeatsMax
          const waitMs = isToRepeat ? waitBeforeRetry(failure, triesMade, random) : null
          await beforeNextTry(made, failure, waitMs, wait, call.signal)
        }
      }
    },

    /** The truth about a payment, after a lost answer too. */
    retrieve: (transactionId: string, call?: CallOptions) =>
      send(retrieveTerminalTransaction, { params: { transactionId } }, call),
    listTransactions,
    /** All of them, newest first, as an async iterable that reads pages when it needs them. */
    listAllTransactions: (query: QueryOf<typeof listTerminalTransactions> = {}, call?: CallOptions) =>
      eachOf(async (cursor) => {
        const answer = await listTransactions(cursor === undefined ? query : { ...query, cursor }, call)
        if (!Array.isArray(answer.transactions)) throw unexpected(listTerminalTransactions.id)
        return { items: answer.transactions, next: answer.nextCursor }
      }, mustBeObject('query', query).cursor),
    /** Look at `success`: a void that was understood is no error. */
    void: (transactionId: string, body: BodyOf<typeof voidTerminalTransaction> = {}, call?: CallOptions) =>
      send(voidTerminalTransaction, { params: { transactionId }, body }, call, voidMsDefault),
    /** Asks for the end of an open payment; the result of the terminal decides. */
    cancel: (transactionId: string, call?: CallOptions) =>
      send(cancelTerminalTransaction, { params: { transactionId } }, call),

    /** Where the ends of payments of the group are sent. `verifyTerminalWebhook` reads what arrives. */
    webhooks: {
      /** The only answer that has the secret. Before it comes the URL is sent a ping, which it must answer with a 2xx. */
      create: (body: BodyOf<typeof createTerminalWebhook>, call?: CallOptions) =>
        send(createTerminalWebhook, { body }, call),
      list: (call?: CallOptions) => send(listTerminalWebhooks, {}, call),
      retrieve: (endpointId: string, call?: CallOptions) =>
        send(retrieveTerminalWebhook, { params: { endpointId } }, call),
      update: (endpointId: string, body: BodyOf<typeof updateTerminalWebhook>, call?: CallOptions) =>
        send(updateTerminalWebhook, { params: { endpointId }, body }, call),
      delete: (endpointId: string, call?: CallOptions) => send(deleteTerminalWebhook, { params: { endpointId } }, call),
    },
  }
}
