import { randomBytes, randomInt } from 'node:crypto'
import { UUID } from 'uuidv7'

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
