import { createHmac, timingSafeEqual } from 'node:crypto'
import type { TerminalWebhookPayload, TerminalWebhookPing, WebhookPayload } from '@kaha/contract'
import { mustBeBody, mustBeObject } from './arguments.ts'
import { WebhookVerificationError, type WebhookRefusal } from './errors.ts'

/** Headers as a receiver has them: a Headers object, Node's `request.headers`, or a plain object in any case. */
export type DeliveryHeaders =
  { get(name: string): string | null } | Readonly<Record<string, string | readonly string[] | undefined>>

/** A delivery as it came, and what it is held against. */
export interface Delivered {
  /** The body exactly as it came, before any parsing. */
  readonly payload: string | Uint8Array
  readonly headers: DeliveryHeaders
  /** The endpoint's signing secret; while one is being rotated, all that are in force. */
  readonly secret: string | readonly string[]
  /** How far `webhook-timestamp` may be from now, either way. 300 when absent. */
  readonly toleranceSeconds?: number
  /** System time. */
  readonly now?: Date
}

/**
 * The event of a delivery that was signed with one of the secrets (Standard Webhooks 1.0). Throws WebhookVerificationError for what must
 * not be believed, and TypeError for a secret that is none. Events come more than once: go by `id`.
 */
export function verifyWebhook(delivered: Delivered): WebhookPayload {
  const event = verified(delivered)
  const { id, type, data } = event
  const isEvent = typeof id === 'string' && typeof type === 'string' && typeof data === 'object' && data !== null
  return isEvent ? (event as unknown as WebhookPayload) : refuse('payload', 'the signed body is not an event')
}

/**
 * The same for an endpoint of the terminal service. Its URL is sent a ping when it is registered, before you have the secret: answer that
 * with a 2xx unread. Events come more than once: go by `eventId`.
 */
export function verifyTerminalWebhook(delivered: Delivered): TerminalWebhookPayload | TerminalWebhookPing {
  const event = verified(delivered)
  const { eventId, eventType, data } = event
  const isNamed = typeof eventId === 'string' && typeof eventType === 'string'
  const isEvent = isNamed && (eventType === 'ping' || (typeof data === 'object' && data !== null))
  return isEvent
    ? (event as unknown as TerminalWebhookPayload | TerminalWebhookPing)
    : refuse('payload', 'the signed body is not an event')
}

/** The object that was signed. */
function verified(delivered: Delivered): Record<string, unknown> {
  const { payload, headers, toleranceSeconds = 300, now = new Date() } = mustBeObject('the delivery', delivered)
  mustBeObject('headers', headers)
  mustBeBody(payload)
  const keys = [delivered.secret].flat().map(keyOf)
  if (keys.length === 0) throw new TypeError('secret must hold at least one signing secret')
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature').split(' ')

  // A dot in the id could move the border between what is signed as the id and as the time.
  if (id.includes('.')) refuse('headers', 'webhook-id has a dot')
  if (!/^(?:0|[1-9]\d{0,11})$/.test(timestamp)) refuse('timestamp', 'webhook-timestamp is no time in whole seconds')
  const ageSeconds = Math.floor(now.getTime() / 1_000) - Number(timestamp)
  // So that a tolerance that is no number tolerates nothing.
  if (!(ageSeconds <= toleranceSeconds)) refuse('timestamp', 'webhook-timestamp is too old')
  if (!(ageSeconds >= -toleranceSeconds)) refuse('timestamp', 'webhook-timestamp is too far in the future')

  const expected = keys.map((key) => {
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(payload).digest('base64')
    return Buffer.from(`v1,${signature}`)
  })
  const isSigned = signatures.some((text) => {
    const signature = Buffer.from(text)
    return expected.some((own) => own.length === signature.length && timingSafeEqual(own, signature))
  })
  if (!isSigned) refuse('signature', 'no signature is of a known secret')
  return objectOf(payload)
}

function refuse(reason: WebhookRefusal, message: string): never {
  throw new WebhookVerificationError(reason, message)
}

// As Standard Webhooks 1.0 has it: a key that is shorter can be guessed.
const keyBytesMin = 24
const keyBytesMax = 64

/** The bytes of a secret, whatever a caller without types hands over. No message repeats it. */
function keyOf(secret: unknown): Buffer {
  const [, text = ''] = (typeof secret === 'string' && /^(?:whsec_)?([A-Za-z0-9+/]+={0,2})$/.exec(secret)) || []
  const key = Buffer.from(text, 'base64')
  const isWhole = key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
  if (!isWhole || key.length < keyBytesMin || key.length > keyBytesMax)
    throw new TypeError('secret must be a signing secret: whsec_ and the base64 of 24 to 64 bytes')
  return key
}

function headerOf(headers: DeliveryHeaders, name: string): string {
  const [value, ...others] = valuesOf(headers, name)
  if (value === undefined || value === '') return refuse('headers', `${name} is missing`)
  return others.length === 0 ? value : refuse('headers', `${name} came more than once`)
}

function valuesOf(headers: DeliveryHeaders, name: string): readonly string[] {
  if (isHeaders(headers)) return [headers.get(name) ?? []].flat()
  const found = Object.entries(headers).filter(([key]) => key.toLowerCase() === name)
  return found.flatMap(([, value]) => value ?? [])
}

const isHeaders = (headers: DeliveryHeaders): headers is { get(name: string): string | null } =>
  typeof headers['get'] === 'function'

function objectOf(payload: string | Uint8Array): Record<string, unknown> {
  let event: unknown
  try {
    event = JSON.parse(
      typeof payload === 'string' ? payload : new TextDecoder('utf-8', { fatal: true }).decode(payload),
    )
  } catch {
    return refuse('payload', 'the signed body is not JSON in UTF-8')
  }
  return Object(event) as Record<string, unknown>
}
