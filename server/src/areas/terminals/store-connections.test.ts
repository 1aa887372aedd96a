import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/cluster.ts'
import { sql } from '../../../test/sql.ts'
import { createDb, statement, type Queries } from '../../kernel/db.ts'
import { connectionStore as store, type NewSocket } from './store-connections.ts'

const readStatement = statement(
  'test.readRows',
  `select relname as name, seq_tup_read::integer as walked, idx_tup_fetch::integer as found from pg_stat_xact_user_tables
    where schemaname = 'terminals' and relname in ('terminals', 'sockets') order by relname`,
)

interface Read {
  readonly name: string
  /** Rows of walks through all. */
  readonly walked: number
  /** Rows that an index led to. */
  readonly found: number
}

/** What the connection has read since it last told the statistics. */
const rowsRead = (tx: Queries) => tx.run<Read>(readStatement, [])

test('however many terminals there have come to be, who connects, or goes, reads those of its keys alone', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, connectionsMax: 1, onError: () => {} })
  const [nodeId, groupId] = [randomUUID(), randomUUID()]
  const newSocket = (_: unknown, index: number): NewSocket => ({
    key_id: randomUUID(),
    connection_id: randomUUID(),
    node_id: nodeId,
    group_id: groupId,
    terminal_id: randomUUID(),
    is_new: true,
    partner_id: randomUUID(),
    merchant_id: randomUUID(),
    branch_id: randomUUID(),
    device_id: `pos-${index}`,
  })
  const connect = async (tx: Queries, sockets: readonly NewSocket[]) => {
    await store.meet(tx, sockets)
    await store.connectAll(tx, sockets, new Date())
  }
  const disconnect = async (tx: Queries, sockets: readonly NewSocket[]) => {
    const connections = sockets.map(({ connection_id }) => connection_id)
    const terminals = sockets.flatMap(({ terminal_id }) => terminal_id ?? [])
    await store.lockKeys(
      tx,
      sockets.map(({ key_id }) => key_id),
    )
    await store.dropSockets(tx, connections)
    await store.lockThose(tx, terminals)
    const gone = { status: 'offline', offline_at: null } as const
    await store.disconnectAll(
      tx,
      terminals.map((terminal_id, index) => ({ terminal_id, connection_id: connections[index] ?? '', ...gone })),
    )
  }

  // From when there are hardly any, and by the hundred.
  const first = Array.from({ length: 800 }, newSocket)
  for (const change of [connect, disconnect])
    for (let at = 0; at < first.length; at += 100) await db.tx((tx) => change(tx, first.slice(at, at + 100)))
  await sql(
    db,
    `insert into terminals.terminals (id, group_id, partner_id, merchant_id, branch_id, key_id, device_id, connection_id, status, connected_at, last_activity_at)
     select gen_random_uuid(), '${groupId}', gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'till-' || n,
            gen_random_uuid(), 'offline', now(), now() from generate_series(1, 5000) n`,
  )
  const again = first.slice(0, 10).map((socket) => ({ ...socket, is_new: false, connection_id: randomUUID() }))
  for (const change of [connect, disconnect])
    await db.tx(async (tx) => {
      const before = await rowsRead(tx)
      await change(tx, again)
      for (const [index, { name, walked, found }] of (await rowsRead(tx)).entries()) {
        assert.equal(walked - (before[index]?.walked ?? 0), 0, name)
        const more = found - (before[index]?.found ?? 0)
        assert.ok(more <= 100, `${more} ${name} are read for ${again.length}`)
      }
    })
})
