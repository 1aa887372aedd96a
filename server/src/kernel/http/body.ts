import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { Fault } from '../fault.ts'
import { joined } from '../joined.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What is sent as the body, once all of it has come; empty where none is. Rejects with PAYLOAD_TOO_LARGE, BAD_REQUEST. */
    sent: Promise<Buffer>
  }
}

export const lacksBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0

const tooLarge = (bytesMax: number): Fault =>
  new Fault('PAYLOAD_TOO_LARGE', `The body is larger than the ${bytesMax / 1024} KiB that are read; send less.`)

const noBytes = Buffer.alloc(0)
const nothingSent = Promise.resolve(noBytes)

/**
 * Takes in the body of a request from its first byte on, at most as much as its route reads. Node and Fastify keep each piece for itself, in
 * some hundred bytes of memory, and a sender chooses how many there are: none may wait until somebody asks for the body.
 */
export function takeBody({ raw, routeOptions }: FastifyRequest): Promise<Buffer> {
  if (lacksBody(raw.headers)) return nothingSent
  const bytesMax = routeOptions.bodyLimit
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  // Who is refused by the headers is never asked for it.
  promise.catch(() => {})
  let bytes: Buffer = noBytes
  let size = Number(raw.headers['content-length'] ?? 0) > bytesMax ? Infinity : 0
  if (size > bytesMax) reject(tooLarge(bytesMax))
  // What is left of one that is too large is read, or it stands before the next request for ever.
  raw.on('data', (piece: Buffer) => {
    if (size > bytesMax) return
    if (size + piece.length > bytesMax) {
      bytes = noBytes
      reject(tooLarge(bytesMax))
    } else bytes = joined(bytes, size, piece, bytesMax)
    size += piece.length
  })
  raw.once('end', () => resolve(bytes.subarray(0, size)))
  raw.once('error', (cause) => reject(new Fault('BAD_REQUEST', 'The body ended before all of it had come.', { cause })))
  return promise
}
