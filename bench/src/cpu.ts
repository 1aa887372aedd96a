import { readdirSync, readFileSync } from 'node:fs'

/** The CPU time that a process has used so far, its own and the system's for it, in ms. Source: proc(5), where a tick is 10 ms. */
export function cpuMsOf(pid: number): number {
  const [user, system] = fieldsOf(pid).slice(userTicks, userTicks + 2)
  return (Number(user) + Number(system)) * tickMs
}

/** The same of a process and its children, those that have ended too: PostgreSQL has one for each connection. */
export function cpuMsWithChildren(pid: number): number {
  const [user, system] = fieldsOf(pid).slice(endedChildrenTicks, endedChildrenTicks + 2)
  const ended = (Number(user) + Number(system)) * tickMs
  return [pid, ...childrenOf(pid)].reduce((sum, one) => sum + cpuMsOf(one), ended)
}

export function childrenOf(pid: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return all.map(Number).filter((one) => Number(fieldsOf(one)[parent]) === pid)
}

const tickMs = 10
// Counted after the name of the program, which may hold anything.
const parent = 1
const userTicks = 11
const endedChildrenTicks = 13

/** None of a process that has ended meanwhile. */
function fieldsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  } catch {
    return []
  }
}
