import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { StartFault } from '../fault.ts'
import { pidFilePath, readPidFile } from './pid-file.ts'
import { isServed, isSocketFolder } from './socket-folder.ts'
import { canSeeProcesses, eventually, parentOf, processesIn, sendSignal, worksIn } from './processes.ts'

const programs = ['postgres']
const signalWaitMsMax = 5_000
const backendWaitMsMax = 250

/**
 * Clears a cluster of what an earlier run left behind when it was killed: a postmaster that lives on, backends that outlived their
 * postmaster, and the file `postmaster.pid`, for PostgreSQL takes it as a running server when its process id is in use by anything,
 * be it another program or a zombie, which holds nothing any more and may wait long for a parent to take notice.
 * Call it with the data directory locked: then no other Kaha is at work, and whatever runs in the cluster is an orphan.
 */
export async function clearLeftovers(options: {
  cluster: string
  killedOwner?: number | undefined
  /** The folder of our own socket, which stays; that of another run goes. */
  socketDir?: string
  log: (line: string) => void
}): Promise<void> {
  if (!canSeeProcesses) return
  const { cluster } = options
  const { pid, socketDir } = readPidFile(cluster)
  if (pid !== undefined) await endOrphan(pid, options)
  await endBackends(cluster)
  if (socketDir !== undefined) await removeSocket(socketDir, options.socketDir)
  rmSync(pidFilePath(cluster), { force: true })
}

async function endOrphan(
  pid: number,
  { cluster, killedOwner, log }: { cluster: string; killedOwner?: number | undefined; log: (line: string) => void },
): Promise<void> {
  const runs = (): boolean => worksIn(pid, cluster, programs)
  if (!runs()) return
  if (killedOwner !== undefined && killedOwner !== process.pid && parentOf(pid) === killedOwner) {
    throw new StartFault(
      `the database in ${cluster} is run by another Kaha (process ${killedOwner}): stop it first, or set KAHA_DATA_DIR to another folder`,
    )
  }
  log(`PostgreSQL (process ${pid}) was left running by a Kaha that was killed; stopping it`)
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    sendSignal(pid, signal)
    if (await eventually(() => !runs(), signalWaitMsMax)) return
  }
  throw new StartFault(
    `PostgreSQL (process ${pid}) still runs in ${cluster} and cannot be ended: end it, then start again`,
  )
}

/** Backends notice the end of their postmaster by themselves unless they are busy; the crash recovery that follows needs no goodbye. */
async function endBackends(cluster: string): Promise<void> {
  const gone = (): boolean => processesIn(cluster, programs).length === 0
  if (await eventually(gone, backendWaitMsMax)) return
  for (const pid of processesIn(cluster, programs)) sendSignal(pid, 'SIGKILL')
  if (await eventually(gone, signalWaitMsMax)) return
  throw new StartFault(
    `processes of PostgreSQL still run in ${cluster} and cannot be ended: end them, then start again`,
  )
}

async function removeSocket(folder: string, ours: string | undefined): Promise<void> {
  if (!isSocketFolder(folder)) return
  // All that ran in this cluster has ended: who still serves there serves the cluster that this one is a copy of.
  if (await isServed(folder)) return
  if (folder !== ours) return rmSync(folder, { recursive: true, force: true })
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { force: true })
}
