import { devicesPerKeyMax, type TerminalPrincipal } from '../../identity/terminal-keys.ts'
import type { Bus } from '../../kernel/bus.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isDuplicate, type Db, type Queries } from '../../kernel/db.ts'
import { Fault } from '../../kernel/fault.ts'
import { isUuid, newId } from '../../kernel/ids.ts'
import { together } from '../../kernel/together.ts'
import { happen } from './course.ts'
import { refuse } from './errors.ts'
import type { Changed, Ledger } from './ledger.ts'
import {
  connectionStore as store,
  type Gone,
  type KnownTerminal,
  type Place,
  type MetSocket,
  type NewSocket,
  type ToldTerminal,
} from './store-connections.ts'
import { transactionStore } from './store-transactions.ts'

/** How long a terminal whose line is lost counts as reconnecting; business time. */
const reconnectMs = 60_000
const silentMsMax = 15_000
const socketsAtOnceMax = 200
const expiredAtOnceMax = 500
// A connection locks its key in a table of PostgreSQL's that has room for some thousands.
const togetherMax = 128
// Terminals come back by the thousand, and a statement for many costs little more than one for a few. Who comes alone does not wait.
const connectRestFrom = 4
const touchedTogetherMax = 64

export interface Connected {
  /** Null for a desktop. */
  readonly terminalId: string | null
  /** A terminal that was never here before. */
  readonly isNew: boolean
}

/** A connection, and when it was last heard; business time. */
export interface Seen {
  readonly connectionId: string
  readonly at: Date
}

export interface Connections {
  /**
   * Makes this the connection of its key and of its device; whatever either had before is replaced and told. Throws GROUP_MISMATCH for a device
   * id that belongs to another key, or that another's connection has for its id.
   */
  connect(principal: TerminalPrincipal, connectionId: string, deviceId: string | null): Promise<Connected>
  /** Ends a connection; one that was replaced before has nothing to end. */
  disconnect(connectionId: string, isGoodbye: boolean): Promise<void>
  /** Notes that this process is alive. */
  beat(): Promise<void>
  /** What processes that died held is lost; resolves to how many sockets that were. */
  reap(): Promise<number>
  /** Terminals whose time to reconnect is over, some of them; resolves to whether there may be more. */
  expire(): Promise<boolean>
  /** Those of these connections that somebody else has replaced or given up for lost. */
  missing(connectionIds: readonly string[]): Promise<string[]>
  /** Whether another connection has taken its place or it was ended, whether or not this process has heard of it. */
  isGone(connectionId: string): Promise<boolean>
  /** Whether another connection has taken its place: one may also be gone that was given up for lost, and has no other in its place. */
  isReplaced(place: Place): Promise<boolean>
  /** Connections of this process that an operator wants closed. */
  toClose(): Promise<string[]>
  /** Notes when these connections were last heard; resolves to those that could not be noted just now. */
  touch(seen: readonly Seen[]): Promise<Seen[]>
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
  /** Open payments of terminals whose line is gone: those that were written may have arrived. */
  const lose = async (tx: Queries, terminalIds: readonly string[]): Promise<Changed[]> => {
    if (terminalIds.length === 0) return []
    const ids = await transactionStore.openOf(tx, terminalIds)
    return ledger.changeIn(
      tx,
      ids.map((id) => ({
        id,
        stepper: (row, now) =>
          happen(row, row.created_at, row.sent_to === null && row.state === 'PENDING' ? 'not_reached' : 'lost', now),
      })),
    )
  }

  const tellStatus = ({ group_id, id }: Pick<ToldTerminal, 'id' | 'group_id'>, status: string) =>
    bus.say('terminals', ['terminal', group_id, id, status])

