import { arrayOf } from '../../kernel/array.ts'
import { statement, type Queries } from '../../kernel/db.ts'
import { recordsOf } from '../../kernel/records.ts'

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

/** One whose line has come or gone, as others are told of it. */
export type ToldTerminal = Pick<TerminalRow, 'id' | 'group_id' | 'connection_id' | 'status'>

/** One that may be whoever connects. */
export type KnownTerminal = ToldTerminal & Pick<TerminalRow, 'key_id' | 'device_id'>

export interface SocketRow {
  readonly key_id: string
  readonly connection_id: string
  readonly node_id: string
  readonly group_id: string
  readonly terminal_id: string | null
}

/** A connection, and what no other may have beside it. */
export interface Place {
  readonly connectionId: string
  readonly keyId: string
  readonly terminalId: string | null
}

/** What whoever connects finds of its own: what its key is connected as, and the terminals that it may be. */
export interface Met {
  readonly sockets: readonly MetSocket[]
  readonly terminals: readonly KnownTerminal[]
}

export type MetSocket = Pick<SocketRow, 'key_id' | 'connection_id' | 'terminal_id'>

interface MetRow extends Omit<KnownTerminal, 'id' | 'status'> {
  readonly is_socket: boolean
  readonly terminal_id: string | null
  readonly status: ConnectionStatus | null
}

/** A socket that is to be registered, and the terminal that it is, if it is one. */
export interface NewSocket extends SocketRow {
  /** Of a terminal that was never here. */
  readonly is_new: boolean
  readonly partner_id: string
  readonly merchant_id: string
  readonly branch_id: string | null
  readonly device_id: string | null
}

/** A terminal that loses its connection. */
export interface Gone {
  readonly terminal_id: string
  readonly connection_id: string
  readonly status: 'reconnecting' | 'offline'
  readonly offline_at: Date | null
}

// A deadline that has passed counts, whether or not a worker has stored it. The time is asked for once, not for each row.
const statusNow = `case when t.offline_at <= (select kernel.now()) then 'offline' else t.status end`
const columns = `t.id, t.group_id, t.partner_id, t.merchant_id, t.branch_id, t.key_id, t.device_id, t.connection_id, ${statusNow} as status,
  t.connected_at, t.last_activity_at, t.offline_at, t.metadata`
const toldColumns = `t.id, t.group_id, t.connection_id, ${statusNow} as status`

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

const meet = statement(
  'terminals.meet',
  `select is_socket, key_id, connection_id, terminal_id, group_id, device_id, status from terminals.meet($1, $2, $3)`,
)
// Plans of what follows are kept, from when there were hardly any terminals: they must find rows by their keys all the same.
const lockKeys = statement(
  'terminals.lockKeys',
  `select pg_advisory_xact_lock(hashtextextended('terminals ' || k, 0)), planned.by_keys
     from (select set_config('enable_seqscan', 'off', true) as by_keys offset 0) planned
    cross join unnest($1::text[]) k`,
)
// The sockets, and their terminals as new or as they come back: one statement for however many connect in one moment.
const connectAll = statement(
  'terminals.connectAll',
  `with given as materialized (select * from unnest($1::terminals.new_socket[])),
   added as (
     insert into terminals.terminals (id, group_id, partner_id, merchant_id, branch_id, key_id, device_id, connection_id, status, connected_at,
       last_activity_at)
     select g.terminal_id, g.group_id, g.partner_id, g.merchant_id, g.branch_id, g.key_id, g.device_id, g.connection_id, 'online', $3, $3
       from given g where g.is_new),
   back as (
     update terminals.terminals t set status = 'online', connection_id = g.connection_id, branch_id = g.branch_id, connected_at = $3,
       last_activity_at = $3, offline_at = null
       from given g
      where t.id = any ($2::uuid[]) and t.id = g.terminal_id and t.group_id = g.group_id
      returning t.id),
   held as (
     insert into terminals.sockets (key_id, connection_id, node_id, group_id, terminal_id, connected_at)
     select g.key_id, g.connection_id, g.node_id, g.group_id, g.terminal_id, $3 from given g
     on conflict (key_id) do update set connection_id = excluded.connection_id, node_id = excluded.node_id, terminal_id = excluded.terminal_id,
       connected_at = excluded.connected_at, dismissed = false)
   select count(*)::integer as back from back`,
)
// Only what the connection itself has: its late close must not take away the one that came after it.
const disconnectTerminals = statement(
  'terminals.disconnectTerminals',
  `with given as materialized (
     select * from json_to_recordset($1::json) as g(terminal_id uuid, connection_id uuid, status text, offline_at timestamptz))
   update terminals.terminals t set status = g.status, offline_at = g.offline_at
     from given g
    where t.id = any (array(select g.terminal_id from given g)) and t.id = g.terminal_id and t.connection_id = g.connection_id
      and t.status = 'online' returning ${toldColumns}`,
)
const expireReconnecting = statement(
  'terminals.expireReconnecting',
  `with due as materialized (
     select t.id from terminals.terminals t where t.status = 'reconnecting' and t.offline_at <= kernel.now()
      order by t.offline_at limit $1 for no key update skip locked)
   update terminals.terminals t set status = 'offline', offline_at = null from due where t.id = due.id returning ${toldColumns}`,
)
// Beside payments, which lock their terminals: it waits for none of them, holds none up for long, and is not waited for the disk.
const touchTerminals = statement(
  'terminals.touchTerminals',
  `with free as materialized (
     select t.id, a.at from unnest($1::uuid[], $2::timestamptz[]) a(connection_id, at)
       join terminals.terminals t on t.connection_id = a.connection_id
      cross join (select set_config('synchronous_commit', 'off', true) offset 0) unsynced
        for no key update of t skip locked)
   update terminals.terminals t set last_activity_at = greatest(t.last_activity_at, f.at) from free f where t.id = f.id
   returning t.connection_id`,
)

