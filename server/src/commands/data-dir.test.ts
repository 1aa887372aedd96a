import assert from 'node:assert/strict'
import { chownSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder, isRoot } from '../kernel/postgres/test-setup.ts'
import { masterKeyIn } from './data-dir.ts'

test('a master key that root makes may be read by the owner of the directory, and by nobody else', async (t) => {
  if (!isRoot) return t.skip('needs root')
  const dataDir = folder(t)
  chownSync(dataDir, 65_534, 65_533)
  const key = await masterKeyIn(dataDir)
  assert.deepEqual(await masterKeyIn(dataDir), key)
  const { uid, gid, mode } = statSync(join(dataDir, 'master.key'))
  assert.deepEqual([uid, gid, mode & 0o777], [65_534, 65_533, 0o600])
})
