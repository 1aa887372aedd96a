import { statement, type Db } from './db.ts'
import { StartFault } from './fault.ts'
import type { Keyring } from './seal.ts'

export type Mode = 'sandbox' | 'live'

const keepInstallation = statement(
  'kernel.keepInstallation',
  `insert into kernel.installation (key_id, fingerprint, mode) values ($1, $2, $3) on conflict do nothing`,
)
const readInstallation = statement('kernel.readInstallation', 'select fingerprint, mode from kernel.installation')

/** Refuses a database that the other mode has; one that nobody has is anybody's. */
export async function refuseOtherMode(db: Db, mode: Mode): Promise<void> {
  const [row] = await db.run<{ mode: Mode }>(readInstallation, [])
  if (row !== undefined && row.mode !== mode) {
    throw new StartFault(
      `this database belongs to a ${row.mode} installation and this is meant for ${mode}: set KAHA_MODE to ${row.mode}, or use another database`,
    )
  }
}

/**
 * Ties a database to its mode and to the master key that its secrets are sealed with. A start with another key could open nothing; a start
 * in the other mode would let test cards pay live links. Both are refused in words.
 */
export async function holdInstallation(db: Db, keyring: Keyring, mode: Mode): Promise<void> {
  await db.run(keepInstallation, [keyring.keyId, keyring.fingerprint, mode])
  await refuseOtherMode(db, mode)
  const [row] = await db.run<{ fingerprint: Buffer }>(readInstallation, [])
  if (row?.fingerprint.equals(keyring.fingerprint) !== true) {
    throw new StartFault(
      'the secrets in this database are sealed with another master key: set KAHA_MASTER_KEY to that one, or use another database',
    )
  }
}
