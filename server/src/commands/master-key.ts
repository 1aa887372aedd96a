import { readFile } from 'node:fs/promises'
import type { Config } from '../config.ts'
import { StartFault } from '../kernel/fault.ts'
import type { Db } from '../kernel/db.ts'
import { changeMasterKey } from '../kernel/installation.ts'
import { scrub } from '../kernel/log.ts'
import { keyOf } from '../kernel/seal.ts'
import { masterKeyIn, replaceMasterKeyIn } from './data-dir.ts'
import { say } from './words.ts'

/** The master key that a file holds, as KAHA_MASTER_KEY would have it (32 bytes). A StartFault where it holds none, without what it holds. */
export async function masterKeyOf(file: string | undefined): Promise<Buffer> {
  if (file === undefined || file === '')
    throw new StartFault(
      'say which key is the next: --to and a file that holds it, as `openssl rand -base64 32` makes it',
    )
  // Not shown: what was meant to be in a file would be in a log.
  if (keyOf(file) !== undefined)
    throw new StartFault('--to takes a file that holds the key, not the key: others may read what is typed here')
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new StartFault(`${scrub(file)} cannot be read (${error.code ?? error.message})`, { cause: error })
  })
  const key = keyOf(text.trim())
  if (key === undefined)
    throw new StartFault(`${scrub(file)} holds no key of 32 bytes in base64: make one with \`openssl rand -base64 32\``)
  return key
}

/** Seals the key of the database under another master key; a sandbox that made its own keeps the other in its place. */
export async function changeMaster(db: Db, config: Config, to: Buffer, json: boolean): Promise<void> {
  const { masterKey, dataDir, mode } = config
  const from = masterKey ?? (await masterKeyIn(dataDir))
  let isChanged = false
  const change = async () => {
    isChanged = await changeMasterKey(db, { from, to, mode })
  }
  const keptIn = masterKey === null ? await replaceMasterKeyIn(dataDir, to, change) : await change()
  if (json) return say(JSON.stringify({ changed: isChanged }))
  say(
    [
      isChanged
        ? 'The database opens with that key from now on, and with no other. Processes that run go on.'
        : 'The database opens with that key already.',
      keptIn === undefined ? 'Set KAHA_MASTER_KEY to it wherever Kaha is started next.' : `${keptIn} holds it.`,
      'Keep the key before it as long as a backup from before.',
    ].join('\n'),
  )
}
