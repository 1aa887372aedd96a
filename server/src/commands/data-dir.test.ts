import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chownSync, linkSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartFault } from '../kernel/fault.ts'
import { folder, isRoot } from '../kernel/postgres/test-setup.ts'
import { masterKeyIn, replaceMasterKeyIn } from './data-dir.ts'

test('a master key that root makes may be read by the owner of the directory, and by nobody else', async (t) => {
  if (!isRoot) return t.skip('needs root')
  const dataDir = folder(t)
  chownSync(dataDir, 65_534, 65_533)
  const key = await masterKeyIn(dataDir)
  assert.deepEqual(await masterKeyIn(dataDir), key)
  const { uid, gid, mode } = statSync(join(dataDir, 'master.key'))
  assert.deepEqual([uid, gid, mode & 0o777], [65_534, 65_533, 0o600])
})

test('two starts at once in a new data directory have one key, though both have one process id, as in two containers', async (t) => {
  for (let times = 0; times < 20; times += 1) {
    const dir = folder(t)
    const [one, other] = await Promise.all([masterKeyIn(dir), masterKeyIn(dir)])
    assert.deepEqual(one, other)
    assert.deepEqual(readdirSync(dir), ['master.key'])
  }
})

test('a change of the key that fails leaves the key, whatever a start that was killed has left beside it', async (t) => {
  const dir = folder(t)
  const key = await masterKeyIn(dir)
  linkSync(join(dir, 'master.key'), join(dir, `master.key.${process.pid}`))
  const refuses = () => Promise.reject(new Error('the database is away'))
  await assert.rejects(replaceMasterKeyIn(dir, randomBytes(32), refuses), /the database is away/)
  assert.deepEqual(await masterKeyIn(dir), key)
})

test('where the next key cannot be written, that is told before anything is changed', async (t) => {
  let isChanged = false
  const change = async () => void (isChanged = true)
  await assert.rejects(
    replaceMasterKeyIn(join(folder(t), 'gone'), randomBytes(32), change),
    (fault) => fault instanceof StartFault && /cannot be used \(ENOENT/.test(fault.message),
  )
  assert.equal(isChanged, false)
})
