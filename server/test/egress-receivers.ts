import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import type { TestContext } from 'node:test'
import { createEgress, type EgressOptions, type EgressRequest, type EgressResult } from '../src/delivery/egress.ts'

interface Received {
  id: string
  body: string
  headers: http.IncomingHttpHeaders
}

/** A receiver that reads each request to its end and notes it, then lets `answer` do as it likes. */
export async function receiver(
  t: TestContext,
  answer: (response: http.ServerResponse, nth: number) => void = (response) => response.end('received'),
) {
  const received: Received[] = []
  const sockets: net.Socket[] = []
  const server = http.createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += String(chunk)
    received.push({ id: String(request.headers['webhook-id']), body, headers: request.headers })
    answer(response, received.length)
  })
  server.on('connection', (socket) => sockets.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/hook`, received, sockets, server }
}

/**
 * A receiver that answers with exactly these bytes and then ends the connection, or does what it is told with the
 * socket.
 */
export async function rawReceiver(t: TestContext, answer: string | ((socket: net.Socket, nth: number) => void)) {
  let requests = 0
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.on('data', () => {
      requests += 1
      if (typeof answer === 'string') socket.end(answer)
      else answer(socket, requests)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/`, requests: () => requests, sockets }
}

export function way(t: TestContext, options: Partial<EgressOptions> = {}) {
  const out = createEgress({ targets: 'any', userAgent: 'Kaha', ...options })
  t.after(() => out[Symbol.asyncDispose]())
  const send = (url: string, request: Partial<EgressRequest> = {}) =>
    out.post({ url, headers: { 'webhook-id': 'evt_1' }, body: '{}', ...request })
  return { ...out, send }
}

/** Resolves once every one of these connections is gone, in whatever way. */
export async function closed(sockets: Iterable<net.Socket>): Promise<void> {
  for (const socket of sockets) if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
}

/** `timeout destination`, or the status. */
export function outcome(result: EgressResult): string {
  return result.ok ? String(result.answer.status) : `${result.failure.errorClass} ${result.failure.owner}`
}