  const connectTogether = async (all: readonly Coming[]): Promise<(Connected | Fault)[]> => {
    const done = await db.tx(async (tx) => {
      const met = await store.meet(
        tx,
        all.map(({ principal, deviceId }) => ({
          group_id: principal.groupId,
          device_id: deviceId,
          key_id: principal.keyId,
        })),
      )
      const before = new Map(met.sockets.map((row) => [row.key_id, row]))
      const at = clock.now()
      const plans = planned(all, before, met.terminals, { nodeId, at })
      const sockets = plans.flatMap((plan) => (plan instanceof Fault ? [] : [plan.socket]))
      const leaving = plans.flatMap((plan) => (plan instanceof Fault || plan.leaves === null ? [] : [plan.leaves]))
      const gone = leaving.length === 0 ? [] : await store.disconnectAll(tx, leaving)
      await store.connectAll(tx, sockets, at)
      const replaced = plans.flatMap((plan) => (plan instanceof Fault || plan.loses === null ? [] : [plan.loses]))
      const changes = await lose(tx, [...gone.map(({ id }) => id), ...replaced])
      return { before, plans, sockets, gone, changes }
    })
    for (const plan of done.plans) {
      const older = plan instanceof Fault ? undefined : done.before.get(plan.socket.key_id)
      if (older !== undefined) bus.say('terminals', ['close', older.connection_id, 'api_key_used_elsewhere'])
    }
    for (const row of done.gone) tellStatus(row, 'disconnected')
    for (const { terminal_id: id, ...socket } of done.sockets)
      if (id !== null) tellStatus({ id, ...socket }, 'connected')
    await ledger.follow(done.changes)
    return done.plans.map((plan) =>
      plan instanceof Fault ? plan : { terminalId: plan.socket.terminal_id, isNew: plan.socket.is_new },
    )
  }

  const disconnectTogether = async (all: readonly Going[]): Promise<undefined[]> => {
    const goodbyes = new Set(all.flatMap(({ connectionId, isGoodbye }) => (isGoodbye ? [connectionId] : [])))
    const connectionIds = all.map(({ connectionId }) => connectionId)
    const done = await db.tx(async (tx) => {
      const held = await store.findSockets(tx, connectionIds)
      if (held.length === 0) return { rows: [], changes: [] }
      await store.lockKeys(
        tx,
        held.map(({ key_id }) => key_id),
      )
      const dropped = await store.dropSockets(tx, connectionIds)
      const ofTerminals = dropped.flatMap((one) => (one.terminal_id === null ? [] : [{ ...one, id: one.terminal_id }]))
      if (ofTerminals.length === 0) return { rows: [], changes: [] }
      const ids = ofTerminals.map(({ id }) => id)
      const terminals = new Map((await store.lockThose(tx, ids)).map((row) => [row.id, row]))
      const rows = await store.disconnectAll(
        tx,
        ofTerminals.map(({ id, connection_id }) => {
          const stays = (terminals.get(id)?.device_id ?? null) !== null && !goodbyes.has(connection_id)
          const offline_at = stays ? new Date(clock.now().getTime() + reconnectMs) : null
          return { terminal_id: id, connection_id, status: stays ? 'reconnecting' : 'offline', offline_at }
        }),
      )
      const lost = rows.map(({ id }) => id)
      return { rows, changes: await lose(tx, lost) }
    })
    for (const row of done.rows) tellStatus(row, row.status === 'reconnecting' ? 'reconnecting' : 'disconnected')
    await ledger.follow(done.changes)
    return all.map(() => undefined)
  }

  // When nobody could say anything for the last time: then the silence of others says nothing yet.
  let quietSince = -Infinity

  const connect = together({
    // A new device id that another process has given to another key in this moment is known the second time.
    work: (all: readonly Coming[]) =>
      connectTogether(all).catch((error: unknown) => {
        if (isDuplicate(error)) return connectTogether(all)
        throw error
      }),
    itemsMax: togetherMax,
    apart: ({ principal: { keyId, groupId }, deviceId }) =>
      deviceId === null ? [keyId] : [keyId, `${groupId} ${deviceId}`],
    restFrom: connectRestFrom,
  })
  const disconnect = together({ work: disconnectTogether, itemsMax: togetherMax })
  const isGone = together({
    async work(connectionIds: readonly string[]) {
      const gone = new Set(await store.missing(db, connectionIds))
      return connectionIds.map((id) => gone.has(id))
    },
    itemsMax: togetherMax,
  })

