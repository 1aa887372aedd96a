import { once } from 'node:events'
import { WebSocket } from 'ws'
import { issueTerminalKey } from '../identity/issue.ts'
import type { Identity } from '../identity/service.ts'
import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { newId, smallestId } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import type { Keyring } from '../kernel/seal.ts'
import { scriptOf, scripts, type Script } from './scripts.ts'
import { terminalTaskStore as store, virtualKeyPlace, type HeldRow, type TaskRow } from './store-terminals.ts'
import { createTerminalLeases, nameOf } from './terminal-leases.ts'
import { createActing, type Message, type Unit } from './virtual-terminal.ts'

export interface VirtualTerminals extends AsyncDisposable {
  /** Connects one over the real protocol, with a key of its own. One that runs goes on; one that was closed connects anew. Throws NOT_FOUND, BAD_REQUEST, DEVICE_ID_IN_USE, UNAVAILABLE. */
  start(partnerId: string, groupId: string, deviceId: string): Promise<'online' | 'offline'>
  /** Resolves when those of this process have done what they were told by now, and the platform has heard it, and missed the lines that were dropped. */
  settled(): Promise<void>
  /** Takes it off the line, whichever process runs it; one that does not run stays so. Throws NOT_FOUND, UNAVAILABLE. */
  stop(partnerId: string, deviceId: string): Promise<void>
}

export interface VirtualTerminalsDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly keyring: Keyring
  readonly log: Log
  readonly identity: Identity
  /** The merchant of a group. */
  readonly merchantOf: (groupId: string) => Promise<string | undefined>
  /** Where this process takes sockets. */
  readonly socketUrl: () => string
}

const runningMax = 100
const connectMsMax = 5_000
const goneEveryMs = 10
// What keeps one from the line may pass: a database that is away, a gateway that restarts. Business time, so that no advance waits for it.
const comeBackTriesMax = 5
const comeBackEveryS = 5
const comeBackAfterS = 1
// By another connection of its key, by an operator, and by the end of this process: whoever closed it so wants it closed.
const closedForGood: readonly number[] = [4001, 4003, 4004]

/**
 * Terminals that play a script, for sandboxes. They follow the sandbox's clock: what they will do are rows, for the process that runs
 * them to do.
 */
