import { join } from 'node:path'
import type { NetConnectOpts } from 'node:net'
import type { DbTarget } from '../src/kernel/db.ts'
import { startLineProxy, type LineProxy } from './line-proxy.ts'

/** A line to PostgreSQL that can be cut, or fall silent, without touching PostgreSQL. */
export interface PostgresProxy extends LineProxy {
  readonly target: DbTarget
}

const upstreamOf = (target: DbTarget): NetConnectOpts => {
  if (!('url' in target)) return { path: join(target.socketDir, '.s.PGSQL.5432') }
  const { hostname, port } = new URL(target.url)
  return { host: hostname, port: port === '' ? 5432 : Number(port) }
}

const throughPort = (target: DbTarget, port: number): DbTarget => {
  if (!('url' in target)) return { url: `postgres://${target.user}@127.0.0.1:${port}/${target.database}` }
  const url = new URL(target.url)
  url.host = `127.0.0.1:${port}`
  return { url: url.href }
}

export async function startPostgresProxy(target: DbTarget, alter?: (chunk: Buffer) => void): Promise<PostgresProxy> {
  const line = await startLineProxy(upstreamOf(target), alter)
  return Object.assign(line, { target: throughPort(target, line.port) })
}

/** A pooler that takes what sessions ask for and does not hand it on, as PgBouncer with `ignore_startup_parameters=options`. */
export const startDeafPooler = (target: DbTarget): Promise<PostgresProxy> =>
  startPostgresProxy(target, (chunk) => {
    const name = Buffer.from('\0options\0')
    const at = chunk.indexOf(name)
    if (at > 0) chunk.fill(' ', at + name.length, chunk.indexOf(0, at + name.length))
  })
