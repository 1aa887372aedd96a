import type { Socket } from 'node:net'
import { startReceiver } from '../receiver.ts'

/** One request as a witness got it. */
export interface Testimony {
  /** Event and destination. */
  readonly delivery: string
  readonly socket: Socket
  /** Monotonic, in ms; null when it was not answered. */
  answeredAt: number | null
}

/** A receiver that answers 204 after a while, and can tell afterwards what it got over which connection. */
export interface Witness extends AsyncDisposable {
  readonly url: string
  /** Its deliveries are of this destination. */
  isFor(destinationId: string): void
  readonly testimonies: readonly Testimony[]
  /** When a connection ended; undefined while it has not. */
  endOf(socket: Socket): number | undefined
}

export const deliveryOf = (eventId: string, destinationId: string): string => `${eventId} ${destinationId}`

/** `answerMs` gives the time until the next answer. */
export async function startWitness(answerMs: () => number): Promise<Witness> {
  const receiver = await startReceiver()
  const testimonies: Testimony[] = []
  const ends = new WeakMap<Socket, number | undefined>()
  let destinationId = ''
  receiver.answer = ({ headers }, response) => {
    receiver.received.length = 0
    const { socket } = response
    if (socket === null) return
    if (!ends.has(socket)) {
      ends.set(socket, socket.destroyed ? performance.now() : undefined)
      socket.once('close', () => ends.set(socket, performance.now()))
    }
    const delivery = deliveryOf(String(headers['webhook-id']), destinationId)
    const testimony: Testimony = { delivery, socket, answeredAt: null }
    testimonies.push(testimony)
    setTimeout(() => {
      if (response.destroyed) return
      response.writeHead(204).end()
      testimony.answeredAt = performance.now()
    }, answerMs())
  }
  return {
    url: receiver.url,
    isFor(id) {
      destinationId = id
    },
    testimonies,
    endOf: (socket) => ends.get(socket),
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  }
}
