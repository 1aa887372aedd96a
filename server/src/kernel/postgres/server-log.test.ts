import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { complaints, openServerLog } from './server-log.ts'
import { eventually } from './processes.ts'
import { folder, waitMsMax } from './test-setup.ts'

test('the log of the server keeps one older part and does not outgrow its bound', async (t) => {
  const path = join(folder(t), 'postgres.log')
  using log = openServerLog(path, { bytesMax: 1_000, checkEveryMs: 1 })
  writeSync(log.fd, 'x'.repeat(1_001))
  assert.ok(await eventually(() => statSync(path).size === 0, waitMsMax))
  assert.equal(statSync(`${path}.1`).size, 1_001)
  log.mark()
  writeSync(log.fd, 'FATAL:  after the cut\n')
  assert.equal(log.lastWords(), 'FATAL: after the cut')
})

test('what runs before wrote stays, and is quoted of none that follows', (t) => {
  const path = join(folder(t), 'postgres.log')
  const before = 'PANIC:  why the run before ended\n'
  writeFileSync(path, before)
  for (let run = 0; run < 2; run += 1) {
    using log = openServerLog(path)
    log.mark()
    assert.equal(log.lastWords(), '')
  }
  assert.equal(readFileSync(path, 'utf8'), before)
  assert.ok(!existsSync(`${path}.1`))
})

test('of what the server wrote the complaints are quoted, in one line and without the times', () => {
  const output = [
    '2026-01-01 00:00:00.000 UTC [7] LOG:  starting PostgreSQL',
    '2026-01-01 00:00:00.001 UTC [7] FATAL:  could not open   file "x"',
    '2026-01-01 00:00:00.002 UTC [7] LOG:  database system is shut down',
    '',
  ]
  assert.equal(complaints(output.join('\n')), 'FATAL: could not open file "x"')
  assert.equal(complaints('nothing loud\n'), 'nothing loud')
  assert.equal(complaints(''), '')
})
