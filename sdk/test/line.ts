import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { WebSocketServer, type WebSocket } from 'ws'
import { connectTerminal, type TerminalLineState } from '../src/index.ts'

/** Answers a handshake in HTTP. */
export const answer = (raw: Socket, status: number, body: string) =>
  raw.end(`HTTP/1.1 ${status} Refused\r\nx-request-id: ${status}-1\r\ncontent-length: ${body.length}\r\n\r\n${body}`)

/** What the platform's side does with one connect: opens it, refuses it with a status, or something of the test's own. */
export type Act = 'opens' | number | ((open: () => void, raw: Socket) => void)

/** A line to a server that acts as told, once per connect; the last act is for all that follow. */
export async function lineOf(t: TestContext, ...acts: readonly Act[]) {
  const server = createServer()
  const sockets = new WebSocketServer({ noServer: true })
  const opened: WebSocket[] = []
  const seen = { connects: 0 }
  let told = (_state: TerminalLineState): void => {}
  server.on('upgrade', (request, raw, head) => {
    const act = acts[Math.min((seen.connects += 1), acts.length) - 1] ?? 'opens'
    const open = () => sockets.handleUpgrade(request, raw, head, (socket) => void opened.push(socket))
    if (act === 'opens') open()
    else if (typeof act === 'function') act(open, raw as Socket)
    else answer(raw as Socket, act, JSON.stringify({ error: 'Refused.', code: 'REFUSED' }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const states: TerminalLineState[] = []
  const heard: unknown[] = []
  let moved = Promise.withResolvers<void>()
  let why: Error | undefined
  const connecting = connectTerminal({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey: 'tk_x',
    hear: (push) => heard.push([push, line.state]),
    changed(state, cause) {
      states.push(state)
      why = cause
      moved.resolve()
      moved = Promise.withResolvers<void>()
      told(state)
    },
    random: () => 0,
  })
  t.after(async () => {
    await connecting.then(
      (one) => one.close(),
      () => {},
    )
    for (const socket of sockets.clients) socket.terminate()
    server.close()
  })
  const line = await connecting
  const becomes = async (state: TerminalLineState) => {
    while (line.state !== state) await moved.promise
  }
  const whenTold = (call: typeof told) => {
    told = call
  }
  return { line, states, heard, opened, seen, becomes, whenTold, why: () => why }
}

/** What the platform's side is sent next. */
export const nextOf = async (socket: WebSocket | undefined): Promise<Record<string, unknown>> => {
  assert.ok(socket !== undefined)
  const [data] = (await once(socket, 'message')) as [Buffer]
  return JSON.parse(data.toString()) as Record<string, unknown>
}
