import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { chownSync, lchownSync, readdirSync, readFileSync, statSync, type Stats } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { StartFault } from '../fault.ts'
import { sendSignal } from './processes.ts'

/** Who runs PostgreSQL. */
export interface Account {
  readonly name: string
  /** Empty when it is we ourselves; else the user that root becomes. */
  readonly identity: { readonly uid?: number; readonly gid?: number }
  /** A command that goes before the command and starts it in a user namespace; mostly empty. */
  readonly prefix: readonly string[]
}

interface PasswdEntry {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

const outputBytesMax = 64 * 1024

/**
 * Chooses who runs PostgreSQL, which refuses to run as root, and whose initdb wants a name for its user in /etc/passwd.
 * An ordinary user with a name runs it as itself. Root becomes the owner of the cluster, else of the data directory, else `postgres`,
 * else `nobody`. Where root may not become another user, or the user has no name, a user namespace gives us another number.
 */
export async function chooseAccount(dataDir: string, cluster: string): Promise<Account> {
  const me = process.geteuid?.()
  const owner = statOrNothing(cluster)
  if (me === undefined) return { name: userInfo().username, identity: {}, prefix: [] }
  if (me !== 0) return ordinaryAccount(me, cluster, owner)

  const entries = passwdEntries()
  for (const entry of candidates(entries, statOrNothing(dataDir), owner)) {
    const account: Account = { name: entry.name, identity: { uid: entry.uid, gid: entry.gid }, prefix: [] }
    if ((await run(account, '/bin/sh', ['-c', ':'], { cwd: '/' })).code === 0) return account
  }
  const account = owner === undefined || owner.uid === 0 ? await namespaceAccount() : undefined
  if (account) return account
  throw new StartFault(
    'PostgreSQL does not run as root, and root may not become another user here: start Kaha as an ordinary user, or set KAHA_DATABASE_URL',
  )
}

/** The account that is still ourselves to the files outside, under another number inside; nothing where the system forbids it. */
export async function namespaceAccount(): Promise<Account | undefined> {
  const entries = passwdEntries()
  const entry = entries.find(({ name }) => name === 'nobody') ?? entries.find(({ uid }) => uid !== 0)
  if (!entry) return undefined
  const prefix = ['unshare', '--user', `--map-user=${entry.uid}`, `--map-group=${entry.gid}`, '--']
  const account: Account = { name: entry.name, identity: {}, prefix }
  return (await run(account, '/bin/sh', ['-c', ':'], { cwd: '/' })).code === 0 ? account : undefined
}

/**
 * Starts a command as this account, in a session of its own: Ctrl-C goes to the whole foreground process group, and must reach us alone.
 * The environment is made from nothing, for variables such as PGDATA or LC_ALL would change what PostgreSQL does.
 */
export function spawnAs(
  account: Account,
  command: string,
  args: readonly string[],
  options: { cwd: string; stdio: StdioOptions },
): ChildProcess {
  const [program, ...rest] = [...account.prefix, command, ...args]
  return spawn(program ?? command, rest, {
    ...account.identity,
    ...options,
    detached: true,
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' },
  })
}

/** Runs a command to its end and gives its exit code and what it wrote; `code` is null when a signal or the system ended it. */
export function run(
  account: Account,
  command: string,
  args: readonly string[],
  options: { cwd: string; signal?: AbortSignal | undefined },
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    options.signal?.throwIfAborted()
    let child: ChildProcess
    try {
      child = spawnAs(account, command, args, { cwd: options.cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    } catch (error) {
      // Node throws when the system refuses the user, and emits 'error' when the file cannot be started.
      return resolve({ code: null, output: (error as Error).message })
    }
    let output = ''
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-outputBytesMax)
    }
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    // The whole group: initdb has children that would go on writing.
    const abort = (): void => {
      if (child.pid !== undefined) sendSignal(-child.pid, 'SIGKILL')
    }
    options.signal?.addEventListener('abort', abort, { once: true })
    child.on('error', (error) => resolve({ code: null, output: error.message }))
    child.on('close', (code) => {
      options.signal?.removeEventListener('abort', abort)
      if (options.signal?.aborted) reject(options.signal.reason as Error)
      else resolve({ code, output })
    })
  })
}

/** Whether the account may read this file or folder, by the permission bits of it and of every folder above. */
export function reaches(account: Account, path: string): boolean {
  const { uid, gid } = account.identity
  if (uid === undefined) return true
  const allowed = (stats: Stats, bits: number): boolean => {
    const shift = stats.uid === uid ? 6 : stats.gid === gid ? 3 : 0
    return ((stats.mode >> shift) & bits) === bits
  }
  const stats = statOrNothing(path)
  if (!stats || !allowed(stats, stats.isDirectory() ? 5 : 4)) return false
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const above = statOrNothing(folder)
    if (!above || !allowed(above, 1)) return false
    if (folder === dirname(folder)) return true
  }
}

/** Gives a folder with all that is in it to the account. */
export function giveTo(account: Account, folder: string): void {
  const { uid, gid } = account.identity
  if (uid === undefined || gid === undefined) return
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    lchownSync(join(entry.parentPath, entry.name), uid, gid)
  }
  chownSync(folder, uid, gid)
}

async function ordinaryAccount(me: number, cluster: string, owner: Stats | undefined): Promise<Account> {
  if (owner && owner.uid !== me) {
    const name = passwdEntries().find(({ uid }) => uid === owner.uid)?.name ?? String(owner.uid)
    throw new StartFault(
      `the database in ${cluster} belongs to the user ${name}: start Kaha as that user or as root, or set KAHA_DATA_DIR to another folder`,
    )
  }
  try {
    return { name: userInfo().username, identity: {}, prefix: [] }
  } catch {
    // Only initdb looks the name up.
    const account = owner ? { name: String(me), identity: {}, prefix: [] } : await namespaceAccount()
    if (account) return account
    throw new StartFault(
      `PostgreSQL needs a name for the user ${me}: add one to /etc/passwd, start Kaha as another user, or set KAHA_DATABASE_URL`,
    )
  }
}

function candidates(entries: PasswdEntry[], dataDir: Stats | undefined, cluster: Stats | undefined): PasswdEntry[] {
  if (cluster && cluster.uid !== 0) return [{ name: String(cluster.uid), uid: cluster.uid, gid: cluster.gid }]
  const found = [
    entries.find(({ uid }) => uid === dataDir?.uid),
    entries.find(({ name }) => name === 'postgres'),
    entries.find(({ name }) => name === 'nobody'),
  ]
  return found.filter((entry) => entry !== undefined).filter(({ uid }) => uid !== 0)
}

function passwdEntries(): PasswdEntry[] {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return lines.flatMap((line) => {
    const [name, , uid, gid] = line.split(':')
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
}

function statOrNothing(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}
