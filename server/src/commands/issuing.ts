import type { Config } from '../config.ts'
import type { Issuing } from '../identity/issue.ts'
import { keyPrefixOf } from '../identity/keys.ts'
import type { Db } from '../kernel/db.ts'
import { openInstallation, refuseOtherMode } from '../kernel/installation.ts'
import type { Keyring } from '../kernel/seal.ts'
import { masterKeyIn } from './data-dir.ts'

/** Ties a new database to the mode and the master key of these settings. Throws StartFault where it has others. */
export async function keyringOf(db: Db, config: Config): Promise<Keyring> {
  // Before a key is made for it.
  await refuseOtherMode(db, config.mode)
  return await openInstallation(db, config.masterKey ?? (await masterKeyIn(config.dataDir)), config.mode)
}

/** What keys are made with; the rest as above. */
export const issuingOf = async (db: Db, config: Config): Promise<Issuing> => ({
  keyring: await keyringOf(db, config),
  keyPrefix: keyPrefixOf(config.mode),
})
