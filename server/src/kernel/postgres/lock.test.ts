import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chownSync, mkdirSync, readdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { unlockableDataDir, unusableDataDir } from '../data-dir.ts'
import { StartFault } from '../fault.ts'
import { DirectoryHeld, lockDirectory } from './lock.ts'
import { folder, isRoot } from './test-setup.ts'

test('what holds a lock is open to its owner alone, whatever the umask, and so is one that was left open', (t) => {
  const usual = process.umask(0)
  t.after(() => process.umask(usual))
  const [fresh, old] = [folder(t), folder(t)]
  for (const name of ['lock', 'lock-journal']) writeFileSync(join(old, name), '', { mode: 0o666 })
  for (const dataDir of [fresh, old]) {
    using _ = lockDirectory(dataDir)
    assert.deepEqual(
      readdirSync(dataDir).map((name) => [name, (statSync(join(dataDir, name)).mode & 0o777).toString(8)]),
      [
        ['kaha.pid', '600'],
        ['lock', '600'],
        ['lock-journal', '600'],
      ],
    )
    assert.throws(() => lockDirectory(dataDir), DirectoryHeld)
  }
})

test('a second lock in the same process takes nothing from the first', (t) => {
  const dataDir = folder(t)
  using _ = lockDirectory(dataDir)
  assert.throws(() => lockDirectory(dataDir), DirectoryHeld)
  const other = `new (require('node:sqlite').DatabaseSync)(process.argv[1]).exec('begin exclusive')`
  const { stderr } = spawnSync(process.execPath, ['-e', other, join(dataDir, 'lock')], { encoding: 'utf8' })
  assert.match(stderr, /database is locked/)
})

test('what root leaves of a lock keeps nobody out who owns the directory', (t) => {
  if (!isRoot) return t.skip('needs root')
  const dataDir = folder(t)
  chownSync(dataDir, 65_534, 65_533)
  using _ = lockDirectory(dataDir)
  for (const name of ['lock', 'lock-journal', 'kaha.pid']) {
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
