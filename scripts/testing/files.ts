import { posix } from 'node:path'
import { importsOf, listFiles, readFiles, scan, type Texts } from '../source.ts'

/** The environment variable that carries the address of the run's own PostgreSQL to the test files. */
export const clusterVariable = 'KAHA_TEST_CLUSTER'

const browser = 'server/test/browser.ts'
const folders = ['contract', 'qrph', 'server', 'sdk', 'cli', 'scripts']

export interface TestFile {
  readonly path: string
  /** Whether it, or anything that it imports, reads the address of the run's PostgreSQL. */
  readonly usesDatabase: boolean
  /** Whether it, or anything that it imports, opens a browser. */
  readonly usesBrowser: boolean
  /** Whether it, or anything that it imports, has a hand in how modules are loaded: no other file of its process may have loaded them. */
  readonly needsFreshModules: boolean
}

/** Every test file of the repository below one of the wanted paths; all of them where none is named. */
export function testFiles(wanted: readonly string[]): TestFile[] {
  const texts = readFiles(listFiles(folders, ['.ts']))
  const names = wanted.map((path) => posix.normalize(path.replaceAll('\\', '/')).replace(/\/$/, ''))
  const isWanted = (path: string): boolean =>
    names.length === 0 || names.some((name) => path === name || path.startsWith(`${name}/`))
  const reachedFrom = imports(texts)
  return [...texts.keys()]
    .filter((path) => path.endsWith('.test.ts') && isWanted(path))
    .map((path) => {
      const reached = reachedFrom(path)
      return {
        path,
        usesDatabase: readsCluster(reached, texts),
        usesBrowser: reached.has(browser),
        needsFreshModules: reached.has('node:module'),
      }
    })
}

export const reachesCluster = (start: string, texts: Texts): boolean => readsCluster(imports(texts)(start), texts)

/** What reads the variable names it in a string or as a property. */
const readsCluster = (reached: ReadonlySet<string>, texts: Texts): boolean =>
  reached.values().some((path) => path.startsWith('server/') && texts.get(path)?.includes(clusterVariable) === true)

/** Follows relative imports from a file: itself and all that it reaches, with the modules of others by their names. Each file is read once. */
function imports(texts: Texts): (start: string) => ReadonlySet<string> {
  const known = new Map<string, readonly string[]>()
  const importedBy = (path: string): readonly string[] => {
    let found = known.get(path)
    if (found === undefined) {
      found = importsOf(scan(texts.get(path) ?? '')).map((specifier) =>
        specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier,
      )
      known.set(path, found)
    }
    return found
  }
  return (start) => {
    const seen = new Set([start])
    for (const path of seen) for (const imported of importedBy(path)) seen.add(imported)
    return seen
  }
}
