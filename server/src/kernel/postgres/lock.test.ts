import assert from 'node:assert/strict'
import { chownSync, mkdirSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
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
