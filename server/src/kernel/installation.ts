import { randomBytes } from 'node:crypto'
import { statement, type Db } from './db.ts'
import { StartFault } from './fault.ts'
import { createKeyring, type Keyring } from './seal.ts'

export type Mode = 'sandbox' | 'live'

interface InstallationRow {
  readonly mode: Mode
  /** Of the data key. */
  readonly fingerprint: Buffer
  /** Null where the master key of the first start is the data key: so it was before there were two. */
  readonly sealed_data_key: Buffer | null
}

const keepInstallation = statement(
  'kernel.keepInstallation',
  `insert into kernel.installation (key_id, fingerprint, mode, sealed_data_key) values ($1, $2, $3, $4) on conflict do nothing`,
)
const selectInstallation = 'select mode, fingerprint, sealed_data_key from kernel.installation'
const readInstallation = statement('kernel.readInstallation', selectInstallation)
const lockInstallation = statement('kernel.lockInstallation', `${selectInstallation} for update`)
const sealInstallation = statement('kernel.sealInstallation', 'update kernel.installation set sealed_data_key = $1')

const place = 'kernel.installation.sealed_data_key'

/** Refuses a database that the other mode has; one that nobody has is anybody's. */
export async function refuseOtherMode(db: Db, mode: Mode): Promise<void> {
  const [row] = await db.run<InstallationRow>(readInstallation, [])
  if (row !== undefined) refuseOther(row, mode)
}

function refuseOther(row: InstallationRow, mode: Mode): void {
  if (row.mode !== mode) {
    throw new StartFault(
      `this database belongs to a ${row.mode} installation and this is meant for ${mode}: set KAHA_MODE to ${row.mode}, or use another database`,
    )
  }
}

/**
 * Gives what the secrets of a database are sealed with. The first to open it ties it to its mode, and to its master key (32 bytes), which
 * opens the data key. A start with another key could open nothing; a start in the other mode would let test cards pay live links. Both are
 * refused in words, as StartFault.
 */
export async function openInstallation(db: Db, masterKey: Buffer, mode: Mode): Promise<Keyring> {
  const [kept] = await db.run<InstallationRow>(readInstallation, [])
  const row = kept ?? (await beginInstallation(db, masterKey, mode))
  refuseOther(row, mode)
  const dataKey = dataKeyOf(row, masterKey)
  if (dataKey === undefined) throw otherMasterKey()
  return createKeyring(dataKey)
}

const otherMasterKey = (): StartFault =>
  new StartFault(
    'the secrets in this database are sealed with another master key: set KAHA_MASTER_KEY to that one, or use another database',
  )

async function beginInstallation(db: Db, masterKey: Buffer, mode: Mode): Promise<InstallationRow> {
  const dataKey = randomBytes(32)
  const { keyId, fingerprint } = createKeyring(dataKey)
  await db.run(keepInstallation, [keyId, fingerprint, mode, sealed(dataKey, masterKey)])
  // Of two first starts one has it.
  const [row] = await db.run<InstallationRow>(readInstallation, [])
  if (row === undefined) throw new Error('the installation was not kept')
  return row
}

const sealed = (dataKey: Buffer, masterKey: Buffer): Buffer =>
  createKeyring(masterKey).seal(dataKey.toString('base64'), place)

/** Undefined where the master key is another. */
function dataKeyOf(
  { sealed_data_key: sealedKey, fingerprint }: InstallationRow,
  masterKey: Buffer,
): Buffer | undefined {
  const keyring = createKeyring(masterKey)
  if (sealedKey === null) return keyring.fingerprint.equals(fingerprint) ? masterKey : undefined
  return keyring.hasSealed(sealedKey) ? Buffer.from(keyring.open(sealedKey, place), 'base64') : undefined
}

/**
 * From now on the database opens with the other master key alone (32 bytes each); what is sealed in it stays as it is. Processes that run go
 * on, for they have opened it. Gives false where it has been so before. StartFault where `from` is not the database's master key, where
 * the mode is the other, and where nobody has begun with the database.
 */
export async function changeMasterKey(
  db: Db,
  { from, to, mode }: { readonly from: Buffer; readonly to: Buffer; readonly mode: Mode },
): Promise<boolean> {
  return await db.tx(async (tx) => {
    const [row] = await tx.run<InstallationRow>(lockInstallation, [])
    if (row === undefined)
      throw new StartFault('this database has no master key yet: the first `kaha start` gives it one')
    refuseOther(row, mode)
    if (dataKeyOf(row, to) !== undefined) return false
    const dataKey = dataKeyOf(row, from)
    if (dataKey === undefined) throw otherMasterKey()
    await tx.run(sealInstallation, [sealed(dataKey, to)])
    return true
  })
}
