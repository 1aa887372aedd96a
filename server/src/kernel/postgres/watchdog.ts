import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { spawnAs, type Account } from './account.ts'

export interface Watchdog extends AsyncDisposable {
  /** From now on this is the process that must not outlive us. */
  guard(pid: number): void
}

/**
 * Starts with the process id that it is given, and reads others until the pipe ends, which it does when we end, by whatever cause.
 * Then it ends the process that it knows last: fast, immediately, and by force, 5 s apart. A process counts as ours while it works in
 * the cluster, for ids are used again.
 */
const script = `
trap '' HUP INT TERM
pid=$2
while read -r line; do pid=$line; done
if [ -e /proc/self/cwd ]
then alive() { [ -n "$pid" ] && [ "/proc/$pid/cwd" -ef . ]; }
else alive() { [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; }
fi
for signal in INT QUIT KILL; do
  tries=0
  alive && kill -s "$signal" "$pid"
  while alive && [ "$tries" -lt 250 ]; do sleep 0.02; tries=$((tries + 1)); done
done
rm -rf "$1"
`

const restartMsMax = 10_000

/**
 * Starts a small shell that stops PostgreSQL when this process is gone, kill -9 included: a plain child would stay for ever.
 * It runs as PostgreSQL's account in a session of its own, and is started again when it is killed.
 */
export function startWatchdog(options: {
  account: Account
  cluster: string
  socketDir: string
  log: (line: string) => void
}): Watchdog {
  let shell: ChildProcess
  let guarded: number | undefined
  let restartMs = 50
  let closed = false
  let timer: NodeJS.Timeout | undefined
  // In a user namespace we are still the same user to the system, and may signal PostgreSQL as we are.
  const account = { ...options.account, prefix: [] }

  const start = (): void => {
    shell = spawnAs(account, '/bin/sh', ['-c', script, 'kaha-watchdog', options.socketDir, String(guarded ?? '')], {
      cwd: options.cluster,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    shell.on('error', restart)
    shell.on('exit', restart)
    shell.stdin?.on('error', () => {}) // it is gone, and 'exit' tells so
    shell.unref()
    ;(shell.stdin as Socket | null)?.unref()
  }
  const restart = (): void => {
    if (closed || timer) return
    options.log('the watchdog of PostgreSQL ended; starting it again')
    timer = setTimeout(() => {
      timer = undefined
      start()
    }, restartMs).unref()
    restartMs = Math.min(restartMs * 2, restartMsMax)
  }

  start()
  return {
    guard(pid) {
      guarded = pid
      shell.stdin?.write(`${pid}\n`)
    },
    async [Symbol.asyncDispose]() {
      closed = true
      clearTimeout(timer)
      if (shell.pid === undefined || shell.exitCode !== null || shell.signalCode !== null) return
      shell.ref()
      shell.kill('SIGKILL')
      await once(shell, 'exit')
    },
  }
}
