import { createServer, connect, type AddressInfo, type NetConnectOpts, type Socket } from 'node:net'
import { join } from 'node:path'
import type { DbTarget } from '../src/kernel/db.ts'

/** `passes` hands everything on. `silent` takes connections and bytes and answers nothing. `closed` cuts every connection at once. */
export type Behaviour = 'passes' | 'silent' | 'closed'

/** A line to PostgreSQL that can be cut, or fall silent, without touching PostgreSQL. */
export interface PostgresProxy extends AsyncDisposable {
  readonly target: DbTarget
  /** From now on, for the connections that are open too. */
  becomes(behaviour: Behaviour): void
}

const upstreamOf = (target: DbTarget): NetConnectOpts => {
  if (!('url' in target)) return { path: join(target.socketDir, '.s.PGSQL.5432') }
  const { hostname, port } = new URL(target.url)
  return { host: hostname, port: port === '' ? 5432 : Number(port) }
}

const throughPort = (target: DbTarget, port: number): DbTarget => {
  if (!('url' in target)) return { url: `postgres://${target.user}@127.0.0.1:${port}/${target.database}` }
  const url = new URL(target.url)
  url.host = `127.0.0.1:${port}`
  return { url: url.href }
}

export async function startPostgresProxy(target: DbTarget): Promise<PostgresProxy> {
  const open = new Set<Socket>()
  let behaviour: Behaviour = 'passes'
  const keep = (socket: Socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
  }

  const server = createServer((near) => {
    keep(near)
    if (behaviour === 'closed') return void near.destroy()
    // Read and thrown away; a socket that nobody reads would not notice that its other end is gone.
    if (behaviour === 'silent') return void near.resume()
    const far = connect(upstreamOf(target))
    keep(far)
    const hand = (to: Socket) => (chunk: Buffer) => {
      if (behaviour === 'passes') to.write(chunk)
    }
    near.on('data', hand(far))
    far.on('data', hand(near))
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    target: throughPort(target, (server.address() as AddressInfo).port),
    becomes(next) {
      behaviour = next
      if (next === 'closed') cut()
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        cut()
      }),
  }
}
