import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export type ProcessState = 'running' | 'zombie' | 'gone'

/** False where the system has no /proc (macOS): nobody's processes can then be told apart, and PostgreSQL's own checks must do. */
export const canSeeProcesses = existsSync('/proc/self/stat')

/** Whether a process runs, waits as a zombie for its parent, or is not there. Source: proc_pid_stat(5). */
export function processState(pid: number): ProcessState {
  const state = statFields(pid)?.[0]
  if (state === undefined) return 'gone'
  return state === 'Z' || state === 'X' ? 'zombie' : 'running'
}

/** The parent's process id, or nothing when the process is gone. */
export function parentOf(pid: number): number | undefined {
  const parent = statFields(pid)?.[1]
  return parent === undefined ? undefined : Number(parent)
}

/**
 * Whether a process is the named program at work in this folder. A process id alone proves nothing, for ids are used again;
 * PostgreSQL and everything it forks have the cluster as working directory, whatever path they were given.
 */
export function worksIn(pid: number, folder: string, programs: readonly string[]): boolean {
  try {
    const program = basename(readlinkSync(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, '')
    if (!programs.includes(program)) return false
    const [here, there] = [statSync(`/proc/${pid}/cwd`), statSync(folder)]
    return here.dev === there.dev && here.ino === there.ino
  } catch {
    return false
  }
}

/** The processes of the named programs at work in this folder. */
export function processesIn(folder: string, programs: readonly string[]): number[] {
  if (!canSeeProcesses) return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => worksIn(pid, folder, programs))
}

/** Sends a signal; a process that is gone already is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Asks every few milliseconds until the answer is yes, at most `waitMsMax`; tells whether it was. */
export async function eventually(holds: () => boolean, waitMsMax: number): Promise<boolean> {
  const giveUpAt = performance.now() + waitMsMax
  while (!holds()) {
    if (performance.now() > giveUpAt) return false
    await delay(5)
  }
  return true
}

/** The fields after the program's name, which may itself hold blanks and brackets: state, parent, … */
function statFields(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
