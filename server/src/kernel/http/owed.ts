import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What the connections of a server wait for. */
export interface Owed {
  /** A request whose head has come waits until `answered`: its answer was written or cut. */
  asked(request: IncomingMessage, answer: ServerResponse): void
  answered(request: IncomingMessage): void
  /** Whether an answer is not written yet. */
  owes(socket: Socket): boolean
  /**
   * Lets the answers go out that requests which came whole wait for, the last of them as the connection's last, and ends it then. False where
   * there are none, and nothing is done.
   */
  endsAfterAnswers(socket: Socket): boolean
  /** Something has come on a connection: it is silent no more, and need not be kept in mind. */
  heard(socket: Socket): void
  /** The connections on which nothing has come yet. */
  silent(): readonly Socket[]
}

export function createOwed(server: Server): Owed {
  const answers = new WeakMap<Socket, Map<IncomingMessage, ServerResponse>>()
  const ending = new WeakSet<Socket>()
  const unheard = new Set<Socket>()
  function forget(this: Socket) {
    unheard.delete(this)
  }
  server.on('connection', (socket) => {
    unheard.add(socket)
    socket.on('close', forget)
  })
  const heard = (socket: Socket) => {
    if (unheard.delete(socket)) socket.off('close', forget)
  }
  return {
    asked(request, answer) {
      const { socket } = request
      heard(socket)
      const ofSocket = answers.get(socket)
      if (ofSocket === undefined) answers.set(socket, new Map([[request, answer]]))
      else ofSocket.set(request, answer)
    },
    answered(request) {
      answers.get(request.socket)?.delete(request)
    },
    owes: (socket) =>
      answers
        .get(socket)
        ?.values()
        .some(({ writableEnded }) => !writableEnded) ?? false,
    endsAfterAnswers(socket) {
      if (ending.has(socket)) return true
      const last = [...(answers.get(socket) ?? [])].findLast(([request]) => request.complete)?.[1]
      if (last === undefined) return false
      ending.add(socket)
      last.shouldKeepAlive = false
      last.once('close', () => socket.destroySoon())
      return true
    },
    heard,
    silent: () => [...unheard].filter(({ bytesRead }) => bytesRead === 0),
  }
}
