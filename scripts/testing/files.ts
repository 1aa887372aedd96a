import { posix } from 'node:path'
import { importsOf, listFiles, readFiles, scan, type Texts } from '../source.ts'

/** The environment variable that carries the address of the run's own PostgreSQL to the test files. */
export const clusterVariable = 'KAHA_TEST_CLUSTER'

const browserModule = 'server/test/browser.ts'
const folders = ['contract', 'qrph', 'server', 'sdk', 'cli', 'scripts']

export interface TestFile {
  readonly path: string
  /** Whether it, or anything that it imports, reads the address of the run's PostgreSQL. */
  readonly usesDatabase: boolean
  /** Whether it drives a browser. */
  readonly usesBrowser: boolean
}

/** Every test file of the repository below one of the wanted paths; all of them where none is named. */
export function testFiles(wanted: readonly string[]): TestFile[] {
  const texts = readFiles(listFiles(folders, ['.ts']))
  const names = wanted.map((path) => posix.normalize(path.replaceAll('\\', '/')).replace(/\/$/, ''))
  const isWanted = (path: string): boolean =>
    names.length === 0 || names.some((name) => path === name || path.startsWith(`${name}/`))
  return [...texts.keys()]
    .filter((path) => path.endsWith('.test.ts') && isWanted(path))
    .map((path) => ({
      path,
      usesDatabase: reachesCluster(path, texts),
      usesBrowser: reaches(path, texts, (from) => from === browserModule),
    }))
}

/** What reads the variable names it in a string or as a property. */
export const reachesCluster = (start: string, texts: Texts): boolean =>
  reaches(start, texts, (path, text) => path.startsWith('server/') && text.includes(clusterVariable))

/** Follows relative imports. */
function reaches(start: string, texts: Texts, isIt: (path: string, text: string) => boolean): boolean {
  const seen = new Set([start])
  for (const path of seen) {
    const text = texts.get(path)
    if (text === undefined) continue
    if (isIt(path, text)) return true
    const scanned = scan(text)
    for (const specifier of importsOf(scanned)) {
      if (specifier.startsWith('.')) seen.add(posix.join(posix.dirname(path), specifier))
    }
  }
  return false
}
