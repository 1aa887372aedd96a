/**
 * A refusal that the caller may read: a stable code from its area's catalogue, and a message that names the cause and the way out.
 * Anything else that is thrown is a defect or an outage, and the edge tells nothing of it.
 */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: string
  readonly field: string | undefined
  readonly rule: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: string,
    message: string,
    more: { field?: string; rule?: string; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.code = code
    this.field = more.field
    this.rule = more.rule
    this.retryAfterSeconds = more.retryAfterSeconds
  }
}

/** A reason not to start. The message is one line for a person: what is wrong, and what to do about it. */
export class StartFault extends Error {
  override readonly name = 'StartFault'
}