const socketColumns = 's.key_id, s.connection_id, s.node_id, s.group_id, s.terminal_id'
const findSockets = statement(
  'terminals.findSockets',
  `select ${socketColumns} from terminals.sockets s where s.connection_id = any($1::uuid[])`,
)
const dropSockets = statement(
  'terminals.dropSockets',
  `delete from terminals.sockets s where s.connection_id = any($1::uuid[]) returning ${socketColumns}`,
)
const lockThose = statement(
  'terminals.lockThose',
  `select t.id, t.device_id from terminals.terminals t where t.id = any($1::uuid[]) order by t.id for no key update`,
)

const missingSockets = statement(
  'terminals.missingSockets',
  `select c.id from unnest($1::uuid[]) c(id) where not exists (select from terminals.sockets s where s.connection_id = c.id offset 0)`,
)
const anotherSocket = statement(
  'terminals.anotherSocket',
  `select 1 as one from terminals.sockets s where s.key_id = $1 and s.connection_id <> $2
   union all
   select 1 from terminals.terminals t join terminals.sockets s on s.connection_id = t.connection_id
    where t.id = $3 and t.connection_id <> $2 limit 1`,
)

const socketsToClose = statement(
  'terminals.socketsToClose',
  `select s.connection_id from terminals.sockets s where s.node_id = $1 and s.dismissed`,
)

