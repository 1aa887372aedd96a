import type { TerminalPrincipal } from '../../identity/terminal-keys.ts'
import type { Bus } from '../../kernel/bus.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db, Queries } from '../../kernel/db.ts'
import { newId } from '../../kernel/ids.ts'
import { happen } from './course.ts'
import type { Changed, Ledger } from './ledger.ts'
import { refuse } from './refusals.ts'
import { connectionStore as store, type TerminalRow } from './store-connections.ts'
import { transactionStore } from './store-transactions.ts'

/** How long a terminal whose line is lost counts as reconnecting; business time. */
const reconnectMs = 60_000
const devicesPerKeyMax = 100
const silentMsMax = 15_000
const socketsAtOnceMax = 200

export interface Connections {
  /**
   * Makes this the connection of its key and of its device; whatever either had before is replaced and told. Resolves to the terminal, null for a
   * desktop. Throws GROUP_MISMATCH for a device id that belongs to another key.
   */
  connect(principal: TerminalPrincipal, connectionId: string, deviceId: string | null): Promise<TerminalRow | null>
  /** Ends a connection; one that was replaced before has nothing to end. */
  disconnect(connectionId: string, isGoodbye: boolean): Promise<void>
  /** Notes that this process is alive. */
  beat(): Promise<void>
  /** What processes that died held is lost; resolves to how many sockets that were. */
  reap(): Promise<number>
  /** Terminals whose time to reconnect is over. */
  expire(): Promise<void>
  /** Those of these connections that somebody else has replaced or given up for lost. */
  missing(connectionIds: readonly string[]): Promise<string[]>
  /** False where another connection has taken its place, whether or not this process has heard of it. */
  isHeld(connectionId: string, keyId: string): Promise<boolean>
  /** Connections of this process that an operator wants closed. */
  dismissed(): Promise<string[]>
  touch(seen: readonly { connectionId: string; at: Date }[]): Promise<void>
  leave(): Promise<void>
}

export function createConnections({
  db,
  bus,
  clock,
  ledger,
  nodeId,
}: {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly ledger: Ledger
  readonly nodeId: string
}): Connections {
  /** Open payments of a terminal whose line is gone: those that were written may have arrived. */
  const lose = async (tx: Queries, terminalId: string): Promise<Changed[]> => {
    const changes: Changed[] = []
    for (const id of await transactionStore.openOf(tx, terminalId)) {
      const changed = await ledger.changeIn(tx, id, (row, now) =>
        happen(row, row.created_at, row.sent_to === null && row.state === 'PENDING' ? 'not_reached' : 'lost', now),
      )
      if (changed !== undefined) changes.push(changed)
    }
    return changes
  }

  const tellStatus = (row: TerminalRow, status: string) =>
    bus.say('terminals', ['terminal', row.group_id, row.id, row.connection_id, status])

  return {
    async connect(principal, connectionId, deviceId) {
      const { keyId, groupId, partnerId, merchantId, branchId } = principal
      const done = await db.tx(async (tx) => {
        await store.lockKey(tx, keyId)
        const at = clock.now()
        const before = await store.readSocket(tx, keyId)
        const changes: Changed[] = []
        const gone: TerminalRow[] = []
        let terminalId: string | null = null
        if (principal.role === 'terminal') {
          const rows = await store.lockTerminalsOf(tx, groupId, deviceId, keyId)
          const own = rows.filter((row) => row.key_id === keyId)
          const target = rows.find((row) => row.device_id === deviceId && (deviceId !== null || row.key_id === keyId))
          if (target !== undefined && target.key_id !== keyId)
            throw refuse('GROUP_MISMATCH', 'This device id belongs to another key of the group.')
          if (target === undefined && own.length >= devicesPerKeyMax)
            throw refuse('GROUP_MISMATCH', 'This key has been used with too many device ids.')
          for (const other of own) {
            if (other.id === target?.id || other.connection_id !== before?.connection_id) continue
            const off = await store.disconnectTerminal(tx, other.id, other.connection_id, 'offline', null)
            if (off === undefined) continue
            gone.push(off)
            changes.push(...(await lose(tx, other.id)))
          }
          if (target?.status === 'online') changes.push(...(await lose(tx, target.id)))
          terminalId = target?.id ?? newId(at)
          const branch = branchId ?? ''
          if (target !== undefined) await store.connectTerminal(tx, target, connectionId, branch, at)
          else {
            await store.insertTerminal(
              tx,
              {
                id: terminalId,
                group_id: groupId,
                partner_id: partnerId,
                merchant_id: merchantId,
                branch_id: branch,
                key_id: keyId,
                device_id: deviceId,
                connection_id: connectionId,
              },
              at,
            )
          }
        }
        const socket = { key_id: keyId, connection_id: connectionId, node_id: nodeId, group_id: groupId }
        await store.putSocket(tx, { ...socket, terminal_id: terminalId }, at)
        const terminal = terminalId === null ? undefined : await store.read(tx, terminalId, groupId)
        return { before, changes, gone, terminal: terminal ?? null }
      })
      if (done.before !== undefined)
        bus.say('terminals', ['close', done.before.connection_id, 'api_key_used_elsewhere'])
      for (const row of done.gone) tellStatus(row, 'disconnected')
      if (done.terminal !== null) tellStatus(done.terminal, 'connected')
      await ledger.follow(done.changes)
      return done.terminal
    },

    async disconnect(connectionId, isGoodbye) {
      const done = await db.tx(async (tx) => {
        const held = await store.findSocket(tx, connectionId)
        if (held === undefined) return undefined
        await store.lockKey(tx, held.key_id)
        const socket = await store.dropSocket(tx, connectionId)
        if (socket === undefined || socket.terminal_id === null) return undefined
        const terminal = await store.lock(tx, socket.terminal_id, socket.group_id)
        if (terminal === undefined) return undefined
        const stays = terminal.device_id !== null && !isGoodbye
        const until = stays ? new Date(clock.now().getTime() + reconnectMs) : null
        const row = await store.disconnectTerminal(
          tx,
          terminal.id,
          connectionId,
          stays ? 'reconnecting' : 'offline',
          until,
        )
        return row === undefined ? undefined : { row, changes: await lose(tx, row.id) }
      })
      if (done === undefined) return
      tellStatus(done.row, done.row.status === 'reconnecting' ? 'reconnecting' : 'disconnected')
      await ledger.follow(done.changes)
    },

    async beat() {
      await store.beat(db, nodeId)
    },

    async reap() {
      const silent = await store.silentSockets(db, silentMsMax, socketsAtOnceMax)
      for (const { connection_id: connectionId } of silent) await this.disconnect(connectionId, false)
      if (silent.length === 0) await store.dropSilentNodes(db)
      return silent.length
    },

    async expire() {
      for (const row of await store.expireReconnecting(db)) tellStatus(row, 'disconnected')
    },

    missing: (connectionIds) => (connectionIds.length === 0 ? Promise.resolve([]) : store.missing(db, connectionIds)),

    isHeld: (connectionId, keyId) => store.isHeld(db, connectionId, keyId),
    dismissed: () => store.dismissed(db, nodeId),

    async touch(seen) {
      if (seen.length > 0) await store.touch(db, seen)
    },

    async leave() {
      await store.forgetNode(db, nodeId)
    },
  }
}
