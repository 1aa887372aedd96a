import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../kernel/clock.ts'
import { Fault } from '../../../kernel/fault.ts'
import { newId } from '../../../kernel/ids.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Metrics } from '../../../kernel/metrics.ts'
import { statuses } from '../errors.ts'
import { presentError } from '../present.ts'

/** How figures and the log name it. */
export const handshake = 'terminals.connect'

/** What else a refusal says that holds for now alone. */
export const retrySoon = { retryAfterSeconds: 2 }

/** What is told where `isHandshake` does not hold. */
export const noHandshake =
  'A handshake is a GET with Sec-WebSocket-Key and Sec-WebSocket-Version 13; Sec-WebSocket-Protocol, where it is sent, names each protocol once.'

/** What can become a socket (RFC 6455, 4.2.1): anything else must not take the place of the socket that its key has. */
export const isHandshake = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  /^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '') &&
  headers['sec-websocket-version'] === '13' &&
  areProtocols(headers['sec-websocket-protocol'])

const areProtocols = (text: string | undefined): boolean => {
  const names = text?.split(',').map((name) => name.trim()) ?? []
  return new Set(names).size === names.length && names.every((name) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
}

interface Declined {
  readonly status: number
  readonly code: string
  readonly requestId: string
}

/** Refuses a handshake, in HTTP, and names the version that is spoken (RFC 6455, 4.2.2). */
export function decline(socket: Duplex, error: unknown, at: Date): Declined {
  const fault = error instanceof Fault ? error : new Fault('INTERNAL_ERROR', 'Something failed on our side.')
  const { code, message, field, rule, retryAfterSeconds } = fault
  const status = (statuses as Record<string, number>)[code] ?? 500
  const requestId = newId(at)
  const body = JSON.stringify(presentError({ code, message, field, rule }, at, requestId))
  const retry = retryAfterSeconds === undefined ? '' : `retry-after: ${retryAfterSeconds}\r\n`
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestId}\r\nsec-websocket-version: 13\r\n${retry}\r\n${body}`,
    () => socket.destroy(),
  )
  return { status, code, requestId }
}

/** Counts and logs handshakes that were refused. */
export function noteRefusals(log: Log, metrics: Metrics): (declined: Declined) => void {
  for (const status of ['500', '503']) metrics.requests.inc({ operation: handshake, status }, 0)
  return ({ status, code, requestId }) => {
    metrics.requests.inc({ operation: handshake, status: String(status) })
    log.info({ operation: handshake, status, code, correlation_id: requestId }, 'a handshake was refused')
  }
}

/**
 * Where no sockets are taken a handshake is refused for now, not for good: a proxy that leads it here once may lead the next one to a process
 * that takes it.
 */
export function declineSockets(
  server: Server,
  { clock, log, metrics }: { readonly clock: Clock; readonly log: Log; readonly metrics: Metrics },
): void {
  const refused = noteRefusals(log, metrics)
  const elsewhere = new Fault(
    'UNAVAILABLE',
    'This process takes no sockets: connect again, by a way that leads to one with the role gateway.',
    retrySoon,
  )
  server.on('upgrade', (_request, socket) => {
    socket.on('error', () => socket.destroy())
    refused(decline(socket, elsewhere, clock.now()))
  })
}
