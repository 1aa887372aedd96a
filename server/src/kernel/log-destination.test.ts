import assert from 'node:assert/strict'
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { logDestination } from './log-destination.ts'
import { createLog } from './log.ts'
import { eventually } from './postgres/processes.ts'
import { folder, waitMsMax } from './postgres/test-setup.ts'

test('lines gather and are all written in their order, whatever letters they have', async (t) => {
  const path = join(folder(t), 'log')
  const fd = openSync(path, 'a')
  t.after(() => closeSync(fd))
  const log = createLog('info', logDestination(fd))
  const names = Array.from({ length: 2_000 }, (_, index) => `Niño ${index} 🏪`)
  for (const name of names) log.info({ name }, 'one')
  const written = () => readFileSync(path, 'utf8').split('\n').slice(0, -1)
  assert.ok(await eventually(() => written().length === names.length, waitMsMax))
  assert.deepEqual(
    written().map((line) => (JSON.parse(line) as { name: string }).name),
    names,
  )
})

test('lines for a pipe that is full are kept up to 1 MiB until somebody reads it, whole and in their order', async (t) => {
  const path = join(folder(t), 'pipe')
  assert.equal(spawnSync('/bin/sh', ['-c', 'mkfifo "$0"', path]).status, 0)
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  t.after(() => closeSync(fd))
  const destination = logDestination(fd)
  const lines = Array.from({ length: 2_000 }, (_, index) => `${String(index).padStart(999, '.')}\n`)
  for (const line of lines) destination.write(line)
  const bytes = Buffer.alloc(65_536)
  let read = ''
  const readAll = () => {
    try {
      for (;;) read += bytes.toString('latin1', 0, readSync(fd, bytes))
    } catch {
      return read.length >= 1_048_000
    }
  }
  assert.ok(await eventually(readAll, waitMsMax))
  assert.equal(read, lines.slice(0, 1_048).join(''))
  destination.write('after that\n')
  assert.ok(
    await eventually(() => {
      readAll()
      return read.endsWith('after that\n')
    }, waitMsMax),
  )
})
