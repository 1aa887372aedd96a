import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { leaveToOwner, openDataDir, unusableDataDir } from '../kernel/data-dir.ts'
import { StartFault } from '../kernel/fault.ts'
import { keyOf } from '../kernel/seal.ts'

const pathIn = (dataDir: string): string => join(dataDir, 'master.key')

/** The master key of a sandbox: made once in the data directory, readable by its owner alone. */
export async function masterKeyIn(dataDir: string): Promise<Buffer> {
  const path = pathIn(dataDir)
  if (!existsSync(path)) {
    openDataDir(dataDir)
    await makeKey(dataDir, path).catch((error: unknown) => {
      throw unusableDataDir(dataDir, error)
    })
  }
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw unusableDataDir(dataDir, error)
  })
  const key = keyOf(text.trim())
  if (key === undefined) {
    throw new StartFault(
      `${path} holds no key of 32 bytes in base64: put the right one back, or move the whole data directory away to begin anew`,
    )
  }
  return key
}

/**
 * Puts another master key in the place of the one that is there, once the database has it: `change` is called when the file needs nothing but its
 * name, so that a full disk fails before anything is changed. Gives the path of the file.
 */
export async function replaceMasterKeyIn(dataDir: string, key: Buffer, change: () => Promise<void>): Promise<string> {
  const path = pathIn(dataDir)
  const passing = await writeBeside(path, key).catch((error: unknown) => {
    throw unusableDataDir(dataDir, error)
  })
  try {
    await change()
    await rename(passing, path)
  } finally {
    await rm(passing, { force: true })
  }
  await syncFolder(dataDir)
  return path
}

/** Whole or not at all, and one of two processes that start at once makes it: the name is given to a file that is complete. */
async function makeKey(dataDir: string, path: string): Promise<void> {
  const passing = await writeBeside(path, randomBytes(32))
  try {
    await link(passing, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    await rm(passing, { force: true })
  }
  await syncFolder(dataDir)
}

/** In a file of its own: another of this name may be a link to the key that is in force, of a start that was killed in between. */
async function writeBeside(path: string, key: Buffer): Promise<string> {
  const passing = `${path}.${randomBytes(4).toString('hex')}`
  const file = await open(passing, 'wx', 0o600)
  try {
    await file.writeFile(`${key.toString('base64')}\n`)
    await file.sync()
    leaveToOwner(passing)
  } finally {
    await file.close()
  }
  return passing
}

async function syncFolder(dataDir: string): Promise<void> {
  const folder = await open(dataDir)
  await folder.sync()
  await folder.close()
}
