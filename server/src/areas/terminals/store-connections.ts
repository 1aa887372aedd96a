import { statement, type Queries } from '../../kernel/db.ts'

export type ConnectionStatus = 'online' | 'reconnecting' | 'offline'

/** A terminal, as it was last seen. */
export interface TerminalRow {
  readonly id: string
  readonly group_id: string
  readonly partner_id: string
  readonly merchant_id: string
  readonly branch_id: string
  readonly key_id: string
  readonly device_id: string | null
  readonly connection_id: string
  readonly status: ConnectionStatus
  readonly connected_at: Date
  readonly last_activity_at: Date
  readonly offline_at: Date | null
  /** The text of a JSON object, as an operator gave it. */
  readonly metadata: string | null
}

export interface SocketRow {
  readonly key_id: string
  readonly connection_id: string
  readonly node_id: string
  readonly group_id: string
  readonly terminal_id: string | null
}

// A deadline that has passed counts, whether or not a worker has stored it.
const columns = `t.id, t.group_id, t.partner_id, t.merchant_id, t.branch_id, t.key_id, t.device_id, t.connection_id,
  case when t.offline_at <= kernel.now() then 'offline' else t.status end as status, t.connected_at, t.last_activity_at, t.offline_at,
  t.metadata`

const beat = statement(
  'terminals.beat',
  `insert into terminals.nodes (id, beat_at) values ($1, clock_timestamp()) on conflict (id) do update set beat_at = excluded.beat_at`,
)
const forgetNode = statement('terminals.forgetNode', `delete from terminals.nodes where id = $1`)
const silentSockets = statement(
  'terminals.silentSockets',
  `select s.key_id, s.connection_id, s.node_id, s.group_id, s.terminal_id from terminals.sockets s
    where not exists (select from terminals.nodes n where n.id = s.node_id and n.beat_at > clock_timestamp() - $1::interval) limit $2`,
)
const dropSilentNodes = statement(
  'terminals.dropSilentNodes',
  `delete from terminals.nodes where beat_at < clock_timestamp() - interval '1 hour'`,
)

const lockTerminals = statement(
  'terminals.lockTerminals',
  `select ${columns} from terminals.terminals t
    where (t.group_id = $1 and t.device_id = $2) or t.key_id = $3 order by t.id for no key update`,
)
const lockKey = statement('terminals.lockKey', `select pg_advisory_xact_lock(hashtextextended('terminals ' || $1, 0))`)
const insertTerminal = statement(
  'terminals.insertTerminal',
  `insert into terminals.terminals (id, group_id, partner_id, merchant_id, branch_id, key_id, device_id, connection_id, status,
     connected_at, last_activity_at) values ($1, $2, $3, $4, $5, $6, $7, $8, 'online', $9, $9)`,
)
const connectTerminal = statement(
  'terminals.connectTerminal',
  `update terminals.terminals set status = 'online', connection_id = $2, branch_id = $4, connected_at = $3, last_activity_at = $3, offline_at = null
    where id = $1 and group_id = $5 returning id`,
)
// Only what the connection itself has: its late close must not take away the one that came after it.
const disconnectTerminal = statement(
  'terminals.disconnectTerminal',
  `update terminals.terminals t set status = $3, offline_at = $4
    where t.id = $1 and t.connection_id = $2 and t.status = 'online' returning ${columns}`,
)
const expireReconnecting = statement(
  'terminals.expireReconnecting',
  `update terminals.terminals t set status = 'offline', offline_at = null
    where t.status = 'reconnecting' and t.offline_at <= kernel.now() returning ${columns}`,
)
const touchTerminals = statement(
  'terminals.touchTerminals',
  `update terminals.terminals t set last_activity_at = greatest(t.last_activity_at, a.at)
     from unnest($1::uuid[], $2::timestamptz[]) a(connection_id, at) where t.connection_id = a.connection_id`,
)

const putSocket = statement(
  'terminals.putSocket',
  `insert into terminals.sockets (key_id, connection_id, node_id, group_id, terminal_id, connected_at) values ($1, $2, $3, $4, $5, $6)
   on conflict (key_id) do update set connection_id = excluded.connection_id, node_id = excluded.node_id, terminal_id = excluded.terminal_id,
     connected_at = excluded.connected_at, dismissed = false`,
)
const readSocket = statement(
  'terminals.readSocket',
  `select key_id, connection_id, node_id, group_id, terminal_id from terminals.sockets where key_id = $1`,
)
const findSocket = statement(
  'terminals.findSocket',
  `select key_id, connection_id, node_id, group_id, terminal_id from terminals.sockets where connection_id = $1`,
)
const dropSocket = statement(
  'terminals.dropSocket',
  `delete from terminals.sockets where connection_id = $1 returning key_id, connection_id, node_id, group_id, terminal_id`,
)

const missingSockets = statement(
  'terminals.missingSockets',
  `select c.id from unnest($1::uuid[]) c(id) where not exists (select from terminals.sockets s where s.connection_id = c.id)`,
)

const socketExists = statement(
  'terminals.socketExists',
  `select exists (select from terminals.sockets where connection_id = $1 and key_id = $2) as found`,
)
const dismissedSockets = statement(
  'terminals.dismissedSockets',
  `select s.connection_id from terminals.sockets s where s.node_id = $1 and s.dismissed`,
)

