// A process that runs PostgreSQL and nothing else, for tests that kill it: `node test-child.ts DATA_DIR [NATIVE_DIR]`.
// It says on standard output what it runs, and stops when standard input ends.
import { StartFault } from '../fault.ts'
import { startEmbeddedPostgres } from './embedded.ts'

const [dataDir = '', nativeDir] = process.argv.slice(2)

try {
  const postgres = await startEmbeddedPostgres({
    dataDir,
    ...(nativeDir === undefined ? {} : { nativeDir }),
    log: (line) => void process.stderr.write(`${line}\n`),
    fsync: false,
  })
  process.stdout.write(`${JSON.stringify({ pid: postgres.pid, socketDir: postgres.socketDir, user: postgres.user })}\n`)
  process.stdin.resume().on('end', () => void postgres.stop())
} catch (error) {
  if (!(error instanceof StartFault)) throw error
  process.stderr.write(`kaha: ${error.message}\n`)
  process.exitCode = 1
}
