import { statement, type Db } from '../kernel/db.ts'

const notify = statement('kernel.notify', `select pg_notify('kaha', $1)`)

/**
 * Tells processes that keys, or what hangs on them, have changed. Those that do not hear it, as over NATS, look by themselves within a
 * second.
 */
export const hintKeys = (db: Db): Promise<unknown> => db.run(notify, ['command keys'])
