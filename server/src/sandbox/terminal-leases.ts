import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '../kernel/bus.ts'
import type { Db } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import type { Log } from '../kernel/log.ts'
import { startLoop } from '../kernel/loop.ts'
import {
  terminalLeaseStore as store,
  terminalTaskStore as taskStore,
  type Errand,
  type TerminalsNamed,
  type HeldRow,
} from './store-terminals.ts'

/** Which virtual terminals this process runs. Where there are several, each runs its own, and asks another for what is another's. */
export interface TerminalLeases extends AsyncDisposable {
  /** Makes this process the one that runs it; false where another does. */
  claim(partnerId: string, groupId: string, deviceId: string): Promise<boolean>
  release(groupId: string, deviceId: string): Promise<void>
  /** Notes that one runs on, as another process asked. */
  answered(groupId: string, deviceId: string): Promise<void>
  /** Resolves when the processes that run these have done it, to how many were asked. Throws UNAVAILABLE where one does not in time. */
  ask(what: Errand, asking: TerminalsNamed): Promise<number>
  /** Of one that another process runs, whether its script has it off the line for now; undefined where none does. */
  elsewhere(asking: TerminalsNamed): Promise<{ readonly comesBack: boolean } | undefined>
}

export interface TerminalLeasesDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly log: Log
  readonly nodeId: string
  /** Names of those that run here. */
  readonly running: () => string[]
  /** Does what another process asks of one that is held here, and releases what does not run on. */
  readonly answer: (held: HeldRow) => Promise<unknown>
  /** Called for one that runs here while the process has lost it: another took it when this one seemed dead. */
  readonly lost: (name: string) => void
  /** How long another process has to do what it is asked. */
  readonly answerMsMax?: number
}

export const nameOf = (groupId: string, deviceId: string) => `${groupId} ${deviceId}`

const everyMs = 1_000
// Longer than a lease: a process that is gone is not waited for in vain.
const answerMsUsual = 10_000
const pollMs = 25

export function createTerminalLeases(deps: TerminalLeasesDependencies): TerminalLeases {
  const { db, bus, log, nodeId, running, answer, lost, answerMsMax = answerMsUsual } = deps

  const loop = startLoop('sandbox.terminal_leases', { log, bus, wokenBy: ['terminals'] }, async () => {
    // What is started while the rows are read is not among them.
    const before = running()
    const held = await store.renew(db, nodeId)
    await taskStore.dropLeft(db)
    const names = new Set(held.map((row) => nameOf(row.group_id, row.device_id)))
    for (const name of before) if (!names.has(name)) lost(name)
    await Promise.all(held.filter(({ asked }) => asked !== null).map(answer))
    return everyMs
  })

  return {
    claim: (partnerId, groupId, deviceId) => store.claim(db, nodeId, partnerId, groupId, deviceId),

    async release(groupId, deviceId) {
      await store.release(db, nodeId, groupId, deviceId)
    },

    async answered(groupId, deviceId) {
      await store.markAnswered(db, nodeId, groupId, deviceId)
    },

    async ask(what, asking) {
      const asked = await store.ask(db, nodeId, asking, what)
      if (asked === 0) return 0
      bus.hint('terminals')
      const end = performance.now() + answerMsMax
      while (await store.isAsked(db, nodeId, asking)) {
        if (performance.now() > end) {
          const message = 'The process that runs this virtual terminal does not answer; try again.'
          throw new Fault('UNAVAILABLE', message, { retryAfterSeconds: 5 })
        }
        await sleep(pollMs)
      }
      return asked
    },

    async elsewhere(asking) {
      const [row] = await store.elsewhere(db, nodeId, asking)
      return row && { comesBack: row.comes_back }
    },

    async [Symbol.asyncDispose]() {
      await loop[Symbol.asyncDispose]()
      // Without a database the leases run out by themselves.
      await store.releaseAll(db, nodeId).catch(() => {})
    },
  }
}
