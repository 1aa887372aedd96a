import assert from 'node:assert/strict'
import { chownSync, mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartFault } from './fault.ts'
import { openLogFile } from './log-file.ts'
import { eventually } from './postgres/processes.ts'
import { folder, isRoot, waitMsMax } from './postgres/test-setup.ts'

const bytesMax = 1_000

test('a log goes on where the run before ended, while it is within its bound', (t) => {
  const path = join(folder(t), 'kaha.log')
  writeFileSync(path, 'the run before\n')
  using log = openLogFile(path, { bytesMax })
  writeSync(log.fd, 'this run\n')
  assert.equal(readFileSync(path, 'utf8'), 'the run before\nthis run\n')
})

test('a log that has outgrown its bound before the start is put aside, and replaces what was put aside before', (t) => {
  const path = join(folder(t), 'kaha.log')
  writeFileSync(`${path}.1`, 'long ago')
  writeFileSync(path, 'x'.repeat(bytesMax + 1))
  using log = openLogFile(path, { bytesMax })
  writeSync(log.fd, 'this run\n')
  assert.equal(readFileSync(path, 'utf8'), 'this run\n')
  assert.equal(statSync(`${path}.1`).size, bytesMax + 1)
})

test('a log that outgrows its bound while two processes write it is cut for both, and nobody else may read the older part', async (t) => {
  const path = join(folder(t), 'kaha.log')
  using log = openLogFile(path, { bytesMax, checkEveryMs: 1 })
  using other = openLogFile(path, { bytesMax, checkEveryMs: 1 })
  writeSync(log.fd, 'x'.repeat(bytesMax + 1))
  assert.ok(await eventually(() => statSync(path).size === 0, waitMsMax))
  assert.equal(statSync(`${path}.1`).size, bytesMax + 1)
  assert.equal(statSync(`${path}.1`).mode & 0o777, 0o600)
  writeSync(other.fd, 'one\n')
  writeSync(log.fd, 'two\n')
  assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n')
})

test('the bound holds where the older part cannot be kept', async (t) => {
  const path = join(folder(t), 'kaha.log')
  using log = openLogFile(path, { bytesMax, checkEveryMs: 1 })
  mkdirSync(`${path}.1`)
  writeSync(log.fd, 'x'.repeat(bytesMax + 1))
  assert.ok(await eventually(() => statSync(path).size === 0, waitMsMax))
  rmdirSync(`${path}.1`)
})

test('what root logs is left to the owner of its folder, the older part too', async (t) => {
  if (!isRoot) return t.skip('needs root')
  const parent = folder(t)
  chownSync(parent, 65_534, 65_533)
  const path = join(parent, 'kaha.log')
  using log = openLogFile(path, { bytesMax, checkEveryMs: 1 })
  writeSync(log.fd, 'x'.repeat(bytesMax + 1))
  assert.ok(await eventually(() => statSync(path).size === 0, waitMsMax))
  for (const one of [path, `${path}.1`]) assert.deepEqual([statSync(one).uid, statSync(one).gid], [65_534, 65_533])
})

test('a log that cannot be opened is told in one line, with the way out', (t) => {
  const path = join(folder(t), 'kaha.log')
  mkdirSync(path)
  assert.throws(
    () => openLogFile(path),
    (error) =>
      error instanceof StartFault && /^the data directory .* cannot be used .*: set KAHA_DATA_DIR/.test(error.message),
  )
})
