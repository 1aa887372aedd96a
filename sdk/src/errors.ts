/** What an error tells of its call. */
export interface Told {
  readonly operation: string
  readonly idempotencyKey?: string | undefined
  readonly transactionId?: string | undefined
}

/** What an error answer says beside its status. */
export interface KahaErrorFields {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly operation: string
  readonly correlationId: string | undefined
  readonly details: { readonly field: string; readonly rule: string } | undefined
  readonly retryAfterSeconds: number | undefined
  readonly idempotencyKey: string | undefined
  readonly transactionId?: string | undefined
}

/**
 * The platform refused. Branch on `code`, never on the message. Of the request it carries the idempotency key and the transactionId alone: no secret key, no card.
 * The code `UNEXPECTED_ANSWER` is the client's own: something answered that does not speak this interface, a proxy for example, with whichever
 * status. After that, or any 5xx, nobody knows what became of the request, as after a KahaConnectionError; only a terminal's codes, such as
 * `TIMEOUT`, tell it of a payment.
 */
export class KahaError extends Error {
  override readonly name = 'KahaError'
  readonly status: number
  readonly code: string
  /** The operation that was called, by its id in the contract. */
  readonly operation: string
  /** Quote it when you ask for help. */
  readonly correlationId: string | undefined
  /** The field to blame and the rule that it breaks, where there is one. */
  readonly details: { readonly field: string; readonly rule: string } | undefined
  readonly retryAfterSeconds: number | undefined
  /** What a create or a cancel carried, whoever made it. After `UNEXPECTED_ANSWER` or any 5xx the same call with this key does nothing twice. Else undefined. */
  readonly idempotencyKey: string | undefined
  /** The terminal payment that the call was about, whoever made its id. Else undefined. */
  readonly transactionId: string | undefined

  constructor({
    status,
    code,
    message,
    operation,
    correlationId,
    details,
    retryAfterSeconds,
    idempotencyKey,
    transactionId,
  }: KahaErrorFields) {
    super(message)
    this.status = status
    this.code = code
    this.operation = operation
    this.correlationId = correlationId
    this.details = details
    this.retryAfterSeconds = retryAfterSeconds
    this.idempotencyKey = idempotencyKey
    this.transactionId = transactionId
  }
}

/**
 * No answer: refused, cut off, or later than `timeoutMs`. What was asked for may have happened all the same; repeat a create with the
 * same call and its `idempotencyKey`, a payment at a terminal with its `transactionId`, and retrieve an intent before you confirm it
 * again.
 */
export class KahaConnectionError extends Error {
  override readonly name = 'KahaConnectionError'
  readonly operation: string
  /**
   * `TIMEOUT`, or the code of the system, as in `ECONNREFUSED`; where there is none, what `fetch` says in plain words, as `bad port` of one
   * that it sends nothing to, or the name of the error. `ABORTED`: its signal ended it, whose reason is the `cause`. Of a line also
   * `RECONNECTING`, where nothing was sent, `CLOSED`, where you closed it or it is closed for good, or why it was lost.
   */
  readonly reason: string
  /** What a create or a cancel carried, whoever made it: the same call with this key does nothing twice. Else undefined. */
  readonly idempotencyKey: string | undefined
  /** The terminal payment that the call was about, whoever made its id: paying again with it charges nothing twice. Else undefined. */
  readonly transactionId: string | undefined

  constructor(operation: string, reason: string, idempotencyKey?: string, cause?: unknown, transactionId?: string) {
    super(`${operation}: no answer (${reason})`, cause === undefined ? undefined : { cause })
    this.operation = operation
    this.reason = reason
    this.idempotencyKey = idempotencyKey
    this.transactionId = transactionId
  }
}

/** Which check a delivery failed: a header that is missing or malformed, its time, its signature, or a signed body that is no event. */
export type WebhookRefusal = 'headers' | 'timestamp' | 'signature' | 'payload'

/** A delivery that must not be believed. `reason` says which check it failed; the message tells nothing secret. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
  readonly reason: WebhookRefusal

  constructor(reason: WebhookRefusal, message: string) {
    super(message)
    this.reason = reason
  }
}
