import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { Client } from 'pg'
import { chooseAccount, reaches, type Account } from './account.ts'
import { startEmbeddedPostgres, type EmbeddedPostgres, type EmbeddedPostgresOptions } from './embedded.ts'
import { eventually, processesIn, sendSignal } from './processes.ts'

export const isRoot = process.geteuid?.() === 0
export const waitMsMax = 10_000

const shells = ['sh', 'dash', 'bash', 'busybox']

export interface Running {
  readonly pid: number
  readonly socketDir: string
  readonly user: string
}

/** An empty folder that is gone after the test, with every process that still works in the cluster inside it. */
export function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'kaha-test-'))
  t.after(() => removeFolder(path))
  return path
}

/** Ends what still runs in the data directories below the folder, and removes it. */
export function removeFolder(path: string): void {
  for (const name of ['', ...readdirSync(path)]) {
    const cluster = join(path, name, 'postgres')
    if (!existsSync(cluster)) continue
    for (const pid of processesIn(cluster, ['postgres', ...shells])) sendSignal(pid, 'SIGKILL')
  }
  rmSync(path, { recursive: true, force: true, maxRetries: 5 })
}

export async function start(t: TestContext, options: Partial<EmbeddedPostgresOptions> & { dataDir: string }) {
  const lines: string[] = []
  const postgres = await startEmbeddedPostgres({ fsync: false, log: (line) => void lines.push(line), ...options })
  t.after(() => postgres.stop())
  return { postgres, lines }
}

/** A data directory with a database and the table `kept` in it: initdb takes most of a first start, so a file's tests share one. */
export async function madeDataDir(parent: string): Promise<string> {
  const dataDir = join(parent, 'made')
  await using postgres = await startEmbeddedPostgres({ dataDir, fsync: false, log: () => {} })
  await query(postgres, 'create table kept (id int primary key)')
  return dataDir
}

/** One statement on a connection of its own. */
export async function query(
  server: Pick<Running, 'socketDir' | 'user'>,
  sql: string,
): Promise<Record<string, unknown>[]> {
  const client = new Client({ host: server.socketDir, port: 5432, user: server.user, database: 'postgres' })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

/** The same, as often as it takes until the server answers. */
export async function queryWhenBack(server: EmbeddedPostgres, sql: string): Promise<Record<string, unknown>[]> {
  const giveUpAt = performance.now() + waitMsMax
  for (;;) {
    try {
      return await query(server, sql)
    } catch (error) {
      if (performance.now() > giveUpAt) throw error
      await eventually(() => existsSync(join(server.socketDir, '.s.PGSQL.5432')), 50)
    }
  }
}

/** Starts `test-child.ts` in a process of its own, which is killed after the test. */
export async function startChild(
  t: TestContext,
  args: string[],
  { prefix = [], identity = {} }: Partial<Account> = {},
): Promise<{ child: ChildProcess; running: Running | undefined; errors: () => string }> {
  const child = launchChild(t, args, { prefix, identity })
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const running = await firstLine(child)
  if (running === undefined && child.exitCode === null && child.signalCode === null) await once(child, 'close')
  return { child, running: running === undefined ? undefined : (JSON.parse(running) as Running), errors: () => errors }
}

export function launchChild(
  t: TestContext,
  args: string[],
  { prefix = [], identity = {} }: Partial<Account> = {},
): ChildProcess {
  const [program = '', ...rest] = [...prefix, process.execPath, join(import.meta.dirname, 'test-child.ts'), ...args]
  const child = spawn(program, rest, { ...identity, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin?.on('error', () => {})
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return child
}

/** Ends standard input, on which the child stops in order. */
export async function finish(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.stdin?.end()
  await once(child, 'exit')
}

export function watchdogsIn(dataDir: string): number[] {
  return processesIn(join(dataDir, 'postgres'), shells)
}

export function serversIn(dataDir: string): number[] {
  return processesIn(join(dataDir, 'postgres'), ['postgres'])
}

/** An ordinary user for a child of root's test, or the reason why there is none. */
export async function ordinaryUser(): Promise<Account | string> {
  if (!isRoot) return 'these tests already run as an ordinary user'
  const account = await chooseAccount('/nonexistent', '/nonexistent')
  for (const path of [process.execPath, join(import.meta.dirname, 'embedded.ts')]) {
    if (!reaches(account, path)) return `the user ${account.name} cannot reach ${path}`
  }
  return account
}

export function give(path: string, account: Account): void {
  chownSync(path, account.identity.uid ?? 0, account.identity.gid ?? 0)
}

async function firstLine(child: ChildProcess): Promise<string | undefined> {
  if (!child.stdout) return undefined
  for await (const line of createInterface({ input: child.stdout })) return line
  return undefined
}
