import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/cluster.ts'
import { sql } from '../../../test/sql.ts'
import { createDb, statement } from '../../kernel/db.ts'
import { connectionStore as store, type NewSocket } from './store-connections.ts'

const scanned = statement(
  'test.scanned',
  `select relname as name, seq_tup_read::integer as rows from pg_stat_xact_user_tables
    where schemaname = 'terminals' and relname in ('terminals', 'sockets') order by relname`,
)

test('however many terminals there have come to be, a connection reads those of its keys alone', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, connectionsMax: 1, onError: () => {} })
  const nodeId = randomUUID()
  const newSocket = (): NewSocket => ({
    key_id: randomUUID(),
    connection_id: randomUUID(),
    node_id: nodeId,
    group_id: randomUUID(),
    terminal_id: randomUUID(),
    is_new: true,
    partner_id: randomUUID(),
    merchant_id: randomUUID(),
    branch_id: randomUUID(),
    device_id: 'pos-1',
  })
  const connect = (sockets: readonly NewSocket[]) =>
    db.tx(async (tx) => {
      const keys = sockets.map(({ key_id }) => key_id)
      await store.lockKeys(tx, keys)
      await store.readSockets(tx, keys)
      await store.lockTerminalsOf(tx, sockets)
      await store.connectAll(tx, sockets, new Date())
      return tx.run<{ name: string; rows: number }>(scanned, [])
    })

  const first = Array.from({ length: 10 }, newSocket)
  for (const socket of first) await connect([socket])
  await sql(
    db,
    `insert into terminals.terminals (id, group_id, partner_id, merchant_id, branch_id, key_id, device_id, connection_id, status, connected_at, last_activity_at)
     select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'pos-2',
            gen_random_uuid(), 'offline', now(), now() from generate_series(1, 5000)`,
  )
  const again = first.map((socket) => ({ ...socket, is_new: false, connection_id: randomUUID() }))
  assert.deepEqual(await connect(again), [
    { name: 'sockets', rows: 0 },
    { name: 'terminals', rows: 0 },
  ])
})
