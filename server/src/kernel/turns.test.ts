import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns } from './turns.ts'

test('one begins when the one before has ended, well or not, and each tells how its own ended', async () => {
  const inTurn = createTurns()
  const said: string[] = []
  const ends: (() => void)[] = []
  const slow = inTurn(async () => {
    said.push('the first begins')
    await new Promise<void>((resolve) => ends.push(resolve))
    said.push('the first ends')
    return 1
  })
  const fails = inTurn(async () => {
    said.push('the second begins')
    throw new Error('planted')
  })
  const after = inTurn(async () => {
    said.push('the third begins')
    return 3
  })
  await new Promise(setImmediate)
  assert.deepEqual(said, ['the first begins'])
  for (const end of ends) end()
  await assert.rejects(fails, /planted/)
  assert.deepEqual([await slow, await after], [1, 3])
  assert.deepEqual(said, ['the first begins', 'the first ends', 'the second begins', 'the third begins'])
})
