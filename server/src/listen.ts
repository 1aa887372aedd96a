import type { FastifyInstance } from 'fastify'
import { StartFault } from './kernel/fault.ts'

type Setting = 'KAHA_PORT' | 'KAHA_METRICS'

const noAddress = ({ host }: { host: string }, setting: Setting): string =>
  setting === 'KAHA_PORT'
    ? `this machine has no address ${host}: set KAHA_HOST to one that it has`
    : `this machine has no address ${host}: set ${setting} to HOST:PORT with one that it has`

const listenFaults: Readonly<Record<string, (at: { host: string; port: number }, setting: Setting) => string>> = {
  EADDRINUSE: ({ port }, setting) =>
    `port ${port} is taken: stop the program that uses it, or set ${setting} to another${setting === 'KAHA_PORT' ? ' (0 for any)' : ''}`,
  EACCES: ({ port }, setting) => `port ${port} needs more rights than this user has: set ${setting} to one above 1023`,
  EADDRNOTAVAIL: noAddress,
  ENOTFOUND: noAddress,
}

/** Listens; why it cannot is told in one line, with the setting to change. */
export async function listen(
  http: FastifyInstance,
  at: { host: string; port: number },
  setting: Setting,
): Promise<void> {
  try {
    await http.listen({ host: at.host, port: at.port })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const fault = listenFaults[code]
    throw fault === undefined ? error : new StartFault(fault(at, setting), { cause: error })
  }
}
