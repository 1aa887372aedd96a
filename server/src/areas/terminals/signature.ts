import { createHmac, hash, timingSafeEqual, type KeyObject } from 'node:crypto'
import { msOf } from '../../kernel/timestamp.ts'

/** How far a request's time may be from ours, both ways. */
export const windowMs = 5 * 60_000

/**
 * How long after its time a request's signature is remembered: longer than it counts, by as much as a body may take to arrive and the clocks of two
 * processes may differ.
 */
export const rememberedMs = windowMs + 2 * 60_000

const signatureBytes = 32
// ISO 8601 in its extended form, in UTC or with an offset. Its fraction may follow a comma, and seconds and the minutes of the offset may be
// left out: there are languages that do so where these are zero.
const isoTime = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(:\d{2}(?:[.,]\d+)?)?(?:Z|([+-]\d{2})(?::?(\d{2}))?)$/

export interface SignedRequest {
  readonly method: string
  readonly timestamp: string
  readonly body: Buffer
  /** The path as it was sent, and what else it may be called: without the prefix under which the service lives. */
  readonly paths: readonly string[]
}

/** The four lines that are signed, without a line feed at the end. The hash is over the body exactly as sent, by SHA-256 in hex. */
export const linesToSign = (method: string, path: string, timestamp: string, bodyHash: string): string =>
  [method.toUpperCase(), path, timestamp, bodyHash].join('\n')

export const signatureOf = (secret: KeyObject | string, toSign: string): Buffer =>
  createHmac('sha256', secret).update(toSign).digest()

/** The bytes of x-signature: canonical padded Base64 of 32 bytes, or null. */
export function readSignature(text: string | undefined): Buffer | null {
  if (text === undefined) return null
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === signatureBytes && bytes.toString('base64') === text ? bytes : null
}

/** The time of x-timestamp in ms, or null where it is none. */
export function readTimestamp(text: string | undefined): number | null {
  const found = text === undefined ? null : isoTime.exec(text)
  if (found === null) return null
  const [, minute, seconds = ':00', hours, minutes = '00'] = found
  const ms = msOf(`${minute}${seconds.replace(',', '.')}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`)
  return Number.isNaN(ms) ? null : ms
}

export const isInWindow = (ms: number, nowMs: number): boolean => Math.abs(nowMs - ms) <= windowMs

/** Whether one of the paths was signed so. Each is compared in constant time. */
export function isSignedBy(secret: KeyObject | string, given: Buffer, request: SignedRequest): boolean {
  const { method, timestamp, body, paths } = request
  const bodyHash = hash('sha256', body)
  return paths.some((path) => {
    const expected = signatureOf(secret, linesToSign(method, path, timestamp, bodyHash))
    return timingSafeEqual(expected, given)
  })
}
