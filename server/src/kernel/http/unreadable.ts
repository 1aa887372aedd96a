import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Edge } from './area.ts'

const refusals = {
  CONNECT: { status: 400, message: 'CONNECT is for proxies, and this is none.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request did not come to its end in time; send it again.' },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    message: 'The address and the headers are larger than 16 KiB together; send less in them.',
  },
} as const
const other = { status: 400, message: 'These bytes are no HTTP/1.1 request.' }

/**
 * Answers what Node's parser could not read as a request, or does not hand on as one, and closes the line. It has no path, so it is told as a path
 * outside of all areas is, and counted and logged as other requests are.
 */
export function refuseUnreadable(
  error: { readonly code?: string },
  socket: Socket,
  { correlationId, log, metrics }: Edge & { readonly correlationId: string },
): void {
  // Whoever cut the line hears nothing any more.
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, message } = refusals[error.code as keyof typeof refusals] ?? other
  const body = JSON.stringify({ error: { code: 'BAD_REQUEST', message, correlation_id: correlationId } })
  socket.write(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nx-correlation-id: ${correlationId}\r\n` +
      `content-type: application/json; charset=utf-8\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  )
  socket.destroySoon()
  metrics.requests.inc({ operation: 'none', status: String(status) })
  log.info({ operation: 'none', status, cause: error.code, correlation_id: correlationId }, 'request')
}
