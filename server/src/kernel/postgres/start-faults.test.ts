import assert from 'node:assert/strict'
import { statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartFault } from '../fault.ts'
import type { Account } from './account.ts'
import { createCluster } from './cluster.ts'
import { keepRunning } from './keeper.ts'
import { didNotStart, launchPostmaster } from './postmaster.ts'
import { openServerLog } from './server-log.ts'
import { folder } from './test-setup.ts'

// What PostgreSQL does not do, told with the cause and the way out.

const account: Account = { name: 'ourselves', identity: {}, prefix: [] }

const isTold = (line: RegExp) => (error: unknown) => error instanceof StartFault && line.test(error.message)

test('a database that cannot be made is told with what the program complains of, and with the way out', async (t) => {
  const here = folder(t)
  const binaries = { folder: here, version: '18.4', major: 18 }
  const making = () => createCluster({ cluster: join(here, 'postgres'), account, binaries, fsync: false })
  const initdb = (words: string) =>
    writeFileSync(join(here, 'initdb'), `#!/bin/sh\n${words}\nexit 1\n`, { mode: 0o755 })
  initdb('echo "initdb: error: No space left on device"')
  await assert.rejects(
    making(),
    isTold(/\(initdb: error: No space left on device\): mend that, then start again, or set KAHA_DATABASE_URL$/),
  )
  initdb('')
  await assert.rejects(making(), isTold(/\(it does not say why\): mend that/))
})

test('a program that cannot be run is told with the way out', (t) => {
  const here = folder(t)
  using serverLog = openServerLog(join(here, 'postgres.log'))
  const binaries = { folder: here, version: '18.4', major: 18 }
  assert.throws(
    () => launchPostmaster({ account, binaries, cluster: here, dataPath: here, settings: {}, serverLog }),
    isTold(/postgres cannot be started: see that it is there and that this user may run it, or set KAHA_DATABASE_URL$/),
  )
})

test('a folder that is gone is told as that, and not as a program that cannot be run', (t) => {
  const here = folder(t)
  using serverLog = openServerLog(join(here, 'postgres.log'))
  const gone = join(here, 'postgres')
  const binaries = { folder: here, version: '18.4', major: 18 }
  const launch = () => launchPostmaster({ account, binaries, cluster: gone, dataPath: gone, settings: {}, serverLog })
  assert.throws(launch, isTold(/postgres is gone: put it back, or restore a backup, then start again$/))
})

test('a server that does not start on a full disk is told as that, whether or not it could write so, with no word of a backup', (t) => {
  const here = folder(t)
  const path = join(here, 'postgres.log')
  const disk = (bavail: number) => Object.assign(statfsSync(here), { bavail })
  const full = `the disk of ${here} is full: free some space, and start again`
  const words = 'FATAL: could not write lock file "postmaster.pid": No space left on device'
  assert.equal(didNotStart(words, path, disk(1_000)).message, full)
  for (const bavail of [0, 2]) {
    for (const reason of ['code 1', 'LOG: database system is shut down'])
      assert.equal(didNotStart(reason, path, disk(bavail)).message, full)
  }
  assert.match(
    didNotStart('code 1', path, disk(4)).message,
    /^PostgreSQL did not start: code 1 \(log: .*\): mend that or restore a backup, then start again$/,
  )
})

test('a server that ends by itself again and again is given up with its last words, and with the way out', async (t) => {
  const here = folder(t)
  using serverLog = openServerLog(join(here, 'postgres.log'))
  writeFileSync(serverLog.path, 'FATAL: no more\n')
  writeFileSync(join(here, 'postmaster.pid'), `1${'\n'.repeat(7)}ready\n`)
  const fatal = Promise.withResolvers<Error>()
  const ended = Promise.resolve('code 1')
  await using keeper = await keepRunning({
    launch: () => ({ pid: 1, ended, hasEnded: () => true, kill: () => {} }),
    clear: async () => {},
    cluster: here,
    serverLog,
    log: () => {},
    warn: () => {},
    onFatal: fatal.resolve,
    signal: undefined,
  })
  assert.equal(keeper.pid, 1)
  assert.ok(
    isTold(/given up after 5 attempts: it ended by itself: FATAL: no more \(log: .*\): mend that, then start again$/)(
      await fatal.promise,
    ),
  )
})
