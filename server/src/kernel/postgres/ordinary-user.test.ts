import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { ordinaryUser } from './test-setup.ts'

test('what holds for root holds for an ordinary user too', async (t) => {
  const user = await ordinaryUser()
  if (typeof user === 'string') return t.skip(user)
  // Without the runner's variables: the child is a run of its own.
  const child = spawn(process.execPath, [join(import.meta.dirname, 'embedded.test.ts')], {
    ...user.identity,
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  assert.equal(code, 0, output)
})
