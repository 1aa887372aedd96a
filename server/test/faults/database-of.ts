import { join } from 'node:path'
import pg from 'pg'
import { connectionConfig, type DbTarget } from '../../src/kernel/db.ts'
import { readPidFile } from '../../src/kernel/postgres/pid-file.ts'
import { eventually } from './eventually.ts'

export type Query = <Row extends object>(text: string, values?: readonly unknown[]) => Promise<Row[]>

/** The PostgreSQL that runs in a data directory, as its own file tells. */
export function postmasterIn(dataDir: string): { pid: number; target: DbTarget } {
  const { pid, socketDir = '' } = readPidFile(join(dataDir, 'postgres'))
  if (pid === undefined) throw new Error(`no PostgreSQL runs in ${dataDir}`)
  return { pid, target: { socketDir, user: 'kaha', database: 'postgres' } }
}

/** A database as another process is told of it. */
export const urlOf = (target: DbTarget): string =>
  'url' in target
    ? target.url
    : `postgres://${target.user}@localhost/${target.database}?host=${encodeURIComponent(target.socketDir)}`

/** Looks into a database from beside, on one connection of its own. */
export async function withDatabase<T>(target: DbTarget, work: (query: Query) => Promise<T>): Promise<T> {
  const client = new pg.Client(connectionConfig(target))
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(async <Row extends object>(text: string, values: readonly unknown[] = []) => {
      const { rows } = await client.query<Row>(text, [...values])
      return rows
    })
  } finally {
    await client.end()
  }
}

/** The process ids of the server's own connections. */
export function backendsIn(dataDir: string): Promise<readonly number[]> {
  const ask = async (): Promise<number[] | undefined> => {
    const { target } = postmasterIn(dataDir)
    const rows = await withDatabase(target, (query) =>
      query<{ pid: number }>(
        `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by pid`,
      ),
    )
    return rows.length === 0 ? undefined : rows.map(({ pid }) => pid)
  }
  return eventually(() => ask().catch(() => undefined), { what: 'the connections of the server' })
}
