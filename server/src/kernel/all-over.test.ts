import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allOver, foremost } from './all-over.ts'
import { Fault } from './fault.ts'

const away = () => new Fault('UNAVAILABLE', 'The database is away.')

test('what all of these come to is told in their order', async () => {
  assert.deepEqual(await allOver([Promise.resolve(1), Promise.resolve('two')]), [1, 'two'])
})

test('a failure is told when none goes on any more', async () => {
  const slow = Promise.withResolvers<string>()
  let told = false
  const all = allOver([Promise.reject(new Error('the quick one')), slow.promise]).catch((error: Error) => {
    told = true
    return error.message
  })
  await new Promise((done) => setImmediate(done))
  assert.equal(told, false)
  slow.resolve('the slow one')
  assert.equal(await all, 'the quick one')
})

test('a defect is told of, whichever failures an outage brings beside it', async () => {
  const defect = new TypeError('a defect')
  await assert.rejects(allOver([Promise.reject(away()), Promise.reject(defect)]), defect)
  const [first, second] = [away(), away()]
  assert.equal(foremost([first, second]), first)
})
