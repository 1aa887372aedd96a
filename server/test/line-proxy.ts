import { createServer, connect, type AddressInfo, type NetConnectOpts, type Socket } from 'node:net'

/**
 * `passes` hands everything on. `silent` takes connections and bytes and answers nothing. `held` leaves bytes where they are until it
 * passes again. `closed` cuts every connection at once.
 */
export type Behaviour = 'passes' | 'silent' | 'held' | 'closed'

/** A line to a server that can be cut, held up, or fall silent, without touching the server. */
export interface LineProxy extends AsyncDisposable {
  readonly port: number
  /** Connections that were tried so far. */
  readonly tried: number
  /** Whether a connection is open at either end. */
  readonly inUse: boolean
  /** From now on, for the connections that are open too. */
  becomes(behaviour: Behaviour): void
}

/** `alter` may change in place what goes upstream. */
export async function startLineProxy(
  upstream: NetConnectOpts,
  alter: (chunk: Buffer) => void = () => {},
): Promise<LineProxy> {
  const open = new Set<Socket>()
  let behaviour: Behaviour = 'passes'
  let tried = 0
  const keep = (socket: Socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
  }

  const server = createServer((near) => {
    tried += 1
    keep(near)
    if (behaviour === 'closed') return void near.destroy()
    // Read and thrown away; a socket that nobody reads would not notice that its other end is gone.
    if (behaviour === 'silent') return void near.resume()
    const far = connect(upstream)
    keep(far)
    const hand = (to: Socket) => (chunk: Buffer) => {
      if (behaviour !== 'silent') to.write(chunk)
    }
    near.on('data', alter)
    near.on('data', hand(far))
    far.on('data', hand(near))
    if (behaviour === 'held') for (const socket of [near, far]) socket.pause()
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    get tried() {
      return tried
    },
    get inUse() {
      return open.size > 0
    },
    becomes(next) {
      behaviour = next
      if (next === 'closed') cut()
      for (const socket of open) {
        if (next === 'held') socket.pause()
        else socket.resume()
      }
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        cut()
      }),
  }
}
