import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const looksMin = 3
// Of what is taken in a second: less is a line that is held, not read.
const bytesPerSecondMin = 1_024

/**
 * Ends the connection of an answer of which its caller takes nothing for so long, or next to nothing. What the caller sends meanwhile counts
 * for nothing, other than with the timeout of a socket.
 */
export function endWhenStalled({ socket }: IncomingMessage, response: ServerResponse, msMax: number): void {
  // Whoever left before the answer began closes it no second time.
  if (socket.destroyed) return
  const lookMs = msMax / looksMin
  const bytesMin = (bytesPerSecondMin * lookMs) / 1_000
  let taken = 0
  let looks = 0
  const look = async () => {
    const before = taken
    taken = socket.bytesWritten - (await untakenOf(socket))
    // The connection may have its next answer by now.
    if (response.closed) return
    // With nothing to take it is we who are slow.
    const waits = response.writableLength > 0 && taken - before < bytesMin
    looks = waits ? looks + 1 : 0
    if (looks >= looksMin) socket.destroy()
  }
  const looking = setInterval(() => void look(), lookMs)
  response.once('close', () => clearInterval(looking))
}

/**
 * How many bytes of what was written the other side has not taken, as the kernel tells it (proc_pid_net(5)); 0 where it does not. What is
 * written tells too little: the kernel holds megabytes, and takes more only when a third of them has left.
 */
async function untakenOf({ localPort, remotePort }: Socket): Promise<number> {
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'latin1').catch(() => '')),
  )
  const remote = `:${hexOf(remotePort)} `
  const ports = new RegExp(`:${hexOf(localPort)} [0-9A-F]+${remote}[0-9A-F]{2} ([0-9A-F]+):`)
  for (const line of tables.join('').split('\n')) {
    // Those of thousands of sockets are told apart by this end of them.
    const queued = line.includes(remote) ? ports.exec(line)?.[1] : undefined
    if (queued !== undefined) return Number.parseInt(queued, 16)
  }
  return 0
}

const hexOf = (port = 0): string => port.toString(16).toUpperCase().padStart(4, '0')
