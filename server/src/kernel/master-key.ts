import { statement, type Db } from './db.ts'
import { StartFault } from './fault.ts'
import type { Keyring } from './seal.ts'

const keepFingerprint = statement(
  'kernel.keepFingerprint',
  `insert into kernel.master_keys (key_id, fingerprint)
   select $1, $2 where not exists (select from kernel.master_keys) on conflict do nothing`,
)
const readFingerprints = statement('kernel.readFingerprints', 'select fingerprint from kernel.master_keys')

/** Ties a database to the master key that its secrets are sealed with. Another key cannot open them, and is refused in words. */
export async function holdMasterKey(db: Db, keyring: Keyring): Promise<void> {
  await db.run(keepFingerprint, [keyring.keyId, keyring.fingerprint])
  const known = await db.run<{ fingerprint: Buffer }>(readFingerprints, [])
  if (!known.some(({ fingerprint }) => fingerprint.equals(keyring.fingerprint))) {
    throw new StartFault(
      'the secrets in this database are sealed with another master key: set KAHA_MASTER_KEY to that one, or use another database',
    )
  }
}