export function createVirtualTerminals(deps: VirtualTerminalsDependencies): VirtualTerminals {
  const { db, bus, clock, keyring, log, identity, merchantOf, socketUrl } = deps
  const units = new Map<string, Unit>()
  const nodeId = newId(clock.now())

  const isRunning = (unit: Unit) => units.get(nameOf(unit.groupId, unit.deviceId)) === unit
  const { act, heard, later, report } = createActing({ db, clock, isRunning })

  const connect = async (unit: Unit): Promise<void> => {
    const headers = { 'x-api-key': unit.apiKey, 'x-device-id': unit.deviceId }
    const socket = new WebSocket(`${socketUrl()}/v1`, { headers, handshakeTimeout: connectMsMax })
    let last: Promise<void> = Promise.resolve()
    socket.on('error', () => {})
    socket.on('message', (data: Buffer) => {
      last = last
        .then(() => act(unit, JSON.parse(data.toString()) as Message))
        .catch((error: unknown) => log.warn({ err: error }, 'a virtual terminal stumbled'))
    })
    socket.on('close', () => {
      for (const done of unit.pongs.values()) done()
      unit.pongs.clear()
    })
    // Before it is open: the first question may come with the answer to the handshake.
    unit.socket = socket
    try {
      await once(socket, 'open')
      unit.failures = 0
      socket.on('close', (code) => void noteLoss(unit, socket, code))
    } catch (cause) {
      // Asked again at once it would be refused again.
      const another = `take another device id, as ${unit.deviceId}-2`
      if (String(cause).endsWith(' 403'))
        throw new Fault('DEVICE_ID_IN_USE', `A terminal of yours has this device id; ${another}.`, { cause })
      if (String(cause).endsWith(' 401'))
        throw new Fault('UNAVAILABLE', `Its account or its key is not active; activate the account, or ${another}.`, {
          cause,
        })
      throw new Fault('UNAVAILABLE', 'The virtual terminal could not connect; does this process take sockets?', {
        retryAfterSeconds: 1,
        cause,
      })
    }
  }

  /** A line that was lost, or closed by the platform, is taken up again, as any terminal does. */
  const noteLoss = async (unit: Unit, socket: WebSocket, code: number): Promise<void> => {
    if (!isRunning(unit) || unit.socket !== socket || unit.comesBack || unit.script.staysOffline === true) return
    if (closedForGood.includes(code)) return
    unit.comesBack = true
    await later(unit, 'connect', null, comeBackAfterS).catch((error: unknown) => {
      unit.comesBack = false
      log.warn({ err: error, deviceId: unit.deviceId }, 'a virtual terminal cannot come back yet')
      setTimeout(() => void noteLoss(unit, socket, code), comeBackAfterS * 1_000).unref()
    })
  }

  /** False where it is to be tried again. */
  const comeBack = async (unit: Unit): Promise<boolean> => {
    try {
      await connect(unit)
    } catch (error) {
      log.warn({ err: error, deviceId: unit.deviceId }, 'a virtual terminal could not come back')
      unit.failures += 1
      unit.comesBack = unit.failures < comeBackTriesMax
      return !unit.comesBack
    }
    unit.comesBack = false
    // What it is asked after a connect comes first, and what it answers is worked through second.
    await heard(unit)
    return true
  }

  const perform = async (task: TaskRow): Promise<void> => {
    const unit = units.get(nameOf(task.group_id, task.device_id))
    if (unit !== undefined) {
      if (task.task === 'connect') {
        if (!(await comeBack(unit))) return void (await store.postpone(db, task.id, comeBackEveryS))
      } else if (task.transaction_id !== null) report(unit, task.transaction_id)
      await heard(unit)
    }
    await store.drop(db, task.id)
  }

  /** Resolves when the platform has stored that its line is gone. */
  const missed = async ({ groupId, deviceId }: Unit) => {
    const untilMs = performance.now() + connectMsMax
    while (performance.now() < untilMs && (await store.hasSocket(db, groupId, deviceId).catch(() => false)))
      await new Promise((done) => setTimeout(done, goneEveryMs))
  }

  const close = async (unit: Unit) => {
    if (unit.socket === null || unit.socket.readyState === WebSocket.CLOSED) return
    // One that is still connecting fails by that.
    const closed = once(unit.socket, 'close').catch(() => {})
    unit.socket.close(1000)
    await Promise.race([closed, new Promise((done) => setTimeout(done, connectMsMax).unref())])
    // Whoever goes on then finds it gone.
    await missed(unit)
  }

  const end = async (unit: Unit): Promise<void> => {
    units.delete(nameOf(unit.groupId, unit.deviceId))
    await close(unit)
    await leases.release(unit.groupId, unit.deviceId)
  }

  const goOn = async (unit: Unit): Promise<'online' | 'offline'> => {
    if (unit.script.staysOffline === true || unit.comesBack) return 'offline'
    // Somebody else has closed it.
    if (unit.socket?.readyState !== WebSocket.OPEN) await connect(unit)
    return 'online'
  }

  // Starts and ends of one terminal follow each other: between them it has no unit, or no lease.
  const changing = new Map<string, Promise<unknown>>()
  const inTurn = async <Result>(name: string, change: () => Promise<Result>): Promise<Result> => {
    const before = changing.get(name)
    const changed = (async () => {
      await before?.catch(() => {})
      return change()
    })()
    changing.set(name, changed)
    try {
      return await changed
    } finally {
      if (changing.get(name) === changed) changing.delete(name)
    }
  }

  const answer = async ({ group_id, device_id, asked }: HeldRow): Promise<void> => {
    const unit = units.get(nameOf(group_id, device_id))
    if (unit === undefined) return leases.release(group_id, device_id)
    if (asked === 'stop') return end(unit)
    const goesOn = await goOn(unit).catch((error: unknown) => {
      log.warn({ err: error, deviceId: device_id }, 'a virtual terminal could not come back')
    })
    // Who asked may start it then.
    if (goesOn === undefined) await end(unit)
    else await leases.answered(group_id, device_id)
  }

  const leases = createTerminalLeases({
    db,
    bus,
    log,
    nodeId,
    running: () => [...units.keys()],
    // One that is being started or stopped here is looked at again.
    async answer(held) {
      const name = nameOf(held.group_id, held.device_id)
      if (!changing.has(name)) await inTurn(name, () => answer(held))
    },
    lost(name) {
      if (changing.has(name)) return
      units.get(name)?.socket?.terminate()
      units.delete(name)
    },
  })

  const loop = startLoop('sandbox.terminals', { log, bus, wokenBy: ['clock'] }, async () => {
    const tasks = await store.due(db, nodeId)
    for (const task of tasks) await perform(task)
    return tasks.length > 0 ? 0 : 1_000
  })

  const ownKey = async (merchantId: string, groupId: string, deviceId: string) => {
    const page = { after: smallestId, rowsMax: 1 }
    const [branch] = await identity.branchesUnder({ level: 'merchant', entityId: merchantId }, page)
    if (branch === undefined) throw new Fault('NOT_FOUND', 'The merchant of this group has no branch; make one.')
    return db.tx(async (tx) => {
      await store.lockKey(tx, groupId, deviceId)
      const sealed = await store.findKey(tx, groupId, deviceId)
      const place = virtualKeyPlace(groupId, deviceId)
      if (sealed !== undefined) return keyring.open(sealed, place)
      const issuing = { keyring, keyPrefix: 'sk_test_' } as const
      const about = { role: 'terminal', groupId, branchId: branch.id } as const
      const { apiKey } = await issueTerminalKey(tx, issuing, about, clock.now())
      await store.insertKey(tx, groupId, deviceId, keyring.seal(apiKey, place), clock.now())
      return apiKey
    })
  }

  /** Resolves to undefined where no other process runs it. */
  const startElsewhere = async (partnerId: string, groupId: string, deviceId: string, script: Script) => {
    const asking = { partnerId, groupId, deviceId }
    if ((await leases.ask('start', asking)) === 0) return undefined
    const found = await leases.elsewhere(asking)
    return found && (script.staysOffline === true || found.comesBack ? 'offline' : 'online')
  }

  const startHere = async (unit: Unit): Promise<'online' | 'offline'> => {
    const { partnerId, groupId, deviceId } = unit
    if (!(await leases.claim(partnerId, groupId, deviceId)))
      throw new Fault('UNAVAILABLE', 'Another process starts this virtual terminal.', { retryAfterSeconds: 1 })
    try {
      await connect(unit)
    } catch (error) {
      await leases.release(groupId, deviceId)
      throw error
    }
    units.set(nameOf(groupId, deviceId), unit)
    if (unit.script.staysOffline !== true) return 'online'
    await close(unit)
    return 'offline'
  }

  return {
    async start(partnerId, groupId, deviceId) {
      const script = scriptOf(deviceId)
      if (script === undefined) throw new Fault('BAD_REQUEST', noScript)
      const merchantId = await merchantOf(groupId)
      const merchant = merchantId === undefined ? undefined : await identity.entity(merchantId)
      if (merchant === undefined || merchant.partner_id !== partnerId)
        throw new Fault('NOT_FOUND', 'There is no such group.')
      const name = nameOf(groupId, deviceId)
      return inTurn(name, async () => {
        const running = units.get(name)
        if (running !== undefined) return goOn(running)
        const elsewhere = await startElsewhere(partnerId, groupId, deviceId, script)
        if (elsewhere !== undefined) return elsewhere
        if (units.size >= runningMax)
          throw new Fault('UNAVAILABLE', `${runningMax} virtual terminals run; stop one.`, { retryAfterSeconds: 60 })
        const apiKey = await ownKey(merchant.id, groupId, deviceId)
        return startHere({
          partnerId,
          groupId,
          deviceId,
          apiKey,
          script,
          made: new Map(),
          known: new Map(),
          repeated: new Set(),
          pongs: new Map(),
          socket: null,
          comesBack: false,
          failures: 0,
        })
      })
    },

    async settled() {
      const settle = async (unit: Unit) => {
        // What it was told, and then what it said of that.
        await heard(unit)
        await heard(unit)
        if (unit.comesBack && unit.socket?.readyState !== WebSocket.OPEN) await missed(unit)
      }
      await Promise.all([...units.values()].map(settle))
    },

    async stop(partnerId, deviceId) {
      if (scriptOf(deviceId) === undefined) throw new Fault('NOT_FOUND', 'There is no script of this device id.')
      // One that is being started has no unit yet.
      for (const name of new Set([...units.keys(), ...changing.keys()])) {
        if (!name.endsWith(` ${deviceId}`) || (units.get(name)?.partnerId ?? partnerId) !== partnerId) continue
        await inTurn(name, async () => {
          const unit = units.get(name)
          if (unit?.partnerId === partnerId) await end(unit)
        })
      }
      await leases.ask('stop', { partnerId, groupId: null, deviceId })
    },

    async [Symbol.asyncDispose]() {
      for (const unit of units.values()) unit.socket?.terminate()
      units.clear()
      await loop[Symbol.asyncDispose]()
      await leases[Symbol.asyncDispose]()
    },
  }
}

const noScript = `device_id: is that of no script; take one of ${Object.keys(scripts).join(', ')}, or one with more behind a hyphen, as sim-approve-2.`
