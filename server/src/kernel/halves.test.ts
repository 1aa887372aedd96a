import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from './fault.ts'
import { inHalves } from './halves.ts'

/** Work on letters that fails where it is given one of these. */
function letters(failing: string, error: Error) {
  const tried: string[] = []
  const alone: string[] = []
  const run = (batch: string) =>
    inHalves(
      batch.split(''),
      async (some) => {
        tried.push(some.join(''))
        if (some.some((letter) => failing.includes(letter))) throw error
      },
      async (letter, cause) => {
        assert.equal(cause, error)
        alone.push(letter)
      },
    )
  return { run, tried, alone }
}

test('a batch that can be done is done at once', async () => {
  const { run, tried, alone } = letters('', new Error('broken'))
  await run('abcde')
  assert.deepEqual([tried, alone], [['abcde'], []])
})

test('one that fails holds up no other: each half is tried in its turn, and what fails by itself is left to `alone`', async () => {
  const { run, tried, alone } = letters('be', new Error('broken'))
  await run('abcde')
  assert.deepEqual(tried, ['abcde', 'abc', 'ab', 'a', 'b', 'c', 'de', 'd', 'e'])
  assert.deepEqual(alone, ['b', 'e'])
})

test('where the database is away nothing is tried in halves, nor by itself', async () => {
  const away = new Fault('UNAVAILABLE', 'away')
  for (const batch of ['abc', 'a']) {
    const { run, tried, alone } = letters('a', away)
    await assert.rejects(run(batch), away)
    assert.deepEqual([tried, alone], [[batch], []])
  }
})

test('a batch of nothing that fails has nobody to be left to', async () => {
  const broken = new Error('broken')
  const failing = async () => {
    throw broken
  }
  await assert.rejects(inHalves([], failing, failing), broken)
})
