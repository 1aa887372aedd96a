import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTestCluster, type TestCluster } from '../server/test/cluster.ts'
import { freePort } from '../server/test/free-port.ts'
import { argumentsOf } from './arguments.ts'
import { clusterVariable, testFiles, type TestFile } from './testing/files.ts'
import { hasFailed, leftOut, textOfFile, totals } from './testing/print.ts'
import { startTestProcess, type FileResult } from './testing/test-process.ts'

const usage = `npm test -- [options] [file or folder ...]

  --tcp             the tests' PostgreSQL listens on TCP instead of a Unix socket
  --database-only   only the files that use it
  --no-browser      without the files that open a browser: what a page shows is the same on any line to the database
  --name PATTERN    only the tests whose name matches the regular expression`

const processesMax = 2
// What files import is loaded, and compiled by V8, once for all of a process: a third of the CPU of a run.
const filesTogetherMax = 12
// For one that hangs: the longest takes a third of it, and three times as long on a machine that does much else.
const fileMsMax = 120_000

const stopping = new AbortController()
// Ctrl-C comes more than once: from the terminal, from npm, from the script that started this one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort())

process.exitCode = await main()

async function main(): Promise<number> {
  const { values, positionals } = argumentsOf(usage, {
    allowPositionals: true,
    options: {
      tcp: { type: 'boolean' },
      'database-only': { type: 'boolean' },
      'no-browser': { type: 'boolean' },
      name: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) return say(usage, 0)
  if (values.name !== undefined && !isPattern(values.name))
    return say(`kaha: --name ${values.name} is no regular expression`, 1)
  const nowhere = positionals.find((path) => testFiles([path]).length === 0)
  if (nowhere !== undefined) return say(`kaha: no test file there: ${nowhere}`, 1)
  const files = testFiles(positionals)
    .filter(({ usesDatabase }) => usesDatabase || !values['database-only'])
    .filter(({ usesBrowser }) => !usesBrowser || !values['no-browser'])
  if (files.length === 0) return say('kaha: these options leave no test file there', 1)

  forgetSettings()
  const started = performance.now()
  await using cluster = files.some(({ usesDatabase }) => usesDatabase)
    ? await startCluster(values.tcp === true)
    : undefined
  if (cluster) process.env[clusterVariable] = cluster.handle
  const results = await runAll(files, values.name)
  return conclude(results, files.length, values.name, performance.now() - started)
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp
  } catch {
    return false
  }
}

/** The settings of the person who runs the tests are not those of the tests. */
function forgetSettings(): void {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('KAHA_') && !name.startsWith('KAHA_TEST_')) delete process.env[name]
  }
}

/** One PostgreSQL for the whole run; each file makes databases of its own in it. */
async function startCluster(tcp: boolean): Promise<TestCluster | undefined> {
  if (process.env[clusterVariable] !== undefined) return undefined
  return startTestCluster({ quick: true, ...(tcp ? { tcpPort: await freePort() } : {}) })
}

async function runAll(files: readonly TestFile[], namePattern: string | undefined): Promise<FileResult[]> {
  const compiled = await mkdtemp(join(tmpdir(), 'kaha-test-'))
  // Those that need a process of their own take longest, and then those with a database: begun first, they do not end last.
  const queue = files
    .toSorted((a, b) => Number(b.usesDatabase) - Number(a.usesDatabase))
    .toSorted((a, b) => Number(b.needsFreshModules) - Number(a.needsFreshModules))
  const results: FileResult[] = []
  const tell = (...some: readonly FileResult[]): void => {
    if (stopping.signal.aborted) return
    results.push(...some)
    for (const result of some) console.log(textOfFile(result))
  }
  const worker = async (): Promise<void> => {
    for (let file = queue.shift(); file && !stopping.signal.aborted;) {
      const only = namePattern === undefined ? undefined : { file: file.path, namePattern }
      const running = startTestProcess({ compiled, durationMsMax: fileMsMax, only, signal: stopping.signal })
      let left = only !== undefined || file.needsFreshModules ? 1 : filesTogetherMax
      for (; file && left > 0 && !running.hasEnded; left -= 1) {
        tell(await running.run(file.path))
        file = queue.shift()
      }
      tell(...(await running.end()))
    }
  }
  try {
    await Promise.all(Array.from({ length: processesMax }, worker))
  } finally {
    await rm(compiled, { recursive: true, force: true })
  }
  return results
}

function conclude(
  results: readonly FileResult[],
  fileCount: number,
  namePattern: string | undefined,
  durationMs: number,
): number {
  const failed = results.filter(hasFailed)
  const parts = leftOut(results)
  console.log('')
  for (const [part, count] of parts) console.log(`left out: ${part} (${count} ${count === 1 ? 'test' : 'tests'})`)
  for (const { file } of failed) console.log(`failed: ${file}`)
  console.log(totals(results, durationMs))
  if (stopping.signal.aborted) return say(`kaha: stopped after ${results.length} of ${fileCount} files`, 130)
  if (failed.length > 0) return 1
  // One that is misspelt would pass for a test that passes.
  if (namePattern !== undefined && results.every(({ verdicts }) => verdicts.every(({ kind }) => kind !== 'test')))
    return say(`kaha: no test there has a name that matches ${namePattern}`, 1)
  if (parts.size > 0 && process.env['CI'] === 'true') return say('kaha: with CI=true a part left out is a failure', 1)
  return 0
}

function say(line: string, exitCode: number): number {
  console.error(line)
  return exitCode
}
