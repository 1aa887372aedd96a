import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { Fault } from '../fault.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What came as the body of a GET, where that was read. */
    bodyOfGet: Buffer | undefined
  }
}

export const lacksBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0

export const tooLarge = (bytesMax: number): Fault =>
  new Fault('PAYLOAD_TOO_LARGE', `The body is larger than the ${bytesMax / 1024} KiB that are read; send less.`)

/** Before a GET is parsed, of which Fastify leaves the body unread: who signs requests signs that, too. Throws PAYLOAD_TOO_LARGE, BAD_REQUEST. */
export async function readBodyOfGet(
  request: FastifyRequest,
  _reply: FastifyReply,
  payload: RequestPayload,
): Promise<RequestPayload> {
  if (lacksBody(request.raw.headers)) return payload
  const { bodyLimit } = request.routeOptions
  const parts: Buffer[] = []
  let size = 0
  try {
    // One that is too large is answered on the connection that it came by.
    for await (const part of Readable.prototype.iterator.call(payload, { destroyOnReturn: false })) {
      size += part.length
      if (size > bodyLimit) break
      parts.push(part)
    }
  } catch (cause) {
    throw new Fault('BAD_REQUEST', 'The body ended before all of it had come.', { cause })
  }
  if (size > bodyLimit) {
    // Or what is left of it stands before the next request for ever.
    payload.resume()
    throw tooLarge(bodyLimit)
  }
  request.bodyOfGet = Buffer.concat(parts)
  return payload
}
