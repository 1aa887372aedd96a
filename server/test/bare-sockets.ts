import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer, type WebSocket } from 'ws'

/** What anybody writes first: sockets by a number, and whatever comes over one is handed on. */
export interface BareSockets extends AsyncDisposable {
  readonly origin: string
  readonly server: Server
  readonly sockets: ReadonlyMap<number, WebSocket>
}

const connectionsMax = 30_000

/** A bare server of WebSockets on a free port: `heard` gets each message. The yardstick of the gateway. */
export async function startBareSockets(heard: (message: Buffer) => void): Promise<BareSockets> {
  const server = createServer()
  const upgrades = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: false })
  const sockets = new Map<number, WebSocket>()
  let opened = 0
  server.on('upgrade', (request, socket, head) => {
    upgrades.handleUpgrade(request, socket, head, (one) => {
      const id = (opened += 1)
      sockets.set(id, one)
      one.on('message', (data) => heard(data as Buffer))
      one.on('error', () => {})
      one.on('close', () => sockets.delete(id))
    })
  })
  server.maxConnections = connectionsMax
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const one of sockets.values()) one.terminate()
      server.closeAllConnections()
      server.close()
      upgrades.close()
    },
  }
}
