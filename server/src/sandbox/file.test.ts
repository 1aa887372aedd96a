import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { isSandboxTold, writeSandboxFile, type SandboxAddresses } from './file.ts'
import type { Seed } from './seed.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'kaha-file-'))
after(() => rm(dataDir, { recursive: true }))
const path = join(dataDir, 'sandbox.json')
const write = () => writeSandboxFile(dataDir, {} as SandboxAddresses, {} as Seed)

test('sandbox.json is there while its process runs, and gone when that stops', async () => {
  const remove = await write()
  assert.equal(await isSandboxTold(dataDir), true)
  await remove()
  assert.deepEqual([existsSync(path), await isSandboxTold(dataDir)], [false, false])
})

test('a sandbox.json that somebody has broken is none, and keeps nobody from stopping', async () => {
  for (const text of ['', '{"pid":', 'null', '[]', '{"pid":"1"}']) {
    const remove = await write()
    await writeFile(path, text)
    assert.equal(await isSandboxTold(dataDir), false, text)
    await remove()
  }
})
