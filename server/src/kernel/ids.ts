import { randomBytes, randomInt } from 'node:crypto'
import { UUID } from 'uuidv7'
import { isFinerThanMs, msOf } from './timestamp.ts'

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => pattern.test(text)

/**
 * A UUIDv7 (RFC 9562) of exactly this time: a list by id is a list by time, and a range of time is a range of ids.
 * Ids of one millisecond stand in random order.
 */
export function newId(at: Date): string {
  // randomInt keeps random bytes in store; asking for ten at a time costs more than all the rest.
  return UUID.fromFieldsV7(at.getTime(), randomInt(2 ** 12), randomInt(2 ** 30), randomInt(2 ** 32)).toString()
}

/** The smallest UUIDv7 of a millisecond. */
export function firstIdOf(ms: number): string {
  return UUID.fromFieldsV7(ms, 0, 0, 0).toString()
}

export const smallestId = '00000000-0000-0000-0000-000000000000'
export const largestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** The ids of two RFC 3339 times and of all between them, whose grain is a millisecond; null where the first time is the later one. */
export function idsWithin(
  from: string | undefined,
  to: string | undefined,
): { readonly from: string; readonly before: string } | null {
  const fromMs = from === undefined ? undefined : msOf(from)
  const toMs = to === undefined ? undefined : msOf(to)
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs) return null
  const rest = from !== undefined && isFinerThanMs(from) ? 1 : 0
  return {
    from: fromMs === undefined ? smallestId : firstIdOf(Math.max(0, fromMs + rest)),
    before: toMs === undefined ? largestId : firstIdOf(Math.max(0, toMs + 1)),
  }
}

/** The ids after one RFC 3339 time and before another, neither of them among these; null where the first time is the later one. */
export function idsBetween(
  from: string | undefined,
  to: string | undefined,
): { readonly from: string; readonly before: string } | null {
  const fromMs = from === undefined ? undefined : msOf(from)
  // Within a millisecond a bound lies after the whole of it.
  const toMs = to === undefined ? undefined : msOf(to) + (isFinerThanMs(to) ? 1 : 0)
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs) return null
  return {
    from: fromMs === undefined ? smallestId : firstIdOf(Math.max(0, fromMs + 1)),
    before: toMs === undefined ? largestId : firstIdOf(Math.max(0, toMs)),
  }
}

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ulidForm = new RegExp(`^[0-7][${crockford}]{25}$`)

/** The same 128 bits as a ULID: 26 capital letters and digits, which begin with the time too. */
export function ulidOf(uuid: string): string {
  const digits = uuid.replaceAll('-', '')
  const first = Number.parseInt(digits.slice(0, 2), 16)
  let text = crockford.charAt(first >> 5) + crockford.charAt(first & 31)
  // Five hexadecimal digits are four letters.
  for (let at = 2; at < digits.length; at += 5) {
    const bits = Number.parseInt(digits.slice(at, at + 5), 16)
    for (let shift = 15; shift >= 0; shift -= 5) text += crockford.charAt((bits >> shift) & 31)
  }
  return text
}

/** The UUID of a ULID, undefined for any other text. */
export function uuidOfUlid(text: string): string | undefined {
  if (!ulidForm.test(text)) return undefined
  const bits = Array.from(text).reduce((sum, digit) => (sum << 5n) | BigInt(crockford.indexOf(digit)), 0n)
  return bits
    .toString(16)
    .padStart(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Unbiased random text over an alphabet, base62 unless told. */
export function randomText(length: number, alphabet: string = base62): string {
  const limit = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < limit && text.length < length) text += alphabet[byte % alphabet.length]
    }
  }
  return text
}
