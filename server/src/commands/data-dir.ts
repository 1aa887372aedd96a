import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartFault } from '../kernel/fault.ts'

const keyBytes = 32

/** The master key of a sandbox: made once in the data directory, readable by its owner alone. */
export async function masterKeyIn(dataDir: string): Promise<Buffer> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const path = join(dataDir, 'master.key')
  const made = randomBytes(keyBytes)
  try {
    // Exclusive: of two processes that start at once, one makes it and the other reads it.
    const file = await open(path, 'wx', 0o600)
    await file.writeFile(`${made.toString('base64')}\n`)
    await file.sync()
    await file.close()
    return made
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  const key = Buffer.from((await readFile(path, 'utf8')).trim(), 'base64')
  if (key.length !== keyBytes) {
    throw new StartFault(
      `${path} holds no key of 32 bytes in base64: put the right one back, or move the whole data directory away to begin anew`,
    )
  }
  return key
}
