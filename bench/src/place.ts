import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { connectionConfig, type DbTarget } from '../../server/src/kernel/db.ts'
import { migrate } from '../../server/src/kernel/migrate.ts'
import { startEmbeddedPostgres } from '../../server/src/kernel/postgres/embedded.ts'
import { urlOf } from '../../server/test/faults/database-of.ts'
import { startKahaProcess, type KahaProcess } from '../../server/test/faults/kaha-process.ts'
import { cpuMsWithChildren } from './cpu.ts'

export type Target = Extract<DbTarget, { socketDir: string }>

/** Where a benchmark takes place: a PostgreSQL as people run it (fsync on), one migrated database, and whatever else it starts. */
export interface Place extends AsyncDisposable {
  readonly folder: string
  readonly target: Target
  /** One connection for looking in from beside. */
  readonly client: pg.Client
  /** CPU time that PostgreSQL has used so far, in ms. */
  postgresCpuMs(): number
  /** One more, empty. */
  createDatabase(name: string): Promise<Target>
  use<Resource extends AsyncDisposable>(resource: Resource): Resource
  /** The server on this database: its log at level info goes to a file, and no rate is limited. */
  startServer(settings?: Readonly<Record<string, string>>): Promise<KahaProcess>
}

/** With `profileDir`, servers write a CPU profile there when they end. */
export async function openPlace({ profileDir }: { profileDir: string | undefined }): Promise<Place> {
  await using building = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'kaha-bench-'))
  building.defer(() => rm(folder, { recursive: true, force: true }))
  const postgres = building.use(await startEmbeddedPostgres({ dataDir: join(folder, 'database'), log: () => {} }))
  const target: Target = { socketDir: postgres.socketDir, user: postgres.user, database: 'bench' }
  const createDatabase = async (name: string): Promise<Target> => {
    const admin = new pg.Client(connectionConfig({ ...target, database: 'postgres' }))
    await admin.connect()
    await admin.query(`create database ${name}`)
    await admin.end()
    return { ...target, database: name }
  }
  await createDatabase(target.database)
  await migrate(target)
  const client = new pg.Client(connectionConfig(target))
  await client.connect()
  building.defer(() => client.end())
  let servers = 0
  const held = building.move()
  return {
    folder,
    target,
    client,
    createDatabase,
    postgresCpuMs: () => cpuMsWithChildren(postgres.pid),
    use: (resource) => held.use(resource),
    async startServer(settings = {}) {
      servers += 1
      return held.use(
        await startKahaProcess({
          // Those that follow one that has stopped find its key; one beside it is given it.
          dataDir: join(folder, settings['KAHA_MASTER_KEY'] === undefined ? 'server' : `server-${servers}`),
          settings: { KAHA_DATABASE_URL: urlOf(target), KAHA_LOG_LEVEL: 'info', ...settings },
          nodeArgs: await profiling(profileDir),
        }),
      )
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

export async function profiling(profileDir: string | undefined): Promise<string[]> {
  if (profileDir === undefined) return []
  await mkdir(profileDir, { recursive: true })
  return ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]
}