  return {
    async connect(principal, connectionId, deviceId) {
      // Tills name a terminal by either, and by its device id first.
      const named =
        deviceId !== null && isUuid(deviceId)
          ? await store.findByConnection(db, principal.groupId, deviceId)
          : undefined
      if (named !== undefined && named.key_id !== principal.keyId)
        throw refuse(
          'GROUP_MISMATCH',
          'This device id is the connection id of another terminal; choose one of your own.',
        )
      return connect({ principal, connectionId, deviceId })
    },
    disconnect: (connectionId, isGoodbye) => disconnect({ connectionId, isGoodbye }),

    async beat() {
      await store.beat(db, nodeId)
    },

    async reap() {
      const silent = await store.silentSockets(db, silentMsMax, socketsAtOnceMax).catch((error: unknown) => {
        quietSince = performance.now()
        throw error
      })
      if (performance.now() - quietSince < silentMsMax) return 0
      await Promise.all(silent.map(({ connection_id: connectionId }) => disconnect({ connectionId, isGoodbye: false })))
      // One that lives after all holds them still, and may have looked for what it lost before this was stored.
      for (const { connection_id: connectionId } of silent) bus.say('terminals', ['close', connectionId, 'other'])
      if (silent.length === 0) await store.dropSilentNodes(db)
      return silent.length
    },

    async expire() {
      const rows = await store.expireReconnecting(db, expiredAtOnceMax)
      for (const row of rows) tellStatus(row, 'disconnected')
      return rows.length === expiredAtOnceMax
    },

    missing: (connectionIds) => (connectionIds.length === 0 ? Promise.resolve([]) : store.missing(db, connectionIds)),

    isGone,
    isReplaced: (place) => store.hasAnother(db, place),
    toClose: () => store.toClose(db, nodeId),

    async touch(seen) {
      const left: Seen[] = []
      for (let at = 0; at < seen.length; at += touchedTogetherMax) {
        const some = seen.slice(at, at + touchedTogetherMax)
        const touched = new Set(await store.touch(db, some))
        left.push(...some.filter(({ connectionId }) => !touched.has(connectionId)))
      }
      return left
    },

    async leave() {
      await store.forgetNode(db, nodeId)
    },
  }
}

interface Coming {
  readonly principal: TerminalPrincipal
  readonly connectionId: string
  readonly deviceId: string | null
}

interface Going {
  readonly connectionId: string
  readonly isGoodbye: boolean
}

/** What one connection changes. */
interface Plan {
  readonly socket: NewSocket
  /** The terminal that the key was connected as, under another device id; it may be another key's by now. */
  readonly leaves: Gone | null
  /** The terminal itself, where its line before this one was not known to be lost. */
  readonly loses: string | null
}

/** For each that comes what it changes, or why it may not come. Their keys and device ids are all different. */
function planned(
  all: readonly Coming[],
  before: ReadonlyMap<string, MetSocket>,
  known: readonly KnownTerminal[],
  { nodeId, at }: { readonly nodeId: string; readonly at: Date },
): (Plan | Fault)[] {
  const byDevice = new Map(known.map((row) => [`${row.group_id} ${row.device_id ?? ''}`, row]))
  const byId = new Map(known.map((row) => [row.id, row]))
  const byKey = Map.groupBy(known, ({ key_id }) => key_id)
  return all.map(({ principal, connectionId, deviceId }) => {
    const { keyId, groupId, partnerId, merchantId, branchId, role } = principal
    const socket = {
      key_id: keyId,
      connection_id: connectionId,
      node_id: nodeId,
      group_id: groupId,
      partner_id: partnerId,
      merchant_id: merchantId,
      device_id: deviceId,
    }
    if (role === 'desktop')
      return { socket: { ...socket, terminal_id: null, is_new: false, branch_id: null }, leaves: null, loses: null }
    const own = byKey.get(keyId) ?? []
    const target =
      deviceId === null ? own.find(({ device_id }) => device_id === null) : byDevice.get(`${groupId} ${deviceId}`)
    if (target !== undefined && target.key_id !== keyId)
      return refuse('GROUP_MISMATCH', 'This device id belongs to another key of the group.')
    if (target === undefined && own.length >= devicesPerKeyMax)
      return refuse('GROUP_MISMATCH', 'This key has been used with too many device ids.')
    const held = before.get(keyId)
    const left = byId.get(held?.terminal_id ?? '')
    const isLeft = left !== undefined && left.id !== target?.id && left.connection_id === held?.connection_id
    return {
      socket: {
        ...socket,
        terminal_id: target?.id ?? newId(at),
        is_new: target === undefined,
        branch_id: branchId,
      },
      leaves: isLeft
        ? { terminal_id: left.id, connection_id: left.connection_id, status: 'offline', offline_at: null }
        : null,
      loses: target?.status === 'online' ? target.id : null,
    }
  })
}
