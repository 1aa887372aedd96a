import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Account } from './account.ts'

const prefix = 'kaha-pg-'

/** What a Unix socket's path may have: 108 bytes with the closing zero (unix(7)), less `/.s.PGSQL.5432` and the folder's own name. */
const parentBytesMax = 107 - 14 - prefix.length - 7

/** Makes a folder for PostgreSQL's socket that only the account, and root, may enter. Removed when disposed of. */
export function makeSocketFolder(account: Account): { path: string } & Disposable {
  const wanted = tmpdir()
  // PostgreSQL takes a comma for the end of the folder's name.
  const parent = Buffer.byteLength(wanted) <= parentBytesMax && !/[,"]/.test(wanted) ? wanted : '/tmp'
  const path = mkdtempSync(join(parent, prefix))
  const { uid, gid } = account.identity
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** Whether a server has the socket in the folder; one that is busy, or lets us not in, has it too. */
export function isServed(folder: string): Promise<boolean> {
  return new Promise((resolve) => {
    const line = connect(join(folder, '.s.PGSQL.5432'))
    const tell = (served: boolean) => {
      line.destroy()
      resolve(served)
    }
    line.on('connect', () => tell(true))
    line.on('error', (error: NodeJS.ErrnoException) =>
      tell(!/^(?:ENOENT|ENOTDIR|ECONNREFUSED)$/.test(error.code ?? '')),
    )
  })
}

/** Whether the path is of a folder that `makeSocketFolder` made, in this run or an earlier one. */
export function isSocketFolder(path: string): boolean {
  return basename(path).startsWith(prefix)
}