const listConnected = statement(
  'terminals.listConnected',
  `select ${columns} from terminals.terminals t
    where t.group_id = $1 and t.status <> 'offline' and (t.offline_at is null or t.offline_at > kernel.now()) order by t.id limit $2`,
)
const byDevice = `select ${columns} from terminals.terminals t where t.group_id = $1 and t.device_id = $2`
const findByDevice = statement('terminals.findByDevice', byDevice)
const byConnection = `select ${columns} from terminals.terminals t where t.group_id = $1 and t.connection_id = $2`
const findByConnection = statement('terminals.findByConnection', byConnection)
const readTerminal = statement(
  'terminals.readTerminal',
  `select ${columns} from terminals.terminals t where t.id = $1 and t.group_id = $2`,
)
const lockTerminal = statement(
  'terminals.lockTerminal',
  `select ${columns} from terminals.terminals t where t.id = $1 and t.group_id = $2 for no key update`,
)
// The answer to a key that may not see it, and nothing else.
const terminalExists = statement(
  'terminals.terminalExists',
  `select exists (select from terminals.terminals where (device_id = $1 or connection_id = $2) and group_id <> $3) as found`,
)

const listedMax = 5_000

const one = <Row>(rows: readonly Row[]): Row | undefined => rows[0]

export const connectionStore = {
  beat: (on: Queries, nodeId: string) => on.run(beat, [nodeId]),
  forgetNode: (on: Queries, nodeId: string) => on.run(forgetNode, [nodeId]),
  /** Sockets of processes that have said nothing for so long. */
  silentSockets: (on: Queries, silentMs: number, rowsMax: number) =>
    on.run<SocketRow>(silentSockets, [`${silentMs} milliseconds`, rowsMax]),
  dropSilentNodes: (on: Queries) => on.run(dropSilentNodes, []),

  /** One connection of a key at a time, until the transaction ends. */
  lockKey: (tx: Queries, keyId: string) => tx.run(lockKey, [keyId]),
  lockTerminalsOf: (tx: Queries, groupId: string, deviceId: string | null, keyId: string) =>
    tx.run<TerminalRow>(lockTerminals, [groupId, deviceId, keyId]),
  insertTerminal: (
    tx: Queries,
    row: Pick<
      TerminalRow,
      'id' | 'group_id' | 'partner_id' | 'merchant_id' | 'branch_id' | 'key_id' | 'device_id' | 'connection_id'
    >,
    at: Date,
  ) =>
    tx.run(insertTerminal, [
      row.id,
      row.group_id,
      row.partner_id,
      row.merchant_id,
      row.branch_id,
      row.key_id,
      row.device_id,
      row.connection_id,
      at,
    ]),
  connectTerminal: async (tx: Queries, row: TerminalRow, connectionId: string, branchId: string, at: Date) => {
    const done = await tx.run(connectTerminal, [row.id, connectionId, at, branchId, row.group_id])
    if (done.length !== 1) throw new Error(`the terminal ${row.id} is gone`)
  },
  /** Undefined where the connection is no longer the terminal's. */
  disconnectTerminal: async (
    tx: Queries,
    terminalId: string,
    connectionId: string,
    to: 'reconnecting' | 'offline',
    offlineAt: Date | null,
  ) => one(await tx.run<TerminalRow>(disconnectTerminal, [terminalId, connectionId, to, offlineAt])),
  expireReconnecting: (on: Queries) => on.run<TerminalRow>(expireReconnecting, []),
  touch: (on: Queries, seen: readonly { connectionId: string; at: Date }[]) =>
    on.run(touchTerminals, [seen.map(({ connectionId }) => connectionId), seen.map(({ at }) => at)]),

  putSocket: (tx: Queries, row: SocketRow, at: Date) =>
    tx.run(putSocket, [row.key_id, row.connection_id, row.node_id, row.group_id, row.terminal_id, at]),
  readSocket: async (tx: Queries, keyId: string) => one(await tx.run<SocketRow>(readSocket, [keyId])),
  findSocket: async (tx: Queries, connectionId: string) => one(await tx.run<SocketRow>(findSocket, [connectionId])),
  /** Undefined where it was replaced or dropped before. */
  dropSocket: async (tx: Queries, connectionId: string) => one(await tx.run<SocketRow>(dropSocket, [connectionId])),

  /** Those of these connections that are registered no more. */
  missing: async (on: Queries, connectionIds: readonly string[]) =>
    (await on.run<{ id: string }>(missingSockets, [connectionIds])).map(({ id }) => id),
  /** Whether it is still the connection of its key. */
  isHeld: async (on: Queries, connectionId: string, keyId: string): Promise<boolean> =>
    one(await on.run<{ found: boolean }>(socketExists, [connectionId, keyId]))?.found ?? false,
  /** Connections of a process that an operator wants closed. */
  dismissed: async (on: Queries, nodeId: string) =>
    (await on.run<{ connection_id: string }>(dismissedSockets, [nodeId])).map((row) => row.connection_id),
  listConnected: (on: Queries, groupId: string) => on.run<TerminalRow>(listConnected, [groupId, listedMax]),
  findByDevice: async (on: Queries, groupId: string, deviceId: string) =>
    one(await on.run<TerminalRow>(findByDevice, [groupId, deviceId])),
  findByConnection: async (on: Queries, groupId: string, connectionId: string) =>
    one(await on.run<TerminalRow>(findByConnection, [groupId, connectionId])),
  read: async (on: Queries, id: string, groupId: string) => one(await on.run<TerminalRow>(readTerminal, [id, groupId])),
  lock: async (tx: Queries, id: string, groupId: string) => one(await tx.run<TerminalRow>(lockTerminal, [id, groupId])),
  /** In another group: one of this group that connects just now is none of theirs. */
  exists: async (on: Queries, deviceId: string, connectionId: string | null, groupId: string): Promise<boolean> =>
    one(await on.run<{ found: boolean }>(terminalExists, [deviceId, connectionId, groupId]))?.found ?? false,
}
