import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAway, surely } from './db.ts'
import { Fault } from './fault.ts'

const away = () => new Fault('UNAVAILABLE', 'away')

/** Work that fails with these, one after the other, and then is done. */
function failing(...errors: readonly Error[]) {
  const left = [...errors]
  return async () => {
    const error = left.shift()
    if (error !== undefined) throw error
    return `done, ${left.length} left`
  }
}

test('what the database did not answer is done once more, and no third time', async () => {
  assert.equal(await surely(failing()), 'done, 0 left')
  assert.equal(await surely(failing(away())), 'done, 0 left')
  const second = away()
  await assert.rejects(surely(failing(away(), second)), (error) => error === second)
})

test('what the database refused is not done again', async () => {
  const refused = new Fault('CONFLICT', 'There is one already.')
  await assert.rejects(surely(failing(refused)), refused)
})

test('a database that has no room, no memory or no right to write is away, whatever it was asked; one that refuses what it was asked is not', () => {
  const coded = (code: string) => isAway(Object.assign(new Error('said by PostgreSQL or the system'), { code }))
  const codes = ['08006', '57P01', '57P03', '57014', '25P03', '25006', '53100', '53200', '53300', 'ECONNRESET', 'EPIPE']
  assert.deepEqual(
    codes.filter((code) => !coded(code)),
    [],
  )
  assert.deepEqual(['23505', '22P02', '42P01', '40P01', '55P03', 'P0001', ''].filter(coded), [])
})
