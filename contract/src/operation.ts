import type { Static, TObject, TSchema } from 'typebox'
import type { ErrorExample } from './error-examples.ts'

/** What a key may do. Every operation names what it needs: mostly one scope, sometimes several together. */
export const scopes = [
  'webhooks.read',
  'webhooks.write',
  'webhooks.secret',
  'reports.read',
  'payment_links.create',
  'payment_links.read',
  'payment_links.update',
  'payment_links.cancel',
  'payment_intents.create',
  'payment_intents.read',
  'payment_intents.confirm',
  'payment_intents.cancel',
  'refunds.create',
  'refunds.read',
  'qr.create',
  'qr_webhooks.write',
] as const
export type Scope = (typeof scopes)[number]

export type Area = 'webhooks' | 'reporting' | 'ecommerce' | 'terminals' | 'qr' | 'qr_webhooks' | 'sandbox'
export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** What is answered, and to which body where that is not the example of the operation. */
export interface Example<Answer = unknown> {
  readonly request?: unknown
  readonly answer: Answer
}

export interface Success {
  readonly description: string
  readonly schema: TSchema
  /** The same rows come as CSV to whoever asks for `text/csv`. */
  readonly csv?: { readonly example: string }
  /** Plain text instead of JSON. */
  readonly text?: true
  /** No body at all. */
  readonly empty?: true
  /** It tells a secret, so nobody on the way may keep it: `Cache-Control: no-store` (RFC 9111, 5.2.2.5). */
  readonly neverStored?: true
  /** What the documents show and the tests replay: the answer to the example of the operation, or several by name. */
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, Example>>
}

/**
 * One operation of the wire, declared once. The server's route, the SDK's method and the OpenAPI document are all made from
 * this value and carry its `id`.
 */
export interface Operation {
  readonly id: string
  readonly area: Area
  readonly method: Method
  /** OpenAPI spelling, from the area's base address: `/v1/webhook_endpoints/{id}`. */
  readonly path: string
  readonly summary: string
  readonly description: string
  /** `key`: X-API-Key. `key_or_client_secret`: the payer's page may use the intent's client_secret instead. `partner_key`: a partner's key.
   * `signed`: a desktop key of area D, and a signature. `basic`: a secret key as the user name of HTTP Basic. `none`: anybody. */
  readonly auth: 'key' | 'key_or_client_secret' | 'partner_key' | 'signed' | 'basic' | 'none'
  /** Of a list the key needs all. */
  readonly scope?: Scope | readonly Scope[]
  /** Whether `Idempotency-Key` must be sent. */
  readonly idempotency?: 'required' | 'optional'
  readonly params?: TObject
  readonly query?: TObject
  /** Headers of its own, beside those that tell who calls. */
  readonly headers?: TObject
  readonly body?: TObject
  /** The largest body that is read, where that is not the area's. */
  readonly bodyBytesMax?: number
  /** No body at all is an empty object. */
  readonly bodyOptional?: true
  readonly success: { readonly [status: number]: Success }
  /** Codes of the area's catalogue that this operation can give beside those common to the area. */
  readonly errors: readonly string[]
  /** A request body that the documents show and the tests replay. */
  readonly example?: unknown
  /** Values of the path and the query that go with it. */
  readonly exampleParameters?: Readonly<Record<string, unknown>>
  /** Refusals whose examples are not those of the area, by code. */
  readonly errorExamples?: Readonly<Record<string, ErrorExample>>
}

/** Keeps the literal types of an operation's declaration. */
export function operation<const O extends Operation>(declared: O): O {
  return declared
}

/** All that a key must be allowed for this operation. */
export function scopesOf({ scope }: Pick<Operation, 'scope'>): readonly Scope[] {
  if (scope === undefined) return []
  return typeof scope === 'string' ? [scope] : scope
}

/** Whether a page that the payer sees may call it, from any origin. */
export const isForPages = ({ auth }: Pick<Operation, 'auth'>): boolean => auth === 'key_or_client_secret'

type Shape<S> = S extends TSchema ? Static<S> : undefined

export type ParamsOf<O extends Operation> = Shape<O['params']>
export type QueryOf<O extends Operation> = Shape<O['query']>
export type BodyOf<O extends Operation> = Shape<O['body']>
export type AnswerOf<O extends Operation> = O['success'][keyof O['success']] extends infer S
  ? S extends Success
    ? Static<S['schema']>
    : never
  : never
