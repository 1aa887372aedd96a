import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

// Below those that the system hands out: one of these may be somebody's connection by the time it is listened on.
const ports = { from: 10_000, below: 32_000 } as const

/** A port of this machine that nobody listens on, and that nobody is given who asks for any. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ports.from, ports.below)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EADDRINUSE') throw error
        return false
      },
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
