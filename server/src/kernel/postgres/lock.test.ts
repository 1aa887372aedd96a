import assert from 'node:assert/strict'
import { chownSync, mkdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { unlockableDataDir, unusableDataDir } from '../data-dir.ts'
import { StartFault } from '../fault.ts'
import { lockDirectory } from './lock.ts'
import { folder, isRoot } from './test-setup.ts'

test('what root leaves of a lock keeps nobody out who owns the directory', (t) => {
  if (!isRoot) return t.skip('needs root')
  const dataDir = folder(t)
  chownSync(dataDir, 65_534, 65_533)
  using _ = lockDirectory(dataDir)
  for (const name of ['lock', 'kaha.pid']) {
    const { uid, gid } = statSync(join(dataDir, name))
    assert.deepEqual([uid, gid], [65_534, 65_533], name)
  }
})

test('a lock that cannot be opened or written down is told in one line, and the directory is free again', (t) => {
  const dataDir = folder(t)
  for (const [name, line] of [
    ['lock', /^the data directory .* cannot be locked .*: set KAHA_DATA_DIR/],
    ['kaha.pid', /^the data directory .* cannot be used .*: set KAHA_DATA_DIR/],
  ] as const) {
    mkdirSync(join(dataDir, name))
    assert.throws(
      () => lockDirectory(dataDir),
      (error) => error instanceof StartFault && line.test(error.message),
    )
    rmdirSync(join(dataDir, name))
  }
  lockDirectory(dataDir)[Symbol.dispose]()
})

test('a full disk is told as that, with no word of another folder, whether the system says it or SQLite', (t) => {
  const dataDir = folder(t)
  const full = `the disk of ${dataDir} is full: free some space, and start again`
  const ofSystem = failureOf(() => writeFileSync('/dev/full', 'x'))
  using small = new DatabaseSync(':memory:')
  small.exec('pragma max_page_count = 1')
  const ofSqlite = failureOf(() => small.exec('create table one (two)'))
  for (const cause of [ofSystem, ofSqlite]) {
    for (const told of [unusableDataDir(dataDir, cause), unlockableDataDir(dataDir, cause)]) {
      assert.equal(told.message, full)
      assert.equal(told.cause, cause)
    }
  }
})

function failureOf(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('it went well')
}