const listConnected = statement(
  'terminals.listConnected',
  `select ${columns} from terminals.terminals t
    where t.group_id = $1 and t.status <> 'offline' and (t.offline_at is null or t.offline_at > kernel.now()) order by t.id limit $2`,
)
const findByDevice = statement(
  'terminals.findByDevice',
  `select ${columns} from unnest($1::uuid[], $2::text[]) n(group_id, device_id)
     join terminals.terminals t on t.group_id = n.group_id and t.device_id = n.device_id`,
)
const findByConnection = statement(
  'terminals.findByConnection',
  `select ${columns} from terminals.terminals t where t.group_id = $1 and t.connection_id = $2`,
)
const readTerminals = statement(
  'terminals.readTerminals',
  `select ${columns} from unnest($1::uuid[]) n(id) join terminals.terminals t using (id)`,
)
const readTerminal = statement(
  'terminals.readTerminal',
  `select ${columns} from terminals.terminals t where t.id = $1 and t.group_id = $2`,
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

  /** One connection of a key at a time, until the transaction ends. In one order, so that nobody waits in a circle. */
  lockKeys: (tx: Queries, keyIds: readonly string[]) => tx.run(lockKeys, [arrayOf(keyIds.toSorted())]),
  /**
   * Locks the keys of those that connect, as above, and then their terminals: those of these device ids, all of these keys, and what the keys are
   * connected as.
   */
  async meet(tx: Queries, coming: readonly Pick<NewSocket, 'group_id' | 'device_id' | 'key_id'>[]): Promise<Met> {
    const keys = coming.map(({ key_id }) => key_id).toSorted()
    const named = coming.filter(({ device_id }) => device_id !== null)
    const rows = await tx.run<MetRow>(meet, [
      arrayOf(keys),
      arrayOf(named.map(({ group_id }) => group_id)),
      arrayOf(named.map(({ device_id }) => device_id)),
    ])
    const met: { sockets: MetSocket[]; terminals: KnownTerminal[] } = { sockets: [], terminals: [] }
    for (const { is_socket, terminal_id, status, ...row } of rows) {
      if (is_socket) met.sockets.push({ ...row, terminal_id })
      else if (terminal_id !== null && status !== null) met.terminals.push({ ...row, id: terminal_id, status })
    }
    return met
  },
  /** Registers these sockets, with their terminals as new or as they come back. */
  async connectAll(tx: Queries, sockets: readonly NewSocket[], at: Date): Promise<void> {
    const back = sockets.flatMap(({ terminal_id, is_new }) => (terminal_id === null || is_new ? [] : [terminal_id]))
    const [row] = await tx.run<{ back: number }>(connectAll, [
      recordsOf('terminals.new_socket', sockets),
      arrayOf(back),
      at,
    ])
    if (row?.back !== back.length) throw new Error('a terminal that was locked is gone')
  },
  /** Without those whose connection is no longer the terminal's. */
  disconnectAll: (tx: Queries, gone: readonly Gone[]) =>
    tx.run<ToldTerminal>(disconnectTerminals, [JSON.stringify(gone)]),
  expireReconnecting: (on: Queries, rowsMax: number) => on.run<ToldTerminal>(expireReconnecting, [rowsMax]),
  /** Those that are not locked just now; gives their connections. */
  touch: async (on: Queries, seen: readonly { readonly connectionId: string; readonly at: Date }[]) => {
    const rows = await on.run<{ connection_id: string }>(touchTerminals, [
      arrayOf(seen.map(({ connectionId }) => connectionId)),
      arrayOf(seen.map(({ at }) => at.toISOString())),
    ])
    return rows.map((row) => row.connection_id)
  },

  /** Whether the key, or the terminal, is connected by another than this connection. */
  hasAnother: async (on: Queries, { connectionId, keyId, terminalId }: Place) =>
    (await on.run(anotherSocket, [keyId, connectionId, terminalId])).length > 0,
  findSockets: (tx: Queries, connectionIds: readonly string[]) =>
    tx.run<SocketRow>(findSockets, [arrayOf(connectionIds)]),
  /** Without those that were replaced or dropped before. */
  dropSockets: (tx: Queries, connectionIds: readonly string[]) =>
    tx.run<SocketRow>(dropSockets, [arrayOf(connectionIds)]),
  lockThose: (tx: Queries, ids: readonly string[]) =>
    tx.run<Pick<TerminalRow, 'id' | 'device_id'>>(lockThose, [arrayOf(ids)]),

  /** Those of these connections that are registered no more. */
  missing: async (on: Queries, connectionIds: readonly string[]) =>
    (await on.run<{ id: string }>(missingSockets, [arrayOf(connectionIds)])).map(({ id }) => id),
  /** Connections of a process that an operator wants closed. */
  toClose: async (on: Queries, nodeId: string) =>
    (await on.run<{ connection_id: string }>(socketsToClose, [nodeId])).map((row) => row.connection_id),
  listConnected: (on: Queries, groupId: string) => on.run<TerminalRow>(listConnected, [groupId, listedMax]),
  findByDevice: (on: Queries, those: readonly { readonly groupId: string; readonly deviceId: string }[]) =>
    on.run<TerminalRow>(findByDevice, [
      arrayOf(those.map(({ groupId }) => groupId)),
      arrayOf(those.map(({ deviceId }) => deviceId)),
    ]),
  findByConnection: async (on: Queries, groupId: string, connectionId: string) =>
    one(await on.run<TerminalRow>(findByConnection, [groupId, connectionId])),
  read: async (on: Queries, id: string, groupId: string) => one(await on.run<TerminalRow>(readTerminal, [id, groupId])),
  /** Of any group: for what was read of theirs. */
  readAll: (on: Queries, ids: readonly string[]) => on.run<TerminalRow>(readTerminals, [arrayOf(ids)]),
  /** In another group: one of this group that connects just now is none of theirs. */
  exists: async (on: Queries, deviceId: string, connectionId: string | null, groupId: string): Promise<boolean> =>
    one(await on.run<{ found: boolean }>(terminalExists, [deviceId, connectionId, groupId]))?.found ?? false,
}
