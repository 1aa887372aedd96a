import type { IncomingMessage, ServerResponse } from 'node:http'

const looksMin = 3

/**
 * Ends the connection of an answer of which its caller takes nothing for so long. What the caller sends meanwhile counts for nothing,
 * other than with the timeout of a socket.
 */
export function endWhenStalled({ socket }: IncomingMessage, response: ServerResponse, msMax: number): void {
  // Whoever left before the answer began closes it no second time.
  if (socket.destroyed) return
  let written = socket.bytesWritten
  let looks = 0
  const looking = setInterval(() => {
    // With nothing to take it is we who are slow.
    const waits = response.writableLength > 0 && socket.bytesWritten === written
    written = socket.bytesWritten
    looks = waits ? looks + 1 : 0
    if (looks >= looksMin) socket.destroy()
  }, msMax / looksMin)
  response.once('close', () => clearInterval(looking))
}
