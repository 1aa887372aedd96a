import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const looksMin = 3

/**
 * Ends the connection of an answer of which its caller takes nothing for so long. What the caller sends meanwhile counts for nothing,
 * other than with the timeout of a socket.
 */
export function endWhenStalled({ socket }: IncomingMessage, response: ServerResponse, msMax: number): void {
  // Whoever left before the answer began closes it no second time.
  if (socket.destroyed) return
  let seen = ''
  let looks = 0
  const look = async () => {
    const before = seen
    seen = `${socket.bytesWritten} ${await untakenOf(socket)}`
    // The connection may have its next answer by now.
    if (response.closed) return
    // With nothing to take it is we who are slow.
    const waits = response.writableLength > 0 && seen === before
    looks = waits ? looks + 1 : 0
    if (looks >= looksMin) socket.destroy()
  }
  const looking = setInterval(() => void look(), msMax / looksMin)
  response.once('close', () => clearInterval(looking))
}

/**
 * How much of what was written the other side has not taken, as the kernel tells it (proc_pid_net(5)); '' where it does not. What is written
 * tells too little: the kernel holds megabytes, and takes more only when a third of them has left. Another connection between two such ports
 * may be told as well; it can but put off an end.
 */
async function untakenOf({ localPort, remotePort }: Socket): Promise<string> {
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'latin1').catch(() => '')),
  )
  const ports = `:${hexOf(localPort)} [0-9A-F]+:${hexOf(remotePort)} [0-9A-F]{2} ([0-9A-F]+):`
  return [...tables.join('').matchAll(new RegExp(ports, 'g'))].map(([, queued]) => queued).join(' ')
}

const hexOf = (port = 0): string => port.toString(16).toUpperCase().padStart(4, '0')
