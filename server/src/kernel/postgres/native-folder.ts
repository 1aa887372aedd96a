import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import {
  access,
  chmod,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { reaches, type Account } from './account.ts'

/**
 * The folders in which the package's binaries may work, best first: where npm put them, else a copy that the account can reach.
 * A copy is made when the installed folder lacks links or run bits and may not be written, or lies below a closed home folder.
 */
export async function* usableFolders(native: string, account: Account, dataDir: string): AsyncGenerator<string> {
  if ((await mend(native)) && reachesAll(native, account)) yield native
  for (const cache of cacheFolders(account, dataDir)) {
    if (await prepareCache(cache)) yield await copyInto(cache, native)
  }
}

/**
 * Makes the library links that npm's archives cannot hold, and sets the run bits, as the package's own install script would
 * (install scripts may be switched off). Tells whether all is in place now.
 */
async function mend(native: string): Promise<boolean> {
  try {
    for (const { source, target } of await missingLinks(native)) {
      await symlink(relative(dirname(target), source), target).catch(unless('EEXIST'))
    }
    for (const name of await readdir(join(native, 'bin'))) {
      const program = join(native, 'bin', name)
      const { mode } = await stat(program)
      if ((mode & 0o555) !== 0o555) await chmod(program, mode | 0o555)
    }
    return true
  } catch {
    return false
  }
}

/** The links that `pg-symlinks.json` lists, with paths relative to the package, and that are not there. */
async function missingLinks(native: string): Promise<{ source: string; target: string }[]> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(unless('ENOENT'))
  const links = JSON.parse(list ?? '[]') as { source: string; target: string }[]
  const missing = []
  for (const link of links) {
    const inside = (path: string): string => join(native, relative('native', path))
    const [source, target] = [inside(link.source), inside(link.target)]
    if (!target.startsWith(native + sep) || !source.startsWith(native + sep)) continue
    if (!(await stat(target).catch(unless('ENOENT')))) missing.push({ source, target })
  }
  return missing
}

function reachesAll(native: string, account: Account): boolean {
  return ['bin/postgres', 'bin/initdb', 'lib', 'share/postgresql/postgres.bki'].every((path) =>
    reaches(account, join(native, path)),
  )
}

/** Root's copies must be where the account can reach and nobody else can write; our own account's fit into the data directory. */
function cacheFolders(account: Account, dataDir: string): string[] {
  if (account.identity.uid === undefined) return [join(dataDir, 'binaries')]
  return ['/var/cache/kaha', join(tmpdir(), 'kaha-cache')]
}

/** Makes the folder; false when it cannot be made, or when another user could put binaries of their own into it. */
export async function prepareCache(cache: string): Promise<boolean> {
  try {
    await mkdir(cache, { mode: 0o755, recursive: true })
    const { uid } = await lstat(cache)
    if (uid === process.geteuid?.()) await chmod(cache, 0o755)
    return await ownedByUsAlone(cache)
  } catch {
    return false
  }
}

async function ownedByUsAlone(cache: string): Promise<boolean> {
  if ((await lstat(cache)).isSymbolicLink()) return false
  for (let folder = await realpath(cache); ; folder = dirname(folder)) {
    const { uid, mode } = await stat(folder)
    const owned = uid === 0 || uid === process.geteuid?.()
    const sticky = (mode & constants.S_IFMT) === constants.S_IFDIR && (mode & 0o1000) !== 0
    if (!owned || ((mode & 0o022) !== 0 && !sticky)) return false
    if (folder === dirname(folder)) return true
  }
}

/** Copies once per version; the copy gets its name when it is whole, so that a copy that was cut short is never used. */
async function copyInto(cache: string, native: string): Promise<string> {
  const copy = join(cache, `postgresql-${process.platform}-${process.arch}-${await versionOf(native)}`)
  if (await exists(copy)) return copy
  const partial = `${copy}.${randomBytes(4).toString('hex')}`
  try {
    await copyTree(native, partial)
    await mend(partial)
    await rename(partial, copy).catch(unless('ENOTEMPTY', 'EEXIST'))
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
  return copy
}

/** Sets every mode itself, for the original's may be those of a strict umask. Static libraries are for compilers: left out. */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to)
  await chmod(to, 0o755)
  await Promise.all(
    (await readdir(from, { withFileTypes: true })).map(async (entry) => {
      const [source, target] = [join(from, entry.name), join(to, entry.name)]
      if (entry.isDirectory()) return copyTree(source, target)
      if (entry.isSymbolicLink()) return symlink(await readlink(source), target)
      if (entry.name.endsWith('.a')) return
      await copyFile(source, target, constants.COPYFILE_FICLONE)
      await chmod(target, basename(from) === 'bin' ? 0o755 : 0o644)
    }),
  )
}

async function versionOf(native: string): Promise<string> {
  const description = await readFile(resolve(native, '..', 'package.json'), 'utf8').catch(unless('ENOENT'))
  const version = description === undefined ? undefined : (JSON.parse(description) as { version?: string }).version
  return version?.replaceAll(/[^\w.-]/g, '_') ?? 'unknown'
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function unless(...codes: string[]): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (!codes.includes(error.code ?? '')) throw error
  }
}
