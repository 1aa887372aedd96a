import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { until } from '../../test/until.ts'
import { writeSandboxFile, type SandboxAddresses } from './file.ts'
import type { Seed } from './seed.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'kaha-file-'))
after(() => rm(dataDir, { recursive: true }))
const path = join(dataDir, 'sandbox.json')
const write = () => writeSandboxFile(dataDir, {} as SandboxAddresses, {} as Seed)

test('sandbox.json is there while its process runs, and gone when that stops', async () => {
  const remove = await write()
  assert.equal(existsSync(path), true)
  await remove()
  assert.equal(existsSync(path), false)
})

test('a sandbox.json that somebody has broken is left as it is, and keeps nobody from stopping', async () => {
  for (const text of ['', '{"pid":', 'null', '[]', '{"pid":"1"}']) {
    const remove = await write()
    await writeFile(path, text)
    await remove()
    assert.equal(await readFile(path, 'utf8'), text)
  }
})

test('sandbox.json is there again where whoever wrote it last has stopped, or was killed, and another process still serves', async () => {
  const addresses = { base: 'http://127.0.0.1:8080' } as SandboxAddresses
  const remove = await writeSandboxFile(dataDir, addresses, {} as Seed, 5)
  const removeOfLast = await write()
  assert.doesNotMatch(await readFile(path, 'utf8'), /8080/)
  await removeOfLast()
  await until('the file of the other', () => existsSync(path))
  assert.match(await readFile(path, 'utf8'), /"base_url": "http:\/\/127\.0\.0\.1:8080"/)
  const killed = spawn(process.execPath, ['--eval', ''])
  await once(killed, 'exit')
  await writeFile(path, `{"pid":${killed.pid}}`)
  await until('the file of the other again', async () => (await readFile(path, 'utf8')).includes('8080'))
  await remove()
  assert.equal(existsSync(path), false)
})
