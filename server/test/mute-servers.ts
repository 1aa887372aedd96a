import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'

/** A server that lets everybody in and never says anything more. */
export interface MuteServer extends AsyncDisposable {
  readonly port: number
}

async function startMute(letIn: (socket: Socket) => void): Promise<MuteServer> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    letIn(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

// AuthenticationOk and ReadyForQuery.
const welcome = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1')

/** A pooler of PostgreSQL without a connection to it. */
export const startMutePostgres = (): Promise<MuteServer> =>
  startMute((socket) => void socket.once('data', () => socket.write(welcome)))

/** A broker that greets, and answers the first ping of each connection. */
export const startMuteNats = (): Promise<MuteServer> =>
  startMute((socket) => {
    socket.write('INFO {"server_id":"mute","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576}\r\n')
    socket.once('data', () => socket.write('PONG\r\n'))
  })
