import type { Config } from '../config.ts'
import type { Issuing } from '../identity/issue.ts'
import type { Db } from '../kernel/db.ts'
import { holdInstallation, refuseOtherMode } from '../kernel/installation.ts'
import { createKeyring } from '../kernel/seal.ts'
import { masterKeyIn } from './data-dir.ts'

/** What keys are made with. Throws StartFault where the database is of the other mode or of another master key. */
export async function issuingOf(db: Db, config: Config): Promise<Issuing> {
  // Before a key is made for it.
  await refuseOtherMode(db, config.mode)
  const keyring = createKeyring(config.masterKey ?? (await masterKeyIn(config.dataDir)))
  await holdInstallation(db, keyring, config.mode)
  return { keyring, keyPrefix: config.mode === 'sandbox' ? 'sk_test_' : 'sk_live_' }
}
