import { AsyncResource } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { access, constants, mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { ensurePartitions } from '../src/delivery/retention.ts'
import { connectionConfig, createDb, type DbTarget } from '../src/kernel/db.ts'
import { migrate } from '../src/kernel/migrate.ts'
import { startEmbeddedPostgres } from '../src/kernel/postgres/embedded.ts'

/**
 * One PostgreSQL for a whole test run, with a migrated template that each test file clones in some 20 ms. The runner starts it and
 * hands it on in the environment; a file that is run alone starts its own.
 */
export interface TestCluster extends AsyncDisposable {
  /** For KAHA_TEST_CLUSTER. */
  readonly handle: string
}

type Cluster = { readonly socketDir: string; readonly user: string } | { readonly url: string }

const template = 'kaha_template'
const reloadTriesMax = 100
const memory = '/dev/shm'
const memoryBytesMin = 4 * 2 ** 30

/** Another database of the same PostgreSQL. */
export function targetOf(cluster: Cluster | DbTarget, database: string): DbTarget {
  if (!('url' in cluster)) return { ...cluster, database }
  const url = new URL(cluster.url)
  url.pathname = `/${database}`
  return { url: url.href }
}

async function asAdmin<T>(cluster: Cluster, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(connectionConfig(targetOf(cluster, 'postgres')))
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function prepare(cluster: Cluster): Promise<void> {
  await asAdmin(cluster, async (client) => {
    await client.query(`drop database if exists ${template}`)
    await client.query(`create database ${template}`)
  })
  const target = targetOf(cluster, template)
  await migrate(target)
  // What each start would make first: two dozen tables take longer to make than to copy.
  await using db = createDb({ target, connectionsMax: 1, onError: () => {} })
  await ensurePartitions(db, new Date())
}

// The embedded cluster lets nobody in by TCP. This one is for a test run, on a port of this machine alone.
async function letInByTcp(
  dataDir: string,
  { socketDir, user }: { socketDir: string; user: string },
  port: number,
): Promise<void> {
  const path = join(dataDir, 'postgres', 'pg_hba.conf')
  const rules = await readFile(path, 'utf8')
  await writeFile(path, `${rules.replaceAll(/^host .* reject$/gm, '')}\nhost all all 127.0.0.1/32 trust\n`)
  const client = new pg.Client({ host: socketDir, port, user, database: 'postgres' })
  await client.connect()
  await client.query('select pg_reload_conf()')
  await client.end()
  // The server reads its rules again when it gets to it.
  for (let tries = 1; ; tries += 1) {
    const visitor = new pg.Client({ host: '127.0.0.1', port, user, database: 'postgres' })
    try {
      await visitor.connect()
      return await visitor.end()
    } catch (error) {
      if (tries === reloadTriesMax) throw error
      await sleep(10)
    }
  }
}

/** Where a database is copied soonest: in memory that has room, or else where temporary files are. */
async function quickFolder(): Promise<string> {
  try {
    await access(memory, constants.W_OK)
    const { bavail, bsize } = await statfs(memory)
    return bavail * bsize >= memoryBytesMin ? memory : tmpdir()
  } catch {
    return tmpdir()
  }
}

export interface TestClusterOptions {
  /** On TCP too. */
  readonly tcpPort?: number
  /** In memory where it can be: for many small databases, not for figures. */
  readonly quick?: boolean
}

/** Starts PostgreSQL without fsync on a directory that is removed afterwards. */
export async function startTestCluster({ tcpPort, quick = false }: TestClusterOptions = {}): Promise<TestCluster> {
  await using building = new AsyncDisposableStack()
  const dataDir = await mkdtemp(join(quick ? await quickFolder() : tmpdir(), 'kaha-test-'))
  building.defer(() => rm(dataDir, { recursive: true, force: true }))
  const postgres = building.use(
    await startEmbeddedPostgres({
      dataDir,
      fsync: false,
      connectionsMax: 200,
      log: () => {},
      ...(tcpPort === undefined ? {} : { tcpPort }),
    }),
  )
  if (tcpPort !== undefined) await letInByTcp(dataDir, postgres, tcpPort)
  const cluster: Cluster =
    tcpPort === undefined
      ? { socketDir: postgres.socketDir, user: postgres.user }
      : { url: `postgres://${postgres.user}@127.0.0.1:${tcpPort}/postgres` }
  await prepare(cluster)
  const held = building.move()
  return { handle: JSON.stringify(cluster), [Symbol.asyncDispose]: () => held.disposeAsync() }
}

export interface TestDatabase extends AsyncDisposable {
  readonly target: DbTarget
}

let own: Promise<TestCluster> | undefined
// A hook belongs to the test that is running where it is registered; this one is the file's.
const fileScope = new AsyncResource('kaha.testFile')

async function clusterOfRun(handle: string | undefined): Promise<Cluster> {
  const given = handle ?? process.env['KAHA_TEST_CLUSTER']
  if (given !== undefined) return JSON.parse(given) as Cluster
  if (own === undefined) {
    own = startTestCluster({ quick: true })
    const { after } = await import('node:test')
    fileScope.runInAsyncScope(() => after(async () => (await own)?.[Symbol.asyncDispose]()))
  }
  return JSON.parse((await own).handle) as Cluster
}

/**
 * A migrated database of its own, dropped when disposed; in the cluster of the run, or in the one of the handle. A file that asks for one
 * outside of a test registers its end before: hooks run in their order, and the end of a cluster of the file's own is registered here.
 */
export async function freshDatabase(handle?: string): Promise<TestDatabase> {
  const cluster = await clusterOfRun(handle)
  const name = `kaha_${randomUUID().replaceAll('-', '').slice(0, 16)}`
  // Files are copied for half the CPU that it takes to write their pages to the log.
  await asAdmin(cluster, (client) => client.query(`create database ${name} template ${template} strategy file_copy`))
  return {
    target: targetOf(cluster, name),
    async [Symbol.asyncDispose]() {
      await asAdmin(cluster, (client) => client.query(`drop database if exists ${name} with (force)`))
    },
  }
}
