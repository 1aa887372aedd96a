import type { Config } from './config.ts'
import { postgresBus } from './kernel/bus-postgres.ts'
import type { Bus } from './kernel/bus.ts'
import type { Db, DbTarget } from './kernel/db.ts'
import type { Log } from './kernel/log.ts'
import type { Keyring } from './kernel/seal.ts'

const subjectBytes = 8

/** What this process hears others by: NATS where it is set, else the database. */
export async function openBus({
  config,
  db,
  target,
  keyring,
  log,
}: {
  readonly config: Pick<Config, 'nats'>
  readonly db: Db
  readonly target: DbTarget
  readonly keyring: Keyring
  readonly log: Log
}): Promise<Bus> {
  const options = {
    onLost: (error: Error) => log.warn({ err: error }, 'the line between processes broke; until it is back they poll'),
    onBack: () => log.info('the line between processes is back'),
  }
  if (config.nats === null) return postgresBus({ ...options, db, target })
  // A broker may carry other installations too; who does not know the master key does not know where to listen for this one.
  const name = keyring.mac('bus', 'subject').toString('hex', 0, subjectBytes)
  // Loaded where it is used alone.
  const { natsBus } = await import('./kernel/bus-nats.ts')
  return natsBus({ ...options, servers: config.nats, subject: `kaha.${name}` })
}
