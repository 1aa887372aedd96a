import { lookup } from 'node:dns/promises'
import type { FastifyInstance } from 'fastify'
import { StartFault } from './kernel/fault.ts'

type Setting = 'KAHA_PORT' | 'KAHA_METRICS'

const noAddress = ({ host }: { host: string }, setting: Setting): string =>
  setting === 'KAHA_PORT'
    ? `this machine has no address ${host}: set KAHA_HOST to one that it has`
    : `this machine has no address ${host}: set ${setting} to HOST:PORT with one that it has`

/** A name that nobody resolves just now, a link-local address without its zone, a machine without IPv6. */
const cannotListen =
  (code: string) =>
  ({ host }: { host: string }, setting: Setting): string =>
    `nothing can listen on ${host} here (${code}): set ${setting === 'KAHA_PORT' ? 'KAHA_HOST' : setting} to another address`

const listenFaults: Readonly<Record<string, (at: { host: string; port: number }, setting: Setting) => string>> = {
  EADDRINUSE: ({ port }, setting) =>
    `port ${port} is taken: stop the program that uses it, or set ${setting} to another${setting === 'KAHA_PORT' ? ' (0 for any)' : ''}`,
  EACCES: ({ port }, setting) => `port ${port} needs more rights than this user has: set ${setting} to one above 1023`,
  EADDRNOTAVAIL: noAddress,
  ENOTFOUND: noAddress,
}

/** By its name Fastify would listen with a server for each address, and our settings and the close reach only the first. */
const literal = async (host: string): Promise<string> =>
  host === 'localhost' ? (await lookup(host, { order: 'ipv4first' })).address : host

/** Listens; why it cannot is told in one line, with the setting to change. */
export async function listen(
  http: FastifyInstance,
  at: { host: string; port: number },
  setting: Setting,
): Promise<void> {
  try {
    await http.listen({ host: await literal(at.host), port: at.port })
  } catch (error) {
    // Whatever the system says to it; what else fails is a defect.
    if (!(error instanceof Error && 'syscall' in error && 'code' in error)) throw error
    const code = String(error.code)
    throw new StartFault((listenFaults[code] ?? cannotListen(code))(at, setting), { cause: error })
  }
}
