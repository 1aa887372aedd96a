import { timingSafeEqual } from 'node:crypto'
import type { Keyring } from './seal.ts'

const macBytes = 16

/**
 * Opaque positions in a list. A cursor is bound to the list, its filters and the entity that made it: with any other, or
 * altered, or cut, it reads as null. A filter by several values is the same in whatever order they come.
 */
export interface Cursors {
  write(position: readonly string[], boundTo: readonly unknown[]): string
  read(cursor: string, boundTo: readonly unknown[]): string[] | null
}

export function createCursors(keyring: Keyring): Cursors {
  const sign = (body: string, boundTo: readonly unknown[]) =>
    keyring.mac('cursor', `${JSON.stringify(boundTo.map(inOrder))}\n${body}`).subarray(0, macBytes)
  return {
    write(position, boundTo) {
      const body = JSON.stringify(position)
      return Buffer.concat([sign(body, boundTo), Buffer.from(body)]).toString('base64url')
    },
    read(cursor, boundTo) {
      const raw = Buffer.from(cursor, 'base64url')
      // Decoding forgives stray characters; a cursor is the exact text that was given out.
      if (raw.length <= macBytes || raw.toString('base64url') !== cursor) return null
      const body = raw.subarray(macBytes).toString('utf8')
      if (!timingSafeEqual(raw.subarray(0, macBytes), sign(body, boundTo))) return null
      return JSON.parse(body) as string[]
    },
  }
}

const inOrder = (filter: unknown): unknown => (Array.isArray(filter) ? filter.map(String).toSorted() : filter)
