import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What the connections of a server wait for. */
export interface Owed {
  /** A request whose head has come waits until its answer was written or cut. */
  asked(request: IncomingMessage, answer: ServerResponse): void
  /**
   * Lets the answers go out that requests which came whole wait for, the last of them as the connection's last, and ends it then. False where
   * there are none, and nothing is done.
   */
  endsAfterAnswers(socket: Socket): boolean
  /** The connections on which nothing has been asked yet. */
  silent(): readonly Socket[]
}

export function createOwed(server: Server): Owed {
  const answers = new Map<Socket, Map<IncomingMessage, ServerResponse>>()
  const ending = new WeakSet<Socket>()
  server.on('connection', (socket) => {
    answers.set(socket, new Map())
    socket.once('close', () => answers.delete(socket))
  })
  return {
    asked(request, answer) {
      const ofSocket = answers.get(request.socket)
      ofSocket?.set(request, answer)
      answer.once('close', () => ofSocket?.delete(request))
    },
    endsAfterAnswers(socket) {
      if (ending.has(socket)) return true
      const last = [...(answers.get(socket) ?? [])].findLast(([request]) => request.complete)?.[1]
      if (last === undefined) return false
      ending.add(socket)
      last.shouldKeepAlive = false
      last.once('close', () => socket.destroySoon())
      return true
    },
    silent: () => [...answers.keys()].filter(({ bytesRead }) => bytesRead === 0),
  }
}
