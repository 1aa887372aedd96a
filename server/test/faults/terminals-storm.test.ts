import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stormTerminals } from './terminals-storm.ts'

test('terminals that come back all at once are all taken, and tills pay beside strangers, a flood of frames and one who never reads', async (t) => {
  const say = (line: string) => t.diagnostic(line)
  assert.deepEqual(
    await stormTerminals({ terminals: 500, strangers: 200, waves: 16, frames: 2_000, seconds: 1, say }),
    [],
  )
})
