import pg from 'pg'
import { connectionConfig, type Queries } from '../../server/src/kernel/db.ts'
import type { Target } from './place.ts'

/** A connection of a bare loop: by itself for `begin` and `commit`, and as what the server's own statements run on. */
export interface Connection {
  readonly client: pg.Client
  readonly on: Queries
}

/** Connections that stay open from one run to the next. */
export interface Connections extends AsyncDisposable {
  to(target: Target, count: number): Promise<readonly Connection[]>
}

export function createConnections(): Connections {
  const held = new AsyncDisposableStack()
  const connections: Connection[] = []
  return {
    async to(target, count) {
      while (connections.length < count) {
        const client = new pg.Client(connectionConfig(target))
        await client.connect()
        held.defer(() => client.end())
        connections.push({ client, on: queriesOn(client) })
      }
      return connections.slice(0, count)
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

/** A connection, or a pool of them, as what the server's own statements run on. */
export const queriesOn = (client: Pick<pg.Client, 'query'>): Queries => ({
  async run<Row extends object>({ name, text }: { name: string; text: string }, values: readonly unknown[]) {
    return (await client.query<Row>({ name, text, values: [...values] })).rows
  },
})
