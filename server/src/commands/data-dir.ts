import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { leaveToOwner, openDataDir, unusableDataDir } from '../kernel/data-dir.ts'
import { StartFault } from '../kernel/fault.ts'

const keyBytes = 32

/** The master key of a sandbox: made once in the data directory, readable by its owner alone. */
export async function masterKeyIn(dataDir: string): Promise<Buffer> {
  const path = join(dataDir, 'master.key')
  if (!existsSync(path)) {
    openDataDir(dataDir)
    await makeKey(dataDir, path).catch((error: unknown) => {
      throw unusableDataDir(dataDir, error)
    })
  }
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw unusableDataDir(dataDir, error)
  })
  const key = Buffer.from(text.trim(), 'base64')
  if (key.length !== keyBytes) {
    throw new StartFault(
      `${path} holds no key of 32 bytes in base64: put the right one back, or move the whole data directory away to begin anew`,
    )
  }
  return key
}

/** Whole or not at all, and one of two processes that start at once makes it: the name is given to a file that is complete. */
async function makeKey(dataDir: string, path: string): Promise<void> {
  const passing = `${path}.${process.pid}`
  const file = await open(passing, 'w', 0o600)
  try {
    await file.writeFile(`${randomBytes(keyBytes).toString('base64')}\n`)
    await file.sync()
    leaveToOwner(passing)
  } finally {
    await file.close()
  }
  try {
    await link(passing, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    await rm(passing)
  }
  const folder = await open(dataDir)
  await folder.sync()
  await folder.close()
}
