import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartFault } from '../kernel/fault.ts'

const keyBytes = 32

const unusable = (dataDir: string, cause: unknown) =>
  new StartFault(
    `the data directory ${dataDir} cannot be used (${(cause as Error).message}): set KAHA_DATA_DIR to a folder that you may write`,
    { cause },
  )

/** The master key of a sandbox: made once in the data directory, readable by its owner alone. */
export async function masterKeyIn(dataDir: string): Promise<Buffer> {
  const path = join(dataDir, 'master.key')
  const made = randomBytes(keyBytes)
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    // Exclusive: of two processes that start at once, one makes it and the other reads it.
    const file = await open(path, 'wx', 0o600)
    await file.writeFile(`${made.toString('base64')}\n`)
    await file.sync()
    await file.close()
    return made
  } catch (error) {
    const isThere =
      error instanceof Error && 'code' in error && error.code === 'EEXIST' && 'path' in error && error.path === path
    if (!isThere) throw unusable(dataDir, error)
  }
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw unusable(dataDir, error)
  })
  const key = Buffer.from(text.trim(), 'base64')
  if (key.length !== keyBytes) {
    throw new StartFault(
      `${path} holds no key of 32 bytes in base64: put the right one back, or move the whole data directory away to begin anew`,
    )
  }
  return key
}
